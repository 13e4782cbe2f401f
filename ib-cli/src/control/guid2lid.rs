//! The file in which LIDs outlive the manager: OpenSM's `guid2lid`.

use std::path::PathBuf;

use ib_mad::Instant;
use ib_routing::format::guid2lid;
use ib_sm::{SmConfig, SubnetManager};

use super::retry::Retry;
use crate::{error::CliError, files};

/// The file, and when it is written.
pub struct Guid2lid {
    file: PathBuf,
    /// The text that was written last.
    text: String,
    retry: Retry,
}

impl Guid2lid {
    /// Reads the file, if there is one already, into the manager's configuration.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn open(file: PathBuf, config: &mut SmConfig) -> Result<Self, CliError> {
        if file.exists() {
            config.guid2lid = files::read(&file, guid2lid::read)?;
        }
        Ok(Self {
            file,
            text: String::new(),
            retry: Retry::default(),
        })
    }

    /// Asks for a write.
    pub fn request(&mut self, now: Instant) {
        self.retry.request(now);
    }

    /// When to call [`keep`](Self::keep).
    pub fn due(&self) -> Option<Instant> {
        self.retry.due()
    }

    /// Writes what the manager knows, if that is due and differs.
    pub fn keep(&mut self, sm: &SubnetManager, now: Instant) {
        let Self { file, text, retry } = self;
        retry.run(now, || {
            let known = guid2lid::write(sm.own_lids(), sm.guid2lid());
            if known != *text {
                files::write(file, &known)?;
                *text = known;
            }
            Ok(())
        });
    }
}

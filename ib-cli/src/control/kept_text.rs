//! Files in which what the manager knows outlives it: OpenSM's `guid2lid`, `guid2mkey` and `neighbors`.

use std::path::PathBuf;

use ib_mad::Instant;
use ib_routing::format::guid2lid;
use ib_sm::{SmConfig, SubnetManager};

use super::retry::Retry;
use crate::{error::CliError, files};

/// What such a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptKind {
    /// Base LIDs by port GUID.
    Guid2lid,
    /// M_Keys by port GUID.
    Guid2mkey,
    /// The two ends of each cable.
    Neighbors,
}

/// One file, and when it is written.
pub struct KeptText {
    kind: KeptKind,
    file: PathBuf,
    /// The text that was written last.
    text: String,
    retry: Retry,
    syncs: bool,
}

impl KeptText {
    /// Reads the file, if there is one already, into the manager's configuration. A file that cannot be understood is set
    /// aside as FILE.bad, and done without.
    ///
    /// # Errors
    /// The file is there and cannot be read.
    pub fn open(kind: KeptKind, file: PathBuf, config: &mut SmConfig) -> Result<Self, CliError> {
        if file.exists() {
            let text = files::read_text(&file.display().to_string())?;
            let line = match kind {
                KeptKind::Guid2lid => guid2lid::read(&text)
                    .map(|lids| config.guid2lid = lids)
                    .map_err(|error| error.to_string()),
                KeptKind::Guid2mkey => {
                    let read = config.m_keys.read_keys(&text);
                    read.map_err(|error| error.to_string())
                }
                KeptKind::Neighbors => {
                    let read = config.m_keys.read_neighbors(&text);
                    read.map_err(|error| error.to_string())
                }
            };
            if let Err(reason) = line {
                files::set_aside(&file, &reason)?;
            }
        }
        Ok(Self {
            kind,
            file,
            text: String::new(),
            retry: Retry::default(),
            syncs: config.host.fsync_high_avail_files,
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

    /// Writes what the manager knows, if that is due and differs. M_Keys are for the file's user alone.
    pub fn keep(&mut self, sm: &SubnetManager, now: Instant) {
        let Self {
            kind,
            file,
            text,
            retry,
            syncs,
        } = self;
        retry.run(now, || {
            let known = match kind {
                KeptKind::Guid2lid => guid2lid::write(sm.own_lids(), sm.guid2lid()),
                KeptKind::Guid2mkey => sm.m_keys().keys_text(),
                KeptKind::Neighbors => sm.m_keys().neighbors_text(),
            };
            if known != *text {
                let access = match kind {
                    KeptKind::Guid2mkey => files::Access::User,
                    KeptKind::Guid2lid | KeptKind::Neighbors => files::Access::AsBefore,
                };
                files::write_kept(file, &known, access, *syncs)?;
                *text = known;
            }
            Ok(())
        });
    }
}

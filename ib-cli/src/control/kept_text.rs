//! Files that keep the state of the manager across restarts: OpenSM's `guid2lid`, `guid2mkey` and `neighbors`.

use std::path::PathBuf;

use ib_mad::Instant;
use ib_routing::format::guid2lid;
use ib_sm::{SmConfig, SubnetManager};

use super::retry::Retry;
use crate::{error::CliError, files};

/// The content of such a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptKind {
    /// Base LIDs by port GUID.
    Guid2lid,
    /// M_Keys by port GUID.
    Guid2mkey,
    /// The two ends of each cable.
    Neighbors,
}

/// One file, and the time at which it is written.
pub struct KeptText {
    kind: KeptKind,
    file: PathBuf,
    /// The text of the last write.
    text: String,
    retry: Retry,
    syncs: bool,
}

impl KeptText {
    /// Reads the file, if it exists, into the manager's configuration. A file that cannot be parsed is renamed to
    /// FILE.bad, and the manager starts without it.
    ///
    /// # Errors
    /// The file exists but cannot be read.
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

    /// Requests a write.
    pub fn request(&mut self, now: Instant) {
        self.retry.request(now);
    }

    /// Time at which to call [`keep`](Self::keep); `None` if no write is requested.
    pub fn due(&self) -> Option<Instant> {
        self.retry.due()
    }

    /// Writes the manager's state, if a write is due and the state differs from the file. A file of M_Keys can be read
    /// only by its user.
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

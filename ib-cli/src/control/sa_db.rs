//! The file in which registrations with the administrator outlive the manager: OpenSM's `sa_db_file`.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ib_mad::Instant;
use ib_sm::{Registrations, SmConfig, SubnetManager};
use ib_smp::SmState;

use super::retry::Retry;
use crate::{error::CliError, files};

/// Time from the first change to the write.
const SETTLE: Duration = Duration::from_millis(100);

/// The file, and what of it is news.
pub struct SaDb {
    file: PathBuf,
    /// State of the manager and version of what it keeps when the file was written last.
    written: Option<(SmState, u64)>,
    retry: Retry,
}

impl SaDb {
    /// Reads the file that the command line or the configuration names, if there is one already, into the
    /// manager's configuration. `None` if nothing shall be written.
    pub fn open(named: Option<PathBuf>, config: &mut SmConfig) -> Result<Option<Self>, CliError> {
        let keeps = named.is_some() || config.sa_db_dump;
        let configured = config.sa_db_file.as_deref().map(PathBuf::from);
        let Some(file) = named.or(configured) else {
            return Ok(None);
        };
        if file.exists() {
            config.registrations =
                files::read_list(&file, |text| Registrations::parse(text, unix_seconds()))?;
        }
        Ok(keeps.then_some(Self {
            file,
            written: None,
            retry: Retry::default(),
        }))
    }

    /// When to call [`keep`](Self::keep), if there is something to write.
    pub fn due(&self) -> Option<Instant> {
        self.retry.due()
    }

    /// Writes the registrations, keys of services among them, if they changed. A standby writes none: hosts register
    /// with the master.
    pub fn keep(&mut self, sm: &SubnetManager, now: Instant) {
        let state = (sm.state(), sm.registrations_version());
        let knows = match sm.state() {
            SmState::MASTER => sm.is_up(),
            state => state == SmState::STANDBY,
        };
        if knows && self.written != Some(state) {
            // Hosts come in crowds: one write holds what many of them registered.
            self.retry.request(now + SETTLE);
        }
        let Self {
            file,
            written,
            retry,
        } = self;
        retry.run(now, || {
            if knows {
                let text = sm.registrations(now).to_text(unix_seconds());
                files::write_secret(file, &text)?;
                *written = Some(state);
            }
            Ok(())
        });
    }
}

fn unix_seconds() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| passed.as_secs())
}

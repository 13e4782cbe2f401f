//! The file that keeps registrations with the administrator across restarts of the manager: OpenSM's `sa_db_file`.

use std::{
    path::PathBuf,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ib_mad::Instant;
use ib_sm::{Registrations, SmConfig, SubnetManager};
use ib_smp::SmState;

use super::retry::Retry;
use crate::{error::CliError, files};

/// Time from the first change to the write of the file.
const SETTLE: Duration = Duration::from_millis(100);

/// The file, and the record of what has been written to it.
pub struct SaDb {
    file: PathBuf,
    /// State of the manager and version of its registrations at the last write of the file; `None` before the first.
    written: Option<(SmState, u64)>,
    retry: Retry,
    syncs: bool,
}

impl SaDb {
    /// Reads the file that the command line or the configuration names into the manager's configuration, if the file
    /// exists. Returns `None` if no file is to be written.
    pub fn open(named: Option<PathBuf>, config: &mut SmConfig) -> Result<Option<Self>, CliError> {
        let keeps = named.is_some() || config.sa_db_dump;
        let configured = config.sa_db_file.as_deref().map(PathBuf::from);
        let Some(file) = named.or(configured) else {
            return Ok(None);
        };
        if file.exists() {
            let name = file.display().to_string();
            let text = files::read_text(&name)?;
            match checked(&text).map(|text| Registrations::parse(text, unix_seconds())) {
                Some(Ok(registrations)) => config.registrations = registrations,
                Some(Err(error)) => files::set_aside(&file, error)?,
                None => files::set_aside(&file, "torn: its last line does not fit the others")?,
            }
        }
        Ok(keeps.then_some(Self {
            file,
            written: None,
            retry: Retry::default(),
            syncs: config.host.fsync_high_avail_files,
        }))
    }

    /// Time at which to call [`keep`](Self::keep); `None` if there is nothing to write.
    pub fn due(&self) -> Option<Instant> {
        self.retry.due()
    }

    /// Writes the registrations, including the keys of services, if they have changed. A standby writes nothing,
    /// because hosts register with the master.
    pub fn keep(&mut self, sm: &SubnetManager, now: Instant) {
        let state = (sm.state(), sm.registrations_version());
        let knows = match sm.state() {
            SmState::MASTER => sm.is_up(),
            state => state == SmState::STANDBY,
        };
        if knows && self.written != Some(state) {
            // Many hosts register at the same time, so one write covers many registrations.
            self.retry.request(now + SETTLE);
        }
        let Self {
            file,
            written,
            retry,
            syncs,
        } = self;
        retry.run(now, || {
            if knows {
                let text = sealed(&sm.registrations(now).to_text(unix_seconds()));
                files::write_kept(file, &text, files::Access::User, *syncs)?;
                *written = Some(state);
            }
            Ok(())
        });
    }
}

/// The first word of the last line. OpenSM ignores the line, as it ignores every line of a kind that it does not know.
const SEAL: &str = "# ib-sm version 1 crc32 ";

/// The text with a last line that contains its checksum.
fn sealed(text: &str) -> String {
    format!("{text}{SEAL}{:08x}\n", crc32fast::hash(text.as_bytes()))
}

/// The text without its seal. A text without a seal, as OpenSM writes it, is returned as it is. `None` if the seal does
/// not match the text.
fn checked(text: &str) -> Option<&str> {
    let Some((content, seal)) = text.split_once(SEAL) else {
        return Some(text);
    };
    let sum = seal.strip_suffix('\n').unwrap_or(seal);
    (u32::from_str_radix(sum, 16) == Ok(crc32fast::hash(content.as_bytes()))).then_some(content)
}

fn unix_seconds() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| passed.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_cut_or_changed_does_not_pass_and_one_of_opensm_does() {
        let text = "MC Group 0xc000 : mgid=0x1:0x2\n\n";
        let whole = sealed(text);
        assert_eq!(checked(&whole), Some(text));
        assert_eq!(checked(text), Some(text));
        assert_eq!(checked(&whole.replace("0x1", "0x3")), None);
        assert_eq!(checked(whole.get(..whole.len() - 3).unwrap()), None);
        assert_eq!(sealed("").lines().count(), 1);
    }
}

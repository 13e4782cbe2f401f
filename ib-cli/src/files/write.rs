//! Files that commands write: whole or not at all.
//!
//! A text goes into a temporary file beside its target, reaches the disk, and takes the target's name in one
//! step. Readers see the old text or the new one, a failure leaves the old one and no temporary file, and a
//! symbolic link stays a link: the file it leads to is replaced.

use std::{
    ffi::OsString,
    fmt::Display,
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use crate::{error::CliError, interrupt, output::stderr};

/// Symbolic links that are followed, as many as Linux follows itself.
const MAX_LINKS: usize = 40;

/// Permissions of a new file before the process's umask is taken off.
const PUBLIC: u32 = 0o666;

/// Permissions of a file with keys in it.
const SECRET: u32 = 0o600;

/// Writes a whole file, or standard output for `-`. A file that exists keeps its permissions.
///
/// # Errors
/// The file or its directory cannot be written.
pub fn write(file: &Path, text: &str) -> Result<(), CliError> {
    write_bytes(file, text.as_bytes())
}

/// Writes a whole file of bytes as [`write`] writes a text.
///
/// # Errors
/// The file or its directory cannot be written.
pub fn write_bytes(file: &Path, bytes: &[u8]) -> Result<(), CliError> {
    if file.as_os_str() == "-" {
        return Ok(io::stdout().lock().write_all(bytes)?);
    }
    replace(file, bytes, None, true)
        .map_err(|error| CliError::file(file.display(), "written", &error))
}

/// The permissions of a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever could before; a new file whoever the umask permits.
    AsBefore,
    /// Its user alone, whatever the permissions were before: it holds keys.
    User,
}

/// Writes a whole file that a restart reads. `syncs` says whether to wait until the disk has it.
///
/// # Errors
/// The file or its directory cannot be written.
pub fn write_kept(file: &Path, text: &str, access: Access, syncs: bool) -> Result<(), CliError> {
    let mode = match access {
        Access::AsBefore => None,
        Access::User => Some(SECRET),
    };
    let written = replace(file, text.as_bytes(), mode, syncs);
    written.map_err(|error| CliError::file(file.display(), "written", &error))
}

/// Renames a file that cannot be used to FILE.bad, in the place of an older one, and says why.
///
/// # Errors
/// It cannot be renamed.
pub fn set_aside(file: &Path, reason: impl Display) -> Result<(), CliError> {
    let mut aside = OsString::from(file);
    aside.push(".bad");
    fs::rename(file, &aside).map_err(|error| CliError::file(file.display(), "renamed", &error))?;
    stderr::warn(format_args!(
        "{}: {reason}; the file is kept as {} and is not used",
        file.display(),
        Path::new(&aside).display()
    ));
    Ok(())
}

/// Replaces what `file` leads to. `mode` `None` keeps the permissions of a file that exists.
fn replace(file: &Path, bytes: &[u8], mode: Option<u32>, syncs: bool) -> io::Result<()> {
    let target = follow(file)?;
    let found = fs::metadata(&target).ok();
    if found.as_ref().is_some_and(|found| !found.is_file()) {
        // A device or a pipe has no content to replace, and a directory is refused by opening it.
        return OpenOptions::new()
            .write(true)
            .open(&target)?
            .write_all(bytes);
    }
    let kept = found.map(|found| found.permissions().mode());
    let mode = mode.or(kept);
    let temporary = Temporary::create(&target, mode)?;
    temporary.fill(bytes, syncs)?;
    temporary.take_place_of(&target, syncs)
}

/// The file at the end of a chain of symbolic links, which need not exist.
fn follow(file: &Path) -> io::Result<PathBuf> {
    let mut target = file.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::read_link(&target) {
            // A relative link starts at the directory that the link is in.
            Ok(next) => target = directory(&target).join(next),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::from(io::ErrorKind::TooManyLinks))
}

/// The directory that holds a file.
fn directory(file: &Path) -> &Path {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// A file beside the target that is removed unless it takes the target's place.
struct Temporary {
    path: PathBuf,
    file: File,
    /// Removes the file if a signal ends the process.
    _on_interrupt: interrupt::Guard,
}

impl Temporary {
    /// Creates the file with the permissions `mode`, or those of a new file.
    fn create(target: &Path, mode: Option<u32>) -> io::Result<Self> {
        let name = target
            .file_name()
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
        let mut attempt = 0u32;
        loop {
            let mut temporary = OsString::from(".");
            temporary.push(name);
            temporary.push(format!(".{}-{attempt}.tmp", std::process::id()));
            let path = directory(target).join(temporary);
            let created = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(mode.unwrap_or(PUBLIC))
                .open(&path);
            match created {
                // A process with this number was killed here before, and left its file.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
                Ok(file) => {
                    let removed = path.clone();
                    let temporary = Self {
                        path,
                        file,
                        _on_interrupt: interrupt::on_interrupt(move || {
                            let _ = fs::remove_file(&removed);
                        }),
                    };
                    if let Some(mode) = mode {
                        // The umask took bits off that the older file had.
                        let mode = fs::Permissions::from_mode(mode);
                        temporary.file.set_permissions(mode)?;
                    }
                    return Ok(temporary);
                }
            }
        }
    }

    /// Writes the text, and waits until the disk has it if `syncs` is set.
    fn fill(&self, bytes: &[u8], syncs: bool) -> io::Result<()> {
        (&self.file).write_all(bytes)?;
        if syncs {
            self.file.sync_all()?;
        }
        Ok(())
    }

    /// Renames the file to the target, and waits until the disk has the name if `syncs` is set.
    fn take_place_of(self, target: &Path, syncs: bool) -> io::Result<()> {
        fs::rename(&self.path, target)?;
        if !syncs {
            return Ok(());
        }
        match File::open(directory(target))?.sync_all() {
            // Some file systems cannot do so.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename nothing has this name.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_keys_is_its_users_alone_whatever_was_there() {
        let scratch = std::env::temp_dir().join(format!("ib-files-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let file = scratch.join("opensm-sa.dump");
        // An older file that all may read, and the rest of a process that was killed while it wrote.
        fs::write(&file, "old").unwrap();
        let left = format!(".opensm-sa.dump.{}-0.tmp", std::process::id());
        fs::write(scratch.join(left), "half").unwrap();
        for text in ["key 0x1\n", "key 0x2\n"] {
            write_kept(&file, text, Access::User, false).unwrap();
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, SECRET);
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::read_dir(&scratch).unwrap().count(), 2);
        let missing = scratch.join("none/file");
        assert!(write_kept(&missing, "", Access::User, true).is_err());
        set_aside(&file, "torn").unwrap();
        assert!(!file.exists() && scratch.join("opensm-sa.dump.bad").exists());
        fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn links_that_lead_in_a_circle_are_refused() {
        let scratch = std::env::temp_dir().join(format!("ib-circle-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let (one, other) = (scratch.join("one"), scratch.join("other"));
        std::os::unix::fs::symlink("other", &one).unwrap();
        std::os::unix::fs::symlink("one", &other).unwrap();
        assert!(write(&one, "text").is_err());
        fs::remove_dir_all(&scratch).unwrap();
    }
}

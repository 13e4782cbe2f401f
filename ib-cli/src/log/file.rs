//! A log file that begins anew when it is too long, and is opened again on request.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tracing_subscriber::fmt::MakeWriter;

use crate::output::stderr;

/// Options of the log file.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// Bytes after which the file is renamed to FILE.1 and begun anew; 0 sets no limit.
    pub max_bytes: u64,
    /// Writes each line to the disk at once.
    pub flush: bool,
    /// Appends to a file that is there.
    pub append: bool,
    /// Text in front of each line.
    pub prefix: String,
}

/// The file; clones share it.
#[derive(Clone)]
pub struct LogFile(Arc<Mutex<Open>>);

struct Open {
    path: PathBuf,
    options: FileOptions,
    file: File,
    bytes: u64,
    /// Lines lost since the last one that could be written.
    lost: u64,
}

impl LogFile {
    /// Opens the file.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: PathBuf, options: FileOptions) -> io::Result<Self> {
        let file = open(&path, options.append)?;
        let bytes = file.metadata()?.len();
        Ok(Self(Arc::new(Mutex::new(Open {
            path,
            options,
            file,
            bytes,
            lost: 0,
        }))))
    }

    /// Writes each line to the disk at once from now on, and what is written already; or leaves the moment to the system.
    pub fn set_flush(&self, flush: bool) {
        let mut open_file = self.lock();
        open_file.options.flush = flush;
        if flush {
            // A failure shows at the next line too, and is reported there.
            let _ = open_file.file.sync_data();
        }
    }

    /// Opens the file by its name again.
    ///
    /// # Errors
    /// The system's; the file that was open stays in use.
    pub fn reopen(&self) -> io::Result<()> {
        let mut open_file = self.lock();
        // The old file may be on a disk that is full or gone: that is why another one is opened.
        let _ = open_file.file.sync_data();
        open_file.file = open(&open_file.path, true)?;
        open_file.bytes = open_file.file.metadata()?.len();
        Ok(())
    }

    /// The file. A line is written whole, so a panic elsewhere leaves it in order.
    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn open(path: &std::path::Path, append: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    if !append {
        let _ = std::fs::remove_file(path);
    }
    options.open(path)
}

impl Open {
    /// Writes one line; begins the file anew before if it would get too long.
    fn write_line(&mut self, line: &[u8]) -> io::Result<()> {
        let max = self.options.max_bytes;
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if max != 0 && self.bytes != 0 && self.bytes.saturating_add(length) > max {
            let mut old = self.path.as_os_str().to_owned();
            old.push(".1");
            std::fs::rename(&self.path, old)?;
            self.file = open(&self.path, true)?;
            self.bytes = 0;
        }
        let mut whole = self.options.prefix.clone().into_bytes();
        whole.extend_from_slice(line);
        self.file.write_all(&whole)?;
        self.bytes = self.bytes.saturating_add(length);
        if self.options.flush {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

impl Write for LogFile {
    /// Takes a whole line. One that cannot be written is lost; the first of them is said, and their number when lines can
    /// be written again.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut file = self.lock();
        let written = file.write_line(line);
        let path = file.path.display();
        match written {
            Err(error) => {
                if file.lost == 0 {
                    stderr::warn(format_args!(
                        "log file {path}: {error}; lines are lost until it can be written"
                    ));
                }
                file.lost = file.lost.saturating_add(1);
            }
            Ok(()) if file.lost != 0 => {
                let lost = file.lost;
                stderr::info(format_args!(
                    "log file {path}: written again, {lost} lines were lost"
                ));
                file.lost = 0;
            }
            Ok(()) => {}
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogFile {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ib-log-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_file_that_is_too_long_is_put_aside_and_a_renamed_one_is_opened_again() {
        let folder = folder("rotate");
        let path = folder.join("sm.log");
        let options = FileOptions {
            max_bytes: 16,
            append: true,
            prefix: "sm1 ".to_owned(),
            ..FileOptions::default()
        };
        let mut log = LogFile::open(path.clone(), options).unwrap();
        for line in ["first line\n", "second line\n"] {
            log.write_all(line.as_bytes()).unwrap();
        }
        let old = folder.join("sm.log.1");
        assert_eq!(fs::read_to_string(&old).unwrap(), "sm1 first line\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), "sm1 second line\n");
        fs::rename(&path, folder.join("sm.log.2")).unwrap();
        log.reopen().unwrap();
        log.write_all(b"third\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "sm1 third\n");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn on_a_full_disk_lines_are_counted_and_another_file_can_be_opened() {
        let folder = folder("full");
        let path = folder.join("sm.log");
        std::os::unix::fs::symlink("/dev/full", &path).unwrap();
        let options = FileOptions {
            append: true,
            ..FileOptions::default()
        };
        let mut log = LogFile::open(path.clone(), options).unwrap();
        for _ in 0..3 {
            log.write_all(b"lost\n").unwrap();
        }
        assert_eq!(log.lock().lost, 3);
        fs::remove_file(&path).unwrap();
        log.reopen().unwrap();
        log.write_all(b"kept\n").unwrap();
        assert_eq!(log.lock().lost, 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), "kept\n");
        fs::remove_dir_all(&folder).unwrap();
    }
}

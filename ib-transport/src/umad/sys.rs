//! The system calls of umad, each by the C library's own symbol.
//!
//! ibsim's preloaded library replaces exactly `open close read write ioctl poll opendir scandir` and hands
//! out file numbers that the kernel does not know. So these calls go through those symbols and no
//! others, the number stays a plain `c_int`, and `std::fs::File` (which binds `open64`) is not used.

use std::{
    ffi::{CString, c_int},
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd},
    path::Path,
    time::Duration,
};

use zerocopy::{FromBytes, IntoBytes};

/// The calls of an open user MAD file; in tests a scripted kernel answers them.
pub(super) trait UserMadFile: AsFd {
    /// Reads once. `None`: nothing is there now.
    fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Writes `bytes` in one call.
    fn write(&self, bytes: &[u8]) -> io::Result<usize>;

    /// A control call whose argument is read and written in place; `REQUEST` names the size of `T`.
    fn ioctl<const REQUEST: u32, T: FromBytes + IntoBytes>(
        &self,
        argument: &mut T,
    ) -> io::Result<()>;

    /// A control call without an argument.
    fn ioctl_plain(&self, request: u32) -> io::Result<()>;
}

/// An open file number; closed when dropped.
#[derive(Debug)]
pub(super) struct Fd(c_int);

impl Fd {
    /// Opens `path` with `flags` and `O_CLOEXEC`.
    pub(super) fn open(path: &Path, flags: c_int) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_encoded_bytes())?;
        // SAFETY: `path` is a NUL-terminated string that lives through the call.
        let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) };
        if fd < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(Self(fd))
        }
    }
}

impl UserMadFile for Fd {
    fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        // SAFETY: the pointer and the length are those of one live, exclusive slice.
        let n = unsafe { libc::read(self.0, buffer.as_mut_ptr().cast(), buffer.len()) };
        match usize::try_from(n) {
            Ok(n) => Ok(Some(n)),
            // The preloaded library returns -EAGAIN as the value and leaves errno alone.
            Err(_) if n < -1 => Ok(None),
            Err(_) => {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
                    _ => Err(error),
                }
            }
        }
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            // SAFETY: the pointer and the length are those of one live slice.
            let n = unsafe { libc::write(self.0, bytes.as_ptr().cast(), bytes.len()) };
            if let Ok(n) = usize::try_from(n) {
                return Ok(n);
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    fn ioctl<const REQUEST: u32, T: FromBytes + IntoBytes>(
        &self,
        argument: &mut T,
    ) -> io::Result<()> {
        const { assert!((REQUEST >> 16 & 0x3fff) as usize == size_of::<T>()) };
        // SAFETY: bits 29..16 of a request are the size of the argument that the kernel reads and
        // writes; `T` has that size, which was just checked, and any bytes are a valid `T`.
        let status =
            unsafe { libc::ioctl(self.0, REQUEST.into(), std::ptr::from_mut::<T>(argument)) };
        if status < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }

    fn ioctl_plain(&self, request: u32) -> io::Result<()> {
        // SAFETY: the request takes no argument, the kernel touches no memory of ours.
        let status = unsafe { libc::ioctl(self.0, request.into(), 0) };
        if status < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

impl AsFd for Fd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: the number came from `open` and stays open as long as `self` is borrowed. ibsim's library
        // hands out numbers of its own, which are no files of the kernel.
        unsafe { BorrowedFd::borrow_raw(self.0) }
    }
}

impl Drop for Fd {
    fn drop(&mut self) {
        // SAFETY: the number came from `open` and is closed once, here.
        unsafe { libc::close(self.0) };
    }
}

#[cfg(test)]
impl From<std::os::unix::net::UnixDatagram> for Fd {
    fn from(socket: std::os::unix::net::UnixDatagram) -> Self {
        Self(std::os::fd::IntoRawFd::into_raw_fd(socket))
    }
}

/// Waits until one of `N` files can be read. `false`: the time is over, or a signal came.
pub(super) fn wait_readable<const N: usize>(
    files: [BorrowedFd<'_>; N],
    wait: Option<Duration>,
) -> io::Result<bool> {
    let milliseconds = match wait {
        None => -1,
        // Rounded up: a wait of 0.4 ms must not become a busy loop.
        Some(wait) => c_int::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(c_int::MAX),
    };
    let mut polls = files.map(|file| libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: the pointer and the count are those of one live, exclusive array.
    let ready = unsafe { libc::poll(polls.as_mut_ptr(), N as libc::nfds_t, milliseconds) };
    if ready < 0 {
        let error = io::Error::last_os_error();
        return match error.kind() {
            io::ErrorKind::Interrupted => Ok(false),
            _ => Err(error),
        };
    }
    let readable = |poll: &libc::pollfd| poll.revents & libc::POLLIN != 0;
    let gone = |poll: &libc::pollfd| poll.revents & (libc::POLLERR | libc::POLLHUP) != 0;
    if polls.iter().any(readable) {
        Ok(true)
    } else if polls.iter().any(gone) {
        Err(io::Error::from_raw_os_error(libc::ENODEV))
    } else {
        Ok(false)
    }
}

/// The text of a small file such as those of sysfs, trimmed.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let file = Fd::open(path, libc::O_RDONLY)?;
    let mut buffer = [0; 4096];
    // A signal leaves a read without text once; a driver that has none to give does each time.
    let n = (0..8)
        .find_map(|_| file.read(&mut buffer).transpose())
        .unwrap_or_else(|| Err(io::ErrorKind::WouldBlock.into()))?;
    let bytes = buffer.get(..n).unwrap_or(&buffer);
    Ok(String::from_utf8_lossy(bytes)
        .trim_matches(['\0', '\n', ' '])
        .to_owned())
}

/// The names in a directory, sorted; `opendir` is one of the replaced symbols.
pub(super) fn list(path: &Path) -> io::Result<Vec<String>> {
    let mut names: Vec<String> = std::fs::read_dir(path)?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    Ok(names)
}

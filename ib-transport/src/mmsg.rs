//! Several datagrams of a socket in one system call: sendmmsg and recvmmsg of Linux.
//!
//! A system call costs about a quarter of what sending a management datagram over a local socket costs. The client of
//! ibsim's protocol and the simulator's server exchange many datagrams at a time, so they send and receive up to
//! [`MAX_BATCH`] of them by one call.

use std::{
    array, fmt,
    io::{self, IoSlice},
    mem::MaybeUninit,
    os::fd::{AsFd, AsRawFd as _},
    ptr,
};

use rustix::{
    io::Errno,
    net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg},
};
use zerocopy::{Immutable, IntoBytes};

/// Greatest number of datagrams of one system call. A larger one saves little, and the other side waits for longer until
/// a batch is complete.
pub const MAX_BATCH: usize = 16;

/// Sends messages over a connected socket, in their order and without waiting: the first [`MAX_BATCH`] of them at most.
///
/// Returns the number of messages that were sent. If that is fewer, the next message cannot be sent now, and another
/// call says why.
///
/// # Errors
/// The system's, if the first message cannot be sent: AGAIN or NOBUFS if there is no room for it now.
pub fn send_batch<T>(socket: impl AsFd, messages: &[T]) -> Result<usize, Errno>
where
    T: IntoBytes + Immutable,
{
    let parts: [_; MAX_BATCH] = array::from_fn(|index| {
        let message = messages.get(index);
        [IoSlice::new(message.map_or(&[], IntoBytes::as_bytes))]
    });
    let mut no_control: [SendAncillaryBuffer<'_, '_, '_>; MAX_BATCH] = Default::default();
    let mut parts = parts.iter();
    let mut headers = no_control.each_mut().map(|no_control| {
        let part = parts.next().map_or(&[][..], |part| part);
        MMsgHdr::new(part, no_control)
    });
    let count = messages.len().min(MAX_BATCH);
    let Some(headers) = headers.get_mut(..count).filter(|some| !some.is_empty()) else {
        return Ok(0);
    };
    sendmmsg(socket, headers, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
}

/// Datagrams of up to `N` bytes that were read from a socket together.
pub struct Arrivals<const N: usize> {
    buffers: Box<[[u8; N]]>,
    /// The lengths of the datagrams.
    lengths: [usize; MAX_BATCH],
    /// Number of datagrams.
    count: usize,
}

impl<const N: usize> Default for Arrivals<N> {
    fn default() -> Self {
        Self {
            buffers: vec![[0; N]; MAX_BATCH].into_boxed_slice(),
            lengths: [0; MAX_BATCH],
            count: 0,
        }
    }
}

impl<const N: usize> fmt::Debug for Arrivals<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<const N: usize> Arrivals<N> {
    /// Reads the datagrams that are there now, [`MAX_BATCH`] at most, and forgets those of the read before. Does not
    /// wait.
    ///
    /// # Errors
    /// The system's: AGAIN if there are no datagrams. After an error there are none here either.
    #[allow(
        unsafe_code,
        reason = "neither rustix nor the standard library has recvmmsg"
    )]
    pub fn read(&mut self, socket: impl AsFd) -> Result<(), Errno> {
        self.count = 0;
        // SAFETY: all fields of `iovec` and `mmsghdr` are integers and pointers, for which zero is a value.
        let mut parts: [libc::iovec; MAX_BATCH] = unsafe { MaybeUninit::zeroed().assume_init() };
        // SAFETY: as above.
        let mut headers: [libc::mmsghdr; MAX_BATCH] =
            unsafe { MaybeUninit::zeroed().assume_init() };
        for ((buffer, part), header) in self.buffers.iter_mut().zip(&mut parts).zip(&mut headers) {
            part.iov_base = buffer.as_mut_ptr().cast();
            part.iov_len = N;
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: `headers` has MAX_BATCH elements, as the length says, and each one has one element of `parts`, which
        // has the address and the length of a buffer that `self` owns. All three live through the call, nothing else
        // refers to the buffers meanwhile, and the kernel keeps no address after the call. There is no time-out.
        let received = unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                headers.as_mut_ptr(),
                MAX_BATCH as _,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        };
        let Ok(count) = usize::try_from(received) else {
            let error = io::Error::last_os_error();
            return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
        };
        for (length, header) in self.lengths.iter_mut().zip(&headers).take(count) {
            *length = header.msg_len as usize;
        }
        self.count = count;
        Ok(())
    }

    /// Returns true if the read found as many datagrams as one call takes: there may be more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.count >= MAX_BATCH
    }

    /// Number of datagrams of the last read.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns true if the last read found no datagram.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A datagram of the last read, by its place in the order of arrival. A longer one is cut at `N` bytes.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        let length = self.lengths.get(..self.count)?.get(index)?;
        self.buffers.get(index)?.get(..*length)
    }

    /// The datagrams of the last read, in the order of their arrival. A longer one is cut at `N` bytes.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.count).filter_map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    fn message(number: usize) -> [u8; 4] {
        (number as u32).to_be_bytes()
    }

    /// All that arrives at a socket.
    fn drain(socket: &UnixDatagram) -> Vec<Vec<u8>> {
        let mut arrivals = Arrivals::<5>::default();
        let mut all = Vec::new();
        loop {
            match arrivals.read(socket) {
                Ok(()) => all.extend(arrivals.iter().map(<[u8]>::to_vec)),
                Err(error) => {
                    assert_eq!(error, Errno::AGAIN);
                    assert!(arrivals.is_empty());
                    return all;
                }
            }
        }
    }

    #[test]
    fn messages_arrive_in_their_order_a_batch_at_a_time() {
        let (from, to) = UnixDatagram::pair().unwrap();
        let messages: Vec<_> = (0..MAX_BATCH + 3).map(message).collect();
        assert_eq!(send_batch(&from, &messages), Ok(MAX_BATCH));
        assert_eq!(send_batch(&from, &messages[MAX_BATCH..]), Ok(3));
        let mut arrivals = Arrivals::<5>::default();
        arrivals.read(&to).unwrap();
        assert!(arrivals.is_full());
        let first: Vec<_> = arrivals.iter().collect();
        assert_eq!(first, messages[..MAX_BATCH]);
        arrivals.read(&to).unwrap();
        assert_eq!((arrivals.len(), arrivals.is_full()), (3, false));
        assert_eq!(arrivals.get(2), Some(&messages[MAX_BATCH + 2][..]));
        assert_eq!(arrivals.get(3), None);
        assert_eq!(arrivals.read(&to), Err(Errno::AGAIN));
        assert_eq!(arrivals.get(0), None);
    }

    #[test]
    fn no_messages_are_no_call() {
        let (from, to) = UnixDatagram::pair().unwrap();
        drop(to);
        assert_eq!(send_batch::<[u8; 4]>(&from, &[]), Ok(0));
    }

    #[test]
    fn a_message_of_another_length_keeps_its_length_and_a_long_one_is_cut() {
        let (from, to) = UnixDatagram::pair().unwrap();
        for length in [0, 4, 5, 9] {
            from.send(&[7; 9][..length]).unwrap();
        }
        let lengths: Vec<_> = drain(&to).iter().map(Vec::len).collect();
        assert_eq!(lengths, [0, 4, 5, 5]);
    }

    #[test]
    fn what_has_no_room_is_not_sent_and_can_be_sent_later() {
        let (from, to) = UnixDatagram::pair().unwrap();
        let messages: Vec<_> = (0..100_000).map(message).collect();
        let mut sent = 0;
        while let Ok(count) = send_batch(&from, &messages[sent..]) {
            sent += count;
        }
        assert!((1..messages.len()).contains(&sent), "{sent}");
        assert_eq!(send_batch(&from, &messages[sent..]), Err(Errno::AGAIN));
        assert_eq!(drain(&to), messages[..sent]);
        assert_eq!(
            send_batch(&from, &messages[sent..]),
            Ok(MAX_BATCH),
            "there is room again"
        );
        assert_eq!(drain(&to), messages[sent..][..MAX_BATCH]);
    }

    #[test]
    fn a_receiver_that_is_gone_is_an_error() {
        let (from, to) = UnixDatagram::pair().unwrap();
        drop(to);
        assert!(send_batch(&from, &[message(1)]).is_err_and(|error| error != Errno::AGAIN));
    }
}

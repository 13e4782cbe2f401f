//! Messages on a data socket: one in each datagram as ibsim has them, or several if both sides agreed to that.
//!
//! The kernel's work for a datagram (memory for it, its place in a queue, waking the receiver) costs several times what
//! copying 288 bytes costs, so that joined messages take a fraction of the processor time.

use std::os::fd::AsFd;

use rustix::{
    io::Errno,
    net::{SendFlags, send},
};
use zerocopy::{FromBytes, IntoBytes};

use super::Datagram;
use crate::mmsg::{Arrivals, MAX_BATCH, send_batch};

/// Greatest number of messages in one datagram of a data socket.
pub const MAX_JOINED: usize = MAX_BATCH;

/// Bytes of the longest datagram of a data socket.
const MAX_LEN: usize = MAX_JOINED * Datagram::LEN;

/// Sends messages over a connected data socket, in their order and without waiting: up to `per_datagram` of them in each
/// datagram, [`MAX_JOINED`] at most. Numbers below 2 mean one message in each, which every peer takes.
///
/// Returns the number of messages that were sent. If that is fewer, another call sends the next ones or says why it cannot.
///
/// # Errors
/// The error of the operating system if the first datagram cannot be sent: AGAIN or NOBUFS if there is no room for it
/// now.
pub fn send_messages(
    socket: impl AsFd,
    messages: &[Datagram],
    per_datagram: usize,
) -> Result<usize, Errno> {
    let count = messages.len().min(per_datagram).min(MAX_JOINED);
    match messages.get(..count) {
        Some(joined) if count > 1 => {
            let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
            send(socket, joined.as_bytes(), flags).map(|_| count)
        }
        _ => send_batch(socket, messages),
    }
}

/// Messages that were read from a data socket together, each in a datagram of its own or joined with others.
///
/// A datagram whose length is no multiple of a message's, or that has more than [`MAX_JOINED`] messages, holds none.
#[derive(Debug, Default)]
pub struct Messages {
    // One byte more than the longest datagram shows a longer one.
    arrivals: Arrivals<{ MAX_LEN + 1 }>,
}

impl Messages {
    /// Reads the datagrams that are there now, a batch at most, and forgets the messages of the read before. Does not wait.
    ///
    /// # Errors
    /// The error of the operating system: AGAIN if there are no datagrams. After an error [`iter`](Self::iter) is
    /// empty.
    pub fn read(&mut self, socket: impl AsFd) -> Result<(), Errno> {
        self.arrivals.read(socket)
    }

    /// Returns true if the read found as many datagrams as one call takes: there may be more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.arrivals.is_full()
    }

    /// The messages of the last read, in the order of their arrival.
    pub fn iter(&self) -> impl Iterator<Item = &Datagram> {
        let datagrams = self.arrivals.iter();
        datagrams.flat_map(|bytes| <[Datagram]>::ref_from_bytes(bytes).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use zerocopy::FromZeros as _;

    use super::*;

    fn numbered(count: u32) -> Vec<Datagram> {
        let message = |number: u32| Datagram {
            status: number.into(),
            ..Datagram::new_zeroed()
        };
        (0..count).map(message).collect()
    }

    fn numbers(messages: &Messages) -> Vec<u32> {
        messages
            .iter()
            .map(|message| message.status.get())
            .collect()
    }

    #[test]
    fn as_many_messages_as_allowed_share_a_datagram() {
        let messages = numbered(40);
        for (per_datagram, datagrams) in [(0, 16), (1, 16), (2, 1), (5, 1), (16, 1), (99, 1)] {
            let (from, to) = UnixDatagram::pair().unwrap();
            to.set_nonblocking(true).unwrap();
            let sent = send_messages(&from, &messages, per_datagram).unwrap();
            let expected = match per_datagram {
                0 | 1 => MAX_BATCH,
                joined => joined.min(MAX_JOINED),
            };
            assert_eq!(sent, expected);
            let mut lengths = Vec::new();
            let mut space = [0; 2 * MAX_LEN];
            while let Ok(length) = to.recv(&mut space) {
                lengths.push(length);
            }
            assert_eq!(lengths, vec![Datagram::LEN * sent / datagrams; datagrams]);
        }
    }

    #[test]
    fn joined_and_single_messages_are_read_in_their_order() {
        let (from, to) = UnixDatagram::pair().unwrap();
        let sent = numbered(20);
        let mut rest = &sent[..];
        for per_datagram in [3, 16] {
            let count = send_messages(&from, rest, per_datagram).unwrap();
            rest = &rest[count..];
        }
        assert_eq!(send_messages(&from, rest, 1), Ok(1));
        let mut messages = Messages::default();
        messages.read(&to).unwrap();
        assert!(!messages.is_full());
        assert_eq!(numbers(&messages), Vec::from_iter(0..20));
        assert_eq!(messages.read(&to), Err(Errno::AGAIN));
        assert_eq!(numbers(&messages), []);
    }

    #[test]
    fn a_datagram_of_another_length_has_no_message() {
        let (from, to) = UnixDatagram::pair().unwrap();
        for length in [
            0,
            1,
            287,
            289,
            MAX_LEN - 1,
            MAX_LEN + 1,
            MAX_LEN + Datagram::LEN,
        ] {
            from.send(&vec![0xa5; length]).unwrap();
        }
        from.send(numbered(1).as_bytes()).unwrap();
        let mut messages = Messages::default();
        messages.read(&to).unwrap();
        assert_eq!(numbers(&messages), [0]);
    }
}

//! Times and limits of RMPP transfers.

use core::time::Duration;

use crate::RespTime;

/// Times and limits of RMPP transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RmppConfig {
    /// Segments that a receiver lets the sender send before it acknowledges: 1..=128.
    pub window: u32,
    /// Number of times that a sender repeats a window that is not acknowledged.
    pub retries: u32,
    /// Twice the longest time of a packet on its path.
    pub path_time: Duration,
    /// Time that this side takes to answer, which its packets announce to other senders.
    pub resp_time: RespTime,
    /// Longest wait for an acknowledgement, whatever the peer says of its response time.
    pub max_wait: Duration,
    /// Longest time of a transfer at the receiver, from its first segment.
    pub total_time: Duration,
    /// Longest wait of a receiver for the next segment: as long as a sender takes to give up.
    pub idle_time: Duration,
    /// Time for which a receiver remembers a transfer that is complete, to acknowledge it again.
    pub keep_time: Duration,
    /// Longest message in bytes that a receiver takes.
    pub max_message: usize,
    /// Transfers that are received or remembered at once.
    pub max_receivers: usize,
    /// Bytes of all messages together that are being received.
    pub max_memory: usize,
    /// Messages that are sent at once.
    pub max_senders: usize,
    /// Messages that are sent at once to one port.
    pub max_senders_per_port: usize,
    /// Bytes of all messages together that are being sent; one message is sent whatever its length.
    pub max_send_memory: usize,
    /// True if every peer acknowledges. Preloaded clients of ibsim do not: they take the first segment for the
    /// message, and what comes after it reaches the next client in the same place. Where this is false, the first
    /// segments go once, and a transfer that is not acknowledged at all ends without an ABORT. An acknowledged
    /// one goes on as any other.
    pub peers_acknowledge: bool,
}

impl Default for RmppConfig {
    /// The Linux kernel's times and window, which has no `idle_time`; messages of up to 16 MiB are received,
    /// 64 MiB in all, and 256 MiB sent in 256 messages, 64 to one port.
    fn default() -> Self {
        Self {
            window: 64,
            retries: 7,
            path_time: Duration::from_millis(500),
            resp_time: RespTime::from_bits(16),
            max_wait: Duration::from_secs(2),
            total_time: Duration::from_secs(40),
            idle_time: Duration::from_secs(16),
            keep_time: Duration::from_secs(10),
            max_message: 16 << 20,
            max_receivers: 1024,
            max_memory: 64 << 20,
            max_senders: 256,
            max_senders_per_port: 64,
            max_send_memory: 256 << 20,
            peers_acknowledge: true,
        }
    }
}

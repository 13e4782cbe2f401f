//! Limits and times of a communication manager.

use core::time::Duration;

use ib_wire::Guid;

use ib_mad::{RespTime, TransactionId};

/// Limits and defaults of a [`CommunicationManager`](super::CommunicationManager).
///
/// Time-outs and repetitions of a connection are not here: its REQ has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CmConfig {
    /// GUID of the own CA.
    pub ca_guid: Guid,
    /// Time for which a packet travels to a peer whose path is not known: of connections that others open.
    pub packet_life_time: RespTime,
    /// No peer makes us wait longer for one message, whatever its REQ or MRA says.
    pub max_wait: Duration,
    /// Connections, those that are being set up, taken down or forgotten included.
    pub max_connections: usize,
    /// Service ID resolutions of our own that are open.
    pub max_resolutions: usize,
    /// Service ID resolutions of others that are open or remembered.
    pub max_queries: usize,
    /// Time to wait for the answer to a SIDR_REQ, which has no time-out of its own.
    pub resolve_timeout: Duration,
    /// Number of times to repeat a SIDR_REQ.
    pub resolve_retries: u8,
    /// Time for which a resolution for another party is kept, so that its repetition gets the same answer.
    pub query_keep_time: Duration,
    /// Answers to messages of no connection that may wait to be sent; more are dropped.
    pub max_replies: usize,
    /// The first number that is given to a connection; 0 is left out.
    pub first_communication_id: u32,
    /// The ID of the first exchange; the high half stays, the low half counts up.
    pub first_transaction_id: TransactionId,
}

impl Default for CmConfig {
    /// 4.3 s and 15 repetitions for a resolution, as Linux has them.
    fn default() -> Self {
        Self {
            ca_guid: Guid(0),
            packet_life_time: RespTime::from_bits(18),
            max_wait: Duration::from_secs(70),
            max_connections: 4096,
            max_resolutions: 1024,
            max_queries: 1024,
            resolve_timeout: RespTime::from_bits(20).duration(),
            resolve_retries: 15,
            query_keep_time: Duration::from_secs(10),
            max_replies: 64,
            first_communication_id: 1,
            first_transaction_id: TransactionId(1),
        }
    }
}

/// Parameters of a connection that its REQ does not contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Time for which a packet travels to the peer: `packet_life_time` of the path record.
    pub packet_life_time: RespTime,
    /// The peer connects too, to the same service: both REQs make one connection.
    pub peer_to_peer: bool,
}

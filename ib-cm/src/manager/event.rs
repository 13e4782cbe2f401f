//! Events of a communication manager, and the errors of its calls.

use thiserror::Error;

use super::ConnectionState;
use crate::{Apr, Drep, Dreq, Lap, Rej, Rep, Req, Rtu, SidrRep, SidrReq};
use ib_mad::MadAddress;

/// A connection, by its local communication ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u32);

/// A service ID resolution of our own, by its request ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResolutionId(pub u32);

/// A service ID resolution that another party asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueryId(pub u64);

/// An event of a [`CommunicationManager`](super::CommunicationManager).
///
/// Every connection ends with one [`Closed`](Self::Closed), and after its TimeWait with one
/// [`Released`](Self::Released).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "an event lives until it is polled; a box would cost an allocation for each message"
)]
pub enum CmEvent {
    /// A peer wants to connect: accept, reject or delay. A peer-to-peer connection of our own may come back
    /// so: the other side's REQ counts.
    Requested {
        /// Handle for later calls about the connection.
        connection: ConnectionId,
        /// The request.
        req: Req,
        /// Address of the peer.
        address: MadAddress,
    },
    /// The other side accepts our REQ: confirm, reject or delay.
    Replied {
        /// The connection that was requested here.
        connection: ConnectionId,
        /// The peer's REP, with its private data.
        rep: Rep,
    },
    /// A connection that we accepted is established.
    Established {
        /// The connection that is now established.
        connection: ConnectionId,
        /// The other side's words; `None` if its data came first.
        rtu: Option<Rtu>,
    },
    /// A connection is over. Whatever else was open on it is over too.
    Closed {
        /// The connection that is closed.
        connection: ConnectionId,
        /// Cause of the end.
        reason: CloseReason,
    },
    /// No packet of a closed connection can arrive any more: its queue pair may be used again.
    Released {
        /// The connection whose handle is no longer valid.
        connection: ConnectionId,
    },
    /// The other side offers an alternate path: answer or delay.
    PathOffered {
        /// The connection whose peer offers a path.
        connection: ConnectionId,
        /// The peer's LAP, with the path that it offers.
        lap: Lap,
    },
    /// The other side has taken or refused our alternate path, as `apr.ap_status` says.
    PathAnswered {
        /// The connection whose path was offered.
        connection: ConnectionId,
        /// The peer's APR, with its decision.
        apr: Apr,
    },
    /// Our alternate path was not answered; the connection stays established.
    PathTimedOut {
        /// The connection whose path was offered.
        connection: ConnectionId,
    },
    /// Our resolution was answered: the service was found or not, as `answer.status` says.
    Resolved {
        /// The resolution that [`resolve`](super::CommunicationManager::resolve) began.
        resolution: ResolutionId,
        /// The peer's SIDR_REP.
        answer: SidrRep,
    },
    /// Our resolution was not answered.
    ResolveTimedOut {
        /// The resolution that was given up.
        resolution: ResolutionId,
    },
    /// A peer asks for the queue pair of a service.
    Queried {
        /// Handle for the answer.
        query: QueryId,
        /// The peer's SIDR_REQ, with its private data.
        req: SidrReq,
        /// Address of the peer.
        address: MadAddress,
    },
}

/// Why a connection is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::large_enum_variant,
    reason = "it is part of an event, which is not boxed either"
)]
pub enum CloseReason {
    /// The other side rejects it; [`Rej::information`] says what would have been right.
    Rejected(Rej),
    /// Our own consumer rejected it.
    RejectedHere,
    /// The other side never answered.
    TimedOut,
    /// The other side takes it down.
    DisconnectedByPeer(Dreq),
    /// We took it down, and the other side knows.
    Disconnected(Drep),
    /// We took it down; the other side never answered.
    DisconnectTimedOut,
    /// The other side has given its queue pair to another connection: it has forgotten this one.
    Stale,
}

/// Why a communication manager refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CmError {
    /// There is no such connection, resolution or question, or no more.
    #[error("no connection or request has this number")]
    Unknown,
    /// The connection is in another state.
    #[error("the connection is in state {state:?}, which does not permit this")]
    WrongState {
        /// State that the connection is in.
        state: ConnectionState,
    },
    /// An alternate path is offered by the side that connected (IBA vol. 1, 12.8).
    #[error("the side that accepted the connection offers no alternate path")]
    Passive,
    /// An alternate path is on offer already.
    #[error("an alternate path was offered already and is not answered yet")]
    PathOnOffer,
    /// As many are open as may be.
    #[error("too many connections and requests are open")]
    TooMany,
}

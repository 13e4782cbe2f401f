//! RMPP: messages of many datagrams (IBA vol. 1, 13.6).

mod header;

pub use header::{RmppAbort, RmppAck, RmppData, RmppHeader, RmppStatus, RmppStop, RmppType};

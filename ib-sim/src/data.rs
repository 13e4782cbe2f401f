//! Data packets between ports.

/// A data packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataPacket {
    /// What it carries.
    pub payload: Vec<u8>,
}

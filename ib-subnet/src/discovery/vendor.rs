//! Devices whose speed is shown only by an attribute of their vendor.

use ib_smp::NodeInfo;

/// Returns true if the device may run FDR10: Mellanox ConnectX-3 to ConnectX-7 and SwitchX to Quantum-2, and
/// Bull's of the same chips. Source: device numbers in rdma-core, `libibnetdisc`.
pub(crate) fn has_vendor_speeds(info: &NodeInfo) -> bool {
    const BULL: u32 = 0x119f;
    match info.device_id() {
        0xc738..=0xc73b | 0xc839 | 0xcb20 | 0xcf08 | 0xcf09 | 0xd2f0 => true,
        0x1003..=0x101b | 0xa2d2 => true,
        0x1b02 | 0x1b50 | 0x1ba0 | 0x1bd0..=0x1bd5 | 0x1bf0 => info.vendor_id() == BULL,
        0x1b33
        | 0x1b73
        | 0x1b40
        | 0x1b41
        | 0x1b60
        | 0x1b61
        | 0x1b83
        | 0x1b93
        | 0x1b94
        | 0x1bb4
        | 0x1bb5
        | 0x1bc4..=0x1bc6 => info.vendor_id() == BULL,
        _ => false,
    }
}

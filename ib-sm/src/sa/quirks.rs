//! Devices with known faults, and the limits of paths to them (`enable_quirks`).
//!
//! Each rule is a row: vendors, device, and the limit. Source of the rows: OpenSM, `osm_sa_path_record.c`.

use ib_sa::{PathComponents, PathRecord, Selector};
use ib_smp::NodeInfo;
use ib_subnet::PortId;
use ib_wire::Mtu;

use super::View;

/// A rule for one device.
struct Quirk {
    /// Vendor IDs under which it is sold.
    vendors: &'static [u32],
    device: u16,
    /// The largest MTU at which the device reaches its full speed.
    mtu: Mtu,
}

static QUIRKS: &[Quirk] = &[
    // InfiniHost (Tavor), of Mellanox, Topspin, SilverStorm and Voltaire.
    Quirk {
        vendors: &[0x0002c9, 0x0005ad, 0x00066a, 0x0008f1],
        device: 23108,
        mtu: Mtu::MTU_1024,
    },
];

/// Lowers the MTU of a path with such a device at an end, unless the request needs a larger one.
pub(super) fn apply(
    view: View<'_>,
    ends: [PortId; 2],
    path: &mut PathRecord,
    template: &PathRecord,
    given: PathComponents,
) {
    if !view.config.enable_quirks {
        return;
    }
    for end in ends {
        let node = view.subnet.node(end.node);
        let Some(quirk) = node.and_then(|node| quirk_of(node.info())) else {
            continue;
        };
        if !needs_more(quirk.mtu, template, given) {
            path.set_mtu(path.mtu().min(quirk.mtu));
        }
    }
}

fn quirk_of(info: &NodeInfo) -> Option<&'static Quirk> {
    let fits = |quirk: &&Quirk| {
        quirk.device == info.device_id() && quirk.vendors.contains(&info.vendor_id())
    };
    QUIRKS.iter().find(fits)
}

/// Returns true if a request asks for an MTU that `mtu` does not exceed, or for the largest one available.
fn needs_more(mtu: Mtu, template: &PathRecord, given: PathComponents) -> bool {
    if !given.contains(PathComponents::MTU_SELECTOR) {
        return false;
    }
    let selector = template.mtu_selector();
    selector == Selector::LARGEST_AVAILABLE
        || (given.contains(PathComponents::MTU)
            && match selector {
                // Exactly `mtu` is what the path has in both cases.
                Selector::GREATER_THAN | Selector::EXACTLY => template.mtu() >= mtu,
                _ => false,
            })
}

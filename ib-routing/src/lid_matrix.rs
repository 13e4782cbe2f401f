//! The LID matrix: the hops from every switch through each of its ports to every switch LID.
//!
//! A file may say other hops than the cables do: the engine `file` then routes by what it says
//! ([`RouteOptions::lid_matrix`](crate::RouteOptions::lid_matrix)).

use alloc::{collections::BTreeMap, vec::Vec};

use ib_wire::{Guid, Lid, PortNum};

/// Hops of a port that no path begins at.
const NO_PATH: u8 = 0xff;

/// Hops through each port of each switch to switch LIDs, as a file says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LidMatrix {
    rows: BTreeMap<(Guid, Lid), Vec<u8>>,
}

impl LidMatrix {
    /// Takes the hops from `switch` to `lid`: one for each port, from port 0 on.
    pub fn insert(&mut self, switch: Guid, lid: Lid, hops: Vec<u8>) {
        self.rows.insert((switch, lid), hops);
    }

    /// The ports of a switch with the least hops to a LID; none where the file says nothing.
    pub fn best_ports(&self, switch: Guid, lid: Lid) -> impl Iterator<Item = PortNum> + '_ {
        let row = self.rows.get(&(switch, lid)).map_or(&[][..], Vec::as_slice);
        let ports = || (0..=u8::MAX).zip(row).skip(1);
        let least = ports().map(|(_, &hops)| hops).min().unwrap_or(NO_PATH);
        ports()
            .filter(move |&(_, &hops)| hops == least && hops != NO_PATH)
            .map(|(port, _)| PortNum(port))
    }
}

//! The partitions in which packets pass along a path.
//!
//! A packet carries a P_Key of its sender. The receiver drops it unless its own table has a matching one, and so does a
//! switch port on the way that enforces partitions and does not have the key. Management packets are not affected.

use alloc::vec::Vec;

use ib_routing::PortRef;
use ib_wire::PKey;

use crate::{
    snapshot::{Snapshot, SnapshotPort},
    trace::Path,
};

/// The partitions of the two ends of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPartitions {
    /// The P_Keys of the sender.
    pub at_start: Vec<PKey>,
    /// The P_Keys of the receiver.
    pub at_end: Vec<PKey>,
    /// The P_Keys of the sender with which packets arrive.
    pub passing: Vec<PKey>,
    /// The P_Keys that match at both ends, and the first port on the path that drops packets with them.
    pub dropped: Vec<(PKey, PortRef)>,
}

impl Snapshot {
    /// The partitions in which packets pass along a path; `None` if the P_Key table of an end was not read.
    #[must_use]
    pub fn path_partitions(&self, path: &Path) -> Option<PathPartitions> {
        let keys = |at: PortRef| -> Option<Vec<PKey>> {
            let node = self.node(at.node)?;
            let port = node.port(node.managing_port(at.port))?;
            (!port.p_keys.is_empty()).then(|| port.p_keys().collect())
        };
        let at_start = keys(path.hops.first()?.input)?;
        let at_end = keys(path.hops.last()?.input)?;
        let (mut passing, mut dropped) = (Vec::new(), Vec::new());
        for &key in &at_start {
            if !at_end.iter().any(|other| other.matches(key)) {
                continue;
            }
            match self.drops(path, key) {
                Some(at) => dropped.push((key, at)),
                None => passing.push(key),
            }
        }
        Some(PathPartitions {
            at_start,
            at_end,
            passing,
            dropped,
        })
    }

    /// The first switch port on a path that drops packets with this key.
    fn drops(&self, path: &Path, key: PKey) -> Option<PortRef> {
        let switches = path.hops.iter().filter(|hop| {
            let node = self.node(hop.input.node);
            node.is_some_and(|node| node.is_switch())
        });
        let ports = switches.flat_map(|hop| {
            let output = hop.output.map(|port| PortRef { port, ..hop.input });
            [(Some(hop.input), true), (output, false)]
        });
        let mut ports = ports.filter_map(|(at, is_input)| Some((at?, is_input)));
        let dropping = ports.find(|&(at, is_input)| {
            let port = self.port(at);
            port.is_some_and(|port| enforces(port, is_input) && lacks(port, key))
        });
        dropping.map(|(at, _)| at)
    }
}

/// Returns true if an external port of a switch drops packets of other partitions: those that come in, or those that go
/// out.
fn enforces(port: &SnapshotPort, is_input: bool) -> bool {
    port.info.is_some_and(|info| match is_input {
        true => info.partition_enforcement_inbound(),
        false => info.partition_enforcement_outbound(),
    })
}

/// Returns true if the table of a port was read and has no key of this partition.
fn lacks(port: &SnapshotPort, key: PKey) -> bool {
    !port.p_keys.is_empty() && port.p_keys().all(|own| own.base() != key.base())
}

#[cfg(test)]
mod tests {
    use ib_routing::PortRef;
    use ib_smp::PartitionKeyTable;
    use ib_wire::{PKey, Sl};

    use crate::{Snapshot, testing::brought_up};

    fn set_keys(snapshot: &mut Snapshot, at: PortRef, keys: &[u16]) {
        let mut table = PartitionKeyTable::default();
        for (entry, &key) in keys.iter().enumerate() {
            table.set_p_key_block(entry, PKey(key));
        }
        let port = snapshot.port_mut(at).unwrap();
        port.p_keys = [(0, table)].into_iter().collect();
    }

    #[test]
    fn packets_pass_in_partitions_that_both_ends_share_and_no_switch_drops() {
        let mut snapshot = brought_up("gen-karyn-4-2");
        let mut hosts = snapshot.ports().filter(|(_, node, _)| !node.is_switch());
        let from = hosts.next().unwrap().0;
        let to = hosts.last().unwrap().0;
        let lid = snapshot.port(to).unwrap().lid();
        let path = snapshot.path_to(from, to, lid, Sl::ZERO);
        let partitions = |snapshot: &Snapshot| snapshot.path_partitions(&path).unwrap();
        set_keys(&mut snapshot, from, &[0x7fff, 0x8001, 0x8002]);
        set_keys(&mut snapshot, to, &[0xffff, 0x8003, 0x0001]);
        // A limited member reaches a full one.
        assert_eq!(partitions(&snapshot).passing, [PKey(0x7fff), PKey(0x8001)]);
        set_keys(&mut snapshot, to, &[0x7fff, 0x8003]);
        let none = partitions(&snapshot);
        assert_eq!((none.passing, none.dropped), ([].into(), [].into()));
        // The switch before the receiver has one of the two common partitions.
        set_keys(&mut snapshot, to, &[0xffff, 0x8001]);
        let last = snapshot.port(to).unwrap().peer.unwrap();
        set_keys(&mut snapshot, last, &[0xffff]);
        assert_eq!(partitions(&snapshot).passing.len(), 2);
        let info = snapshot.port_mut(last).unwrap().info.as_mut().unwrap();
        info.set_partition_enforcement_outbound(true);
        let found = partitions(&snapshot);
        assert_eq!(found.passing, [PKey(0x7fff)]);
        assert_eq!(found.dropped, [(PKey(0x8001), last)]);
        // A table that was not read says nothing.
        snapshot.port_mut(to).unwrap().p_keys.clear();
        assert_eq!(snapshot.path_partitions(&path), None);
    }
}

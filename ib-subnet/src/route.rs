//! The route of an SMP: directed from end to end, or LID-routed to a switch and directed from there (IBA vol. 1,
//! 14.2.2).
//!
//! A directed route has 63 hops at most. What is further away is reached from a switch whose LID and forwarding tables
//! are in place: the SMP goes there as any packet does, and its directed part begins there. Pitfall: such a route
//! exists only while the tables between the own port and that switch lead there and back.

use alloc::boxed::Box;
use core::cmp::Ordering;

use ib_mad::{AttributeId, Mad, MadAddress, Method};
use ib_smp::{DrPath, SmpDirected};
use ib_wire::{Lid, MKey, PortNum};

use crate::NodeId;

/// The route of an SMP from the own port to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmpRoute {
    /// The LID-routed part with which the route begins; `None` if it is directed from end to end.
    lid_part: Option<LidPart>,
    /// The directed part: the whole route, or what follows the LID-routed part.
    path: DrPath,
}

/// The LID-routed part of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LidPart {
    /// LID of the own port, to which the response returns.
    pub(crate) own: Lid,
    /// LID of the switch where the directed part begins.
    pub(crate) switch: Lid,
}

impl SmpRoute {
    pub(crate) const fn new(lid_part: Option<LidPart>, path: DrPath) -> Self {
        Self { lid_part, path }
    }

    /// The directed part, from the own node or from the switch to which the LID-routed part leads.
    #[must_use]
    pub const fn path(&self) -> &DrPath {
        &self.path
    }

    /// The LID of the switch where the directed part begins; `None` if it begins at the own node.
    #[must_use]
    pub fn start(&self) -> Option<Lid> {
        self.lid_part.map(|part| part.switch)
    }

    /// A request along this route, without data.
    #[must_use]
    pub fn request(
        &self,
        method: Method,
        attribute_id: AttributeId,
        attribute_modifier: u32,
        m_key: MKey,
    ) -> SmpDirected {
        let mut smp = SmpDirected::new(method, attribute_id, attribute_modifier, &self.path);
        smp.set_m_key(m_key);
        if let Some(part) = self.lid_part {
            smp.set_dr_slid(part.own);
        }
        smp
    }

    /// The datagram of a request along this route.
    #[must_use]
    pub fn datagram(&self, request: &SmpDirected) -> Mad {
        request.to(match self.lid_part {
            Some(part) => MadAddress::smi(part.switch),
            None => MadAddress::DIRECTED,
        })
    }
}

/// A route that names the switch where the directed part begins by its number, because its LID may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// The switch where the directed part begins; `None`: the own node.
    pub(crate) start: Option<NodeId>,
    /// The directed part.
    pub(crate) path: DrPath,
}

/// Hops of a route up to which it is stored in place.
const SHORT: usize = 14;

/// A [`Reach`] in less memory. There is one for each node and each port of a CA, and most have few hops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredReach {
    start: Option<NodeId>,
    path: StoredPath,
}

/// A directed route. One of up to [`SHORT`] hops is always `Short`, with zeros after the last hop.
#[derive(Clone, Debug, PartialEq, Eq)]
enum StoredPath {
    Short { hop_count: u8, ports: [u8; SHORT] },
    Long(Box<DrPath>),
}

impl From<&Reach> for StoredReach {
    fn from(reach: &Reach) -> Self {
        let hop_count = reach.path.hop_count();
        let path = if usize::from(hop_count) <= SHORT {
            let mut ports = [0; SHORT];
            for (to, port) in ports.iter_mut().zip(reach.path.ports()) {
                *to = port.0;
            }
            StoredPath::Short { hop_count, ports }
        } else {
            StoredPath::Long(Box::new(reach.path))
        };
        Self {
            start: reach.start,
            path,
        }
    }
}

impl StoredPath {
    /// The ports in order.
    fn ports(&self) -> &[u8] {
        let ports = match self {
            Self::Short { hop_count, ports } => ports.get(..usize::from(*hop_count)),
            Self::Long(path) => path.initial_path().get(1..=usize::from(path.hop_count())),
        };
        ports.unwrap_or_default()
    }
}

impl StoredReach {
    /// Returns true if this is the route that leads to `here` and on by `port`.
    pub(crate) fn is_behind(&self, here: &Self, port: PortNum) -> bool {
        self.start == here.start
            && self.path.ports().split_last() == Some((&port.0, here.path.ports()))
    }

    /// Returns true if the directed part of the route that leads to `here` and on by `port` is shorter than this one, or
    /// equally long and before it in the order of ports.
    pub(crate) fn is_after(&self, here: &Self, port: PortNum) -> bool {
        let (ports, first) = (self.path.ports(), here.path.ports());
        match ports.len().cmp(&first.len().saturating_add(1)) {
            Ordering::Less => false,
            Ordering::Equal => ports
                .split_last()
                .is_some_and(|(last, before)| (before, *last) > (first, port.0)),
            Ordering::Greater => true,
        }
    }

    /// The directed part.
    pub(crate) fn path(&self) -> DrPath {
        match &self.path {
            StoredPath::Short { hop_count, ports } => {
                let ports = ports.map(PortNum);
                let ports = ports.get(..usize::from(*hop_count)).unwrap_or_default();
                DrPath::try_new(ports).unwrap_or_default()
            }
            StoredPath::Long(path) => **path,
        }
    }

    /// The route.
    pub(crate) fn reach(&self) -> Reach {
        Reach {
            start: self.start,
            path: self.path(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ib_smp::NodeInfo;

    use super::*;
    use crate::Subnet;

    #[test]
    fn a_stored_route_of_any_length_is_read_back_as_it_was() {
        let mut reach = Reach::default();
        for hop in 0..=DrPath::MAX_HOPS {
            assert_eq!(StoredReach::from(&reach).reach(), reach);
            if let Some(path) = reach.path.then(PortNum(200 - hop)) {
                reach.path = path;
            }
        }
        assert_eq!(reach.path.hop_count(), DrPath::MAX_HOPS);
    }

    #[test]
    fn a_stored_route_is_behind_another_if_it_is_that_one_and_a_hop_more() {
        let route = |ports: &[u8], start| {
            let ports: alloc::vec::Vec<_> = ports.iter().copied().map(PortNum).collect();
            let path = DrPath::try_new(&ports).unwrap();
            StoredReach::from(&Reach { start, path })
        };
        let here = route(&[1, 2], None);
        assert!(route(&[1, 2, 3], None).is_behind(&here, PortNum(3)));
        assert!(!route(&[1, 2, 3], None).is_behind(&here, PortNum(4)));
        assert!(!route(&[1, 9, 3], None).is_behind(&here, PortNum(3)));
        let start = Subnet::default().add(NodeInfo::default(), Reach::default(), None);
        assert!(!route(&[1, 2, 3], Some(start)).is_behind(&here, PortNum(3)));
        assert!(!route(&[1, 2, 3, 4], None).is_behind(&here, PortNum(3)));
        assert!(!here.is_behind(&here, PortNum(2)));
    }
}

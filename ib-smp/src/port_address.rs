//! The destination of a request, in the four forms that people and tools use.

use core::{fmt, str::FromStr};

use ib_mad::{AttributeId, Mad, MadAddress, Method, MgmtClass};
use ib_wire::{Gid, Guid, Lid, addr::BadAddress};

use crate::{DrPath, SmpDirected, SmpLidRouted};

/// A port, by its directed route, its LID, its GUID or its GID.
///
/// Each prints so that it reads back as itself. A number of up to four hexadecimal digits, or a decimal
/// one, is a LID; a longer one is a GUID.
///
/// ```
/// use ib_smp::{PortAddress, DrPath};
/// use ib_wire::{Guid, Lid, PortNum};
///
/// let route = DrPath::try_new(&[PortNum(1), PortNum(4)]).expect("two hops");
/// assert_eq!("0,1,4".parse(), Ok(PortAddress::Route(route)));
/// assert_eq!("17".parse(), Ok(PortAddress::Lid(Lid(17))));
/// assert_eq!("0x0002c90300a1b2c3".parse(), Ok(PortAddress::Guid(Guid(0x0002_c903_00a1_b2c3))));
/// assert!(matches!("fe80::2:c903:a1:b2c3".parse(), Ok(PortAddress::Gid(_))));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PortAddress {
    /// At the end of a directed route: `0,1,4`.
    Route(DrPath),
    /// At a LID: `17` or `0x11`.
    Lid(Lid),
    /// The port with a GUID: `0x` and 16 digits.
    Guid(Guid),
    /// The port with a GID: `fe80::2:c903:a1:b2c3`.
    Gid(Gid),
}

impl PortAddress {
    /// The destination of a datagram: the end of its directed route if it has one, else its LID.
    #[must_use]
    pub fn of(mad: &Mad) -> Self {
        let is_directed = mad.header().mgmt_class() == MgmtClass::SUBN_DIRECTED;
        let smp = SmpDirected::parse(&mad.bytes, 0).ok();
        let path = smp.filter(|_| is_directed).and_then(|(smp, _)| smp.path());
        path.map_or(Self::Lid(mad.address.lid), Self::Route)
    }

    /// An SMP to the port, whose data and key are still zeros. `None` for a GUID or a GID: only subnet
    /// administration knows the LID.
    #[must_use]
    pub fn smp(&self, method: Method, attribute: AttributeId, modifier: u32) -> Option<Mad> {
        match self {
            Self::Route(path) => Some(SmpDirected::new(method, attribute, modifier, path).to_mad()),
            Self::Lid(lid) => {
                let smp = SmpLidRouted::new(method, attribute, modifier);
                Some(smp.to(MadAddress::smi(*lid)))
            }
            Self::Guid(_) | Self::Gid(_) => None,
        }
    }
}

impl FromStr for PortAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        if text.contains(':') {
            return text.parse().map(Self::Gid);
        }
        if text == "0" || text.contains(',') {
            return text.parse().map(Self::Route);
        }
        // A LID has four digits at most.
        if text.starts_with("0x") && text.len() > 6 {
            return text.parse().map(Self::Guid);
        }
        match text.parse::<Lid>() {
            Ok(lid) if lid.is_unicast() => Ok(Self::Lid(lid)),
            _ => Err(BadAddress {
                name: "port",
                expected: "a directed route as 0,1,4, a LID from 1 to 0xbfff, a GUID or a GID",
            }),
        }
    }
}

impl fmt::Display for PortAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route(path) => path.fmt(f),
            Self::Lid(lid) => lid.fmt(f),
            Self::Guid(guid) => guid.fmt(f),
            Self::Gid(gid) => gid.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use ib_mad::Attribute;
    use ib_wire::PortNum;

    use super::*;
    use crate::NodeInfo;

    #[test]
    fn every_destination_reads_back_from_its_text() {
        let route = DrPath::try_new(&[PortNum(1), PortNum(4)]).unwrap();
        for (text, destination) in [
            ("0", PortAddress::Route(DrPath::OWN_NODE)),
            ("0,1,4", PortAddress::Route(route)),
            ("1", PortAddress::Lid(Lid(1))),
            ("49151", PortAddress::Lid(Lid(0xbfff))),
            ("0x0000000000000007", PortAddress::Guid(Guid(7))),
            ("fe80::7", PortAddress::Gid("fe80::7".parse().unwrap())),
        ] {
            assert_eq!(text.parse(), Ok(destination), "{text}");
            assert_eq!(destination.to_string(), text);
            if let Some(mad) = destination.smp(Method::GET, NodeInfo::ID, 0) {
                assert_eq!(PortAddress::of(&mad), destination);
            }
        }
        assert_eq!("0x11".parse(), Ok(PortAddress::Lid(Lid(17))));
        assert_eq!("0x12345".parse(), Ok(PortAddress::Guid(Guid(0x12345))));
    }

    #[test]
    fn what_names_no_port_is_an_error() {
        for text in [
            "",
            "0x",
            "0xc000",
            "65535",
            "-1",
            "+1",
            "0x+1",
            "0x0",
            "port",
            "1,2",
            "0x10000000000000000",
        ] {
            assert!(text.parse::<PortAddress>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_smp_goes_by_the_route_or_to_the_lid() {
        let smp = |text: &str| {
            let destination: PortAddress = text.parse().unwrap();
            destination.smp(Method::GET, NodeInfo::ID, 3)
        };
        let routed = smp("0,1,4").unwrap();
        assert_eq!(routed.address, MadAddress::DIRECTED);
        let (directed, _) = SmpDirected::parse(&routed.bytes, 0).unwrap();
        assert_eq!(
            (directed.hop_count(), directed.attribute_modifier()),
            (2, 3)
        );
        let sent = smp("17").unwrap();
        assert_eq!(sent.address, MadAddress::smi(Lid(17)));
        assert_eq!(sent.header().attribute_id(), NodeInfo::ID);
        assert_eq!((smp("fe80::7"), smp("0x0000000000000007")), (None, None));
    }
}

//! The list of ports by which a directed route leaves each node (IBA vol. 1, 14.2.2).

use core::{fmt, str::FromStr};

use ib_wire::{PortNum, addr::BadAddress};

/// A directed route: the port to leave each node by, from the requester's own port on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DrPath {
    hop_count: u8,
    initial_path: [u8; 64],
}

impl DrPath {
    /// Most hops of a route.
    pub const MAX_HOPS: u8 = 63;

    /// The route of no hops: the own node.
    pub const OWN_NODE: Self = Self {
        hop_count: 0,
        initial_path: [0; 64],
    };

    /// The route over these ports; `None` for more than 63.
    #[must_use]
    pub fn try_new(ports: &[PortNum]) -> Option<Self> {
        ports
            .iter()
            .try_fold(Self::OWN_NODE, |path, &port| path.then(port))
    }

    /// This route and one more hop by `port`; `None` after 63.
    #[must_use]
    pub fn then(mut self, port: PortNum) -> Option<Self> {
        if self.hop_count >= Self::MAX_HOPS {
            return None;
        }
        self.hop_count = self.hop_count.saturating_add(1);
        *self.initial_path.get_mut(usize::from(self.hop_count))? = port.0;
        Some(self)
    }

    /// Number of hops.
    #[inline]
    #[must_use]
    pub const fn hop_count(&self) -> u8 {
        self.hop_count
    }

    /// The field of an SMP: entry 0 is not used.
    #[inline]
    #[must_use]
    pub const fn initial_path(&self) -> &[u8; 64] {
        &self.initial_path
    }

    /// The ports in order.
    pub fn ports(&self) -> impl Iterator<Item = PortNum> + '_ {
        let hops = self.initial_path.iter().skip(1);
        hops.take(self.hop_count.into()).map(|&port| PortNum(port))
    }
}

impl Default for DrPath {
    /// The own node.
    fn default() -> Self {
        Self::OWN_NODE
    }
}

impl fmt::Display for DrPath {
    /// Prints `0,1,7,5`: a 0 for the own node, as the diagnostic tools do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0")?;
        self.ports().try_for_each(|port| write!(f, ",{port}"))
    }
}

impl fmt::Debug for DrPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DrPath({self})")
    }
}

impl FromStr for DrPath {
    type Err = BadAddress;

    /// Reads what [`Display`](fmt::Display) prints.
    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let bad = BadAddress {
            name: "directed route",
            expected: "0 and up to 63 ports, as 0,1,4",
        };
        let mut ports = text.split(',');
        match ports.next() {
            Some("0") => ports.try_fold(Self::OWN_NODE, |path, port| {
                path.then(port.parse().map_err(|_| bad)?).ok_or(bad)
            }),
            _ => Err(bad),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{format, string::ToString};

    use super::*;

    #[test]
    fn a_path_takes_63_hops_and_prints_as_the_tools_do() {
        let longest = DrPath::try_new(&[PortNum(2); 63]).unwrap();
        assert_eq!(longest.then(PortNum(2)), None);
        assert_eq!(longest.ports().count(), 63);
        assert_eq!(DrPath::try_new(&[PortNum(2); 64]), None);
        let path = DrPath::try_new(&[PortNum(1), PortNum(7)]).unwrap();
        assert_eq!(
            (path.to_string(), DrPath::OWN_NODE.to_string()),
            ("0,1,7".into(), "0".into())
        );
    }

    #[test]
    fn what_a_path_prints_reads_back() {
        let longest = DrPath::try_new(&[PortNum(255); 63]).unwrap();
        let path = DrPath::try_new(&[PortNum(1), PortNum(0), PortNum(7)]).unwrap();
        for path in [DrPath::OWN_NODE, path, longest] {
            assert_eq!(path.to_string().parse(), Ok(path));
        }
        let too_long = format!("{longest},1");
        for text in [
            "", "1,4", "0,", "0,256", "0,-1", "0, 1", "0,+1", "+0", "0x0", &too_long,
        ] {
            assert!(text.parse::<DrPath>().is_err(), "{text}");
        }
    }
}

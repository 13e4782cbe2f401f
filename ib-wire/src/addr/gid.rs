//! Global identifiers: IPv6 addresses of ports and multicast groups (IBA vol. 1, 4.1.1).

use core::{fmt, net::Ipv6Addr, str::FromStr};

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{BadAddress, Guid, number_value};
use crate::{
    code_points,
    table::{FieldKind, Row, bytes_row, set_bytes_row},
    wire_struct,
};

/// Upper half of a GID; all ports of a subnet share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GidPrefix(pub u64);

impl GidPrefix {
    /// `fe80::/64`: link-local; every port answers to it, and no router forwards it.
    pub const DEFAULT: Self = Self(0xfe80_0000_0000_0000);
}

impl Default for GidPrefix {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for GidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x}", self.0)
    }
}

impl fmt::Debug for GidPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GidPrefix({:#018x})", self.0)
    }
}

number_value!(GidPrefix(u64), u64::MAX);

/// Global identifier: a port's prefix and GUID, or a multicast group. Printed as IPv6.
#[derive(
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    FromBytes,
    IntoBytes,
    Unaligned,
    Immutable,
    KnownLayout,
)]
#[repr(transparent)]
pub struct Gid(pub [u8; 16]);

impl Gid {
    /// The GID of a port.
    #[must_use]
    pub const fn new(prefix: GidPrefix, guid: Guid) -> Self {
        Self(((prefix.0 as u128) << 64 | guid.0 as u128).to_be_bytes())
    }

    /// The 128-bit number.
    #[must_use]
    pub const fn bits(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// The upper half of a unicast GID.
    #[must_use]
    pub const fn prefix(self) -> GidPrefix {
        GidPrefix((self.bits() >> 64) as u64)
    }

    /// The lower half of a unicast GID.
    #[must_use]
    pub const fn guid(self) -> Guid {
        Guid(self.bits() as u64)
    }

    /// Returns true if this is a multicast GID: the first byte is 0xFF.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] == 0xff
    }

    /// Returns true if no router forwards packets to it: unicast with the prefix `fe80::/10`, multicast of
    /// link-local scope.
    #[must_use]
    pub const fn is_link_local(self) -> bool {
        match self.0 {
            [0xff, second, ..] => second & 15 == MulticastScope::LINK_LOCAL.0,
            [0xfe, second, ..] => second & 0xc0 == 0x80,
            _ => false,
        }
    }

    /// The parts of a multicast GID; `None` for a unicast one.
    #[must_use]
    pub const fn multicast(self) -> Option<MulticastGid> {
        if self.is_multicast() {
            Some(MulticastGid::from_bytes(self.0))
        } else {
            None
        }
    }
}

impl fmt::Display for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ipv6Addr::from(self.0).fmt(f)
    }
}

impl fmt::Debug for Gid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gid({self})")
    }
}

impl FromStr for Gid {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        match text.parse::<Ipv6Addr>() {
            Ok(address) => Ok(Self(address.octets())),
            Err(_) => Err(BadAddress {
                name: "GID",
                expected: "an IPv6 address",
            }),
        }
    }
}

impl Row for Gid {
    type View<'a> = Self;
    type Input<'a> = Self;
    const KIND: FieldKind = FieldKind::Gid;

    #[inline(always)]
    fn get<const LEN: usize, const OFFSET: usize, const BITS: usize>(raw: &[u8; LEN]) -> Self {
        const { assert!(BITS == 128) };
        Self(*bytes_row::<LEN, OFFSET, 16>(raw))
    }

    #[inline(always)]
    fn set<const LEN: usize, const OFFSET: usize, const BITS: usize>(
        raw: &mut [u8; LEN],
        value: Self,
    ) {
        const { assert!(BITS == 128) };
        set_bytes_row::<LEN, OFFSET, 16>(raw, &value.0);
    }

    #[inline]
    fn element(raw: &[u8], bit_offset: usize, _bits: usize) -> Option<Self> {
        raw.get(bit_offset / 8..)?.first_chunk().copied().map(Self)
    }

    #[inline]
    fn set_element(raw: &mut [u8], bit_offset: usize, _bits: usize, value: Self) -> Option<()> {
        *raw.get_mut(bit_offset / 8..)?.first_chunk_mut()? = value.0;
        Some(())
    }
}

#[cfg(feature = "serde")]
super::text_value!(Gid);

#[cfg(feature = "serde")]
impl serde::Serialize for Gid {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(feature = "arbitrary")]
impl<'a> arbitrary::Arbitrary<'a> for Gid {
    fn arbitrary(u: &mut arbitrary::Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(Self(u.arbitrary()?))
    }
}

wire_struct! {
    /// The parts of a unicast GID; [`Gid`] is the value.
    ///
    /// Source: IBA vol. 1, 4.1.1; `headers.csv`, struct `GID`.
    pub struct UnicastGid("GID", 16 bytes) {
        /// Subnet that the port is in.
        subnet_prefix, set_subnet_prefix: GidPrefix = 0, 64;
        /// GUID of the port.
        interface_id,  set_interface_id:  Guid      = 64, 64;
    }
}

code_points! {
    /// Reach of a multicast group (MulticastGID.scope). Values without a name are kept.
    pub struct MulticastScope(u8) {
        /// One subnet; the default of IP over InfiniBand.
        LINK_LOCAL         = 2 => "LinkLocal",
        SITE_LOCAL         = 5 => "SiteLocal",
        ORGANIZATION_LOCAL = 8 => "OrganizationLocal",
        GLOBAL             = 14 => "Global",
    }
}

wire_struct! {
    /// The parts of a multicast GID; [`Gid`] is the value.
    ///
    /// Source: IBA vol. 1, 4.1.1; `headers.csv`, struct `MulticastGID`.
    pub struct MulticastGid("MulticastGID", 16 bytes) {
        /// 0xFF.
        prefix,   set_prefix:   u8             = 0, 8;
        /// Bit 0: transient, not assigned for good.
        flags,    set_flags:    u8             = 8, 4;
        /// Reach of the group.
        scope,    set_scope:    MulticastScope = 12, 4;
        /// Group identifier within its scope.
        group_id, set_group_id: [bytes; 14]    = 16, 112;
    }
}

impl From<UnicastGid> for Gid {
    fn from(parts: UnicastGid) -> Self {
        Self(*parts.as_bytes())
    }
}

impl From<MulticastGid> for Gid {
    fn from(parts: MulticastGid) -> Self {
        Self(*parts.as_bytes())
    }
}

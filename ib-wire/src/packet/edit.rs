//! Changing a header of a finished packet: its CRCs follow without a pass over the payload.
//!
//! A CRC is linear: the difference that a change makes depends on the changed bits and on how many
//! bytes follow them, not on these bytes. A packet whose CRC was wrong keeps it wrong, so that a
//! device that edits never hides damage. The same holds of the checksum of IPv4.
//!
//! Fields that determine the places of other headers and of the CRCs cannot be edited: the kind of network
//! in LRH.lnh, lengths that the end is counted from, the header length and the protocol of IP.

use thiserror::Error;

use super::{Packet, Start, shape::Shape};
use crate::{
    Bth, Grh, Ipv4, Ipv6, Lrh, Udp, Vl,
    crc::{Icrc, Vcrc},
    packet::ExtendedHeader,
};

/// Why a packet cannot be edited or forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EditError {
    /// The packet has no such header, or was cut short.
    #[error("the packet has no {header}, or was cut short")]
    NoHeader {
        /// The header's name in the specification.
        header: &'static str,
    },
    /// The hop limit of the GRH is used up: a router discards the packet.
    #[error("GRH.hop_lmt is {found}, expected at least 2")]
    HopLimit {
        /// The hop limit found.
        found: u8,
    },
    /// Another header, or the CRCs, would move: such a packet has to be built anew.
    #[error("the change of {header} would move the bytes after it")]
    Moves {
        /// The header whose change was refused.
        header: &'static str,
    },
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Packet<B> {
    /// Changes the LRH and the CRCs with it.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if there is no LRH or the packet was cut short; [`EditError::Moves`] if
    /// another LNH or length makes it another packet.
    pub fn edit_lrh(&mut self, change: impl FnOnce(&mut Lrh)) -> Result<(), EditError> {
        let mut header = *self.lrh().ok_or(missing(Lrh::LAYOUT.name))?;
        change(&mut header);
        self.replace(Lrh::LAYOUT.name, 0, header.as_bytes())
    }

    /// Changes the GRH and the CRCs with it.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if there is no GRH or the packet was cut short; [`EditError::Moves`] if
    /// the packet, one of RoCE v1, would end elsewhere.
    pub fn edit_grh(&mut self, change: impl FnOnce(&mut Grh)) -> Result<(), EditError> {
        let mut header = *self.grh().ok_or(missing(Grh::LAYOUT.name))?;
        change(&mut header);
        self.replace(Grh::LAYOUT.name, self.shape.net, header.as_bytes())
    }

    /// Changes the IPv4 header, and the ICRC with it; the checksum too, unless the change itself sets
    /// another one.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if there is no IPv4 header or the packet was cut short; [`EditError::Moves`]
    /// if the bytes after it would move.
    ///
    /// ```
    /// # use ib_wire::{Bth, Ipv4, OpCode, Packet, PacketBuilder, Start, Udp};
    /// # let mut bth = Bth::default();
    /// # bth.set_op_code(OpCode::UC_SEND_ONLY);
    /// # let ip = Ipv4::roce_v2([10, 0, 0, 1], [10, 0, 0, 2]);
    /// # let mut buffer = [0; 44];
    /// # PacketBuilder::roce_v2_ipv4(ip, &[], Udp::roce_v2(7), bth).build(&mut buffer)?;
    /// // What a router does to a packet that met congestion.
    /// let mut packet = Packet::parse_as(Start::RoceV2Ipv4, &mut buffer[..]);
    /// packet.edit_ipv4(|ip| {
    ///     ip.set_ttl(ip.ttl() - 1).set_ecn(3);
    /// })?;
    /// assert!(packet.validate().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit_ipv4(&mut self, change: impl FnOnce(&mut Ipv4)) -> Result<(), EditError> {
        let old = *self.ipv4().ok_or(missing(Ipv4::LAYOUT.name))?;
        let mut header = old;
        change(&mut header);
        if header.checksum() == old.checksum() {
            let checksum = moved_checksum(&old, &header);
            header.set_checksum(checksum);
        }
        self.replace(Ipv4::LAYOUT.name, self.shape.net, header.as_bytes())
    }

    /// Changes the IPv6 header and the ICRC with it.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if there is no IPv6 header or the packet was cut short; [`EditError::Moves`]
    /// if the bytes after it would move.
    pub fn edit_ipv6(&mut self, change: impl FnOnce(&mut Ipv6)) -> Result<(), EditError> {
        let mut header = *self.ipv6().ok_or(missing(Ipv6::LAYOUT.name))?;
        change(&mut header);
        self.replace(Ipv6::LAYOUT.name, self.shape.net, header.as_bytes())
    }

    /// Changes the UDP header and the ICRC with it. The UDP checksum stays as it is given: RoCE v2
    /// sends 0, none.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if there is no UDP header or the packet was cut short; [`EditError::Moves`]
    /// if the bytes after it would move.
    pub fn edit_udp(&mut self, change: impl FnOnce(&mut Udp)) -> Result<(), EditError> {
        let mut header = *self.udp().ok_or(missing(Udp::LAYOUT.name))?;
        change(&mut header);
        let at = self.shape.bth().saturating_sub(Udp::LEN);
        self.replace(Udp::LAYOUT.name, at, header.as_bytes())
    }

    /// Changes the BTH and the CRCs with it. Another operation code gives the bytes after the BTH another
    /// meaning; they stay.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if there is no BTH or the packet was cut short.
    ///
    /// ```
    /// # use ib_wire::{Bth, Lrh, OpCode, Packet, PacketBuilder, Psn};
    /// # let mut bth = Bth::default();
    /// # bth.set_op_code(OpCode::UC_SEND_ONLY);
    /// # let mut buffer = [0; 26];
    /// # PacketBuilder::local(Lrh::default(), bth).build(&mut buffer)?;
    /// let mut packet = Packet::parse(&mut buffer[..]);
    /// packet.edit_bth(|bth| {
    ///     bth.set_psn(Psn::new(77));
    /// })?;
    /// assert!(packet.validate().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn edit_bth(&mut self, change: impl FnOnce(&mut Bth)) -> Result<(), EditError> {
        let mut header = *self.bth().ok_or(missing(Bth::LAYOUT.name))?;
        change(&mut header);
        self.replace(Bth::LAYOUT.name, self.shape.bth(), header.as_bytes())
    }

    /// Changes an extended header and the CRCs with it.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if the operation has none or the packet was cut short.
    pub fn edit_extended<H: ExtendedHeader>(
        &mut self,
        change: impl FnOnce(&mut H),
    ) -> Result<(), EditError> {
        let layout = H::ETH.layout();
        let at = self.shape.eth(self.bytes.as_ref(), H::ETH);
        let at = at.ok_or(missing(layout.name))?;
        let bytes = self.bytes.as_ref().get(at..).unwrap_or_default();
        let mut header = H::read(bytes).ok_or(missing(layout.name))?;
        change(&mut header);
        self.replace(layout.name, at, header.bytes())
    }

    /// The step of a switch: the packet goes out on another virtual lane. The VCRC changes, the ICRC does
    /// not.
    ///
    /// # Errors
    /// [`EditError::NoHeader`] if the packet has no LRH or was cut short.
    pub fn switch_hop(&mut self, vl: Vl) -> Result<(), EditError> {
        self.edit_lrh(|lrh| {
            lrh.set_vl(vl);
        })
    }

    /// The step of a router: one hop less in the GRH, and the LRH of the next subnet. The VCRC changes; the
    /// ICRC does not, as it takes all of this as ones.
    ///
    /// # Errors
    /// [`EditError::HopLimit`] if no hop is left; the packet is as it was.
    /// [`EditError::NoHeader`] if it has no GRH or was cut short; [`EditError::Moves`] if `next` makes
    /// it another packet.
    pub fn router_hop(&mut self, next: impl FnOnce(&mut Lrh)) -> Result<(), EditError> {
        let found = self.grh().ok_or(missing(Grh::LAYOUT.name))?.hop_lmt();
        let left = match found.checked_sub(1) {
            Some(left @ 1..) => left,
            _ => return Err(EditError::HopLimit { found }),
        };
        self.edit_lrh(next)?;
        self.edit_grh(|grh| {
            grh.set_hop_lmt(left);
        })
    }

    /// Puts `new` at `at`, all of it in one header, and makes the CRCs follow.
    fn replace(&mut self, header: &'static str, at: usize, new: &[u8]) -> Result<(), EditError> {
        let shape = self.shape;
        if self.is_truncated() {
            return Err(missing(header));
        }
        let coverage = self.icrc_coverage();
        let icrc_change = coverage.map(|(coverage, covered, found)| {
            let from = self.shape.limit.saturating_sub(covered.len());
            (coverage, at.checked_sub(from), found)
        });
        let bytes = self.bytes.as_mut();
        // No header has more than 40 bytes.
        let mut change = [0u8; 40];
        let old = bytes
            .get_mut(at..)
            .and_then(|rest| rest.get_mut(..new.len()));
        let (Some(old), Some(change)) = (old, change.get_mut(..new.len())) else {
            return Err(missing(header));
        };
        for ((change, old), new) in change.iter_mut().zip(old.iter()).zip(new) {
            *change = old ^ new;
        }
        old.copy_from_slice(new);
        let moved = Shape::of(shape.start, self.bytes.as_ref());
        let bytes = self.bytes.as_mut();
        if !shape.has_same_frame(&moved) {
            let place = bytes.get_mut(at..).unwrap_or_default();
            for (byte, change) in place.iter_mut().zip(change) {
                *byte ^= *change;
            }
            return Err(EditError::Moves { header });
        }
        let after = |end: usize| end.saturating_sub(at).saturating_sub(new.len());
        let variant = Vcrc::difference(change, after(shape.end.saturating_sub(2)));
        let mut icrc_difference = [0; 4];
        if let Some((coverage, Some(place), found)) = icrc_change {
            coverage.unmask(bytes.get(shape.net..).unwrap_or_default(), place, change);
            let moved = Icrc::from_wire(found).add(Icrc::difference(change, after(shape.limit)));
            let place = bytes.get_mut(shape.limit..).unwrap_or_default();
            if let Some(icrc) = place.first_chunk_mut() {
                *icrc = moved.wire();
                for ((difference, old), new) in
                    icrc_difference.iter_mut().zip(found).zip(moved.wire())
                {
                    *difference = old ^ new;
                }
            }
        }
        if shape.start == Start::Ib
            && let Some((_, vcrc)) = bytes
                .get_mut(..shape.end)
                .and_then(|packet| packet.split_last_chunk_mut())
        {
            let moved = Vcrc::from_wire(*vcrc)
                .add(variant)
                .add(Vcrc::difference(&icrc_difference, 0));
            *vcrc = moved.wire();
        }
        // Another operation has other headers after the BTH.
        self.shape = moved;
        Ok(())
    }
}

/// The checksum of an IPv4 header after a change of it: what was wrong of it stays wrong.
///
/// Source: RFC 1624, equation 3.
fn moved_checksum(old: &Ipv4, new: &Ipv4) -> u16 {
    let (before, after) = (old.as_bytes().as_chunks().0, new.as_bytes().as_chunks().0);
    let removed = before.iter().map(|&word| !u16::from_be_bytes(word));
    let added = after.iter().map(|&word| u16::from_be_bytes(word));
    let words = removed.chain(added).map(u32::from);
    // Twenty-one words of 16 bits. The checksum itself is on both sides, and adds nothing.
    let sum = words.fold(u32::from(!old.checksum()), u32::wrapping_add);
    let folded = (sum >> 16).wrapping_add(sum & 0xffff);
    let folded = (folded >> 16).wrapping_add(folded & 0xffff);
    !(folded as u16)
}

const fn missing(header: &'static str) -> EditError {
    EditError::NoHeader { header }
}

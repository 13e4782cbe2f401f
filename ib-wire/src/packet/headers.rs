//! Every header of a packet in wire order, with its layout.

use core::iter::FusedIterator;

use super::{Network, Start, shape::Shape};
use crate::{
    Bth, Eth, Grh, Lrh, OpCode, Rwh, Udp,
    roce::{Ethernet, Ipv4, Ipv4OptionWord, Ipv6, Vlan},
    table::Layout,
};

/// A header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Layout of the header.
    pub layout: &'static Layout,
    /// Offset in the packet, in bytes.
    pub offset: usize,
    /// Its bytes: as many as the layout has.
    pub bytes: &'a [u8],
}

/// Iterator over the headers of a packet.
#[derive(Clone, Debug)]
pub struct Headers<'a> {
    bytes: &'a [u8],
    shape: Shape,
    at: usize,
    stack: &'static [Eth],
}

impl<'a> Headers<'a> {
    pub(super) fn new(bytes: &'a [u8], shape: Shape) -> Self {
        let stack = match bytes.get(shape.bth()..) {
            Some([op_code, ..]) => OpCode(*op_code).headers(),
            _ => &[],
        };
        Self {
            bytes,
            shape,
            at: 0,
            stack,
        }
    }

    /// The layout of the header at `at`, by its place.
    fn layout(&mut self) -> Option<&'static Layout> {
        let Shape {
            start,
            network,
            net,
            ..
        } = self.shape;
        let at = self.at;
        if at == self.shape.bth() {
            return Some(Bth::LAYOUT);
        }
        if at > self.shape.bth() {
            let (eth, rest) = self.stack.split_first()?;
            self.stack = rest;
            return Some(eth.layout());
        }
        if at == 0 && start == Start::Ib {
            return Some(Lrh::LAYOUT);
        }
        if at == 0 && start == Start::Ethernet {
            return Some(Ethernet::LAYOUT);
        }
        if start == Start::Ethernet && (at < net || network == Network::None) {
            return Some(Vlan::LAYOUT);
        }
        let after_ip = |len: usize| at.checked_sub(net).is_some_and(|past| past >= len);
        match network {
            Network::Global | Network::RoceV1 => Some(Grh::LAYOUT),
            Network::Raw => Some(Rwh::LAYOUT),
            Network::RoceV2Ipv4 if at == net => Some(Ipv4::LAYOUT),
            Network::RoceV2Ipv6 if at == net => Some(Ipv6::LAYOUT),
            Network::RoceV2Ipv6 => Some(Udp::LAYOUT),
            Network::RoceV2Ipv4 => {
                let ihl = self.bytes.get(net).map_or(0, |byte| byte & 15);
                if after_ip(usize::from(ihl).saturating_mul(4)) {
                    Some(Udp::LAYOUT)
                } else {
                    Some(Ipv4OptionWord::LAYOUT)
                }
            }
            Network::None | Network::Local | Network::RawIpv6 => None,
        }
    }
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        let offset = self.at;
        if offset >= self.shape.payload {
            return None;
        }
        let layout = self.layout()?;
        self.at = offset.checked_add(layout.len)?;
        let decoded = self.bytes.get(..self.shape.payload)?;
        Some(Header {
            layout,
            offset,
            bytes: decoded.get(offset..self.at)?,
        })
    }
}

impl FusedIterator for Headers<'_> {}

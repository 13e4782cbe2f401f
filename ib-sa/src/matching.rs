//! Selection of the records that answer a query (IBA vol. 1, 15.4.4).
//!
//! The template and the mask of a query choose: every component whose bit is set must be equal. MTU,
//! rate and packet life time have a selector beside them and compare by it.

use core::cmp::Ordering;

use ib_mad::Attribute;
use ib_wire::{Mtu, Rate, code_points, table::load_bits};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Component, ComponentMask};

code_points! {
    /// Comparison of a record's value with the one in the request.
    pub struct Selector(u8) {
        GREATER_THAN      = 0 => "GreaterThan",
        LESS_THAN         = 1 => "LessThan",
        EXACTLY           = 2 => "Exactly",
        /// The best that there is; the value counts for nothing. Of packet life times the smallest.
        LARGEST_AVAILABLE = 3 => "LargestAvailable",
    }
}

impl Selector {
    /// Returns true if `found` is what is asked for with `wanted`, where `order` compares `found` with it.
    #[must_use]
    pub fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::GREATER_THAN => order == Ordering::Greater,
            Self::LESS_THAN => order == Ordering::Less,
            Self::EXACTLY => order == Ordering::Equal,
            _ => true,
        }
    }

    /// The MTU to answer with where a path can do up to `available`; `None` if it cannot do what is
    /// asked for, or no size has the code that is asked for.
    #[must_use]
    pub fn choose_mtu(self, wanted: Mtu, available: Mtu) -> Option<Mtu> {
        let below = wanted.bits().saturating_sub(1);
        match self {
            Self::GREATER_THAN => (available > wanted).then_some(available),
            Self::LESS_THAN => Some(Mtu(available.bits().min(below))).filter(|mtu| mtu.bits() > 0),
            Self::EXACTLY => Some(wanted).filter(|mtu| available >= *mtu && mtu.bytes().is_some()),
            _ => Some(available),
        }
    }

    /// The rate to answer with where a path can do up to `available`; `None` if it cannot do what is
    /// asked for, or a code has no meaning. Rates compare by usable speed.
    #[must_use]
    pub fn choose_rate(self, wanted: Rate, available: Rate) -> Option<Rate> {
        if self == Self::LARGEST_AVAILABLE {
            return Some(available);
        }
        let order = available.cmp_rate(wanted)?;
        match self {
            Self::GREATER_THAN => (order == Ordering::Greater).then_some(available),
            Self::LESS_THAN if order == Ordering::Less => Some(available),
            Self::LESS_THAN => Rate::ORDER
                .into_iter()
                .take_while(|rate| *rate != wanted)
                .last(),
            Self::EXACTLY => (order != Ordering::Less).then_some(wanted),
            _ => Some(available),
        }
    }

    /// The packet life time to answer with where a path takes up to `available`; `None` if it cannot
    /// do what is asked for. Shorter is better: a path may be said to take longer than it does, never
    /// less.
    #[must_use]
    pub fn choose_packet_life_time(self, wanted: u8, available: u8) -> Option<u8> {
        match self {
            Self::LESS_THAN => (available < wanted).then_some(available),
            Self::GREATER_THAN => {
                Some(available.max(wanted.saturating_add(1))).filter(|&life_time| life_time < 64)
            }
            Self::EXACTLY => (available <= wanted).then_some(wanted),
            _ => Some(available),
        }
    }
}

/// A set of flags that names the components of a record.
pub trait ComponentSet: Copy + Into<ComponentMask> {
    /// The components with their bits and places, in the order of the bits.
    const TABLE: &'static [Component];
}

/// A record of subnet administration: a structure whose components can be compared.
pub trait Record:
    Attribute + Copy + FromBytes + IntoBytes + Unaligned + Immutable + KnownLayout
{
    /// Names of the components.
    type Components: ComponentSet;

    /// Returns true if this record is one that a query with this template and mask asks for.
    ///
    /// Components whose bits are clear and bits without a component do not count. A selector defines the
    /// comparison with the value after it: each of the two counts only together with the other, as in the
    /// path queries of OpenSM 3.3.23, whose MCMemberRecord queries take a selector alone as well.
    #[must_use]
    fn matches(&self, template: &Self, mask: ComponentMask) -> bool {
        let (found, wanted) = (self.as_bytes(), template.as_bytes());
        // The selector in front of a component that has one, if the mask has it.
        let mut selector = None;
        if mask == ComponentMask::ALL_RECORDS {
            return true;
        }
        for component in Self::Components::TABLE {
            let is_given = mask.has(component.bit);
            if is_selector(component) {
                let bits = load_bits(wanted, component.bit_offset, component.bits);
                selector = Some(bits.filter(|_| is_given).map(|bits| Selector(bits as u8)));
                continue;
            }
            let matches = match selector.take() {
                _ if !is_given => true,
                None => equal(component, found, wanted),
                Some(Some(selector)) => selected(component, selector, found, wanted),
                Some(None) => true,
            };
            if !matches {
                return false;
            }
        }
        true
    }
}

/// Returns true if the component says how the value of the next one is meant.
fn is_selector(component: &Component) -> bool {
    component.bits == 2
        && matches!(
            component.name,
            "mtu_selector" | "rate_selector" | "packet_life_time_selector"
        )
}

/// Returns true if a value is what its selector asks for.
fn selected(component: &Component, selector: Selector, found: &[u8], wanted: &[u8]) -> bool {
    let value = |bytes| load_bits(bytes, component.bit_offset, component.bits);
    let (Some(found), Some(wanted)) = (value(found), value(wanted)) else {
        return false;
    };
    if selector == Selector::LARGEST_AVAILABLE {
        return true;
    }
    let order = if component.name == "rate" {
        match Rate(found as u8).cmp_rate(Rate(wanted as u8)) {
            Some(order) => order,
            // A rate without a meaning is equal to itself only.
            None => return selector == Selector::EXACTLY && found == wanted,
        }
    } else {
        found.cmp(&wanted)
    };
    selector.accepts(order)
}

/// Returns true if two records agree in a component.
fn equal(component: &Component, found: &[u8], wanted: &[u8]) -> bool {
    let (offset, bits) = (component.bit_offset, component.bits);
    if bits <= 64 {
        return load_bits(found, offset, bits) == load_bits(wanted, offset, bits);
    }
    // Longer components are whole bytes.
    let bytes = offset / 8..offset.saturating_add(bits) / 8;
    found.get(bytes.clone()) == wanted.get(bytes)
}

#[cfg(test)]
mod tests;

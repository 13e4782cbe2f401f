//! SLtoVL tables to program: the lane of a packet by switch, input port, output port and SL
//! (IBA vol. 1, 7.6.6).

use alloc::vec::Vec;

use ib_wire::{PortNum, Sl, Vl};

use crate::{
    algo::frontiers::bits_of,
    fabric::Fabric,
    index::{IdxVec, SwitchIdx},
};

/// One SLtoVL table: the lane of each service level.
pub type SlToVl = [Vl; 16];

/// The SLtoVL tables of a fabric. CA ports use [`VlMap::injection`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VlMap {
    injection: SlToVl,
    per_port: Option<PerPort>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PerPort {
    /// The position of a switch's first table, and its number of ports, port 0 included.
    switches: IdxVec<SwitchIdx, (u32, u32)>,
    tables: Vec<SlToVl>,
}

/// The numbers of the lanes in a set: a bit for each.
#[inline]
pub(crate) fn lanes_in(set: u16) -> impl Iterator<Item = u8> {
    bits_of(set.into()).map(|lane| lane as u8)
}

impl VlMap {
    /// The lane is the service level, modulo `vls` lanes (0 counts as 1).
    #[must_use]
    pub fn identity(vls: u8) -> Self {
        let vls = vls.clamp(1, 15);
        let mut sl = 0;
        let table = [(); 16].map(|()| {
            let vl = Vl::try_new(sl % vls).unwrap_or_default();
            sl += 1;
            vl
        });
        Self::uniform(table)
    }

    /// The same table everywhere.
    #[must_use]
    pub const fn uniform(table: SlToVl) -> Self {
        Self {
            injection: table,
            per_port: None,
        }
    }

    /// A table per switch, input and output port, all of them `table` until [`VlMap::set`].
    #[must_use]
    pub fn per_port(fabric: &Fabric, table: SlToVl) -> Self {
        let mut first = 0;
        let switches = fabric.switches().iter().map(|&node| {
            let ports = u32::from(fabric.node(node).num_ports()) + 1;
            let entry = (first, ports);
            first += ports * ports;
            entry
        });
        let switches = switches.collect();
        let tables = alloc::vec![table; first as usize];
        Self {
            injection: table,
            per_port: Some(PerPort { switches, tables }),
        }
    }

    /// Sets the table of packets that enter `switch` by `input` and leave it by `output`. Without
    /// effect on a uniform map and for ports that the switch lacks.
    pub fn set(&mut self, switch: SwitchIdx, input: PortNum, output: PortNum, table: SlToVl) {
        let entry = self.per_port.as_mut().and_then(|map| {
            let at = map.place(switch, input, output)?;
            map.tables.get_mut(at)
        });
        if let Some(entry) = entry {
            *entry = table;
        }
    }

    /// Sets the table of CA and router ports.
    pub fn set_injection(&mut self, table: SlToVl) {
        self.injection = table;
    }

    /// The table of CA and router ports.
    #[must_use]
    pub const fn injection(&self) -> &SlToVl {
        &self.injection
    }

    /// Returns true if one table serves all ports.
    #[must_use]
    pub const fn is_uniform(&self) -> bool {
        self.per_port.is_none()
    }

    /// The highest lane in any table.
    #[must_use]
    pub fn highest(&self) -> Vl {
        let tables = self.per_port.as_ref().map_or(&[][..], |map| &map.tables);
        let all = tables.iter().chain([&self.injection]).flatten();
        all.copied().max().unwrap_or_default()
    }

    /// The table of packets that enter `switch` by `input` and leave it by `output`.
    #[inline]
    #[must_use]
    pub fn table(&self, switch: SwitchIdx, input: PortNum, output: PortNum) -> &SlToVl {
        let per_port = self.per_port.as_ref();
        per_port
            .and_then(|map| map.tables.get(map.place(switch, input, output)?))
            .unwrap_or(&self.injection)
    }

    /// The lane of one service level.
    #[inline]
    #[must_use]
    pub fn vl(&self, switch: SwitchIdx, input: PortNum, output: PortNum, sl: Sl) -> Vl {
        let table = self.table(switch, input, output);
        table
            .get(usize::from(sl.bits()))
            .copied()
            .unwrap_or_default()
    }
}

impl PerPort {
    #[inline]
    fn place(&self, switch: SwitchIdx, input: PortNum, output: PortNum) -> Option<usize> {
        let &(first, ports) = self.switches.find(switch)?;
        let (input, output) = (u32::from(input.0), u32::from(output.0));
        (input < ports && output < ports).then_some((first + input * ports + output) as usize)
    }
}

impl Default for VlMap {
    fn default() -> Self {
        Self::identity(15)
    }
}

//! Virtual lanes: SLtoVL and VL arbitration tables, where the routes need more than one lane or the operator
//! wishes for quality of service (IBA vol. 1, 14.2.5.8, 14.2.5.9 and 7.6.9).
//!
//! An engine that keeps deadlocks off by lanes is only as good as the tables on the way: a packet
//! changes its lane by the table of each (input, output) pair. Routes on one lane need none of this:
//! then the operator's tables are written, or nothing is sent. Lanes that a link does not have are folded into those that it has.

use alloc::vec::Vec;

use ib_routing::SwitchIdx;
use ib_smp::{
    NodeType, SlToVlMappingTable, SlToVlModifier, VlArbitrationEntry, VlArbitrationHalf,
    VlArbitrationTable, VlCap,
};
use ib_wire::{PortNum, Vl};

use super::Sweep;
use crate::{
    SmConfig,
    config::PortKind,
    request::Request,
    subnet::{NodeIdx, PortRef},
};

/// Weight of every lane in use, in units of 64 bytes: all get the same share.
const WEIGHT: u8 = 4;

impl Sweep {
    /// Queues the tables that differ from what was written before.
    pub(super) fn queue_qos_tables(&mut self, config: &SmConfig) {
        if self.lanes() < 2 && !config.qos.enabled {
            return;
        }
        let mut sets = Vec::new();
        for (node, record) in self.subnet.nodes() {
            let linked: Vec<_> = record
                .ports()
                .filter(|(num, port)| num.0 != 0 && port.is_up() && port.peer.is_some())
                .collect();
            let Some(switch) = &record.switch else {
                for (num, port) in linked {
                    let port_ref = PortRef { node, port: num };
                    let table = self.end_port_table(config, port_ref);
                    if table.is_some() && port.sl_to_vl != table {
                        sets.push(Request::SetSlToVl(
                            node,
                            SlToVlModifier::Pair {
                                input: PortNum(0),
                                output: num,
                            },
                        ));
                    }
                    self.arbitrate(config, port_ref, &mut sets);
                }
                continue;
            };
            let optimized = switch
                .info
                .is_some_and(|info| info.optimized_sl_to_vl_mapping_programming() != 0);
            for &(output, _) in &linked {
                let inputs = core::iter::once(PortNum(0))
                    .chain(linked.iter().map(|&(input, _)| input))
                    .filter(|&input| input != output);
                let pairs: Vec<_> = inputs
                    .filter_map(|input| {
                        Some((input, self.pair_table(config, node, input, output)?))
                    })
                    .collect();
                let changed: Vec<_> = pairs
                    .iter()
                    .filter(|&&(input, table)| {
                        switch.sl_to_vl.get(&(input, output)) != Some(&table)
                    })
                    .collect();
                let all_equal = pairs.windows(2).all(|pair| match pair {
                    [a, b] => a.1 == b.1,
                    _ => true,
                });
                if optimized && all_equal && changed.len() > 1 {
                    let all = SlToVlModifier::AllInputs { output };
                    sets.push(Request::SetSlToVl(node, all));
                } else {
                    for &&(input, _) in &changed {
                        let pair = SlToVlModifier::Pair { input, output };
                        sets.push(Request::SetSlToVl(node, pair));
                    }
                }
                self.arbitrate(config, PortRef { node, port: output }, &mut sets);
            }
        }
        self.queue.extend(sets);
    }

    /// The table that a Set writes.
    pub(crate) fn sl_to_vl(
        &self,
        config: &SmConfig,
        node: NodeIdx,
        modifier: SlToVlModifier,
    ) -> Option<SlToVlMappingTable> {
        match modifier {
            SlToVlModifier::Pair { input, output } if self.subnet.node(node)?.is_switch() => {
                self.pair_table(config, node, input, output)
            }
            SlToVlModifier::Pair { output, .. } => {
                self.end_port_table(config, PortRef { node, port: output })
            }
            // All inputs have the same one.
            SlToVlModifier::AllInputs { output } => {
                self.pair_table(config, node, PortNum(0), output)
            }
            _ => None,
        }
    }

    /// What the operator wishes; else every lane in use with the same weight in the low table, nothing in the high one.
    pub(crate) fn vl_arbitration(
        &self,
        config: &SmConfig,
        port: PortRef,
        half: VlArbitrationHalf,
    ) -> VlArbitrationTable {
        if config.qos.enabled
            && let Some(kind) = self.kind_of(port)
        {
            return config.qos.arbitration(kind, half);
        }
        let mut table = VlArbitrationTable::default();
        if half == VlArbitrationHalf::LowFirst {
            for lane in 0..self.lanes() {
                let vl = Vl::try_new(lane).unwrap_or_default();
                let entry = VlArbitrationEntry::new(vl, WEIGHT);
                let _ = table.set_vl_weight_block(lane.into(), &entry);
            }
        }
        table
    }

    /// Notes what a device holds now.
    pub(super) fn on_sl_to_vl_set(
        &mut self,
        node: NodeIdx,
        modifier: SlToVlModifier,
        table: SlToVlMappingTable,
    ) {
        let Some(record) = self.subnet.node_mut(node) else {
            return;
        };
        let num_ports = record.info.num_ports();
        match (&mut record.switch, modifier) {
            (Some(switch), SlToVlModifier::Pair { input, output }) => {
                switch.sl_to_vl.insert((input, output), table);
            }
            (Some(switch), SlToVlModifier::AllInputs { output }) => {
                for input in (0..=num_ports).map(PortNum) {
                    switch.sl_to_vl.insert((input, output), table);
                }
            }
            (None, SlToVlModifier::Pair { output, .. }) => {
                if let Some(port) = self.subnet.port_mut(PortRef { node, port: output }) {
                    port.sl_to_vl = Some(table);
                }
            }
            _ => {}
        }
    }

    /// Lanes that the routes use.
    fn lanes(&self) -> u8 {
        self.plan.routes.as_ref().map_or(1, |routes| routes.vls())
    }

    fn arbitrate(&self, config: &SmConfig, port: PortRef, sets: &mut Vec<Request>) {
        let Some(record) = self.subnet.port(port) else {
            return;
        };
        let Some(info) = record.info.filter(|info| info.vl_cap() > VlCap::VL0) else {
            return;
        };
        let (low, high) = (
            info.vl_arbitration_low_cap(),
            info.vl_arbitration_high_cap(),
        );
        // Only long lists need the second half of a table.
        let halves = [
            (VlArbitrationHalf::LowFirst, low > 0),
            (VlArbitrationHalf::LowSecond, low > 32 && config.qos.enabled),
            (VlArbitrationHalf::HighFirst, high > 0),
            (
                VlArbitrationHalf::HighSecond,
                high > 32 && config.qos.enabled,
            ),
        ];
        for (half, _) in halves.into_iter().filter(|(_, has)| *has) {
            let wanted = self.vl_arbitration(config, port, half);
            if record.vl_arbitration.block(block_of(half)) != Some(wanted.as_bytes()) {
                sets.push(Request::SetVlArbitration(port, half));
            }
        }
    }

    /// Notes what a port holds now.
    pub(super) fn on_vl_arbitration_set(
        &mut self,
        port: PortRef,
        half: VlArbitrationHalf,
        table: [u8; 64],
    ) {
        if let Some(record) = self.subnet.port_mut(port) {
            record.vl_arbitration.set(block_of(half), table);
        }
    }

    fn end_port_table(&self, config: &SmConfig, port: PortRef) -> Option<SlToVlMappingTable> {
        let routes = self.plan.routes.as_ref()?;
        let of_routes = || *routes.vl_map().injection();
        let table = self.wished_table(config, port).unwrap_or_else(of_routes);
        self.folded(config, port, &table)
    }

    /// The operator's table for the packets that leave by a port: only where the routes do with one lane.
    fn wished_table(&self, config: &SmConfig, output: PortRef) -> Option<[Vl; 16]> {
        if self.lanes() > 1 || !config.qos.enabled {
            return None;
        }
        let kind = self.kind_of(output)?;
        let table = config.qos.sl_to_vl(kind);
        let most = config.qos.max_vls(kind);
        Some(core::array::from_fn(|sl| {
            let lane = table.sl_to_vl(sl).unwrap_or_default();
            match lane.bits() {
                15 => lane,
                lane => Vl::from_low_bits(lane.checked_rem(most).unwrap_or(0)),
            }
        }))
    }

    pub(super) fn kind_of(&self, port: PortRef) -> Option<PortKind> {
        let node = self.subnet.node(port.node)?;
        Some(match node.info.node_type() {
            NodeType::SWITCH if port.port == PortNum(0) => PortKind::SwitchPort0,
            NodeType::SWITCH => PortKind::SwitchExternal,
            NodeType::ROUTER => PortKind::Router,
            _ => PortKind::Ca,
        })
    }

    fn pair_table(
        &self,
        config: &SmConfig,
        node: NodeIdx,
        input: PortNum,
        output: PortNum,
    ) -> Option<SlToVlMappingTable> {
        let routes = self.plan.routes.as_ref()?;
        let switch: SwitchIdx = self.subnet.node(node)?.switch.as_ref()?.routed?;
        let out = PortRef { node, port: output };
        let of_routes = || *routes.vl_map().table(switch, input, output);
        let table = self.wished_table(config, out).unwrap_or_else(of_routes);
        self.folded(config, out, &table)
    }

    /// The table without lanes that the link behind `output` does not use. VL15 drops and stays.
    fn folded(
        &self,
        config: &SmConfig,
        output: PortRef,
        lanes: &[Vl; 16],
    ) -> Option<SlToVlMappingTable> {
        let count = self.link_limits(config, output)?.vls.count().unwrap_or(1);
        let mut table = SlToVlMappingTable::default();
        for (sl, &vl) in lanes.iter().enumerate() {
            let lane = match vl.bits() {
                15 => 15,
                lane => lane.checked_rem(count).unwrap_or(0),
            };
            let _ = table.set_sl_to_vl(sl, Vl::try_new(lane).unwrap_or_default());
        }
        Some(table)
    }
}

/// The place of a half of a table among the four blocks of a port.
const fn block_of(half: VlArbitrationHalf) -> u16 {
    (half as u16).saturating_sub(1)
}

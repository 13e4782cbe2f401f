//! One heavy sweep, from the own node to a subnet that is up: the order of its steps, and what they
//! share.
//!
//! A step queues requests; when the last of them is answered or given up, the next step begins. The
//! two steps that only compute ([`Step::Route`] and [`Step::Verify`]) run when the host next calls, so
//! that their phases can be told apart by the host's clock.

mod capacity;
mod discover;
mod guids;
mod lids;
mod light;
mod links;
mod multicast;
mod pkeys;
mod qos;
mod routes;
mod transition;

use alloc::{
    collections::{BTreeMap, VecDeque},
    vec::Vec,
};

use ib_mad::Mad;
use ib_smp::{
    GuidInfo, NodeDescription, NodeInfo, PortInfo, PortInfoModifier, PortPhysicalState, PortState,
    SlToVlMappingTable, SmControl, SmInfo, SmpDirected, SwitchInfo, VlArbitrationModifier,
};
use ib_wire::{MKey, PortNum};

use self::transition::Transition;
pub(crate) use self::{
    lids::{node_type, speed, width},
    routes::Plan,
};
use crate::{
    SmConfig,
    event::{Event, Phase, PortCounts, Unresponsive},
    request::{Request, directed},
    sa::groups::Groups,
    subnet::{NodeIdx, PortRef, Subnet},
};

/// What a sweep is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// Nodes and ports are found.
    Discover,
    /// LIDs are chosen; management ports get theirs.
    Lids,
    /// Routes are to be computed.
    Route,
    /// Routes are to be verified.
    Verify,
    /// The tops of the forwarding tables are raised.
    RaiseTops,
    /// Blocks of the forwarding tables that differ are written.
    Tables,
    /// Packets sent by the tables as they are get away before more blocks are written.
    Settle,
    /// Tables of virtual lanes that differ are written, if the routes use several.
    Qos,
    /// Blocks of the multicast tables that differ are written.
    Multicast,
    /// Tables of partition keys that differ are written.
    PKeys,
    /// Ports get their settings and are armed.
    Arm,
    /// Ports are made active.
    Activate,
    /// The tops of the forwarding tables are lowered.
    LowerTops,
    /// Switches are asked whether anything changed.
    Light,
    /// Hosts joined or left groups: their trees are written.
    Regroup,
    /// The ends of the multicast tables follow.
    RegroupTops,
    /// Nothing is left to do.
    Done,
}

impl Step {
    pub(crate) const fn phase(self) -> Phase {
        match self {
            Self::Discover | Self::Light => Phase::Discover,
            Self::Lids => Phase::Lids,
            Self::Route => Phase::Route,
            Self::Verify => Phase::Verify,
            _ => Phase::Program,
        }
    }

    /// Whether it waits for time to pass, if only for the host's next call, instead of for answers.
    pub(crate) const fn computes(self) -> bool {
        matches!(self, Self::Route | Self::Verify | Self::Settle)
    }
}

/// A sweep at work, or the last one.
#[derive(Debug)]
pub(crate) struct Sweep {
    pub(crate) step: Step,
    pub(crate) subnet: Subnet,
    /// Requests that wait for room in the window.
    pub(crate) queue: VecDeque<Request>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) unresponsive: Vec<Unresponsive>,
    /// What went wrong and may go right in another sweep.
    pub(crate) errors: usize,
    /// The manager's own port.
    pub(crate) own_port: PortRef,
    pub(crate) plan: Plan,
    /// How the forwarding tables get from what they were to the plan.
    transition: Transition,
    /// Blocks of alias GUIDs on their way to the ports.
    guid_blocks: BTreeMap<(PortRef, u8), GuidInfo>,
    /// Other managers, by the port that they sit on.
    pub(crate) others: Vec<(PortRef, SmInfo)>,
    /// What a light sweep found out.
    pub(crate) changed: bool,
    first_sweep: bool,
    /// What hosts told before a restart is known: who has not changed need not tell it again.
    pub(crate) restored: bool,
    /// The subnet as the sweep before left it.
    pub(crate) before: Subnet,
}

impl Sweep {
    /// A sweep that begins; `before` is the last one.
    pub(crate) fn new(before: Option<Self>) -> Self {
        let first_sweep = before.is_none();
        let (before, plan) = before
            .map(|before| (before.subnet, before.plan))
            .unwrap_or_default();
        let mut sweep = Self {
            step: Step::Discover,
            subnet: Subnet::default(),
            queue: VecDeque::new(),
            events: VecDeque::new(),
            unresponsive: Vec::new(),
            errors: 0,
            own_port: PortRef::management(NodeIdx::OWN),
            // What is installed stays valid until there is something better.
            plan: plan.again(),
            transition: Transition::default(),
            guid_blocks: BTreeMap::new(),
            others: Vec::new(),
            changed: false,
            first_sweep,
            restored: false,
            before,
        };
        sweep.start_discovery();
        sweep
    }

    /// The datagram of a request that has waited; `None` if it need not be sent any more.
    pub(crate) fn build(&self, config: &SmConfig, own: &SmInfo, request: Request) -> Option<Mad> {
        let path = match request {
            Request::GetNodeInfo(from) => self.neighbor_path(from)?,
            Request::LightNodeInfo(from) => self.neighbor_path(Some(from))?,
            Request::CheckNodeInfo(node) | Request::LightSwitchInfo(node) => {
                self.subnet.node(node)?.path
            }
            _ => {
                let port = request.port()?;
                // One time-out says enough about a node.
                if self.subnet.node(port.node)?.silent || !self.subnet.is_steady(port.node) {
                    return None;
                }
                self.subnet.path(port)?
            }
        };
        let mut data = [0; 64];
        let modifier = match request {
            Request::GetNodeInfo(_)
            | Request::CheckNodeInfo(_)
            | Request::LightNodeInfo(_)
            | Request::GetNodeDescription(_)
            | Request::GetSwitchInfo(_)
            | Request::LightSwitchInfo(_)
            | Request::GetSmInfo(_)
            | Request::LightSmInfo(_)
            | Request::PollSm(_) => 0,
            Request::HandOver(_) => {
                fill(&mut data, own.as_bytes());
                SmControl::HANDOVER.0
            }
            Request::GetPortInfo(port) => self.port_info_modifier(port),
            Request::GetLft(_, block) => block.into(),
            Request::SetSwitchInfo(node) => {
                let info = self.switch_set(config, node)?;
                fill(&mut data, info.as_bytes());
                0
            }
            Request::SetLft(node, block) => {
                data = self.lft_block(node, block)?;
                block.into()
            }
            Request::GetPKeyTable(port, block) => self.p_key_modifier(port, block).bits(),
            Request::SetPKeyTable(port, block) => {
                data = self.p_key_block(port, block)?;
                self.p_key_modifier(port, block).bits()
            }
            Request::SetGuidInfo(port, block) => {
                data = *self.guid_blocks.get(&(port, block))?.as_bytes();
                block.into()
            }
            Request::SetMft(node, at) => {
                data = self.mft_block(node, at)?;
                at.bits()
            }
            Request::SetSlToVl(node, modifier) => {
                fill(&mut data, self.sl_to_vl(config, node, modifier)?.as_bytes());
                modifier.bits()
            }
            Request::SetVlArbitration(port, half) => {
                data = *self.vl_arbitration(config, port, half).as_bytes();
                VlArbitrationModifier {
                    half,
                    port: port.port,
                }
                .bits()
            }
            Request::SetPortInfo(port, state) => {
                data = *self.port_set(config, port, state)?.as_bytes();
                self.port_info_modifier(port)
            }
            Request::DisablePort(port) => {
                let mut set = self.port_set(config, port, PortState::DOWN)?;
                set.set_port_physical_state(PortPhysicalState::DISABLED);
                data = *set.as_bytes();
                self.port_info_modifier(port)
            }
        };
        let method = request.method();
        let id = request.attribute_id();
        Some(directed(
            &path,
            self.m_key_of(config, request),
            method,
            id,
            modifier,
            &data,
        ))
    }

    /// Takes in the answer to a request.
    pub(crate) fn on_answer(&mut self, request: Request, mad: &Mad) {
        let Ok((smp, _)) = SmpDirected::parse(&mad.bytes, 0) else {
            return;
        };
        let data = smp.smp_data();
        let done = smp.status().is_ok() && smp.attribute_id() == request.attribute_id();
        let done = done
            && match request {
                Request::GetNodeInfo(from) => self.answered(data, |sweep, info: &NodeInfo| {
                    // What the answer was asked over, and not what it says itself.
                    if let Some(path) = sweep.asked_path(from) {
                        sweep.on_node_info(from, path, info);
                    }
                    true
                }),
                Request::CheckNodeInfo(node) => self.answered(data, |sweep, info: &NodeInfo| {
                    sweep.on_node_info_again(node, info);
                    true
                }),
                Request::GetNodeDescription(port) => {
                    self.on_node_description(port.node, NodeDescription::from_bytes(*data));
                    true
                }
                Request::GetSwitchInfo(node) => self.answered(data, |sweep, info: &SwitchInfo| {
                    sweep.on_switch_info(node, *info);
                    true
                }),
                Request::GetPortInfo(port) => {
                    let modifier = PortInfoModifier::from_bits(smp.attribute_modifier());
                    let extended = modifier.is_some_and(|modifier| modifier.extended_speeds);
                    self.on_port_info(port, PortInfo::from_bytes(*data), extended);
                    true
                }
                Request::LightSwitchInfo(node) => {
                    self.answered(data, |sweep, info: &SwitchInfo| {
                        sweep.on_light_switch_info(node, info);
                        true
                    })
                }
                Request::LightNodeInfo(_) => {
                    self.changed = true;
                    true
                }
                Request::GetSmInfo(port) => self.answered(data, |sweep, info: &SmInfo| {
                    sweep.others.push((port, *info));
                    true
                }),
                Request::LightSmInfo(_) | Request::PollSm(_) | Request::HandOver(_) => true,
                Request::GetLft(node, block) => {
                    if let Some(switch) = self.subnet.switch_mut(node) {
                        switch.lft.set(block, *data);
                    }
                    true
                }
                Request::SetLft(node, block) => {
                    let as_told = self.lft_block(node, block) == Some(*data);
                    if let Some(switch) = self.subnet.switch_mut(node) {
                        switch.lft.set(block, *data);
                    }
                    if as_told {
                        self.follow_chain(block);
                    }
                    as_told
                }
                Request::GetPKeyTable(port, block) | Request::SetPKeyTable(port, block) => {
                    self.on_p_key_table(port, block, *data, !request.is_set());
                    !request.is_set() || self.p_key_block(port, block) == Some(*data)
                }
                Request::SetGuidInfo(port, block) => {
                    self.on_guid_info_set(port, block, GuidInfo::from_bytes(*data))
                }
                Request::SetMft(node, at) => {
                    if let Some(switch) = self.subnet.switch_mut(node) {
                        switch.mft.insert(at, *data);
                    }
                    self.mft_block(node, at) == Some(*data)
                }
                Request::SetSwitchInfo(node) => self.answered(data, |sweep, info: &SwitchInfo| {
                    sweep.on_switch_set(node, *info)
                }),
                Request::SetSlToVl(node, modifier) => {
                    self.answered(data, |sweep, table: &SlToVlMappingTable| {
                        sweep.on_sl_to_vl_set(node, modifier, *table);
                        true
                    })
                }
                Request::SetVlArbitration(port, half) => {
                    self.on_vl_arbitration_set(port, half, *data);
                    true
                }
                Request::SetPortInfo(port, state) => {
                    self.on_port_set(port, state, PortInfo::from_bytes(*data))
                }
                Request::DisablePort(port) => {
                    self.on_port_set(port, PortState::DOWN, PortInfo::from_bytes(*data))
                }
            };
        if !done {
            self.errors = self.errors.saturating_add(1);
            self.events.push_back(Event::Refused {
                at: request.port().map(|port| self.subnet.port_at(port)),
                attribute_id: request.attribute_id(),
                status: smp.status(),
            });
        }
    }

    /// Takes in that a request was not answered.
    pub(crate) fn on_failure(&mut self, request: Request) {
        let neighbor = matches!(request, Request::GetNodeInfo(_));
        match request {
            // The link is up and nobody is there: that may be so for good.
            Request::GetNodeInfo(Some(from)) => {
                if let Some(port) = self.subnet.port_mut(from) {
                    port.neighbor_silent = true;
                }
            }
            Request::CheckNodeInfo(_)
            | Request::LightNodeInfo(_)
            | Request::GetSmInfo(_)
            | Request::LightSmInfo(_)
            | Request::PollSm(_)
            | Request::HandOver(_) => return,
            Request::LightSwitchInfo(_) => {
                self.changed = true;
                return;
            }
            _ => self.errors = self.errors.saturating_add(1),
        }
        if let Request::SetLft(node, block) = request
            && let Some(switch) = self.subnet.switch_mut(node)
        {
            // It may have arrived all the same.
            switch.lft.forget(block);
        }
        if let Request::SetMft(node, at) = request
            && let Some(switch) = self.subnet.switch_mut(node)
        {
            switch.mft.remove(&at);
            switch.is_fresh = false;
        }
        let at = request.port();
        let first = neighbor
            || at
                .and_then(|port| self.subnet.node_mut(port.node))
                .is_none_or(|node| !core::mem::replace(&mut node.silent, true));
        if first {
            let unresponsive = Unresponsive {
                at: at.map(|port| self.subnet.port_at(port)),
                neighbor,
                attribute_id: request.attribute_id(),
            };
            self.unresponsive.push(unresponsive);
            self.events.push_back(Event::Unresponsive(unresponsive));
        }
    }

    /// Goes on to the next step, all requests of this one being over. Returns false where the step
    /// only computes: [`compute`](Self::compute) ends it.
    pub(crate) fn advance(&mut self, config: &SmConfig, groups: &mut Groups) -> bool {
        match self.step {
            Step::Discover => {
                self.report_vanished();
                self.step = Step::Lids;
                if self.assign_lids(config) {
                    self.set_management_ports(config);
                }
            }
            Step::Lids => self.step = Step::Route,
            Step::Route | Step::Verify | Step::Settle => return false,
            Step::RaiseTops => {
                self.step = Step::Tables;
                self.start_tables(config);
            }
            Step::Tables => {
                if !self.go_on_with_tables(config) {
                    self.step = Step::Qos;
                    self.queue_qos_tables(config);
                }
            }
            Step::Qos => {
                self.step = Step::Multicast;
                self.plan_trees(config, groups);
                self.queue_mft_blocks();
            }
            Step::Multicast => {
                self.step = Step::PKeys;
                self.queue_p_key_tables(config);
            }
            Step::PKeys => {
                self.step = Step::Arm;
                self.configure_and_arm(config);
            }
            Step::Arm => {
                self.step = Step::Activate;
                self.activate();
            }
            Step::Activate => {
                self.step = Step::LowerTops;
                self.lower_tops(config);
            }
            Step::Regroup => {
                self.step = Step::RegroupTops;
                self.set_multicast_tops(config);
            }
            Step::LowerTops | Step::Light | Step::RegroupTops | Step::Done => {
                self.step = Step::Done;
            }
        }
        true
    }

    /// Does the work of a step that computes.
    pub(crate) fn compute(&mut self, config: &SmConfig) {
        match self.step {
            Step::Route => {
                self.compute_routes(config);
                self.step = Step::Verify;
            }
            Step::Verify => {
                if self.verify_routes(config) {
                    self.step = Step::RaiseTops;
                    self.raise_tops(config);
                } else {
                    // The next engine.
                    self.step = Step::Route;
                }
            }
            Step::Settle => {
                self.step = Step::Tables;
                self.next_wave(config);
            }
            _ => {}
        }
    }

    /// The M_Key that a device guards itself by: the one that it showed, as a manager before this one
    /// may have left it, else the own.
    fn m_key_of(&self, config: &SmConfig, request: Request) -> MKey {
        let own = config.m_key;
        let asked = match request {
            // It goes to whoever is behind the port.
            Request::GetNodeInfo(_) | Request::LightNodeInfo(_) => None,
            _ => request.port(),
        };
        let guard = asked.and_then(|port| {
            let node = self.subnet.node(port.node)?;
            let port = if node.is_switch() {
                PortNum(0)
            } else {
                port.port
            };
            node.port(port)?.info.as_ref()
        });
        let shown = guard.map_or(own, PortInfo::m_key);
        if shown == MKey(0) { own } else { shown }
    }

    /// The modifier of PortInfo: speeds beyond HDR are shown only to who says that it knows them.
    fn port_info_modifier(&self, port: PortRef) -> u32 {
        let node = self.subnet.node(port.node);
        PortInfoModifier {
            port: port.port,
            extended_speeds: node.is_some_and(|node| node.extended_speeds),
        }
        .bits()
    }

    /// Counts the ports that have a link, by their states.
    pub(crate) fn port_counts(&self) -> PortCounts {
        let mut counts = PortCounts::default();
        for (_, node) in self.subnet.nodes() {
            for (num, port) in node.ports() {
                if (node.is_switch() && num == PortNum(0)) || !port.is_up() {
                    continue;
                }
                if port.state() == ib_smp::PortState::ACTIVE {
                    counts.active = counts.active.saturating_add(1);
                } else {
                    counts.not_active = counts.not_active.saturating_add(1);
                }
            }
        }
        counts
    }

    /// Reads an attribute that is shorter than the datagram's data.
    fn answered<T>(&mut self, data: &[u8], act: impl FnOnce(&mut Self, &T) -> bool) -> bool
    where
        T: zerocopy::FromBytes + zerocopy::KnownLayout + zerocopy::Immutable + zerocopy::Unaligned,
    {
        match T::ref_from_prefix(data) {
            Ok((attribute, _)) => act(self, attribute),
            Err(_) => false,
        }
    }
}

fn fill(data: &mut [u8; 64], bytes: &[u8]) {
    for (to, &from) in data.iter_mut().zip(bytes) {
        *to = from;
    }
}

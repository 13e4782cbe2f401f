//! Apply: sends the changes of one stage to the devices.
//!
//! A stage ends when every change is answered or given up. Answers of devices are recorded in the observed
//! state, so that the next sweep need not read it again.

use alloc::collections::{BTreeMap, VecDeque};

use ib_mad::{Attribute as _, AttributeId, Mad, Method};
use ib_smp::{GuidInfo, PortInfo, PortInfoModifier};
use ib_subnet::{Block, PortId, SmpRoute, Subnet};
use ib_wire::{MKey, table::padded};

use crate::{
    policy::{Situation, links},
    reconcile::{
        self, Stage, Step, Steps,
        tables::{self, EntryWrite},
    },
};

/// The purpose of one datagram of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StageRequest {
    /// Reads a block before it is written.
    Read(Block),
    /// Writes a block.
    Set(Block),
    /// Writes some entries of a linear forwarding table that is in use.
    Entries(EntryWrite),
    /// Writes a block of alias GUIDs.
    AliasGuids(PortId, u8),
    /// Disables a port.
    Disable(PortId),
}

impl StageRequest {
    /// The block that is read or written.
    pub(crate) fn block(self) -> Block {
        match self {
            Self::Read(block) | Self::Set(block) => block,
            Self::Entries(write) => reconcile::lft_block(write.node, write.block),
            Self::AliasGuids(port, block) => Block {
                port,
                attribute: GuidInfo::ID,
                modifier: block.into(),
            },
            Self::Disable(port) => Block {
                port,
                attribute: PortInfo::ID,
                modifier: port.port.0.into(),
            },
        }
    }

    const fn method(self) -> Method {
        match self {
            Self::Read(_) => Method::GET,
            _ => Method::SET,
        }
    }
}

/// A stage that is being applied.
#[derive(Debug)]
pub(crate) struct Apply {
    stage: Stage,
    steps: Steps,
    writes: VecDeque<EntryWrite>,
    alias_guids: BTreeMap<(PortId, u8), GuidInfo>,
    unsent_alias_guids: VecDeque<(PortId, u8)>,
}

impl Apply {
    /// A stage of blocks.
    pub(crate) fn of_steps(stage: Stage, steps: Steps) -> Self {
        Self {
            stage,
            steps,
            writes: VecDeque::new(),
            alias_guids: BTreeMap::new(),
            unsent_alias_guids: VecDeque::new(),
        }
    }

    /// A stage of entries of forwarding tables.
    pub(crate) fn of_writes(stage: Stage, writes: impl IntoIterator<Item = EntryWrite>) -> Self {
        Self {
            writes: writes.into_iter().collect(),
            ..Self::of_steps(stage, Steps::default())
        }
    }

    /// A stage of alias GUIDs.
    pub(crate) fn of_alias_guids(
        blocks: impl IntoIterator<Item = ((PortId, u8), GuidInfo)>,
    ) -> Self {
        let blocks: BTreeMap<_, _> = blocks.into_iter().collect();
        Self {
            unsent_alias_guids: blocks.keys().copied().collect(),
            alias_guids: blocks,
            ..Self::of_steps(Stage::AliasGuids, Steps::default())
        }
    }

    pub(crate) const fn stage(&self) -> Stage {
        self.stage
    }

    /// Requests that have not been sent yet.
    pub(crate) fn len(&self) -> usize {
        let waiting = self.steps.len().saturating_add(self.writes.len());
        waiting.saturating_add(self.unsent_alias_guids.len())
    }

    pub(crate) fn push_write(&mut self, write: EntryWrite) {
        self.writes.push_back(write);
    }

    /// Queues steps, which follow the writes of entries.
    pub(crate) fn push_steps(&mut self, steps: Steps) {
        self.steps.append(steps);
    }

    /// Queues the write of a block if its content, now known, differs from the desired content.
    pub(crate) fn push_set(&mut self, block: Block) {
        self.steps.push(Step::Set(block));
    }

    /// Removes and returns the blocks that are to be written; reads stay queued.
    pub(crate) fn take_sets(&mut self) -> alloc::vec::Vec<Block> {
        let (mut sets, mut reads) = (alloc::vec::Vec::new(), Steps::default());
        for step in core::mem::take(&mut self.steps) {
            match step {
                Step::Set(block) => sets.push(block),
                Step::Read(_) => reads.push(step),
            }
        }
        self.steps = reads;
        sets
    }

    /// The alias GUIDs that no port has confirmed yet.
    pub(crate) fn unconfirmed_alias_guids(&self) -> impl Iterator<Item = (PortId, u8)> + '_ {
        self.alias_guids.keys().copied()
    }

    /// Removes a block of alias GUIDs from those that await confirmation.
    pub(crate) fn confirm_alias_guids(&mut self, port: PortId, block: u8) -> Option<GuidInfo> {
        self.alias_guids.remove(&(port, block))
    }

    /// The next request, with its datagram. Requests to devices that did not answer, that cannot be reached or
    /// that cannot be trusted are left out.
    pub(crate) fn next(&mut self, at: Situation<'_>) -> Option<(StageRequest, Mad)> {
        loop {
            let request = if let Some(write) = self.writes.pop_front() {
                StageRequest::Entries(write)
            } else if let Some(step) = self.steps.next() {
                match step {
                    Step::Read(block) => StageRequest::Read(block),
                    Step::Set(block) => StageRequest::Set(block),
                }
            } else {
                let (port, block) = self.unsent_alias_guids.pop_front()?;
                StageRequest::AliasGuids(port, block)
            };
            if let Some(data) = self.data(at, request)
                && let Some(mad) = datagram(at, request, &data)
            {
                return Some((request, mad));
            }
        }
    }

    /// The data of a request.
    fn data(&self, at: Situation<'_>, request: StageRequest) -> Option<[u8; 64]> {
        match request {
            StageRequest::Read(_) => Some([0; 64]),
            StageRequest::AliasGuids(port, block) => {
                Some(*self.alias_guids.get(&(port, block))?.as_bytes())
            }
            _ => desired(at, self.stage, request),
        }
    }
}

/// The data of the Set that writes a block.
pub(crate) fn desired(at: Situation<'_>, stage: Stage, request: StageRequest) -> Option<[u8; 64]> {
    match request {
        StageRequest::Set(block) => reconcile::desired(at, stage, block),
        StageRequest::Entries(write) if stage == Stage::Detour => tables::detoured(at, write),
        StageRequest::Entries(write) => tables::content(at, write),
        StageRequest::Disable(port) => Some(*links::disable(at, port)?.as_bytes()),
        StageRequest::Read(_) | StageRequest::AliasGuids(..) => None,
    }
}

/// The datagram of a request; `None` if its device did not answer, cannot be reached or cannot be trusted.
pub(crate) fn datagram(at: Situation<'_>, request: StageRequest, data: &[u8; 64]) -> Option<Mad> {
    let block = request.block();
    let subnet = at.subnet();
    let node = subnet.node(block.port.node)?;
    if node.is_silent() || !subnet.is_steady(block.port.node) {
        return None;
    }
    let modifier = match block.attribute {
        PortInfo::ID => PortInfoModifier {
            port: block.port.port,
            extended_speeds: node.shows_all_speeds(),
        }
        .bits(),
        _ => block.modifier,
    };
    Some(along(
        &subnet.route(block.port)?,
        subnet.m_key(block.port, at.config().m_key),
        request.method(),
        block.attribute,
        modifier,
        data,
    ))
}

/// The datagram of a request along a route.
pub(crate) fn along(
    route: &SmpRoute,
    m_key: MKey,
    method: Method,
    attribute_id: AttributeId,
    attribute_modifier: u32,
    data: &[u8; 64],
) -> Mad {
    let mut smp = route.request(method, attribute_id, attribute_modifier, m_key);
    smp.set_smp_data(data);
    route.datagram(&smp)
}

/// Records the content that a device's answer shows. The request must not have failed.
pub(crate) fn record(subnet: &mut Subnet, request: StageRequest, data: &[u8; 64]) {
    let block = request.block();
    if block.attribute == ib_smp::SwitchInfo::ID {
        let known = subnet
            .switch(block.port.node)
            .and_then(|switch| switch.info());
        if known.is_some_and(|known| known.port_state_change()) {
            subnet.set_ports_unsure(block.port.node);
        }
        // The bit reads back as it was written; a change after the Set shows in the next light sweep.
        if let Ok((info, _)) = ib_smp::SwitchInfo::parse(data, 0) {
            let mut info = *info;
            info.set_port_state_change(false);
            subnet.record(block, &padded(info.as_bytes()));
        }
        return;
    }
    subnet.record(block, data);
}

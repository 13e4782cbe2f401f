//! The ports that the cases work on, and the restoration of their state.

use alloc::format;
use core::time::Duration;

use ib_routing::PortRef;
use ib_smp::{
    CapabilityMask, DrPath, LinkDownDefaultState, PortInfo, PortPhysicalState, PortState,
};
use ib_wire::{Lid, MKey, PortNum};

use super::bench::{Bench, Outcome, Stop, ensure, fail, skip};

/// The key with which cases protect a port. The code that restores a port tries it.
pub(super) const TEST_KEY: MKey = MKey(0x00c0_ffee_0000_0001);

/// The address of a port: the agent of its node, and the attribute modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PortAt {
    /// The directed route to the node.
    pub(super) path: DrPath,
    /// Attribute modifier: the port number; 0 at a channel adapter is the port of arrival.
    pub(super) modifier: u32,
}

/// A cable between a switch and a channel adapter that no manager and no other case depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edge {
    /// The end at the switch.
    pub(super) switch: PortAt,
    /// The end at the channel adapter.
    pub(super) ca: PortAt,
}

impl Bench<'_> {
    /// A port of a channel adapter that has a cable to a switch and is neither our own port nor a manager's.
    pub(super) fn ca_port(&self) -> Result<PortRef, Stop> {
        let own = self.subnet.own_port.map(|own| own.node);
        // The last such port: a server's default node, where other programs may run, is the first.
        let found = self.subnet.ports().filter(|(at, node, port)| {
            let is_manager = port
                .info
                .is_some_and(|info| info.capability_mask().contains(CapabilityMask::IS_SM));
            let to_switch = port
                .peer
                .and_then(|peer| self.subnet.node(peer.node))
                .is_some_and(|peer| peer.is_switch());
            Some(at.node) != own && !node.is_switch() && !is_manager && to_switch
        });
        match found.last() {
            Some((at, _, _)) => Ok(at),
            None => skip("no channel adapter beside ours that a switch is in front of"),
        }
    }

    /// The directed route to the channel adapter that is tested.
    pub(super) fn ca(&self) -> Result<DrPath, Stop> {
        self.edge().map(|edge| edge.ca.path)
    }

    /// The cable to the channel adapter that is tested.
    pub(super) fn edge(&self) -> Result<Edge, Stop> {
        let ca = self.ca_port()?;
        let behind = self.subnet.port(ca).and_then(|port| port.peer);
        let switch = behind.and_then(|peer| Some((peer, self.subnet.node(peer.node)?.path)));
        let Some((peer, path)) = switch else {
            return skip("no switch in front of a channel adapter");
        };
        match path.then(peer.port) {
            Some(to_ca) => Ok(Edge {
                switch: PortAt {
                    path,
                    modifier: u32::from(peer.port.0),
                },
                ca: PortAt {
                    path: to_ca,
                    modifier: 0,
                },
            }),
            None => skip("the channel adapter is more than 63 hops away"),
        }
    }

    /// The directed route to the nearest switch.
    pub(super) fn switch(&self) -> Result<DrPath, Stop> {
        let switches = self.subnet.nodes.iter().filter(|node| node.is_switch());
        let nearest = switches.min_by_key(|node| node.path.hop_count());
        match nearest {
            Some(node) => Ok(node.path),
            None => skip("no switch"),
        }
    }

    /// Port 0 of the nearest switch.
    pub(super) fn port_0(&self) -> Result<PortAt, Stop> {
        Ok(PortAt {
            path: self.switch()?,
            modifier: 0,
        })
    }

    pub(super) fn port_info(&mut self, at: PortAt) -> Result<PortInfo, Stop> {
        self.get(&at.path, at.modifier)
    }

    /// PortInfo of the port that the case sends from.
    pub(super) fn own_info(&mut self) -> Result<PortInfo, Stop> {
        self.get(&DrPath::OWN_NODE, 0)
    }

    /// Judges a Set of PortInfo that must be refused and must change nothing.
    pub(super) fn refused(&mut self, at: PortAt, change: fn(&mut PortInfo)) -> Outcome {
        self.with_port(at, |bench, before| {
            let mut wanted = settable(before);
            change(&mut wanted);
            let (status, _) = bench.set(&at.path, at.modifier, &wanted)?;
            ensure!(
                status == ib_mad::MadStatus::INVALID_FIELD_VALUE,
                "status {status}, expected 0x001c"
            );
            let after = bench.port_info(at)?;
            ensure!(
                same_but_counters(before, &after),
                "a Set that was refused changed the port"
            );
            Ok(())
        })
    }

    /// Judges a Set of PortInfo that must be carried out: the answer and a Get after it show the new values.
    pub(super) fn taken(
        &mut self,
        at: PortAt,
        change: fn(&mut PortInfo),
        shows: fn(&PortInfo, &PortInfo) -> bool,
    ) -> Outcome {
        self.with_port(at, |bench, before| {
            let mut wanted = settable(before);
            change(&mut wanted);
            let answer = bench.put(&at.path, at.modifier, &wanted)?;
            ensure!(
                shows(before, &answer),
                "the answer does not show the values after the Set"
            );
            let after = bench.port_info(at)?;
            ensure!(
                shows(before, &after),
                "a Get after the Set does not show it"
            );
            Ok(())
        })
    }

    /// Lets a case change a port, and restores PortInfo whatever the result is.
    pub(super) fn with_port(
        &mut self,
        at: PortAt,
        body: impl FnOnce(&mut Self, &PortInfo) -> Outcome,
    ) -> Outcome {
        let before = self.port_info(at)?;
        if before.lid() == Lid::NONE && at.modifier == 0 {
            return skip("the port has no LID: bring the subnet up first");
        }
        let outcome = body(self, &before);
        let restored = self.restore(at, &before);
        outcome.and(restored)
    }

    /// Restores PortInfo.
    pub(super) fn restore(&mut self, at: PortAt, before: &PortInfo) -> Outcome {
        let wanted = settable(before);
        let mut answered = None;
        for key in [self.options.m_key, TEST_KEY] {
            let mut smp = self.smp(
                ib_mad::Method::SET,
                <PortInfo as ib_mad::Attribute>::ID,
                at.modifier,
                &at.path,
            );
            smp.set_m_key(key).set_attribute(&wanted);
            answered = self.ask(&smp.to_mad())?;
            if answered.is_some() {
                break;
            }
        }
        match answered {
            Some(_) => Ok(()),
            None => fail(format!("the port at {} cannot be set back", at.path)),
        }
    }

    /// Reads the state of a port repeatedly until it is `wanted`; `false` if that takes too long.
    pub(super) fn reaches(&mut self, at: PortAt, wanted: PortState) -> Result<bool, Stop> {
        let deadline = self.after(self.options.timeout.saturating_mul(4));
        loop {
            if self.port_info(at)?.port_state() == wanted {
                return Ok(true);
            }
            if self.now() >= deadline {
                return Ok(false);
            }
            self.pause(Duration::from_millis(10))?;
        }
    }

    /// Sets the state of a port, and no other field.
    pub(super) fn set_state(
        &mut self,
        at: PortAt,
        state: PortState,
    ) -> Result<(ib_mad::MadStatus, PortInfo), Stop> {
        let mut wanted = settable(&self.port_info(at)?);
        wanted.set_port_state(state);
        self.set(&at.path, at.modifier, &wanted)
    }

    /// Lets a case change the state of a link, and brings the link up again whatever the result is.
    pub(super) fn with_link(&mut self, body: impl FnOnce(&mut Self, Edge) -> Outcome) -> Outcome {
        let edge = self.edge()?;
        let before = (self.port_info(edge.switch)?, self.port_info(edge.ca)?);
        if before.0.port_state() != PortState::ACTIVE || before.1.port_state() != PortState::ACTIVE
        {
            return skip("the link is not Active: bring the subnet up first");
        }
        let outcome = body(self, edge);
        let restored = self.activate(edge);
        // Settings that a link loses when it goes down, such as the MTU, are restored too.
        let settled = self
            .restore(edge.switch, &before.0)
            .and_then(|()| self.restore(edge.ca, &before.1));
        outcome.and(restored).and(settled)
    }

    /// Brings a link from any state to one in which the switch's port is in Initialize.
    pub(super) fn initialize(&mut self, edge: Edge) -> Outcome {
        let now = self.port_info(edge.switch)?;
        if now.port_physical_state() == PortPhysicalState::DISABLED {
            let mut wanted = settable(&now);
            wanted.set_port_physical_state(PortPhysicalState::POLLING);
            self.set(&edge.switch.path, edge.switch.modifier, &wanted)?;
        } else if now.port_state() != PortState::INITIALIZE {
            self.set_state(edge.switch, PortState::DOWN)?;
        }
        match self.reaches(edge.switch, PortState::INITIALIZE)? {
            true => Ok(()),
            false => fail("the link does not come back to Initialize"),
        }
    }

    /// Takes a link down at the end of the channel adapter, and waits until the switch's port is in Initialize.
    pub(super) fn drop_link(&mut self, edge: Edge) -> Outcome {
        let mut wanted = settable(&self.port_info(edge.ca)?);
        wanted.set_port_state(PortState::DOWN);
        let mut smp = self.smp(
            ib_mad::Method::SET,
            <PortInfo as ib_mad::Attribute>::ID,
            edge.ca.modifier,
            &edge.ca.path,
        );
        let id = self.transaction();
        smp.set_transaction_id(id).set_attribute(&wanted);
        // No wait for the answer, which leaves by the link that goes down: it may be lost.
        self.send(&smp.to_mad())?;
        match self.reaches(edge.switch, PortState::INITIALIZE)? {
            true => Ok(()),
            false => fail("the switch's port does not become Initialize"),
        }
    }

    /// Brings both ends of a link to Active.
    fn activate(&mut self, edge: Edge) -> Outcome {
        self.initialize(edge)?;
        for state in [PortState::ARMED, PortState::ACTIVE] {
            for at in [edge.ca, edge.switch] {
                if self.port_info(at)?.port_state() != state {
                    self.set_state(at, state)?;
                }
            }
        }
        for at in [edge.ca, edge.switch] {
            let state = self.port_info(at)?.port_state();
            ensure!(state == PortState::ACTIVE, "the link comes back as {state}");
        }
        Ok(())
    }

    /// Brings the switch's port of a link from Active to `state`.
    pub(super) fn bring_to(&mut self, edge: Edge, state: PortState) -> Outcome {
        match state {
            PortState::ACTIVE => return Ok(()),
            PortState::DOWN => {
                let mut wanted = settable(&self.port_info(edge.switch)?);
                wanted.set_port_physical_state(PortPhysicalState::DISABLED);
                let at = edge.switch;
                let (status, _) = self.set(&at.path, at.modifier, &wanted)?;
                ensure!(status.is_ok(), "Disabled is refused: status {status}");
            }
            _ => {
                self.initialize(edge)?;
                if state == PortState::ARMED {
                    self.set_state(edge.switch, state)?;
                    // A port becomes Active only once its peer has left Initialize.
                    self.set_state(edge.ca, state)?;
                }
            }
        }
        match self.reaches(edge.switch, state)? {
            true => Ok(()),
            false => fail(format!("the port does not become {state}")),
        }
    }
}

/// PortInfo with fields that a Set may carry and that change nothing.
pub(super) fn settable(read: &PortInfo) -> PortInfo {
    let mut info = *read;
    info.set_port_state(PortState::NO_CHANGE)
        .set_port_physical_state(PortPhysicalState::NO_CHANGE)
        .set_client_reregister(false);
    if info.link_down_default_state().0 > LinkDownDefaultState::POLLING.0 {
        info.set_link_down_default_state(LinkDownDefaultState::NO_CHANGE);
    }
    info
}

/// Returns true if two readings show the same port. Violation counters and the port of arrival may differ.
pub(super) fn same_but_counters(a: &PortInfo, b: &PortInfo) -> bool {
    let mut b = *b;
    b.set_m_key_violations(a.m_key_violations())
        .set_p_key_violations(a.p_key_violations())
        .set_q_key_violations(a.q_key_violations())
        .set_local_port_num(a.local_port_num())
        .set_link_round_trip_latency(a.link_round_trip_latency())
        .set_diag_code(a.diag_code());
    *a == b
}

/// A port number as an attribute modifier.
pub(super) fn modifier(port: PortNum) -> u32 {
    u32::from(port.0)
}

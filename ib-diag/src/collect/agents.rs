//! The agents of the subnet, and the requests that are still to be sent to each of them.
//!
//! A node has one agent for subnet management for each of its directed routes, and one agent for performance management
//! for each LID. All agents are served in turn, with several requests to each in flight at a time.

use alloc::{collections::VecDeque, vec::Vec};

use ib_routing::PortRef;
use ib_smp::DrPath;

use super::plan::Get;

/// An agent, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AgentIdx(u32);

impl AgentIdx {
    /// The number by which the transaction window counts the requests to the agent.
    pub(super) fn as_key(self) -> u64 {
        // Bit 31 keeps these keys apart from LIDs, which have 16 bits: redirected requests are counted separately.
        u64::from(self.0) << 32 | 1 << 31
    }
}

/// The address of an agent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Agent {
    /// Subnet management over a directed route; the port is the one at the end of the route.
    Smi(PortRef, DrPath),
    /// Performance management at the LID of this port.
    Perf(PortRef),
}

#[derive(Debug)]
struct Queue {
    agent: Agent,
    waiting: VecDeque<Get>,
    in_flight: u32,
    /// The agent is in the round.
    is_ready: bool,
    /// The agent left a request unanswered.
    is_silent: bool,
}

/// All agents, with a queue of requests for each.
#[derive(Debug)]
pub(super) struct Agents {
    queues: Vec<Queue>,
    /// The agents that have requests to send and may have one more in flight.
    round: VecDeque<AgentIdx>,
    per_agent: u32,
    known: usize,
    /// Number of requests in all queues together.
    waiting: usize,
}

impl Agents {
    pub(super) fn new(per_agent: u32) -> Self {
        Self {
            queues: Vec::new(),
            round: VecDeque::new(),
            per_agent,
            known: 0,
            waiting: 0,
        }
    }

    /// Adds an agent with its first requests. Returns its number.
    pub(super) fn add(&mut self, agent: Agent, gets: Vec<Get>) -> AgentIdx {
        let index = AgentIdx(u32::try_from(self.queues.len()).unwrap_or(u32::MAX));
        self.queues.push(Queue {
            agent,
            waiting: VecDeque::new(),
            in_flight: 0,
            is_ready: false,
            is_silent: false,
        });
        self.extend(index, gets);
        index
    }

    /// Adds requests to the queue of an agent.
    pub(super) fn extend(&mut self, agent: AgentIdx, gets: Vec<Get>) {
        let Some(queue) = self.queue(agent) else {
            return;
        };
        if queue.is_silent {
            return;
        }
        let count = gets.len();
        queue.waiting.extend(gets);
        self.known = self.known.saturating_add(count);
        self.waiting = self.waiting.saturating_add(count);
        self.make_ready(agent);
    }

    /// The next request, taking the agents in turn.
    pub(super) fn next(&mut self) -> Option<(AgentIdx, Get)> {
        loop {
            let agent = self.round.pop_front()?;
            let Some(queue) = self.queue(agent) else {
                continue;
            };
            queue.is_ready = false;
            let Some(get) = queue.waiting.pop_front() else {
                continue;
            };
            queue.in_flight = queue.in_flight.saturating_add(1);
            self.waiting = self.waiting.saturating_sub(1);
            self.make_ready(agent);
            return Some((agent, get));
        }
    }

    /// Puts back a request that the window could not take.
    pub(super) fn put_back(&mut self, agent: AgentIdx, get: Get) {
        if let Some(queue) = self.queue(agent) {
            queue.waiting.push_front(get);
            queue.in_flight = queue.in_flight.saturating_sub(1);
            self.waiting = self.waiting.saturating_add(1);
        }
        self.make_ready(agent);
    }

    /// Records that a request to the agent has ended.
    pub(super) fn ended(&mut self, agent: AgentIdx) {
        if let Some(queue) = self.queue(agent) {
            queue.in_flight = queue.in_flight.saturating_sub(1);
        }
        self.make_ready(agent);
    }

    /// Drops the requests that are still queued for the agent. Returns whether the agent had been given up before.
    pub(super) fn give_up(&mut self, agent: AgentIdx) -> bool {
        let Some(queue) = self.queue(agent) else {
            return true;
        };
        let dropped = core::mem::take(&mut queue.waiting).len();
        let before = core::mem::replace(&mut queue.is_silent, true);
        self.known = self.known.saturating_sub(dropped);
        self.waiting = self.waiting.saturating_sub(dropped);
        before
    }

    /// The port to which the agent belongs.
    pub(super) fn port(&self, agent: AgentIdx) -> PortRef {
        match self.queues.get(agent.0 as usize).map(|queue| queue.agent) {
            Some(Agent::Smi(port, _) | Agent::Perf(port)) => port,
            None => PortRef {
                node: ib_routing::NodeIdx(u32::MAX),
                port: ib_wire::PortNum(0),
            },
        }
    }

    /// The directed route to an agent for subnet management; `None` for another agent.
    pub(super) fn path(&self, agent: AgentIdx) -> Option<DrPath> {
        match self.queues.get(agent.0 as usize)?.agent {
            Agent::Smi(_, path) => Some(path),
            Agent::Perf(_) => None,
        }
    }

    /// Returns true if no request is queued.
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Number of requests that were ever added, without those that were dropped.
    pub(super) fn known(&self) -> usize {
        self.known
    }

    fn queue(&mut self, agent: AgentIdx) -> Option<&mut Queue> {
        self.queues.get_mut(agent.0 as usize)
    }

    fn make_ready(&mut self, agent: AgentIdx) {
        let per_agent = self.per_agent;
        let Some(queue) = self.queue(agent) else {
            return;
        };
        let has_room = queue.in_flight < per_agent && !queue.waiting.is_empty();
        if has_room && !core::mem::replace(&mut queue.is_ready, true) {
            self.round.push_back(agent);
        }
    }
}

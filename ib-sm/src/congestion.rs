//! The congestion control manager: configures when switches mark packets and how CAs slow down (IBA vol. 1, annex
//! A10).
//!
//! It runs beside the subnet manager on the same port and uses datagrams of the congestion control class. For
//! each agent it first reads whether the agent supports congestion control, then its settings. It writes only
//! settings that differ from the configuration. A device without an agent for the class costs one request that
//! times out. The device is not asked again until it has left the subnet and come back.
//!
//! Pitfall: an agent whose key differs from `cc_key` does not refuse a Set; it does not answer.

mod settings;

use alloc::{
    collections::{BTreeSet, VecDeque},
    vec::Vec,
};
use core::fmt;

use ib_mad::{
    Attribute, AttributeId, CaCongestionSetting, Call, CallError, CongestionControlMad,
    CongestionControlTable, CongestionInfo, Engine, InFlight, Input, Instant, Mad, MadAddress,
    MadStatus, MgmtClass, SwitchCongestionSetting, TransactionWindow, WindowConfig,
};
use ib_smp::NodeType;
use ib_subnet::{PortAt, Subnet};
use ib_wire::Lid;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::config::CongestionOptions;

/// Reports of the congestion control manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CongestionEvent {
    /// The run is over: every agent was asked, and holds the configured settings except those that it refused.
    Done {
        /// Switches with an agent for congestion control.
        switches: usize,
        /// CA ports with an agent for congestion control.
        cas: usize,
        /// End ports without an agent for congestion control.
        unsupported: usize,
        /// Sets that were sent and answered.
        written: usize,
    },
    /// An agent did not take a setting.
    NotWritten {
        /// The end port of the agent.
        port: PortAt,
        /// The setting.
        attribute: AttributeId,
        /// The status of its response; `None` if there was no response, for example with a wrong `cc_key`.
        status: Option<MadStatus>,
    },
    /// The congestion control table of a CA is shorter than `cc_cct`, so it was not written.
    TableTooLong {
        /// The end port of the agent.
        port: PortAt,
        /// Number of entries in the CA's table.
        room: u16,
    },
}

impl CongestionEvent {
    /// The event's name in logs.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Done { .. } => "congestion_configured",
            Self::NotWritten { .. } => "congestion_not_written",
            Self::TableTooLong { .. } => "congestion_table_too_long",
        }
    }

    /// Returns true if the event reports a failure.
    #[must_use]
    pub const fn is_warning(&self) -> bool {
        !matches!(self, Self::Done { .. })
    }
}

impl fmt::Display for CongestionEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Done {
                switches,
                cas,
                unsupported,
                written,
            } => write!(
                f,
                "congestion control: {switches} switches and {cas} ports of CAs configured with {written} writes, \
                 {unsupported} ports without support"
            ),
            Self::NotWritten {
                port,
                attribute,
                status: Some(status),
            } => write!(
                f,
                "{port}: congestion setting {attribute} refused with status {status}"
            ),
            Self::NotWritten {
                port,
                attribute,
                status: None,
            } => write!(
                f,
                "{port}: no answer to congestion setting {attribute}; cc_key may not be the key of the device"
            ),
            Self::TableTooLong { port, room } => write!(
                f,
                "{port}: cc_cct is longer than the {room} entries that the CA has room for; nothing was written"
            ),
        }
    }
}

/// Configures congestion control in all devices of a subnet.
///
/// An [`Engine`] beside the subnet manager on the same port. Call [`begin`](Self::begin) after each sweep that
/// left the subnet up; between two runs the engine sends nothing.
pub struct CongestionManager {
    options: CongestionOptions,
    window: TransactionWindow<(usize, CongestionRequest)>,
    targets: Vec<Target>,
    /// Requests that do not fit in the window yet.
    waiting: VecDeque<(usize, CongestionRequest)>,
    /// End ports that are known to have no agent of the class.
    unsupported: BTreeSet<PortAt>,
    written: usize,
    is_running: bool,
    events: VecDeque<CongestionEvent>,
}

/// An agent for congestion control.
#[derive(Clone, Copy, Debug)]
struct Target {
    port: PortAt,
    lid: Lid,
    is_switch: bool,
    /// True if it responded to the first request.
    is_agent: bool,
}

/// The requests to an agent, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CongestionRequest {
    /// The agent's capabilities.
    Info,
    /// The agent's settings.
    Setting(Access),
    /// A block of its congestion control table.
    Table(u8, Access),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Get,
    Set,
}

impl CongestionManager {
    /// A manager that waits for [`begin`](Self::begin). `window` sets time-outs, repetitions and the first
    /// transaction ID; the options set the number of requests in flight.
    #[must_use]
    pub fn new(options: CongestionOptions, window: WindowConfig) -> Self {
        let window = WindowConfig {
            in_flight: InFlight::Fixed(options.max_in_flight.max(1).into()),
            ..window
        };
        Self {
            options,
            window: TransactionWindow::new(window),
            targets: Vec::new(),
            waiting: VecDeque::new(),
            unsupported: BTreeSet::new(),
            written: 0,
            is_running: false,
            events: VecDeque::new(),
        }
    }

    /// The options.
    #[must_use]
    pub const fn options(&self) -> &CongestionOptions {
        &self.options
    }

    /// Changes the options. They take effect at the next [`begin`](Self::begin), except for the number of requests
    /// in flight, which stays as it was at the start.
    pub fn reconfigure(&mut self, options: CongestionOptions) {
        self.options = options;
    }

    /// Returns true if a datagram from the port may be for this engine: a response of congestion control.
    #[must_use]
    pub fn expects(&self, mad: &Mad) -> bool {
        let header = mad.header();
        header.method().is_response() && header.mgmt_class() == MgmtClass::CONGESTION_CONTROL
    }

    /// Begins a run over the end ports of a subnet and abandons a run that is under way. Does nothing while
    /// [`enabled`](CongestionOptions::enabled) is off.
    pub fn begin(&mut self, subnet: &Subnet) {
        self.window.retain(|_| false);
        self.waiting.clear();
        self.written = 0;
        self.is_running = self.options.enabled;
        if !self.is_running {
            return;
        }
        self.targets = targets(subnet);
        let present: BTreeSet<PortAt> = self.targets.iter().map(|target| target.port).collect();
        self.unsupported.retain(|port| present.contains(port));
        let asked = self.targets.iter().enumerate();
        let asked = asked.filter(|(_, target)| !self.unsupported.contains(&target.port));
        self.waiting = asked
            .map(|(index, _)| (index, CongestionRequest::Info))
            .collect();
    }

    fn run(&mut self) {
        while let Some(failure) = self.window.poll_failure() {
            let (index, step) = failure.context;
            self.on_refused(index, step, None);
        }
        let room = usize::try_from(self.window.limit()).unwrap_or(usize::MAX);
        while self.window.len() < room {
            let Some((index, step)) = self.waiting.pop_front() else {
                break;
            };
            if let Some(mad) = self.request(index, step) {
                // The window has room, as was just checked.
                let _ = self.window.request(&mad, (index, step));
            }
        }
        if self.is_running && self.waiting.is_empty() && self.window.is_empty() {
            self.is_running = false;
            let agents = |is_switch: bool| {
                let targets = self.targets.iter();
                targets
                    .filter(|target| target.is_agent && target.is_switch == is_switch)
                    .count()
            };
            let done = CongestionEvent::Done {
                switches: agents(true),
                cas: agents(false),
                unsupported: self.unsupported.len(),
                written: self.written,
            };
            self.events.push_back(done);
        }
    }

    /// The datagram of a step.
    fn request(&self, index: usize, step: CongestionRequest) -> Option<Mad> {
        let target = self.targets.get(index)?;
        let address = MadAddress::gsi(target.lid, ib_wire::Sl::ZERO);
        let mut mad = match step {
            CongestionRequest::Info => get::<CongestionInfo>(0).request(address),
            CongestionRequest::Setting(access) if target.is_switch => {
                of(access, 0, &settings::of_switch(&self.options), address)
            }
            CongestionRequest::Setting(access) => {
                of(access, 0, &settings::of_ca(&self.options), address)
            }
            CongestionRequest::Table(block, access) => {
                let table = settings::table_block(&self.options, block);
                of(access, block.into(), &table, address)
            }
        };
        if let Ok((format, _)) = CongestionControlMad::parse_mut(&mut mad.bytes, 0) {
            format.set_cc_key(self.options.key);
        }
        Some(mad)
    }

    fn on_answer(&mut self, index: usize, step: CongestionRequest, mad: &Mad) {
        let status = mad.header().status();
        if !status.is_ok() {
            self.on_refused(index, step, Some(status));
            return;
        }
        match step {
            CongestionRequest::Info => match get::<CongestionInfo>(0).answer(mad) {
                Ok(info) => self.on_info(index, *info),
                Err(_) => self.on_refused(index, step, None),
            },
            CongestionRequest::Setting(Access::Get) => {
                let is_switch = self
                    .targets
                    .get(index)
                    .is_some_and(|target| target.is_switch);
                let differs = match is_switch {
                    true => holds_other(mad, 0, &settings::of_switch(&self.options)),
                    false => holds_other(mad, 0, &settings::of_ca(&self.options)),
                };
                self.set_if(differs, index, CongestionRequest::Setting(Access::Set));
            }
            CongestionRequest::Table(block, Access::Get) => {
                let table = settings::table_block(&self.options, block);
                let differs = holds_other(mad, block.into(), &table);
                self.set_if(differs, index, CongestionRequest::Table(block, Access::Set));
            }
            CongestionRequest::Setting(Access::Set) | CongestionRequest::Table(_, Access::Set) => {
                self.written = self.written.saturating_add(1);
            }
        }
    }

    fn set_if(&mut self, differs: bool, index: usize, set: CongestionRequest) {
        if differs {
            self.waiting.push_back((index, set));
        }
    }

    /// An agent responded: its settings are read next.
    fn on_info(&mut self, index: usize, info: CongestionInfo) {
        let Some(target) = self.targets.get_mut(index) else {
            return;
        };
        target.is_agent = true;
        let target = *target;
        self.waiting
            .push_back((index, CongestionRequest::Setting(Access::Get)));
        let blocks = settings::table_blocks(&self.options);
        if target.is_switch || blocks == 0 {
            return;
        }
        if blocks > info.control_table_cap() {
            let room = u16::from(info.control_table_cap()).saturating_mul(settings::BLOCK);
            self.events.push_back(CongestionEvent::TableTooLong {
                port: target.port,
                room,
            });
            return;
        }
        let gets = (0..blocks).map(|block| (index, CongestionRequest::Table(block, Access::Get)));
        self.waiting.extend(gets);
    }

    /// Handles a request that was refused or not answered.
    fn on_refused(&mut self, index: usize, step: CongestionRequest, status: Option<MadStatus>) {
        let Some(&Target {
            port, is_switch, ..
        }) = self.targets.get(index)
        else {
            return;
        };
        let attribute = match step {
            CongestionRequest::Info => {
                self.unsupported.insert(port);
                return;
            }
            CongestionRequest::Setting(_) if is_switch => SwitchCongestionSetting::ID,
            CongestionRequest::Setting(_) => CaCongestionSetting::ID,
            CongestionRequest::Table(..) => CongestionControlTable::ID,
        };
        self.events.push_back(CongestionEvent::NotWritten {
            port,
            attribute,
            status,
        });
    }
}

/// The end ports that may have an agent: port 0 of switches, and ports of CAs whose link is up.
fn targets(subnet: &Subnet) -> Vec<Target> {
    let end_ports = subnet.ports().filter(|(id, _, _)| subnet.is_end_port(*id));
    let targets = end_ports.filter_map(|(id, node, port)| {
        let lid = port.info()?.lid();
        let is_ca = node.info().node_type() == NodeType::CA;
        let is_reachable = lid.is_unicast() && (node.is_switch() || is_ca && port.is_up());
        is_reachable.then(|| Target {
            port: subnet.port_at(id),
            lid,
            is_switch: node.is_switch(),
            is_agent: false,
        })
    });
    targets.collect()
}

fn get<T: Attribute>(modifier: u32) -> Call<T> {
    Call::get(MgmtClass::CONGESTION_CONTROL, modifier)
}

/// A Get of an attribute, or the Set that writes `wanted`.
fn of<T>(access: Access, modifier: u32, wanted: &T, address: MadAddress) -> Mad
where
    T: Attribute + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned,
{
    match access {
        Access::Get => get::<T>(modifier).request(address),
        Access::Set => {
            let set = Call::<T>::set(MgmtClass::CONGESTION_CONTROL, modifier);
            set.request_with(address, wanted)
        }
    }
}

/// Returns true if the response to a Get differs from `wanted` or cannot be read.
fn holds_other<T>(mad: &Mad, modifier: u32, wanted: &T) -> bool
where
    T: Attribute + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned,
{
    let shown: Result<&T, CallError> = get::<T>(modifier).answer(mad);
    !shown.is_ok_and(|shown| shown.as_bytes() == wanted.as_bytes())
}

impl Engine for CongestionManager {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = CongestionEvent;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        if let Some(((index, step), mad)) = self.window.handle_answer(now, input) {
            self.on_answer(index, step, mad);
        }
        self.run();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.window.handle_timeout(now);
        self.run();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.run();
        self.window.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        // If no request is in flight, there is one to send, or the run is over and has to be closed.
        let idle = self.is_running.then_some(Instant::ZERO);
        self.window.poll_timeout().or(idle)
    }

    fn poll_event(&mut self) -> Option<CongestionEvent> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use ib_wire::{Guid, PortNum};

    use super::*;
    use crate::config::Delay;

    #[test]
    fn a_table_that_is_longer_than_a_device_has_room_for_is_not_written() {
        let options = CongestionOptions {
            enabled: true,
            table: alloc::vec![Delay { shift: 0, multiplier: 1 }; 65],
            ..CongestionOptions::default()
        };
        let mut manager = CongestionManager::new(options, WindowConfig::default());
        let port = PortAt {
            node_guid: Guid(7),
            port_num: PortNum(1),
        };
        manager.targets.push(Target {
            port,
            lid: Lid(7),
            is_switch: false,
            is_agent: false,
        });
        let mut info = CongestionInfo::default();
        info.set_control_table_cap(1);
        manager.on_info(0, info);
        let event = manager.poll_event();
        assert_eq!(
            event,
            Some(CongestionEvent::TableTooLong { port, room: 64 })
        );
        let is_table =
            |(_, step): &(usize, CongestionRequest)| matches!(step, CongestionRequest::Table(..));
        assert!(!manager.waiting.iter().any(is_table));
        info.set_control_table_cap(2);
        manager.on_info(0, info);
        assert_eq!(
            manager.waiting.iter().filter(|step| is_table(step)).count(),
            2
        );
    }
}

//! The agent as an engine: requests and what happens to the device in, responses and traps out.

use ib_mad::{Engine, Instant, Mad};
use ib_wire::PortNum;

use super::{Arrival, LinkMode, Sma, SmaEvent, SmaPort, SmaTransmit, SmpDisposition};

/// An input of a device and its agent.
#[derive(Clone, Copy, Debug)]
pub enum SmaInput<'a> {
    /// An SMP that the SMI delivered. SMPs for a subnet manager are refused, or dropped if they have no
    /// response: the host of a manager takes these first, by [`Sma::is_for_manager`].
    Smp {
        /// Arrival of the SMP.
        arrival: Arrival,
        /// The SMP and its sender's address.
        mad: &'a Mad,
    },
    /// The link of a port trained: [`Sma::link_up`].
    LinkUp {
        /// Port whose link came up.
        port: PortNum,
        /// Width and speed.
        mode: LinkMode,
    },
    /// The link of a port went down: [`Sma::link_down`].
    LinkDown {
        /// Port whose link went down.
        port: PortNum,
    },
    /// A data packet came in: [`Sma::data_received`].
    Data {
        /// Port that received the packet.
        port: PortNum,
    },
}

impl Engine for Sma {
    type Input<'a> = SmaInput<'a>;
    type Transmit = SmaTransmit;
    type Event = SmaEvent;

    fn handle_input(&mut self, now: Instant, input: SmaInput<'_>) {
        match input {
            SmaInput::Smp { arrival, mad } => {
                let mut response = *mad;
                let answered = match self.respond(now, arrival, &mut response.bytes) {
                    SmpDisposition::Respond => true,
                    SmpDisposition::ForManager => Self::refuse(&mut response.bytes),
                    SmpDisposition::Drop(_) => false,
                };
                if let Some(port) = self.guard(arrival.port).filter(|_| answered) {
                    let mad = response;
                    self.responses.push_back(SmaTransmit { port, mad });
                }
            }
            SmaInput::LinkUp { port, mode } => self.link_up(now, port, mode),
            SmaInput::LinkDown { port } => self.link_down(now, port),
            SmaInput::Data { port } => self.data_received(port),
        }
    }

    /// Ends the leases that are over.
    fn handle_timeout(&mut self, now: Instant) {
        for index in 0..self.ports.len() {
            let port = self.ports.get(index).map(|port| port.info.local_port_num());
            if let Some(port) = port {
                self.expire_lease(now, port);
            }
        }
    }

    /// The next response, or trap that is due. A trap is due again after SubnetTimeOut, until it is
    /// repressed. The response of a directed route goes on with [`Smi::respond`](crate::Smi::respond).
    fn poll_transmit(&mut self, now: Instant) -> Option<SmaTransmit> {
        match self.responses.pop_front() {
            Some(response) => Some(response),
            None => self.take_trap(now),
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let leases = self.ports.iter().filter_map(SmaPort::lease_ends);
        self.next_trap().into_iter().chain(leases).min()
    }

    /// The next thing that the device must do.
    fn poll_event(&mut self) -> Option<SmaEvent> {
        self.events.pop_front()
    }
}

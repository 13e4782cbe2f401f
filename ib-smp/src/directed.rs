//! Directed routes: an SMP follows the list of ports that it carries (IBA vol. 1, 14.2.2).
//!
//! On each node the subnet management interface (SMI), not the forwarding tables, moves such an SMP. It
//! looks at the direction, at the hop pointer and at the hop count; the rules below are requirements C14-9
//! (going out) and C14-13 (coming back), with their case numbers. All of it is pure: the inputs are the
//! node's facts and the place where the SMP came in, the result is the step to take.

use ib_wire::{Lid, PortNum, Qpn, Vl};
use thiserror::Error;

use crate::{DrDirection, DrPath, NodeType, SmpDirected};

/// The subnet management interface that handles an SMP: what the rules need to know of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Smi {
    /// Only a switch passes SMPs on.
    pub node_type: NodeType,
    /// External ports of the node.
    pub num_ports: u8,
    /// The port that this SMI belongs to. A CA or a router has an SMI for each port and sends by no
    /// other; a switch has one for all, on port 0.
    pub port: PortNum,
    /// LID of that port: the source of what the SMI sends LID routed.
    pub lid: Lid,
}

/// The origin of an SMP at the SMI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The subnet manager or the agent above this SMI.
    Own,
    /// The link of this external port.
    Port(PortNum),
}

/// The step of the SMI with an SMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmiAction {
    /// Hands it up: a request to the agent (SMA) or the manager, a response to the manager.
    Deliver,
    /// Sends it by this port with permissive LIDs: the other end's SMI goes on.
    Send(PortNum),
    /// Sends it LID routed, by the forwarding table.
    LidRouted {
        /// LRH.SLID.
        slid: Lid,
        /// LRH.DLID.
        dlid: Lid,
    },
}

/// Why an SMP goes no further. A discard is silent: no response, no trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Discard {
    /// More hops than a path holds.
    #[error("hop count {found} is above 63")]
    HopCount {
        /// The hop count.
        found: u8,
    },
    /// The hop pointer has left the path.
    #[error("hop pointer {found} is past the end of a path of {hop_count} hops")]
    HopPointer {
        /// The hop pointer.
        found: u8,
        /// The hop count.
        hop_count: u8,
    },
    /// The path leads through a node that is not a switch.
    #[error("the path continues through a node that is not a switch")]
    NotASwitch,
    /// The directed part ends here and a LID-routed part is to follow, but this is not a switch.
    #[error("a LID-routed part to LID {lid} starts at a node that is not a switch")]
    LidPartNotASwitch {
        /// DrDLID in the outgoing direction, DrSLID in the returning one.
        lid: Lid,
    },
    /// The path names a port that the node does not have, or that is not the SMI's own on a CA.
    #[error("the path leaves by port {found}, which the node does not have")]
    NoSuchPort {
        /// The entry of the path.
        found: PortNum,
        /// The entry's index: the hop.
        hop: u8,
    },
    /// The link of the port is down. The rules do not see links: who sends the SMP reports it.
    #[error("the link of port {port} is down")]
    PortDown {
        /// Port that the route names.
        port: PortNum,
    },
    /// The packet is shorter than a datagram of 256 bytes.
    #[error("the payload has {found} bytes, a datagram has 256")]
    Short {
        /// Bytes of payload.
        found: usize,
    },
    /// The packet came on a data VL.
    #[error("an SMP on VL {found}, expected VL 15")]
    DataVl {
        /// Virtual lane of the packet; SMPs use VL15 only.
        found: Vl,
    },
    /// The packet is for a queue pair other than QP0.
    #[error("an SMP for {found:?}, expected QP0")]
    NotQp0 {
        /// The queue pair.
        found: Qpn,
    },
    /// The packet has a global route header.
    #[error("an SMP with a GRH, expected none")]
    Grh,
}

/// The facts of an SMP that are in the headers of its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// LRH.VL.
    pub vl: Vl,
    /// BTH.DestQP.
    pub dest_qp: Qpn,
    /// True if there is a global route header.
    pub has_grh: bool,
    /// Bytes of payload.
    pub payload_len: usize,
}

impl Envelope {
    /// Checks that the packet is one that may carry an SMP.
    ///
    /// # Errors
    /// [`Discard::DataVl`], [`Discard::NotQp0`], [`Discard::Grh`], [`Discard::Short`].
    pub fn check(&self) -> Result<(), Discard> {
        if self.vl != Vl::MANAGEMENT {
            Err(Discard::DataVl { found: self.vl })
        } else if self.dest_qp != Qpn::SMI {
            Err(Discard::NotQp0 {
                found: self.dest_qp,
            })
        } else if self.has_grh {
            Err(Discard::Grh)
        } else if self.payload_len < SmpDirected::LEN {
            Err(Discard::Short {
                found: self.payload_len,
            })
        } else {
            Ok(())
        }
    }
}

impl Smi {
    /// Starts a request of the own subnet manager, whose hop pointer is 0.
    ///
    /// If the route begins with a LID-routed part (DrSLID is not permissive), the SMI takes no
    /// step: the SMP goes to `first_switch`, which begins the directed part.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    #[inline]
    pub fn start(&self, smp: &mut SmpDirected, first_switch: Lid) -> Result<SmiAction, Discard> {
        if smp.dr_slid().is_permissive() {
            return self.outgoing(smp, Source::Own);
        }
        Ok(SmiAction::LidRouted {
            slid: smp.dr_slid(),
            dlid: first_switch,
        })
    }

    /// Sends a response of the own agent, whose hop pointer is still the request's.
    ///
    /// If the request came by a LID-routed part (DrDLID is not permissive), the SMI takes no step:
    /// the SMP goes back to `request_slid`, the switch where the directed part ended.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    #[inline]
    pub fn respond(&self, smp: &mut SmpDirected, request_slid: Lid) -> Result<SmiAction, Discard> {
        if smp.dr_dlid().is_permissive() {
            return self.returning(smp, Source::Own);
        }
        Ok(SmiAction::LidRouted {
            slid: smp.dr_dlid(),
            dlid: request_slid,
        })
    }

    /// Handles an SMP from `source` by its direction; updates hop pointer and return path.
    ///
    /// # Errors
    /// The reason of the [`Discard`]; the SMP is as it was.
    #[inline]
    pub fn handle(&self, smp: &mut SmpDirected, source: Source) -> Result<SmiAction, Discard> {
        if smp.d() == DrDirection::OUTGOING {
            self.outgoing(smp, source)
        } else {
            self.returning(smp, source)
        }
    }

    /// Handles an SMP that goes to the responder: requirement C14-9.
    ///
    /// # Errors
    /// The reason of the [`Discard`]; the SMP is as it was.
    #[inline]
    pub fn outgoing(&self, smp: &mut SmpDirected, source: Source) -> Result<SmiAction, Discard> {
        let (pointer, count) = hops(smp)?;
        if count > 0 && pointer == 0 {
            // Case 1: the directed part starts here.
            self.passes_on(source)?;
            let port = self.port_of(smp.initial_path(), 1)?;
            smp.set_hop_pointer(1);
            return Ok(SmiAction::Send(port));
        }
        if pointer > count {
            // Case 4: came by the LID-routed part that ends the route.
            return Ok(SmiAction::Deliver);
        }
        let next = pointer.saturating_add(1);
        if pointer < count {
            // Case 2: in the middle.
            if !self.is_switch() {
                return Err(Discard::NotASwitch);
            }
            let port = self.port_of(smp.initial_path(), next)?;
            record(smp, pointer, source);
            smp.set_hop_pointer(next);
            return Ok(SmiAction::Send(port));
        }
        // Case 3: the directed part ends here.
        let step = self.end(smp.dr_dlid())?;
        if count > 0 {
            record(smp, pointer, source);
        }
        smp.set_hop_pointer(next);
        Ok(step)
    }

    /// Handles an SMP that returns to the requester: requirement C14-13.
    ///
    /// # Errors
    /// The reason of the [`Discard`]; the SMP is as it was.
    #[inline]
    pub fn returning(&self, smp: &mut SmpDirected, source: Source) -> Result<SmiAction, Discard> {
        let (pointer, count) = hops(smp)?;
        let next = pointer.saturating_sub(1);
        if pointer == 0 {
            // Case 4: came by the LID-routed part that the route started with.
            return Ok(SmiAction::Deliver);
        }
        if pointer == 1 {
            // Case 3: the directed part ends here; without hops it never began.
            let step = self.end(smp.dr_slid())?;
            smp.set_hop_pointer(0);
            return Ok(step);
        }
        if pointer > count {
            // Case 1: the directed part starts here.
            self.passes_on(source)?;
        } else if !self.is_switch() {
            // Case 2: in the middle.
            return Err(Discard::NotASwitch);
        }
        let port = self.port_of(smp.return_path(), next)?;
        smp.set_hop_pointer(next);
        Ok(SmiAction::Send(port))
    }

    fn is_switch(&self) -> bool {
        self.node_type == NodeType::SWITCH
    }

    /// A directed part that starts here is the own manager's or agent's, or comes LID routed to a
    /// switch: what a CA receives stays there.
    fn passes_on(&self, source: Source) -> Result<(), Discard> {
        if self.is_switch() || source == Source::Own {
            Ok(())
        } else {
            Err(Discard::NotASwitch)
        }
    }

    /// The step after the end of the directed part: to the own node, or a LID-routed part to `lid`.
    fn end(&self, lid: Lid) -> Result<SmiAction, Discard> {
        if lid.is_permissive() {
            Ok(SmiAction::Deliver)
        } else if self.is_switch() {
            Ok(SmiAction::LidRouted {
                slid: self.lid,
                dlid: lid,
            })
        } else {
            Err(Discard::LidPartNotASwitch { lid })
        }
    }

    /// The port of hop `hop`, if the SMI can send by it.
    fn port_of(&self, path: &[u8; 64], hop: u8) -> Result<PortNum, Discard> {
        let found = PortNum(path.get(usize::from(hop)).copied().unwrap_or(0));
        let own = self.is_switch() || found == self.port;
        if own && (1..=self.num_ports).contains(&found.0) {
            Ok(found)
        } else {
            Err(Discard::NoSuchPort { found, hop })
        }
    }
}

/// Hop pointer and hop count, which every rule needs to be inside the path.
fn hops(smp: &SmpDirected) -> Result<(u8, u8), Discard> {
    let (pointer, count) = (smp.hop_pointer(), smp.hop_count());
    if count > DrPath::MAX_HOPS {
        Err(Discard::HopCount { found: count })
    } else if pointer > count.saturating_add(1) {
        Err(Discard::HopPointer {
            found: pointer,
            hop_count: count,
        })
    } else {
        Ok((pointer, count))
    }
}

/// Writes the port of arrival to the return path.
fn record(smp: &mut SmpDirected, hop: u8, source: Source) {
    let port = match source {
        Source::Own => PortNum::MANAGEMENT,
        Source::Port(port) => port,
    };
    let mut path = *smp.return_path();
    if let Some(entry) = path.get_mut(usize::from(hop)) {
        *entry = port.0;
    }
    smp.set_return_path(&path);
}

#[cfg(test)]
mod tests;

//! The classes that a port is registered for.

use ib_mad::{Method, MgmtClass};
use ib_wire::Qpn;

/// Registration of a class.
#[derive(Clone, Copy, Debug)]
pub struct AgentClass {
    /// The management class.
    pub mgmt_class: MgmtClass,
    /// Its version: 1; 2 for SubnAdm and ComMgt.
    pub class_version: u8,
    /// The methods whose requests we want to receive; without one only answers to our own requests come.
    pub methods: &'static [Method],
    /// OUI of a vendor class of range 2 (0x30..=0x4F), else 0.
    pub oui: u32,
    /// The side that segments and reassembles messages that are longer than one datagram.
    pub rmpp: RmppSide,
}

/// The side that does RMPP for a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RmppSide {
    /// The engine: segments pass as datagrams of 256 bytes.
    User,
    /// The kernel: whole messages pass by [`send_message`](super::UmadPort::send_message) and
    /// [`recv_message`](super::UmadPort::recv_message). Only for classes that have RMPP, and not under ibsim.
    Kernel,
}

impl AgentClass {
    /// A client of `mgmt_class`: it sends requests and receives their answers.
    #[must_use]
    pub const fn client(mgmt_class: MgmtClass, class_version: u8) -> Self {
        Self {
            mgmt_class,
            class_version,
            methods: &[],
            oui: 0,
            rmpp: RmppSide::User,
        }
    }

    /// Registrations of a subnet manager: both kinds of SMPs with the requests that come to a manager, and
    /// the requests of subnet administration.
    pub const SUBNET_MANAGER: [Self; 3] = [
        Self {
            mgmt_class: MgmtClass::SUBN_DIRECTED,
            class_version: 1,
            methods: &[Method::GET, Method::SET, Method::TRAP],
            oui: 0,
            rmpp: RmppSide::User,
        },
        Self {
            mgmt_class: MgmtClass::SUBN_LID,
            class_version: 1,
            methods: &[Method::GET, Method::SET, Method::TRAP],
            oui: 0,
            rmpp: RmppSide::User,
        },
        Self {
            mgmt_class: MgmtClass::SUBN_ADM,
            class_version: 2,
            methods: &[
                Method::GET,
                Method::SET,
                Method::GET_TABLE,
                Method::GET_TRACE_TABLE,
                Method::GET_MULTI,
                Method::DELETE,
            ],
            oui: 0,
            rmpp: RmppSide::User,
        },
    ];

    /// Registrations of a diagnostic client: SMPs, subnet administration and performance management.
    pub const DIAGNOSTICS: [Self; 4] = [
        Self::client(MgmtClass::SUBN_DIRECTED, 1),
        Self::client(MgmtClass::SUBN_LID, 1),
        Self::client(MgmtClass::SUBN_ADM, 2),
        Self::client(MgmtClass::PERF, 1),
    ];

    /// The queue pair of the class: 0 for subnet management, else 1.
    pub(super) fn qpn(&self) -> Qpn {
        match self.mgmt_class {
            MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED => Qpn::SMI,
            _ => Qpn::GSI,
        }
    }
}

/// Classes whose datagrams may come in segments.
pub(super) fn is_rmpp_class(class: MgmtClass) -> bool {
    matches!(class.bits(), 0x03 | 0x10 | 0x12 | 0x30..=0x4f)
}

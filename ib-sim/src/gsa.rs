//! General services agents: what a node answers by itself to datagrams of QP1 (IBA vol. 1, 13.4.3 and 16).
//!
//! Performance management ([`pma`](crate::pma)), congestion control and baseboard management are agents of the device:
//! every node has them. Device and communication management are software of a host: here an agent answers for them
//! where no host is attached to the port, and a host that is attached gets the requests itself.

mod baseboard;
mod communication;
mod congestion;
mod device;

use std::collections::BTreeMap;

use ib_mad::{Attribute, ClassCapabilities, Instant, MadAddress};
use ib_mad::{AttributeId, ClassPortInfo, Mad, MadStatus, Method, MgmtClass};
use zerocopy::{Immutable, IntoBytes};

use crate::frame::FrameIdx;
use crate::node::PortIdx;
use crate::sim::Sim;

/// Bytes of an attribute's data in the classes of this module, at most.
const DATA: usize = 192;

/// Bytes of a datagram that hold the key, in the classes that have one.
const KEY: std::ops::Range<usize> = 24..32;

/// Settings that managers have written to the agents of a node, by class, attribute and modifier. Most nodes have none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    written: BTreeMap<(u8, AttributeId, u32), [u8; DATA]>,
    /// Requests with a wrong key, by class.
    violations: BTreeMap<u8, u16>,
}

/// A request to an agent that has passed the checks which all classes share.
struct AgentRequest<'a> {
    class: MgmtClass,
    id: AttributeId,
    modifier: u32,
    set: bool,
    /// The request; it becomes the response.
    mad: Mad,
    settings: &'a mut Settings,
    is_switch: bool,
    num_ports: u8,
    now: Instant,
}

/// The reason why an agent does not carry a request out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The response has this status.
    Status(MadStatus),
    /// No response is sent: the key is wrong.
    Silence,
}

impl Refusal {
    const UNSUPPORTED: Self = Self::Status(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    const BAD_MODIFIER: Self = Self::Status(MadStatus::INVALID_FIELD_VALUE);
}

type AgentResult = Result<(), Refusal>;

impl AgentRequest<'_> {
    /// Writes an attribute into the response.
    fn show<T: Attribute + IntoBytes + Immutable>(&mut self, value: &T) -> AgentResult {
        self.mad.set_attribute(value);
        Ok(())
    }

    /// Shows a read-only attribute.
    fn fixed<T: Attribute + IntoBytes + Immutable>(&mut self, value: &T) -> AgentResult {
        if self.set {
            return Err(Refusal::UNSUPPORTED);
        }
        self.show(value)
    }

    /// Stores the value of a Set. A Get shows the value stored last, or `initial` before the first Set.
    fn stored<T: Attribute + IntoBytes + Immutable>(&mut self, initial: &T) -> AgentResult {
        let key = (self.class.0, self.id, self.modifier);
        let data = self.class.data_offset()..self.class.data_end();
        let Some(data) = self
            .mad
            .bytes
            .get_mut(data)
            .and_then(|data| data.first_chunk_mut::<DATA>())
        else {
            return Err(Refusal::UNSUPPORTED);
        };
        if self.set {
            self.settings.written.insert(key, *data);
            return Ok(());
        }
        match self.settings.written.get(&key) {
            Some(written) => *data = *written,
            None => return self.show(initial),
        }
        Ok(())
    }

    /// Refuses a modifier that is not below `count`.
    fn modifier_below(&self, count: u32) -> AgentResult {
        if self.modifier < count {
            Ok(())
        } else {
            Err(Refusal::BAD_MODIFIER)
        }
    }

    fn class_port_info(&mut self, capabilities: u16) -> AgentResult {
        let mut info = ClassPortInfo::default();
        info.set_base_version(1)
            .set_class_version(class_version(self.class))
            .set_capability_mask(ClassCapabilities::from_bits_retain(capabilities));
        self.fixed(&info)
    }

    /// The key of a class, its protection and its violations: attribute 0x0010 or 0x0012, of one layout in both classes.
    ///
    /// A Set with another key than the one in force has no answer and counts. A Get shows the key unless it is protected
    /// and the request does not have it.
    fn check_key(&mut self, key_info: AttributeId) -> AgentResult {
        let written = self.settings.written.get(&(self.class.0, key_info, 0));
        let key = written
            .and_then(|data| data.first_chunk::<8>().copied())
            .unwrap_or([0; 8]);
        let shown = self.mad.bytes.get(KEY).is_some_and(|shown| *shown == key);
        if key == [0; 8] || shown || !self.set {
            return Ok(());
        }
        let violations = self.settings.violations.entry(self.class.0).or_default();
        *violations = violations.saturating_add(1);
        Err(Refusal::Silence)
    }

    /// Answers for the attribute of the key itself: 8 bytes of key, a protect bit, the lease, the violations.
    fn key_info<T: Attribute + IntoBytes + Immutable>(&mut self, initial: &T) -> AgentResult {
        self.stored(initial)?;
        let sent: [u8; 8] = self
            .mad
            .bytes
            .get(KEY)
            .and_then(|key| key.first_chunk().copied())
            .unwrap_or([0; 8]);
        let violations = self
            .settings
            .violations
            .get(&self.class.0)
            .copied()
            .unwrap_or(0);
        let data = self.mad.bytes.get_mut(self.class.data_offset()..);
        let Some(data) = data.and_then(|data| data.first_chunk_mut::<14>()) else {
            return Ok(());
        };
        let [key @ .., protect, _, _, _, high, low] = data;
        if *protect & 0x80 != 0 && *key != sent && !self.set {
            *key = [0; 8];
        }
        [*high, *low] = violations.to_be_bytes();
        Ok(())
    }
}

/// The version of each class: 2 of those that are younger than the specification's first edition.
fn class_version(class: MgmtClass) -> u8 {
    match class {
        MgmtClass::COM_MGT | MgmtClass::CONGESTION_CONTROL => 2,
        _ => 1,
    }
}

impl Sim {
    /// Returns whether an agent of the node answers requests of a class at an end port.
    pub(crate) fn has_agent(&self, end_port: PortIdx, class: MgmtClass) -> bool {
        match class {
            MgmtClass::PERF | MgmtClass::CONGESTION_CONTROL | MgmtClass::BM => true,
            MgmtClass::DEV_MGT | MgmtClass::COM_MGT => !self.ports[end_port].hosted,
            _ => false,
        }
    }

    /// Turns the request in `frame` into its response; `false` if there is none.
    pub(crate) fn answer_gmp(&mut self, end_port: PortIdx, frame: FrameIdx) -> bool {
        let header = self.header(frame);
        let class = header.mgmt_class();
        if class == MgmtClass::PERF {
            return self.answer_perf(end_port, frame);
        }
        let mut mad = Mad::new(MadAddress::DIRECTED);
        mad.bytes = self.frames[frame].bytes;
        let right_version =
            header.base_version() == 1 && header.class_version() == class_version(class);
        if header.method() == Method::SEND {
            let answered =
                right_version && class == MgmtClass::COM_MGT && communication::answer(&mut mad);
            self.frames[frame].bytes = mad.bytes;
            return answered;
        }
        if !matches!(header.method(), Method::GET | Method::SET) {
            return false;
        }
        let node = &mut self.nodes[self.ports[end_port].node];
        let id = header.attribute_id();
        let mut tables = ib_mad::CLASSES.iter().chain(ib_cm::CLASSES);
        let table = tables.find(|table| table.class == class);
        let mut request = AgentRequest {
            class,
            id,
            modifier: header.attribute_modifier(),
            set: header.method() == Method::SET,
            mad,
            settings: node.settings.get_or_insert_default(),
            is_switch: node.is_switch,
            num_ports: node.num_ports,
            now: self.now,
        };
        let answer = if !right_version {
            Err(Refusal::Status(MadStatus::BAD_VERSION))
        } else if !table.is_some_and(|table| table.allows(header.method(), id)) {
            Err(Refusal::UNSUPPORTED)
        } else {
            match class {
                MgmtClass::CONGESTION_CONTROL => congestion::answer(&mut request),
                MgmtClass::BM => baseboard::answer(&mut request),
                MgmtClass::DEV_MGT => device::answer(&mut request),
                _ => communication::answer_class_port_info(&mut request),
            }
        };
        let status = match answer {
            Ok(()) => MadStatus::OK,
            Err(Refusal::Status(status)) => status,
            Err(Refusal::Silence) => return false,
        };
        let header = request.mad.header_mut();
        header.set_method(Method::GET_RESP).set_status(status);
        self.frames[frame].bytes = request.mad.bytes;
        true
    }
}

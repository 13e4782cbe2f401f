//! The environment of a case: a port, a clock, and requests that wait for their answers.

use alloc::{
    collections::VecDeque,
    format,
    string::{String, ToString},
};
use core::{
    ops::{ControlFlow, Range},
    time::Duration,
};

use ib_mad::{
    Attribute, AttributeId, Instant, Mad, MadAddress, MadStatus, Method, MgmtClass, TransactionId,
    transport::{Clock, MadTransport, Received, TransportFailure as _, drive, receive},
};
use ib_smp::{DrDirection, DrPath, NodeInfo, SmInfo, SmState, SmpDirected, SmpLidRouted};
use ib_wire::{Lid, MKey};
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::{ConformOptions, Precondition, UnmetPreconditions};
use crate::{
    collect::{Collector, CollectorConfig, CollectorEvent},
    snapshot::{Contents, Snapshot},
};

/// The reason why a case ends early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The peer violated the rule.
    Fail(String),
    /// The rule cannot be tested here.
    Skip(String),
    /// The transport ended.
    Broken,
}

/// `Ok` if the peer conforms to the rule.
pub(super) type Outcome = Result<(), Stop>;

/// Fails the case unless the condition holds; the text gives the expected and the actual behaviour.
macro_rules! ensure {
    ($condition:expr, $($text:tt)+) => {
        if !$condition {
            return Err($crate::conform::bench::Stop::Fail(alloc::format!($($text)+)));
        }
    };
}
pub(super) use ensure;

/// Ends the case as one that does not apply here.
pub(super) fn skip<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Skip(why.into()))
}

/// Ends the case as failed.
pub(super) fn fail<T>(what: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Fail(what.into()))
}

/// A transport and its clock, independent of their types.
///
/// `persona` is the SMInfo with which the port answers managers; `None` sends no answer.
pub(super) trait Wire {
    fn send(&mut self, mad: &Mad) -> Outcome;
    fn recv(
        &mut self,
        deadline: Instant,
        persona: Option<SmInfo>,
    ) -> Result<Option<Received>, Stop>;
    fn now(&self) -> Instant;
    fn collect(
        &mut self,
        config: CollectorConfig,
        persona: Option<SmInfo>,
    ) -> Result<Snapshot, Stop>;
}

/// A [`Wire`] over a transport. It keeps the error that ends the transport.
pub(super) struct Over<'a, T: MadTransport, C> {
    pub(super) transport: &'a mut T,
    pub(super) clock: &'a C,
    pub(super) error: Option<T::Error>,
}

impl<T: MadTransport, C: Clock> Wire for Over<'_, T, C> {
    fn send(&mut self, mad: &Mad) -> Outcome {
        match self.transport.send(self.clock.now(), mad) {
            Ok(()) => Ok(()),
            // An unreachable destination counts as one that does not answer.
            Err(error) if error.is_unreachable() => Ok(()),
            Err(error) => {
                self.error = Some(error);
                Err(Stop::Broken)
            }
        }
    }

    fn recv(
        &mut self,
        deadline: Instant,
        persona: Option<SmInfo>,
    ) -> Result<Option<Received>, Stop> {
        let mut port = ManagersPort {
            transport: &mut *self.transport,
            persona,
        };
        match receive(&mut port, self.clock, Some(deadline)) {
            Ok((_, received)) => Ok(received),
            Err(error) => {
                self.error = Some(error);
                Err(Stop::Broken)
            }
        }
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn collect(
        &mut self,
        config: CollectorConfig,
        persona: Option<SmInfo>,
    ) -> Result<Snapshot, Stop> {
        let mut port = ManagersPort {
            transport: &mut *self.transport,
            persona,
        };
        let mut collector = Collector::new(config);
        let on_event = |_: &mut Collector, event| match event {
            CollectorEvent::Done => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        match drive(&mut collector, &mut port, self.clock, on_event) {
            Ok(_) => Ok(collector.finish()),
            Err(error) => {
                self.error = Some(error);
                Err(Stop::Broken)
            }
        }
    }
}

/// A transport that answers every manager that reads SMInfo, also while the subnet is read.
///
/// Some managers wait without a limit for an answer that was lost: OpenSM over the library of ibsim does.
struct ManagersPort<'a, T> {
    transport: &'a mut T,
    persona: Option<SmInfo>,
}

impl<T: MadTransport> MadTransport for ManagersPort<'_, T> {
    type Error = T::Error;

    fn send(&mut self, now: Instant, mad: &Mad) -> Result<(), T::Error> {
        self.transport.send(now, mad)
    }

    fn wait(&mut self, now: Instant, until: Option<Instant>) -> Result<bool, T::Error> {
        self.transport.wait(now, until)
    }

    fn flush(&mut self, now: Instant) -> Result<(), T::Error> {
        self.transport.flush(now)
    }

    fn recv(&mut self, now: Instant) -> Result<Option<Received>, T::Error> {
        loop {
            let received = self.transport.recv(now)?;
            let Some(Received::Mad(mad)) = &received else {
                return Ok(received);
            };
            let Some(answer) = self.persona.and_then(|info| sm_info_answer(mad, &info)) else {
                return Ok(received);
            };
            match self.transport.send(now, &answer) {
                Err(error) if !error.is_unreachable() => return Err(error),
                _ => {}
            }
            // A case may wait for a Set from another manager, but not for its Gets.
            if mad.header().method() == Method::SET {
                return Ok(received);
            }
        }
    }
}

/// The answer of a manager whose SMInfo is `info`; `None` if the datagram is no request for SMInfo.
fn sm_info_answer(mad: &Mad, info: &SmInfo) -> Option<Mad> {
    let header = mad.header();
    let asks = header.mgmt_class().is_smp()
        && header.attribute_id() == SmInfo::ID
        && matches!(header.method(), Method::GET | Method::SET);
    if !asks {
        return None;
    }
    let mut answer = *mad;
    let mut data = [0; 64];
    for (to, &from) in data.iter_mut().zip(info.as_bytes()) {
        *to = from;
    }
    if header.mgmt_class() == MgmtClass::SUBN_DIRECTED {
        if let Ok((smp, _)) = SmpDirected::parse_mut(&mut answer.bytes, 0) {
            smp.set_method(Method::GET_RESP)
                .set_d(DrDirection::RETURNING)
                .set_status(MadStatus::OK)
                .set_smp_data(&data);
        }
    } else if let Ok((smp, _)) = SmpLidRouted::parse_mut(&mut answer.bytes, 0) {
        smp.set_method(Method::GET_RESP)
            .set_status(MadStatus::OK)
            .set_smp_data(&data);
    }
    Some(answer)
}

/// The most datagrams without a waiting request that are kept for a case that looks for them.
const MAX_UNASKED: usize = 256;

/// The port that a case sends from, and the known state of the subnet.
pub(super) struct Bench<'a> {
    wire: &'a mut dyn Wire,
    pub(super) options: ConformOptions,
    /// The preconditions that the cases before found unmet.
    unmet: &'a mut UnmetPreconditions,
    /// The nodes, ports and cables as they were when the case began.
    pub(super) subnet: Snapshot,
    /// The SMInfo to send when a manager reads it from this port; `None` sends no answer.
    pub(super) persona: Option<SmInfo>,
    next: u32,
    unasked: VecDeque<Mad>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        wire: &'a mut dyn Wire,
        options: ConformOptions,
        unmet: &'a mut UnmetPreconditions,
    ) -> Result<Self, Stop> {
        let mut bench = Self {
            // The IDs of this case begin at the current time, so they differ from those of earlier cases.
            next: (wire.now().as_nanos() >> 10) as u32,
            wire,
            options,
            unmet,
            subnet: Snapshot::default(),
            persona: None,
            unasked: VecDeque::new(),
        };
        let smp = bench.smp(Method::GET, NodeInfo::ID, 0, &DrPath::OWN_NODE);
        let Some(answer) = bench.ask(&smp.to_mad())? else {
            return skip("the own node does not answer");
        };
        let own: NodeInfo = attribute(&answer)?;
        // A manager that is NOT-ACTIVE is ignored by the others.
        let mut info = SmInfo::default();
        info.set_guid(own.port_guid())
            .set_sm_key(options.sm_key)
            .set_sm_state(SmState::NOT_ACTIVE);
        bench.answer_late(info)?;
        bench.survey(Contents::empty())?;
        if bench.subnet.own_port.is_none() {
            return skip("the own node does not answer");
        }
        Ok(bench)
    }

    /// Reads the subnet again, with these contents in addition to nodes, ports and cables.
    pub(super) fn survey(&mut self, contents: Contents) -> Outcome {
        let mut config = CollectorConfig {
            contents,
            m_key: self.options.m_key,
            ..CollectorConfig::default()
        };
        config.window.timeout = self.options.timeout;
        config.window.retries = 1;
        self.next = self.next.wrapping_add(1 << 16);
        config.window.first_transaction_id = TransactionId(u64::from(self.next));
        self.next = self.next.wrapping_add(1 << 16);
        self.subnet = self.wire.collect(config, self.persona)?;
        Ok(())
    }

    /// Answers managers with this SMInfo from now on, also those whose requests were kept without an answer.
    pub(super) fn answer_late(&mut self, info: SmInfo) -> Outcome {
        self.persona = Some(info);
        for mad in core::mem::take(&mut self.unasked) {
            match sm_info_answer(&mad, &info) {
                Some(answer) => self.send(&answer)?,
                None => self.unasked.push_back(mad),
            }
        }
        Ok(())
    }

    /// Returns true if a manager's Get of SMInfo is among the datagrams that have no answer yet.
    pub(super) fn is_polled(&self) -> bool {
        self.unasked.iter().any(|mad| {
            let header = mad.header();
            header.attribute_id() == SmInfo::ID && header.method() == Method::GET
        })
    }

    /// Skips the case if an earlier one found that the peer does not meet its precondition.
    pub(super) fn met(&self, precondition: Precondition) -> Outcome {
        match self.unmet.preconditions.get(&precondition) {
            Some(why) => skip(format!("{} fails: {why}", precondition.case())),
            None => Ok(()),
        }
    }

    /// Judges a rule that is the precondition of other cases, which are skipped if the peer violates it.
    pub(super) fn rule<T>(
        &mut self,
        precondition: Precondition,
        judge: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let judged = judge(self);
        if let Err(Stop::Fail(why)) = &judged {
            self.unmet.preconditions.insert(precondition, why.clone());
        }
        judged
    }

    /// As [`rule`](Self::rule) for a case that tests another rule: it is skipped if the peer violates this one.
    pub(super) fn needs<T>(
        &mut self,
        precondition: Precondition,
        establish: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        self.met(precondition)?;
        match self.rule(precondition, establish) {
            Err(Stop::Fail(why)) => skip(format!("{} fails: {why}", precondition.case())),
            other => other,
        }
    }

    pub(super) fn now(&self) -> Instant {
        self.wire.now()
    }

    pub(super) fn after(&self, wait: Duration) -> Instant {
        self.now().saturating_add(wait)
    }

    /// A transaction ID that no other request of this case uses.
    pub(super) fn transaction(&mut self) -> TransactionId {
        self.next = self.next.wrapping_add(1);
        TransactionId(u64::from(self.next))
    }

    pub(super) fn send(&mut self, mad: &Mad) -> Outcome {
        self.wire.send(mad)
    }

    /// Receives datagrams until `deadline` or until a wanted one arrives; the others are kept.
    pub(super) fn wait(
        &mut self,
        deadline: Instant,
        mut wanted: impl FnMut(&Mad) -> bool,
    ) -> Result<Option<Mad>, Stop> {
        if let Some(at) = self.unasked.iter().position(&mut wanted) {
            return Ok(self.unasked.remove(at));
        }
        loop {
            match self.wire.recv(deadline, self.persona)? {
                Some(Received::Mad(mad)) => {
                    if wanted(&mad) {
                        return Ok(Some(mad));
                    }
                    if self.unasked.len() < MAX_UNASKED {
                        self.unasked.push_back(mad);
                    }
                }
                Some(Received::Returned(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// Waits for `time`, and answers managers meanwhile.
    pub(super) fn pause(&mut self, time: Duration) -> Outcome {
        let deadline = self.after(time);
        self.wait(deadline, |_| false).map(|_| ())
    }

    /// Sends a request with a transaction ID of its own and waits for the answer; `None` if none arrives.
    pub(super) fn ask(&mut self, mad: &Mad) -> Result<Option<Mad>, Stop> {
        let mut mad = *mad;
        let id = self.transaction();
        mad.header_mut().set_transaction_id(id);
        self.send(&mad)?;
        let class = mad.header().mgmt_class();
        let deadline = self.after(self.options.timeout);
        self.wait(deadline, |answer| is_answer(answer, class, id))
    }

    /// As [`ask`](Self::ask), but no answer violates the rule.
    pub(super) fn answer(&mut self, mad: &Mad) -> Result<Mad, Stop> {
        let header = mad.header();
        match self.ask(mad)? {
            Some(answer) => Ok(answer),
            None => fail(format!(
                "no answer to {} of attribute {}",
                header.method(),
                header.attribute_id()
            )),
        }
    }

    /// As [`ask`](Self::ask), but an answer violates the rule.
    pub(super) fn silence(&mut self, mad: &Mad) -> Outcome {
        match self.ask(mad)? {
            None => Ok(()),
            Some(answer) => fail(format!(
                "an answer with status {}, expected none",
                status(&answer)
            )),
        }
    }

    /// A directed-route SMP with the subnet's M_Key.
    pub(super) fn smp(
        &self,
        method: Method,
        id: AttributeId,
        modifier: u32,
        path: &DrPath,
    ) -> SmpDirected {
        let mut smp = SmpDirected::new(method, id, modifier, path);
        smp.set_m_key(self.options.m_key);
        smp
    }

    /// Reads an attribute of a node. A refusal or no answer violates the rule.
    pub(super) fn get<T: Attribute + FromBytes + Immutable>(
        &mut self,
        path: &DrPath,
        modifier: u32,
    ) -> Result<T, Stop> {
        let smp = self.smp(Method::GET, T::ID, modifier, path);
        let answer = self.answer(&smp.to_mad())?;
        let status = status(&answer);
        ensure!(
            status.is_ok(),
            "Get({}) at {path}: status {status}",
            T::LAYOUT.name
        );
        attribute(&answer)
    }

    /// Writes an attribute of a node, and returns the status and the data of the answer.
    pub(super) fn set<T: Attribute + FromBytes + IntoBytes + Immutable>(
        &mut self,
        path: &DrPath,
        modifier: u32,
        value: &T,
    ) -> Result<(MadStatus, T), Stop> {
        let key = self.options.m_key;
        self.set_with(key, path, modifier, value)
    }

    /// As [`set`](Self::set), with another M_Key.
    pub(super) fn set_with<T: Attribute + FromBytes + IntoBytes + Immutable>(
        &mut self,
        key: MKey,
        path: &DrPath,
        modifier: u32,
        value: &T,
    ) -> Result<(MadStatus, T), Stop> {
        let mut smp = self.smp(Method::SET, T::ID, modifier, path);
        smp.set_m_key(key).set_attribute(value);
        let answer = self.answer(&smp.to_mad())?;
        Ok((status(&answer), attribute(&answer)?))
    }

    /// Writes an attribute. A refusal or no answer violates the rule.
    pub(super) fn put<T: Attribute + FromBytes + IntoBytes + Immutable>(
        &mut self,
        path: &DrPath,
        modifier: u32,
        value: &T,
    ) -> Result<T, Stop> {
        let (status, after) = self.set(path, modifier, value)?;
        ensure!(
            status.is_ok(),
            "Set({}) at {path}: status {status}",
            T::LAYOUT.name
        );
        Ok(after)
    }
}

/// Returns true if a datagram answers the transaction.
pub(super) fn is_answer(mad: &Mad, class: MgmtClass, id: TransactionId) -> bool {
    let header = mad.header();
    header.mgmt_class() == class
        && header.method().is_response()
        && header.transaction_id().low() == id.low()
}

/// The status of an answer, without the direction bit of a directed route.
pub(super) fn status(answer: &Mad) -> MadStatus {
    let header = answer.header();
    match header.mgmt_class() {
        MgmtClass::SUBN_DIRECTED => MadStatus(header.status().0 & 0x7fff),
        _ => header.status(),
    }
}

/// The attribute that an answer carries.
pub(super) fn attribute<T: Attribute + FromBytes + Immutable>(mad: &Mad) -> Result<T, Stop> {
    let offset = T::offset(mad.header().mgmt_class());
    let data = mad.bytes.get(offset..).unwrap_or_default();
    match T::read_from_prefix(data) {
        Ok((value, _)) => Ok(value),
        Err(_) => fail(format!("no room for {}", T::LAYOUT.name)),
    }
}

/// The bytes of an answer from `from` to `to`.
pub(super) fn part(mad: &Mad, from: usize, to: usize) -> &[u8] {
    mad.bytes.get(from..to).unwrap_or_default()
}

/// The first byte at which two answers differ, ignoring the transaction ID and the bytes in `unused`.
pub(super) fn difference(a: &Mad, b: &Mad, unused: Range<usize>) -> Option<String> {
    let pairs = a.bytes.iter().zip(&b.bytes).enumerate();
    let mut compared = pairs.filter(|(at, _)| !(8..16).contains(at) && !unused.contains(at));
    let (at, (a, b)) = compared.find(|(_, (a, b))| a != b)?;
    Some(format!("byte {at} is {a:#04x} once and {b:#04x} once"))
}

/// A LID-routed SMP.
pub(super) fn smp_to(lid: Lid, method: Method, id: AttributeId, modifier: u32, key: MKey) -> Mad {
    let mut smp = SmpLidRouted::new(method, id, modifier);
    smp.set_m_key(key);
    smp.to(MadAddress::smi(lid))
}

/// At most five of the things, as a list for a message.
pub(super) fn listed<T: ToString>(things: impl IntoIterator<Item = T>) -> String {
    let mut text = String::new();
    for (at, thing) in things.into_iter().enumerate() {
        match at {
            0 => {}
            1..5 => text.push_str(", "),
            _ => {
                text.push_str(", ...");
                break;
            }
        }
        text.push_str(&thing.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use ib_wire::Guid;

    use super::*;

    /// A transport that has these datagrams and keeps what is sent.
    struct Recorded {
        arriving: VecDeque<Mad>,
        sent: VecDeque<Mad>,
    }

    impl MadTransport for Recorded {
        type Error = Infallible;

        fn send(&mut self, _now: Instant, mad: &Mad) -> Result<(), Infallible> {
            self.sent.push_back(*mad);
            Ok(())
        }

        fn recv(&mut self, _now: Instant) -> Result<Option<Received>, Infallible> {
            Ok(self.arriving.pop_front().map(Received::Mad))
        }

        fn wait(&mut self, _now: Instant, _until: Option<Instant>) -> Result<bool, Infallible> {
            Ok(false)
        }
    }

    fn request(method: Method) -> Mad {
        SmpDirected::new(method, SmInfo::ID, 0, &DrPath::OWN_NODE).to_mad()
    }

    #[test]
    fn managers_are_answered_whatever_the_port_waits_for() {
        let mut transport = Recorded {
            arriving: [request(Method::GET), request(Method::SET)].into(),
            sent: VecDeque::new(),
        };
        let mut persona = SmInfo::default();
        persona.set_guid(Guid(0x1234));
        let mut port = ManagersPort {
            transport: &mut transport,
            persona: Some(persona),
        };
        // The Set is passed on, the Get is not.
        let first = port.recv(Instant::ZERO).unwrap();
        assert_eq!(first, Some(Received::Mad(request(Method::SET))));
        assert_eq!(port.recv(Instant::ZERO).unwrap(), None);
        for answer in &transport.sent {
            assert_eq!(answer.header().method(), Method::GET_RESP);
            assert_eq!(attribute::<SmInfo>(answer).unwrap().guid(), Guid(0x1234));
        }
        assert_eq!(transport.sent.len(), 2);
    }
}

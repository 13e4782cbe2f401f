//! The walk of an I/O unit: from the unit to its controllers, from each to its services (IBA vol. 1,
//! 16.3.3).
//!
//! ServiceEntries come in blocks of four. Pitfall: controllers come and go while they are read, and only
//! `change_id` says so; it is read again in the end, and a unit that has changed is walked again.

use alloc::{collections::BTreeMap, vec::Vec};

use thiserror::Error;

use super::{
    IoController, IoControllerProfile, IoUnit, IoUnitInfo, ServiceEntries,
    unit::{BLOCK, PRESENT},
};
use crate::{
    Call, CallError, CallTo, Client, ClientConfig, ClientEvent, Engine, Input, Instant, Mad,
    MadAddress, MgmtClass, Request, Response,
};

/// Number of walks of a unit that changes meanwhile.
const MAX_WALKS: u32 = 3;

/// Walks one I/O unit and reports it whole, as one event.
///
/// ```
/// use ib_mad::{ClientConfig, Engine, Input, Instant, IoUnit, IoUnitWalk, MadAddress};
/// use ib_wire::{Lid, Sl};
///
/// let unit = IoUnit::default();
/// let mut walk = IoUnitWalk::new(ClientConfig::default(), MadAddress::gsi(Lid(7), Sl::ZERO));
/// // The answers come from a transport; here the unit's agent itself gives them.
/// while let Some(mut mad) = walk.poll_transmit(Instant::ZERO) {
///     assert!(unit.respond(&mut mad.bytes));
///     walk.handle_input(Instant::ZERO, Input::Mad(&mad));
/// }
/// assert_eq!(walk.poll_event().expect("an end")?.unit, unit);
/// # Ok::<(), ib_mad::WalkError>(())
/// ```
#[derive(Debug)]
pub struct IoUnitWalk {
    client: Client<Ask>,
    address: MadAddress,
    report: WalkReport,
    stage: Stage,
    walks: u32,
    end: Option<Result<WalkReport, WalkError>>,
}

/// Result of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalkReport {
    /// The unit, without the controllers that have failed.
    pub unit: IoUnit,
    /// Slots whose controller could not be read to its end, and why.
    pub failed: BTreeMap<u8, CallError>,
}

/// Why a walk has found nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum WalkError {
    /// The unit itself does not answer as it should.
    #[error("the I/O unit cannot be read: {0}")]
    Unit(#[from] CallError),
    /// The unit never stays the same for one whole walk.
    #[error("the I/O unit changed at each attempt to read it")]
    KeepsChanging,
}

/// The attribute that is being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The slots of the unit.
    Unit,
    /// The controllers and their services.
    Controllers,
    /// The slots again: whether they are the same.
    Check,
}

/// One request of the walk.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Unit(CallTo<IoUnitInfo>),
    Controller(u8, CallTo<IoControllerProfile>),
    /// Slot and first service.
    Services(u8, u8, CallTo<ServiceEntries>),
}

/// One answer.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "an answer is read at once; a box would cost an allocation for each"
)]
enum Found {
    Unit(IoUnitInfo),
    Controller(IoControllerProfile),
    Services(ServiceEntries),
}

impl Request for Ask {
    type Output = Found;
    type Error = CallError;

    fn mad(&self) -> Mad {
        match self {
            Self::Unit(call) => call.mad(),
            Self::Controller(_, call) => call.mad(),
            Self::Services(_, _, call) => call.mad(),
        }
    }

    fn read(&self, response: Response) -> Result<Found, CallError> {
        match self {
            Self::Unit(call) => call.read(response).map(Found::Unit),
            Self::Controller(_, call) => call.read(response).map(Found::Controller),
            Self::Services(_, _, call) => call.read(response).map(Found::Services),
        }
    }
}

impl IoUnitWalk {
    /// A walk that begins with the next [`poll_transmit`](Engine::poll_transmit). The limits and time-outs
    /// are those of `config`.
    #[must_use]
    pub fn new(config: ClientConfig, address: MadAddress) -> Self {
        let mut walk = Self {
            client: Client::new(config),
            address,
            report: WalkReport::default(),
            stage: Stage::Unit,
            walks: 1,
            end: None,
        };
        walk.ask_unit(Stage::Unit);
        walk
    }

    fn ask_unit(&mut self, stage: Stage) {
        self.stage = stage;
        let call = Call::get(MgmtClass::DEV_MGT, 0).to(self.address);
        if let Err(refused) = self.client.ask(Ask::Unit(call)) {
            self.end = Some(Err(refused.error.into()));
        }
    }

    fn ask(&mut self, slot: u8, ask: Ask) {
        if let Err(refused) = self.client.ask(ask) {
            self.report.failed.insert(slot, refused.error);
        }
    }

    /// Takes in an answer, or that there is none.
    fn take_in(&mut self, ask: Ask, outcome: Result<Found, CallError>) {
        match (ask, outcome) {
            (_, Ok(Found::Unit(info))) if self.stage == Stage::Check => self.check(info),
            (_, Ok(Found::Unit(info))) => self.take_unit(info),
            (Ask::Controller(slot, _), Ok(Found::Controller(profile))) => {
                self.take_controller(slot, profile);
            }
            (Ask::Services(slot, first, _), Ok(Found::Services(block))) => {
                self.take_services(slot, first, &block);
            }
            (Ask::Unit(_), Err(error)) => self.end = Some(Err(error.into())),
            (Ask::Controller(slot, _) | Ask::Services(slot, _, _), Err(error)) => {
                self.report.failed.insert(slot, error);
            }
            // An answer is of its request's kind.
            _ => {}
        }
    }

    fn take_unit(&mut self, info: IoUnitInfo) {
        self.report.unit.info = info;
        self.stage = Stage::Controllers;
        for slot in 1..=info.max_controllers() {
            let index = usize::from(slot).saturating_sub(1);
            if info.controller_list(index) == Some(PRESENT) {
                let call = Call::get(MgmtClass::DEV_MGT, slot.into()).to(self.address);
                self.ask(slot, Ask::Controller(slot, call));
            }
        }
    }

    fn take_controller(&mut self, slot: u8, profile: IoControllerProfile) {
        let count = profile.service_entries();
        let services = Vec::new();
        let controller = IoController { profile, services };
        self.report.unit.controllers.insert(slot, controller);
        for first in (0..count).step_by(BLOCK) {
            // A block has four services: the cast loses nothing.
            let end = count.min(first.saturating_add(BLOCK as u8));
            let last = end.saturating_sub(1);
            let modifier = u32::from_be_bytes([0, slot, last, first]);
            let call = Call::get(MgmtClass::DEV_MGT, modifier).to(self.address);
            self.ask(slot, Ask::Services(slot, first, call));
        }
    }

    /// Blocks may come in any order.
    fn take_services(&mut self, slot: u8, first: u8, block: &ServiceEntries) {
        let Some(controller) = self.report.unit.controllers.get_mut(&slot) else {
            return;
        };
        let count = usize::from(controller.profile.service_entries());
        controller.services.resize(count, Default::default());
        let places = controller.services.iter_mut().skip(first.into());
        for (index, place) in places.take(BLOCK).enumerate() {
            if let Some(service) = block.service_entry(index) {
                *place = *service;
            }
        }
    }

    /// All was read: it counts if the unit is still the same.
    fn check(&mut self, info: IoUnitInfo) {
        if info.change_id() == self.report.unit.info.change_id() {
            let mut report = core::mem::take(&mut self.report);
            let WalkReport { unit, failed } = &mut report;
            unit.controllers
                .retain(|slot, _| !failed.contains_key(slot));
            self.end = Some(Ok(report));
        } else if self.walks < MAX_WALKS {
            self.walks = self.walks.saturating_add(1);
            self.report = WalkReport::default();
            self.take_unit(info);
        } else {
            self.end = Some(Err(WalkError::KeepsChanging));
        }
    }

    fn settle(&mut self) {
        while let Some(event) = self.client.poll_event() {
            if let ClientEvent::Ended { request, outcome } = event {
                self.take_in(request, outcome);
            }
        }
        if self.stage == Stage::Controllers && self.client.open() == 0 {
            self.ask_unit(Stage::Check);
        }
    }
}

impl Engine for IoUnitWalk {
    type Input<'a> = Input<'a>;
    type Transmit = Mad;
    type Event = Result<WalkReport, WalkError>;

    fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        self.client.handle_input(now, input);
        self.settle();
    }

    fn handle_timeout(&mut self, now: Instant) {
        self.client.handle_timeout(now);
        self.settle();
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        self.client.poll_transmit(now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.client.poll_timeout()
    }

    /// The end of the walk, once.
    fn poll_event(&mut self) -> Option<Result<WalkReport, WalkError>> {
        self.end.take()
    }
}

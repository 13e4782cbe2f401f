//! `ib query sminfo --set ORDER`: an order of the election to a subnet manager, as infiniband-diags' `sminfo` sends it.
//!
//! A Set(SMInfo) carries the order in its modifier and the sender's own SMInfo in its data (IBA vol. 1, 14.2.5.13). A
//! manager obeys an order only in the states in which the specification allows it, and only from a sender in the right
//! state: all orders but HANDOVER's ACKNOWLEDGE come from a master.

use clap::ValueEnum;
use ib_mad::{Attribute as _, Method};
use ib_smp::{DrPath, NodeInfo, PortAddress, SmControl, SmInfo, SmState, SmpLidRouted};

use super::{Asker, QueryArgs, QueryResult, What, structure::Structure};
use crate::error::CliError;

/// The orders that a manager can get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Order {
    /// A standby manager becomes master
    Handover,
    /// The master that handed over becomes standby
    Acknowledge,
    /// A standby manager becomes not active
    Disable,
    /// A manager that is not active becomes standby
    Standby,
    /// A standby manager discovers the subnet
    Discover,
}

impl Order {
    const fn control(self) -> SmControl {
        match self {
            Self::Handover => SmControl::HANDOVER,
            Self::Acknowledge => SmControl::ACKNOWLEDGE,
            Self::Disable => SmControl::DISABLE,
            Self::Standby => SmControl::STANDBY,
            Self::Discover => SmControl::DISCOVER,
        }
    }
}

/// The states that the sender of an order can claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SenderState {
    NotActive,
    Discovering,
    Standby,
    Master,
}

impl SenderState {
    const fn state(self) -> SmState {
        match self {
            Self::NotActive => SmState::NOT_ACTIVE,
            Self::Discovering => SmState::DISCOVERING,
            Self::Standby => SmState::STANDBY,
            Self::Master => SmState::MASTER,
        }
    }
}

/// A Set(SMInfo).
pub(super) struct OrderQuery {
    order: SmControl,
    info: SmInfo,
    destination: PortAddress,
}

impl OrderQuery {
    /// The order that the arguments give; `None` if they give none.
    pub(super) fn parse(args: &QueryArgs) -> Result<Option<Self>, CliError> {
        let Some(order) = args.set else {
            return Ok(None);
        };
        if args.what != What::SmInfo {
            return Err(CliError::input(
                "--set: only a subnet manager takes commands, expected ib query sminfo --set ORDER",
            ));
        }
        if !args.rest.is_empty() {
            return Err(CliError::input(
                "--set: the command is the modifier, expected no other modifier",
            ));
        }
        let mut info = SmInfo::default();
        info.set_sm_key(args.sm_key)
            .set_priority(args.priority)
            .set_sm_state(args.state.state());
        Ok(Some(Self {
            order: order.control(),
            info,
            destination: args.destination(),
        }))
    }

    /// Sends the order, then reads SMInfo: the response to an order may show the state before it.
    pub(super) fn ask(&self, asker: &mut Asker) -> Result<QueryResult<Vec<Structure>>, CliError> {
        let here = PortAddress::Route(DrPath::OWN_NODE);
        let own = asker.smp(here, Method::GET, NodeInfo::ID, 0)?;
        let own = match asker.ask(own)? {
            Ok(own) => own,
            Err(reason) => return Ok(Err(format!("the local node: {reason}"))),
        };
        let (own, _) = NodeInfo::parse(own.data(), 0).map_err(CliError::input)?;
        let mut info = self.info;
        info.set_guid(own.port_guid());
        let mut order = asker.smp(self.destination, Method::SET, SmInfo::ID, self.order.0)?;
        let mut data = [0; 64];
        data.iter_mut()
            .zip(info.as_bytes())
            .for_each(|(to, from)| *to = *from);
        let (set, _) = SmpLidRouted::parse_mut(&mut order.bytes, 0).map_err(CliError::input)?;
        set.set_smp_data(&data);
        if let Err(reason) = asker.ask(order)? {
            return Ok(Err(reason));
        }
        let read = asker.smp(self.destination, Method::GET, SmInfo::ID, 0)?;
        let answer = asker.ask(read)?;
        Ok(answer.map(|found| Structure::whole(SmInfo::LAYOUT, found.data())))
    }
}

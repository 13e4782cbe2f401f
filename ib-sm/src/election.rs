//! The election of the master among the subnet managers of a subnet (IBA vol. 1, 14.4.1).
//!
//! Managers find each other while they discover, by SMInfo. The one of the highest priority, and of those
//! the one with the lowest port GUID, configures the subnet; the others are in STANDBY and poll it. The
//! state machine here is pure: its inputs are the managers that were found and the SMInfo Sets that came,
//! its outputs are actions. An input that the specification's table of states does not list changes
//! nothing.

use ib_mad::{MadStatus, SmKey};
use ib_smp::{SmControl, SmInfo, SmState};
use ib_wire::Guid;

/// An input of the election.
#[derive(Clone, Copy, Debug)]
pub enum ElectionInput<'a> {
    /// A discovery has ended; these other managers were found.
    Discovered(&'a [SmInfo]),
    /// The polled manager answered.
    PollAnswered(&'a SmInfo),
    /// The polled manager left all polls unanswered.
    PollFailed,
    /// The link of the own port is down.
    OwnPortDown,
    /// Another manager gives an order.
    Control {
        /// Control of the SMInfo Set.
        order: SmControl,
        /// The sender's SMInfo.
        sender: &'a SmInfo,
    },
}

/// An action that the manager takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElectionAction {
    /// Nothing.
    None,
    /// Configure the subnet as it was discovered.
    Configure,
    /// Discover the subnet.
    Sweep,
    /// Poll the manager on the port with this GUID from now on.
    Poll(Guid),
    /// Stop polling.
    StopPolling,
    /// Give the subnet to this manager, then poll it.
    HandOver(Guid),
}

/// An order that does not fit the states of sender and receiver: the status of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal(pub MadStatus);

/// One manager's part in the election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Election {
    state: SmState,
    guid: Guid,
    priority: u8,
    sm_key: SmKey,
    act_count: u32,
    ignore_others: bool,
    /// Becomes NOT-ACTIVE once it has discovered, until a master's Set sends it to STANDBY.
    inactive: bool,
}

impl Election {
    /// A manager that discovers.
    #[must_use]
    pub const fn new(guid: Guid, priority: u8, sm_key: SmKey, ignore_others: bool) -> Self {
        Self {
            state: SmState::DISCOVERING,
            guid,
            priority,
            sm_key,
            act_count: 0,
            ignore_others,
            inactive: false,
        }
    }

    /// A manager that discovers, so as to know itself, and is not active then.
    #[must_use]
    pub const fn inactive(self, inactive: bool) -> Self {
        Self { inactive, ..self }
    }

    /// State of this manager in the election.
    #[must_use]
    pub const fn state(&self) -> SmState {
        self.state
    }

    /// The GUID of the own port, known only once the own node has answered.
    pub const fn set_guid(&mut self, guid: Guid) {
        self.guid = guid;
    }

    /// Takes another priority, 0..=15.
    pub const fn set_priority(&mut self, priority: u8) {
        self.priority = priority;
    }

    /// Sets another key of the managers, and whether to ignore all others.
    pub const fn set_rules(&mut self, sm_key: SmKey, ignore_others: bool) {
        self.sm_key = sm_key;
        self.ignore_others = ignore_others;
    }

    /// The SMInfo that the manager sends to others. The count of its actions rises with each call.
    #[must_use]
    pub fn sm_info(&mut self) -> SmInfo {
        self.act_count = self.act_count.wrapping_add(1);
        self.current()
    }

    /// Returns true if another manager takes part in this election.
    #[must_use]
    pub fn hears(&self, other: &SmInfo) -> bool {
        !self.ignore_others
            && other.guid() != self.guid
            && other.sm_state() != SmState::NOT_ACTIVE
            && (self.sm_key == SmKey(0) || other.sm_key() == self.sm_key)
    }

    /// Returns true if another manager would take part but for its key: both may become masters then.
    #[must_use]
    pub fn differs_in_key(&self, other: &SmInfo) -> bool {
        !self.ignore_others
            && other.guid() != self.guid
            && other.sm_state() != SmState::NOT_ACTIVE
            && self.sm_key != SmKey(0)
            && other.sm_key() != self.sm_key
    }

    /// Takes in what happened.
    ///
    /// # Errors
    /// [`Refusal`] for an order that does not fit; nothing has changed then.
    pub fn handle(&mut self, input: ElectionInput<'_>) -> Result<ElectionAction, Refusal> {
        use ElectionAction as Action;
        use ElectionInput as Input;
        let (next, action) = match (self.state, input) {
            (SmState::DISCOVERING, Input::Discovered(_)) if self.inactive => {
                (SmState::NOT_ACTIVE, Action::None)
            }
            (SmState::DISCOVERING, Input::Discovered(others)) => match self.rival(others) {
                Some(rival) => (SmState::STANDBY, Action::Poll(rival.guid())),
                None => (SmState::MASTER, Action::Configure),
            },
            (SmState::MASTER, Input::Discovered(others)) => match self.successor(others) {
                Some(next) => (SmState::STANDBY, Action::HandOver(next.guid())),
                None => (SmState::MASTER, Action::Configure),
            },
            (SmState::STANDBY, Input::PollAnswered(polled)) => match polled.sm_state() {
                // A manager that discovers will become the master, or go to STANDBY for another.
                SmState::MASTER | SmState::DISCOVERING => (SmState::STANDBY, Action::None),
                _ => (SmState::DISCOVERING, Action::Sweep),
            },
            (SmState::STANDBY, Input::PollFailed) => (SmState::DISCOVERING, Action::Sweep),
            // Without a link there is nothing to manage; the managers found once the link is back decide
            // the next state.
            (SmState::MASTER | SmState::STANDBY, Input::OwnPortDown) => {
                (SmState::DISCOVERING, Action::StopPolling)
            }
            (state, Input::Control { order, sender }) => self.execute(state, order, sender)?,
            (state, _) => (state, Action::None),
        };
        self.state = next;
        self.inactive &= next != SmState::STANDBY;
        Ok(action)
    }

    /// Orders by (order, the sender's state, the own state).
    fn execute(
        &self,
        state: SmState,
        order: SmControl,
        sender: &SmInfo,
    ) -> Result<(SmState, ElectionAction), Refusal> {
        use ElectionAction as Action;
        let (master, standby) = (SmState::MASTER, SmState::STANDBY);
        match (order, sender.sm_state(), state) {
            (SmControl::HANDOVER, SmState::MASTER, SmState::STANDBY) => Ok((master, Action::Sweep)),
            (SmControl::HANDOVER, SmState::MASTER, SmState::DISCOVERING | SmState::MASTER) => {
                Ok((state, Action::Sweep))
            }
            (SmControl::ACKNOWLEDGE, SmState::STANDBY, SmState::STANDBY | SmState::MASTER) => {
                Ok((state, Action::None))
            }
            (SmControl::DISABLE, SmState::MASTER, SmState::STANDBY) => {
                Ok((SmState::NOT_ACTIVE, Action::StopPolling))
            }
            (SmControl::STANDBY, SmState::MASTER, SmState::NOT_ACTIVE) => {
                Ok((standby, Action::Poll(sender.guid())))
            }
            (SmControl::DISCOVER, SmState::MASTER, SmState::STANDBY) => {
                Ok((SmState::DISCOVERING, Action::Sweep))
            }
            _ => Err(Refusal(MadStatus::INVALID_FIELD_VALUE)),
        }
    }

    /// To whom a manager that discovers leaves the subnet: a master, or one that ranks higher.
    fn rival<'a>(&self, others: &'a [SmInfo]) -> Option<&'a SmInfo> {
        let master = highest(
            self.heard(others)
                .filter(|sm| sm.sm_state() == SmState::MASTER),
        );
        master.or_else(|| {
            highest(
                self.heard(others)
                    .filter(|sm| sm.is_higher_than(&self.current())),
            )
        })
    }

    /// The manager to which the master gives the subnet: one that ranks higher and is in STANDBY, or is a
    /// master too, as when two subnets are joined.
    fn successor<'a>(&self, others: &'a [SmInfo]) -> Option<&'a SmInfo> {
        highest(self.heard(others).filter(|sm| {
            matches!(sm.sm_state(), SmState::STANDBY | SmState::MASTER)
                && sm.is_higher_than(&self.current())
        }))
    }

    /// The managers that take part: active, and with the same key if we have one.
    fn heard<'a>(&self, others: &'a [SmInfo]) -> impl Iterator<Item = &'a SmInfo> {
        others.iter().filter(|sm| self.hears(sm))
    }

    /// The same without a count.
    #[must_use]
    pub fn current(&self) -> SmInfo {
        let mut info = SmInfo::default();
        info.set_guid(self.guid)
            .set_sm_key(self.sm_key)
            .set_act_count(self.act_count)
            .set_priority(self.priority)
            .set_sm_state(self.state);
        info
    }
}

fn highest<'a>(mut managers: impl Iterator<Item = &'a SmInfo>) -> Option<&'a SmInfo> {
    let first = managers.next()?;
    Some(managers.fold(
        first,
        |best, sm| if sm.is_higher_than(best) { sm } else { best },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manager(guid: u64, priority: u8, state: SmState) -> SmInfo {
        let mut info = SmInfo::default();
        info.set_guid(Guid(guid))
            .set_priority(priority)
            .set_sm_state(state);
        info
    }

    fn election(guid: u64, priority: u8, state: SmState) -> Election {
        let mut election = Election::new(Guid(guid), priority, SmKey(0), false);
        election.state = state;
        election
    }

    fn after(mut election: Election, input: ElectionInput<'_>) -> (SmState, ElectionAction) {
        let action = election.handle(input).unwrap();
        (election.state(), action)
    }

    #[test]
    fn an_inactive_manager_stands_by_when_it_is_ordered_to() {
        let mut election = Election::new(Guid(1), 15, SmKey(1), false).inactive(true);
        let mut master = SmInfo::default();
        master
            .set_guid(Guid(2))
            .set_sm_key(SmKey(1))
            .set_sm_state(SmState::MASTER);
        let found = [master];
        let action = election.handle(ElectionInput::Discovered(&found)).unwrap();
        assert_eq!(action, ElectionAction::None);
        assert_eq!(election.state(), SmState::NOT_ACTIVE);
        let order = ElectionInput::Control {
            order: SmControl::STANDBY,
            sender: &master,
        };
        assert_eq!(election.handle(order), Ok(ElectionAction::Poll(Guid(2))));
        // From here on it is like any other.
        assert_eq!(
            election.handle(ElectionInput::PollFailed),
            Ok(ElectionAction::Sweep)
        );
        let action = election.handle(ElectionInput::Discovered(&[])).unwrap();
        assert_eq!(action, ElectionAction::Configure);
    }

    #[test]
    fn the_only_manager_becomes_the_master() {
        let alone = election(5, 0, SmState::DISCOVERING);
        let end = after(alone, ElectionInput::Discovered(&[]));
        assert_eq!(end, (SmState::MASTER, ElectionAction::Configure));
    }

    #[test]
    fn a_master_keeps_the_subnet_from_a_higher_one_that_discovers() {
        let found = [
            manager(9, 1, SmState::MASTER),
            manager(1, 2, SmState::STANDBY),
        ];
        let higher = election(3, 15, SmState::DISCOVERING);
        let end = after(higher, ElectionInput::Discovered(&found));
        assert_eq!(end, (SmState::STANDBY, ElectionAction::Poll(Guid(9))));
    }

    #[test]
    fn of_equal_priorities_the_lower_guid_wins() {
        let found = [manager(4, 3, SmState::DISCOVERING)];
        let low = after(
            election(3, 3, SmState::DISCOVERING),
            ElectionInput::Discovered(&found),
        );
        let high = after(
            election(5, 3, SmState::DISCOVERING),
            ElectionInput::Discovered(&found),
        );
        assert_eq!(low.0, SmState::MASTER);
        assert_eq!(high, (SmState::STANDBY, ElectionAction::Poll(Guid(4))));
    }

    #[test]
    fn the_master_hands_over_to_the_highest_that_stands_by() {
        let found = [
            manager(9, 5, SmState::STANDBY),
            manager(8, 7, SmState::STANDBY),
        ];
        let end = after(
            election(1, 3, SmState::MASTER),
            ElectionInput::Discovered(&found),
        );
        assert_eq!(end, (SmState::STANDBY, ElectionAction::HandOver(Guid(8))));
    }

    #[test]
    fn a_manager_with_another_key_is_not_heard() {
        let mut other = manager(1, 15, SmState::MASTER);
        other.set_sm_key(SmKey(2));
        let ours = Election::new(Guid(5), 0, SmKey(1), false);
        let end = after(ours, ElectionInput::Discovered(&[other]));
        assert_eq!(end.0, SmState::MASTER);
    }

    /// Every order in every pair of states: 5 are obeyed as the table says, the rest is refused and
    /// changes nothing.
    #[test]
    fn orders_outside_the_table_are_refused() {
        let states = [
            SmState::NOT_ACTIVE,
            SmState::DISCOVERING,
            SmState::STANDBY,
            SmState::MASTER,
        ];
        let mut obeyed = 0;
        for order in (0..8).map(SmControl) {
            for (own, theirs) in states.iter().flat_map(|&a| states.map(|b| (a, b))) {
                let mut election = election(5, 0, own);
                let sender = manager(9, 0, theirs);
                let answer = election.handle(ElectionInput::Control {
                    order,
                    sender: &sender,
                });
                match answer {
                    Ok(_) => obeyed += 1,
                    Err(_) => assert_eq!(election.state(), own, "{order} {own} {theirs}"),
                }
            }
        }
        assert_eq!(obeyed, 3 + 2 + 1 + 1 + 1);
    }

    #[test]
    fn each_reason_alone_keeps_another_manager_out_of_the_election() {
        let with_key = |mut info: SmInfo, key: u64| {
            info.set_sm_key(SmKey(key));
            info
        };
        let ours = Election::new(Guid(5), 0, SmKey(1), false);
        let open = Election::new(Guid(5), 0, SmKey(0), false);
        let deaf = Election::new(Guid(5), 0, SmKey(1), true);
        let other = manager(1, 15, SmState::MASTER);
        let itself = manager(5, 15, SmState::MASTER);
        let inactive = manager(1, 15, SmState::NOT_ACTIVE);
        // (this manager, another one, its key, it is heard, only its key keeps it out)
        let cases = [
            (&ours, other, 1, true, false),
            (&ours, other, 2, false, true),
            (&open, other, 2, true, false),
            (&ours, itself, 1, false, false),
            (&ours, itself, 2, false, false),
            (&ours, inactive, 1, false, false),
            (&ours, inactive, 2, false, false),
            (&deaf, other, 1, false, false),
            (&deaf, other, 2, false, false),
        ];
        for (case, (election, info, key, heard, differs)) in cases.into_iter().enumerate() {
            let info = with_key(info, key);
            assert_eq!(election.hears(&info), heard, "case {case}");
            assert_eq!(election.differs_in_key(&info), differs, "case {case}");
        }
    }

    #[test]
    fn new_rules_decide_who_is_heard_from_then_on() {
        let mut election = Election::new(Guid(5), 0, SmKey(1), false);
        let mut other = manager(1, 15, SmState::MASTER);
        other.set_sm_key(SmKey(2));
        assert!(!election.hears(&other));
        election.set_rules(SmKey(2), false);
        assert!(election.hears(&other));
        election.set_rules(SmKey(2), true);
        assert!(!election.hears(&other));
    }

    #[test]
    fn an_inactive_manager_stays_so_whatever_happens_while_it_discovers() {
        let mut election = Election::new(Guid(1), 15, SmKey(0), false).inactive(true);
        let action = election.handle(ElectionInput::OwnPortDown);
        assert_eq!(action, Ok(ElectionAction::None));
        let end = after(election, ElectionInput::Discovered(&[]));
        assert_eq!(end, (SmState::NOT_ACTIVE, ElectionAction::None));
    }
}

//! Drawing a schedule: every choice is a number below a bound.

use std::time::Duration;

use ib_sim::{Behaviour, Corruption, FaultRates};
use ib_wire::Guid;

use super::{FaultKind, Schedule, ScheduledFault};

/// Small fabrics of different kinds: with one way between hosts, with several, with parallel cables.
const FABRICS: [&str; 6] = [
    "ring:switches=4,hosts=1",
    "fat-tree:radix=4,levels=2",
    "random:switches=5,links=8,hosts=1,seed=3",
    "mesh:2x3,hosts=1",
    "thesis",
    "dragonfly:a=2,p=1,h=1",
];

/// Most faults of a schedule.
const MOST: usize = 8;

/// Chances of a fault on links.
const CHANCES: [f64; 4] = [0.005, 0.05, 0.2, 0.5];

/// A source of numbers below a bound.
pub(super) struct Draw<'a>(pub(super) &'a mut dyn FnMut(usize) -> usize);

impl Draw<'_> {
    pub(super) fn schedule(&mut self, seed: u64) -> Schedule {
        let fabric = FABRICS[self.below(FABRICS.len())];
        let heavy_sweeps = self.below(4) == 0;
        let count = 1 + self.below(MOST);
        let mut at = Duration::ZERO;
        let mut faults = Vec::new();
        for _ in 0..count {
            at += self.time();
            faults.push(ScheduledFault {
                at,
                lasts: self.time(),
                kind: self.kind(),
            });
        }
        Schedule {
            fabric,
            seed,
            heavy_sweeps,
            faults,
        }
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.0)(bound)
    }

    /// From 8 us, while a few packets are on their way, to 4 s: every order of magnitude is as likely as the others.
    fn time(&mut self) -> Duration {
        let magnitude = 8u64 << self.below(19);
        let part = self.below(256) as u64;
        Duration::from_micros(magnitude + magnitude * part / 256)
    }

    fn kind(&mut self) -> FaultKind {
        let which = self.below(256);
        match self.below(9) {
            0..=2 => FaultKind::Cable(which),
            3 => FaultKind::Power(which),
            4 | 5 => FaultKind::Links(self.rates()),
            6 => FaultKind::Agents(which, self.behaviour()),
            7 => FaultKind::Manager(None),
            _ => FaultKind::Manager(Some(which)),
        }
    }

    fn rates(&mut self) -> FaultRates {
        let mut rates = FaultRates {
            max_delay: self.time(),
            ..FaultRates::NONE
        };
        for _ in 0..1 + self.below(2) {
            let chance = CHANCES[self.below(CHANCES.len())];
            match self.below(7) {
                0 | 1 => rates.loss = chance,
                2 => rates.duplicate = chance,
                3 => rates.delay = chance,
                4 => rates.reorder = chance,
                5 => rates.bit_error = chance,
                _ => rates.corrupt = chance,
            }
        }
        rates
    }

    fn behaviour(&mut self) -> Behaviour {
        let corruption = match self.below(10) {
            0..=3 => return Behaviour::Silent,
            4 => return Behaviour::Slow(self.time()),
            5 => Corruption::NodeType,
            6 => Corruption::NumPorts(self.below(256) as u8),
            7 => Corruption::ChangingGuid,
            8 => Corruption::Guid(Guid(self.below(256) as u64)),
            _ => match self.below(2) {
                0 => Corruption::Status,
                _ => Corruption::Garbage,
            },
        };
        Behaviour::Byzantine(corruption)
    }
}

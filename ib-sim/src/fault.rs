//! Faults on links and in nodes, by a seeded schedule.
//!
//! The same seed and the same inputs give the same faults, bit for bit. Rates are chances per packet and link
//! crossing; a node's behaviour is set by name through [`Sim::set_behaviour`](crate::Sim::set_behaviour).

mod draw;
mod spec;

use std::time::Duration;

use ib_wire::Guid;

pub(crate) use draw::{FaultDraw, FaultSource};
pub use spec::{FaultSpec, FaultSpecError, parse_time};

use draw::{DrawContext, Random};
use spec::FaultValue;

/// Declares the faults of a link: a row has the field, its key in a [`FaultSpec`], and what a draw of it does to the
/// packet. Rows are drawn in the order in which they are declared, which is part of what a seed means.
///
/// The settings below qualify the faults: field, type, key, value when it is not given.
macro_rules! link_faults {
    (
        chances { $($(#[$chance_doc:meta])* $chance:ident = $chance_key:literal => $apply:expr;)* }
        settings { $($(#[$setting_doc:meta])* $setting:ident: $type_:ty = $setting_key:literal, $default:expr;)* }
    ) => {
        /// Chances of the faults on a link, from 0.0 (never, the default) to 1.0 (always), for each packet and each crossing of
        /// a link.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct FaultRates {
            $($(#[$chance_doc])* pub $chance: f64,)*
            $($(#[$setting_doc])* pub $setting: $type_,)*
        }

        impl FaultRates {
            /// No fault ever happens.
            pub const NONE: Self = Self {
                $($chance: 0.0,)*
                $($setting: $default,)*
            };

            /// Keys of the chances in a [`FaultSpec`].
            pub(crate) const CHANCE_KEYS: &[&str] = &[$($chance_key),*];

            /// Keys of the settings, each with an example of its value.
            pub(crate) const SETTING_KEYS: &[(&str, &str)] =
                &[$(($setting_key, <$type_ as FaultValue>::EXAMPLE)),*];

            /// Returns whether every chance is zero.
            #[must_use]
            pub fn is_none(&self) -> bool {
                [$(self.$chance),*].iter().all(|&chance| chance <= 0.0)
            }

            /// Sets the fault or setting of a key. `None` if there is no such key; `Some(Err)` names what is expected.
            pub(crate) fn set(&mut self, key: &str, value: &str) -> Option<Result<(), &'static str>> {
                match key {
                    $($chance_key => Some(FaultValue::parse(value).map(|value| self.$chance = value)),)*
                    $($setting_key => Some(FaultValue::parse(value).map(|value| self.$setting = value)),)*
                    _ => None,
                }
            }

            /// The parts of a [`FaultSpec`] that differ from [`NONE`](Self::NONE).
            pub(crate) fn parts(&self) -> Vec<String> {
                let mut parts = Vec::new();
                $(if self.$chance != Self::NONE.$chance {
                    parts.push(self.$chance.part($chance_key));
                })*
                $(if self.$setting != Self::NONE.$setting {
                    parts.push(self.$setting.part($setting_key));
                })*
                parts
            }

            /// Draws each fault for one packet.
            pub(crate) fn draw(&self, random: &mut Random, context: &DrawContext) -> FaultDraw {
                let mut draw = FaultDraw::default();
                $(if random.happens(self.$chance) {
                    let apply: fn(&mut FaultDraw, &mut Random, &DrawContext) = $apply;
                    apply(&mut draw, random, context);
                })*
                draw
            }
        }
    };
}

link_faults! {
    chances {
        /// Chance that the packet is lost and nothing counts it: VL 15 has no flow control.
        loss = "loss" => |draw, _, _| draw.lost = true;
        /// Chance that a bit flips and the CRC detects it: the receiving port counts an error and drops the packet.
        bit_error = "bit-error" => |draw, _, _| draw.bit_error = true;
        /// Chance that the packet arrives twice.
        duplicate = "duplicate" => |draw, _, _| draw.duplicated = true;
        /// Chance that the packet is delayed by up to [`max_delay`](Self::max_delay).
        delay = "delay" => |draw, random, context| draw.wait = random.time_below(context.max_delay);
        /// Chance that the packet is delayed just long enough for the packets after it to overtake it.
        reorder = "reorder" => |draw, _, context| {
            draw.wait = draw.wait.saturating_add(context.overtaken_after);
        };
        /// Chance that a bit of the datagram flips and no CRC detects it, as with broken firmware.
        corrupt = "corrupt" => |draw, random, _| draw.flipped_bit = random.bit_of_datagram();
    }
    settings {
        /// Longest delay that [`delay`](Self::delay) draws; 5 ms if not given.
        max_delay: Duration = "max-delay", Duration::from_millis(5);
        /// True if faults happen to subnet management packets only.
        smp_only: bool = "smp-only", false;
    }
}

impl Default for FaultRates {
    fn default() -> Self {
        Self::NONE
    }
}

/// Behaviour of the agents of a node. A switch forwards packets whatever its agents do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Behaviour {
    /// They answer as the specification says.
    #[default]
    Honest,
    /// They do not answer.
    Silent,
    /// Every answer takes this much longer.
    Slow(Duration),
    /// Their answers are corrupt.
    Byzantine(Corruption),
}

/// Corruption of the answers of a byzantine node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Corruption {
    /// NodeInfo has a type that does not exist.
    NodeType,
    /// NodeInfo has this number of ports.
    NumPorts(u8),
    /// NodeInfo has another node GUID in every answer.
    ChangingGuid,
    /// NodeInfo has this node GUID and port GUID, such as those of another node.
    Guid(Guid),
    /// Every answer has the status "invalid field value".
    Status,
    /// Every answer has ones in all bits after its header.
    Garbage,
}

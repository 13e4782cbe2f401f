//! The channels that a fabric has lost: their cables are gone, and everything else about the switches is as it was.

use alloc::vec::Vec;

use super::{Channel, Fabric};
use crate::index::{ChannelIdx, Idx, IdxVec};

/// Channels that are gone, by the numbers that channels had before, in their order.
///
/// The other channels keep their order, so their numbers after the loss follow from this list alone: data by the numbers
/// of before stay in use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostChannels(Vec<ChannelIdx>);

impl LostChannels {
    /// These channels, in any order.
    pub(crate) fn new(mut channels: Vec<ChannelIdx>) -> Self {
        channels.sort_unstable();
        channels.dedup();
        Self(channels)
    }

    /// The channels that `new` has lost; `None` if the switches differ, or if it has a channel that `old` has not.
    pub(crate) fn between(old: &Fabric, new: &Fabric) -> Option<Self> {
        new.lost_since(old).or_else(|| Self::compared(old, new))
    }

    /// As [`between`](Self::between), by a comparison of all channels.
    fn compared(old: &Fabric, new: &Fabric) -> Option<Self> {
        let guid = |fabric: &Fabric, switch| fabric.switch_guid(switch);
        let mut switches = old.switches().indices();
        let is_same = old.num_switches() == new.num_switches()
            && switches.all(|switch| guid(old, switch) == guid(new, switch));
        if !is_same {
            return None;
        }
        // A plain loop: after every failure each channel is compared several times.
        let mut lost = Vec::new();
        let mut now = new.channels().as_slice();
        for (index, was) in old.channels().iter_enumerated() {
            match now.split_first() {
                Some((next, rest)) if is_same_place(next, was) => now = rest,
                _ => lost.push(index),
            }
        }
        now.is_empty().then_some(Self(lost))
    }

    /// Number of channels that are gone.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// The channels that are gone.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ChannelIdx> + '_ {
        self.0.iter().copied()
    }

    /// The number that a channel had before.
    #[inline]
    pub(crate) fn before(&self, now: ChannelIdx) -> ChannelIdx {
        let mut number = now;
        for &lost in &self.0 {
            if lost > number {
                break;
            }
            number.0 += 1;
        }
        number
    }

    /// The number that a channel has now; `None` if it is gone.
    #[inline]
    pub(crate) fn now(&self, before: ChannelIdx) -> Option<ChannelIdx> {
        let place = match self.0.as_slice() {
            // A cable is two channels, and one cable at a time is the usual loss.
            &[one, other] => match before {
                lost if lost == one || lost == other => Ok(0),
                _ => Err(usize::from(one < before) + usize::from(other < before)),
            },
            all => all.binary_search(&before),
        };
        match place {
            Ok(_) => None,
            Err(below) => Some(ChannelIdx(before.0 - below as u32)),
        }
    }

    /// The number that each of `count` channels has now; `None` for those that are gone.
    pub(crate) fn numbers(&self, count: usize) -> IdxVec<ChannelIdx, Option<ChannelIdx>> {
        let mut numbers = Vec::with_capacity(count);
        let mut first = 0;
        for (below, lost) in self.0.iter().enumerate() {
            let below = below as u32;
            numbers.extend((first..lost.0).map(|before| Some(ChannelIdx(before - below))));
            numbers.push(None);
            first = lost.0 + 1;
        }
        let below = self.0.len() as u32;
        numbers.extend((first..count as u32).map(|before| Some(ChannelIdx(before - below))));
        numbers.into()
    }

    /// Number of lost channels whose number before is lower.
    pub(crate) fn count_below(&self, before: ChannelIdx) -> u32 {
        self.0.partition_point(|&lost| lost < before) as u32
    }

    /// The entries of the channels that are left, by the numbers that they have now. `entries` are by the numbers before.
    pub(crate) fn left<T: Copy>(&self, entries: &IdxVec<ChannelIdx, T>) -> IdxVec<ChannelIdx, T> {
        let mut left = Vec::with_capacity(entries.len());
        let mut rest = entries.as_slice();
        let mut first = 0;
        for lost in &self.0 {
            let Some((kept, after)) = rest.split_at_checked(lost.at() - first) else {
                break;
            };
            left.extend_from_slice(kept);
            rest = after.get(1..).unwrap_or_default();
            first = lost.at() + 1;
        }
        left.extend_from_slice(rest);
        left.into()
    }

    /// Those that were gone and those that went `later`, which are given by the numbers of between.
    pub(crate) fn and(&self, later: &Self) -> Self {
        let later = later.iter().map(|lost| self.before(lost));
        Self::new(self.iter().chain(later).collect())
    }

    /// Returns true if a channel is gone, by its number before.
    #[inline]
    pub(crate) fn contains(&self, before: ChannelIdx) -> bool {
        self.0.binary_search(&before).is_ok()
    }
}

/// Returns true if two channels lead from the same port to the same port.
#[inline]
fn is_same_place(one: &Channel, other: &Channel) -> bool {
    // Combined without branches: almost all channels are the same.
    (one.from == other.from)
        & (one.to == other.to)
        & (one.port == other.port)
        & (one.to_port == other.to_port)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        generate::FabricSpec,
        whatif::{links, without},
    };

    #[test]
    fn numbers_before_and_after_two_losses_match_the_channels() {
        let whole = "torus:4x4,hosts=1".parse::<FabricSpec>().unwrap();
        let whole = whole.build().unwrap();
        let mut losses = links(&whole, false).step_by(5);
        let one = without(&whole, losses.next().unwrap());
        let two = without(&one, losses.next().unwrap());
        let (first, second) = (
            LostChannels::between(&whole, &one).unwrap(),
            LostChannels::between(&one, &two).unwrap(),
        );
        assert_eq!(Some(&first), LostChannels::compared(&whole, &one).as_ref());
        let none = LostChannels::between(&whole, &whole.clone()).unwrap();
        assert_eq!(Some(none), LostChannels::compared(&whole, &whole));
        let both = first.and(&second);
        assert_eq!(Some(&both), LostChannels::between(&whole, &two).as_ref());
        assert_eq!((first.len(), both.len()), (2, 4));
        let left = both.left(&whole.channels().indices().collect());
        assert_eq!(left.len(), two.channels().len());
        for (now, channel) in two.channels().iter_enumerated() {
            let before = both.before(now);
            assert_eq!(left[now], before);
            let was = whole.channel(before);
            assert_eq!((was.from, was.port), (channel.from, channel.port));
            assert_eq!(both.now(before), Some(now));
        }
        let numbers = both.numbers(whole.channels().len());
        assert_eq!(numbers.len(), whole.channels().len());
        let mut numbers = numbers.iter_enumerated();
        assert!(numbers.all(|(before, &now)| now == both.now(before)));
        assert!(both.iter().all(|lost| both.now(lost).is_none()));
        assert!(LostChannels::between(&two, &one).is_none());
    }
}

//! The channel that each switch takes in each of many trees: one byte each.

use alloc::{vec, vec::Vec};
use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use ib_wire::PortNum;
use zerocopy::{FromBytes, IntoBytes, KnownLayout};

use crate::{
    algo::{demands::Demand, parallel},
    fabric::Fabric,
    index::{ChannelIdx, Idx, IdxVec, SwitchIdx, nothing},
    routes::Routes,
};

/// A table of trees by switches: the place of the channel among those of the switch, from 1 on, or 0 where a switch has
/// not chosen. So nothing is written before the first choice, and threads that choose share the time for new memory.
///
/// The trees towards one target lie side by side, switch by switch: they are chosen and installed together.
#[derive(Clone, Debug)]
pub struct Choices {
    places: Vec<u8>,
    columns: Vec<Column>,
    /// The first channel of every switch.
    first: IdxVec<SwitchIdx, ChannelIdx>,
}

/// The positions of a tree's choices.
#[derive(Clone, Copy, Debug)]
struct Column {
    /// The place of the first switch.
    start: usize,
    /// The trees with the same target, from one switch to the next.
    step: usize,
}

impl Choices {
    /// No switch has chosen yet.
    #[must_use]
    pub fn new(fabric: &Fabric, trees: &[Demand]) -> Self {
        let switches = fabric.num_switches();
        let mut columns = Vec::with_capacity(trees.len());
        for trees in trees.chunk_by(|one, next| one.target == next.target) {
            let start = columns.len() * switches;
            columns.extend((0..trees.len()).map(|number| Column {
                start: start + number,
                step: trees.len(),
            }));
        }
        let first = fabric.switches().indices();
        Self {
            places: vec![0; trees.len() * switches],
            columns,
            first: first.map(|switch| fabric.channel_range(switch).0).collect(),
        }
    }

    /// Number of choices to make.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns true if there is no tree, or no switch.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The channel that `switch` takes in a tree, if it has a path there.
    #[inline]
    #[must_use]
    pub fn channel(&self, tree: usize, switch: SwitchIdx) -> Option<ChannelIdx> {
        self.of_tree(tree).channel(switch)
    }

    /// The choices in a tree; none if it does not exist.
    #[inline]
    #[must_use]
    pub(crate) fn of_tree(&self, tree: usize) -> TreeChoices<'_> {
        let column = self.columns.get(tree);
        let places = column.and_then(|column| self.places.get(column.start..));
        TreeChoices {
            places: places.unwrap_or_default(),
            step: column.map_or(0, |column| column.step),
            first: &self.first,
        }
    }

    /// Lets a switch take one of its channels.
    #[inline]
    pub fn set(&mut self, tree: usize, switch: SwitchIdx, channel: ChannelIdx) {
        self.shared().set(tree, switch, channel);
    }

    /// All choices, for threads that choose at different switches at the same time.
    #[must_use]
    pub(crate) fn shared(&mut self) -> SharedChoices<'_> {
        let choices = <[Choice]>::mut_from_bytes(&mut self.places);
        SharedChoices {
            // Any byte is a choice.
            choices: choices.map_or(&[], |choices| choices),
            columns: &self.columns,
            first: &self.first,
        }
    }

    /// Writes the ports of all trees into the tables, on as many threads as `threads` says. A switch without a choice
    /// does not reach the LIDs of that tree; the entries of a target for its own LIDs are left alone.
    pub fn install(&self, threads: usize, fabric: &Fabric, trees: &[Demand], routes: &mut Routes) {
        let runs = self.runs(trees);
        let sharing: Vec<Sharing> = trees.iter().flat_map(Sharing::of).collect();
        let mut switches: Vec<SwitchIdx> = fabric.switches().indices().collect();
        let len = routes.row_len();
        parallel::rows(
            threads,
            &mut switches,
            routes.rows_mut(),
            len,
            |&mut switch, lft| {
                parallel::count(self.columns.len() + sharing.len());
                self.fill(fabric, switch, &runs, lft);
                for sharing in sharing.iter().filter(|sharing| sharing.target != switch) {
                    let entry = lft.get(sharing.first).copied();
                    if let (Some(entry), Some(other)) = (entry, lft.get_mut(sharing.lid)) {
                        *other = entry;
                    }
                }
            },
        );
    }

    /// Writes a switch's ports for the first LID of every tree.
    fn fill(&self, fabric: &Fabric, switch: SwitchIdx, runs: &[Run], lft: &mut [u8]) {
        let ports = ports_by_place(fabric, switch);
        // All 256 places have a port.
        let port = |place: u8| ports.get(usize::from(place)).copied().unwrap_or_default();
        for run in runs.iter().filter(|run| run.target != switch) {
            let places = self.places.get(run.start + switch.at() * run.step..);
            let entries = lft.get_mut(run.lid..);
            match run.len {
                // Switches with few CAs are common in direct networks.
                1 => map_few::<1>(places, entries, port),
                2 => map_few::<2>(places, entries, port),
                3 => map_few::<3>(places, entries, port),
                4 => map_few::<4>(places, entries, port),
                len => {
                    let (places, entries) = (places.unwrap_or_default(), entries);
                    let entries = entries.unwrap_or_default().iter_mut().take(len);
                    for (entry, &place) in entries.zip(places) {
                        *entry = port(place);
                    }
                }
            }
        }
    }

    /// The first LIDs of all trees.
    fn runs(&self, trees: &[Demand]) -> Vec<Run> {
        let mut runs: Vec<Run> = Vec::new();
        for (column, tree) in self.columns.iter().zip(trees) {
            let Some(lid) = tree.lids.first() else {
                continue;
            };
            let run = Run {
                target: tree.target,
                lid: usize::from(lid.0),
                start: column.start,
                step: column.step,
                len: 1,
            };
            match runs.last_mut() {
                Some(last) if last.is_before(&run) => last.len += 1,
                _ => runs.push(run),
            }
        }
        runs
    }
}

/// The choices of all switches in one tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TreeChoices<'a> {
    /// The places from that of the first switch on.
    places: &'a [u8],
    step: usize,
    /// As in [`Choices`].
    first: &'a IdxVec<SwitchIdx, ChannelIdx>,
}

impl TreeChoices<'_> {
    /// The channel that a switch takes, if it has a path.
    #[inline(always)]
    #[must_use]
    pub(crate) fn channel(self, switch: SwitchIdx) -> Option<ChannelIdx> {
        let place = *self.places.get(switch.at() * self.step)?;
        channel_at(self.first, switch, place)
    }
}

/// A LID that is not the first of its tree.
#[derive(Clone, Copy, Debug)]
struct Sharing {
    /// The switch that the tree leads to.
    target: SwitchIdx,
    lid: usize,
    /// The first LID of the tree.
    first: usize,
}

impl Sharing {
    /// All but the first LID of a tree.
    fn of(tree: &Demand) -> impl Iterator<Item = Self> {
        let first = tree.lids.first().map_or(0, |lid| usize::from(lid.0));
        tree.lids.iter().skip(1).map(move |lid| Self {
            target: tree.target,
            lid: usize::from(lid.0),
            first,
        })
    }
}

/// LIDs that follow each other, each the first of its tree, where the trees follow each other too.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The switch that all these trees lead to.
    target: SwitchIdx,
    /// The first LID.
    lid: usize,
    /// The place of the first switch's choice in the first tree.
    start: usize,
    /// The trees with the same target, from one switch to the next.
    step: usize,
    len: usize,
}

impl Run {
    /// Returns true if the LID and the tree of another run follow those of this one.
    fn is_before(&self, next: &Self) -> bool {
        self.target == next.target
            && self.lid + self.len == next.lid
            && self.start + self.len == next.start
    }
}

/// The ports of a switch by what [`Choices`] says.
fn ports_by_place(fabric: &Fabric, switch: SwitchIdx) -> [u8; 256] {
    let mut ports = [PortNum::UNREACHABLE.0; 256];
    let [_, places @ ..] = &mut ports;
    for (port, (_, channel)) in places.iter_mut().zip(fabric.channels_from(switch)) {
        *port = channel.port.0;
    }
    ports
}

/// The channel of a choice.
#[inline(always)]
fn channel_at(
    first: &IdxVec<SwitchIdx, ChannelIdx>,
    switch: SwitchIdx,
    place: u8,
) -> Option<ChannelIdx> {
    let place = place.checked_sub(1)?;
    Some(ChannelIdx(first[switch].0 + u32::from(place)))
}

/// Maps the first `LEN` bytes without a loop.
#[inline(always)]
fn map_few<const LEN: usize>(from: Option<&[u8]>, to: Option<&mut [u8]>, map: impl Fn(u8) -> u8) {
    let from = from.and_then(<[u8]>::first_chunk::<LEN>);
    let to = to.and_then(<[u8]>::first_chunk_mut);
    if let (Some(from), Some(to)) = (from, to) {
        *to = from.map(map);
    }
}

/// The choice of a switch in a tree, as in [`Choices`].
///
/// It is atomic so that threads can choose at different switches at the same time. A processor stores such a byte as it
/// stores any other.
#[derive(Debug, Default, FromBytes, IntoBytes, KnownLayout)]
#[repr(transparent)]
pub(crate) struct Choice(AtomicU8);

impl Choice {
    /// The place of the channel that the switch takes among those of the switch, from 1 on; 0 if it has not chosen.
    #[inline(always)]
    #[must_use]
    pub(crate) fn place(&self) -> u8 {
        self.0.load(Relaxed)
    }

    /// Takes the channel at a place.
    #[inline(always)]
    pub(crate) fn take(&self, place: u8) {
        self.0.store(place, Relaxed);
    }
}

/// The choices of all switches in all trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SharedChoices<'a> {
    choices: &'a [Choice],
    columns: &'a [Column],
    /// As in [`Choices`].
    first: &'a IdxVec<SwitchIdx, ChannelIdx>,
}

impl<'a> SharedChoices<'a> {
    /// The channel that `switch` takes in a tree, if it has a path there.
    #[inline]
    #[must_use]
    pub(crate) fn channel(self, tree: usize, switch: SwitchIdx) -> Option<ChannelIdx> {
        let [choice] = self.block(tree, 1).of(switch) else {
            return None;
        };
        channel_at(self.first, switch, choice.place())
    }

    /// Lets a switch take one of its channels.
    #[inline]
    pub(crate) fn set(self, tree: usize, switch: SwitchIdx, channel: ChannelIdx) {
        let place = channel.0 - self.first[switch].0;
        for choice in self.block(tree, 1).of(switch) {
            // A switch has 254 ports at most.
            choice.take(place as u8 + 1);
        }
    }

    /// The choices of `count` trees from `first` on, which all have the same target.
    #[must_use]
    pub(crate) fn block(self, first: usize, count: usize) -> ChoiceBlock<'a> {
        let column = self.columns.get(first);
        let (start, step) = column.map_or((usize::MAX, 0), |column| (column.start, column.step));
        ChoiceBlock {
            choices: self.choices.get(start..).unwrap_or_default(),
            step,
            count,
        }
    }
}

/// The choices of neighbouring trees with the same target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChoiceBlock<'a> {
    choices: &'a [Choice],
    step: usize,
    count: usize,
}

impl<'a> ChoiceBlock<'a> {
    /// The first `count` choices, which are those of every switch.
    #[must_use]
    pub(crate) fn for_all(choices: &'a [Choice], count: usize) -> Self {
        Self {
            choices,
            step: 0,
            count,
        }
    }

    /// The choice of a switch in each tree.
    #[inline]
    #[must_use]
    pub(crate) fn of(self, switch: SwitchIdx) -> &'a [Choice] {
        let choices = self.choices.get(switch.at() * self.step..);
        choices
            .and_then(|choices| choices.get(..self.count))
            .unwrap_or_else(nothing)
    }
}

//! The inputs of the choices that one switch makes at one frontier.

use super::{
    Inputs, OutPort,
    batch::Batch,
    flows::{FlowWriter, Flows, Passing},
    packed::{in_each, sum_of, words_of},
};

/// Inputs of the choices of one switch at one frontier.
pub(super) struct Choice<'a> {
    pub(super) inputs: &'a Inputs<'a>,
    pub(super) batch: &'a Batch,
    pub(super) flows: &'a Flows,
    pub(super) out_ports: &'a [OutPort],
    pub(super) writer: FlowWriter<'a>,
    /// Sources (LIDs of CAs) at the switch itself.
    pub(super) own: u16,
    /// The routes of other switches that pass this one.
    pub(super) passing: Passing<'a>,
    /// Destinations, a bit each, to which any routes pass this switch.
    pub(super) flowing: u64,
}

impl Choice<'_> {
    /// The routes that pass the switch towards each LID of a word.
    #[inline]
    pub(super) fn flows_of(&self, word: usize) -> u64 {
        let passing = self.passing.word(word);
        passing.wrapping_add(in_each(self.own))
    }

    /// The routes that pass the switch towards one LID.
    pub(super) fn flow(&self, column: usize) -> u16 {
        let mut words = words_of(column..column + 1);
        words
            .next()
            .map_or(0, |(word, mask)| sum_of(self.flows_of(word) & mask) as u16)
    }
}

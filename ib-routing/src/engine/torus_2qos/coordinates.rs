//! Coordinates in a torus, and the direction around one dimension.

use crate::format::small;

/// Dimensions of a torus.
pub(super) const AXES: usize = 3;

/// Coordinates: x, y, z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Coordinates([u16; AXES]);

impl Coordinates {
    #[inline]
    pub(super) fn get(&self, axis: usize) -> u16 {
        self.0.get(axis).copied().unwrap_or(0)
    }

    #[must_use]
    pub(super) fn with(mut self, axis: usize, value: u16) -> Self {
        if let Some(coordinate) = self.0.get_mut(axis) {
            *coordinate = value;
        }
        self
    }
}

/// Size of one dimension, and whether its ends are joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Radix {
    size: u16,
    ring: bool,
}

impl Radix {
    pub(super) fn parse(word: &str, torus: bool) -> Option<Self> {
        let ring = match word.chars().last()? {
            'm' | 'M' => false,
            't' | 'T' => true,
            _ => torus,
        };
        let digits = word.trim_end_matches(['m', 'M', 't', 'T']);
        let size = small(digits).filter(|&size| size > 0)?;
        Some(Self {
            size,
            ring: ring && size > 2,
        })
    }

    pub(super) fn size(self) -> u16 {
        self.size
    }

    /// The next coordinate upwards or downwards.
    pub(super) fn step(self, at: u16, up: bool) -> u16 {
        match (up, at) {
            (true, at) if at + 1 >= self.size => 0,
            (true, at) => at + 1,
            (false, 0) => self.size - 1,
            (false, at) => at - 1,
        }
    }

    /// Returns true if one can get from `from` to `to` in this direction at all.
    pub(super) fn allows(self, from: u16, to: u16, up: bool) -> bool {
        from != to && (self.ring || up == (to > from))
    }

    /// The shorter direction, or `None` if both directions are broken. Opposite places share one half of
    /// the ring in both directions: the halves alternate, so that they are used alike.
    pub(super) fn shorter_is_up(self, from: u16, to: u16) -> Option<bool> {
        if from == to {
            return None;
        }
        let inside = from.abs_diff(to);
        let direct = match (inside * 2).cmp(&self.size) {
            _ if !self.ring => true,
            core::cmp::Ordering::Less => true,
            core::cmp::Ordering::Greater => false,
            core::cmp::Ordering::Equal => from.min(to).is_multiple_of(2),
        };
        Some(direct == (to > from))
    }
}

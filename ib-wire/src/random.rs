//! A small generator of pseudo-random numbers, for faults and test inputs: not for keys.
//!
//! The same seed gives the same numbers on every machine, so that results can be repeated.

/// SplitMix64. Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of this seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub const fn below(&mut self, bound: usize) -> usize {
        // The high half of the product: no division, and a bias of 2^-64 at most.
        ((self.next() as u128).wrapping_mul(bound as u128) >> 64) as usize
    }

    /// True with a probability of `chance`, from 0.0 (never) to 1.0 (always). A chance of 0 takes no number.
    pub fn happens(&mut self, chance: f64) -> bool {
        // The upper 53 bits are a float in 0..1 without rounding.
        chance > 0.0 && ((self.next() >> 11) as f64) * (1.0 / (1u64 << 53) as f64) < chance
    }

    /// Puts the entries in a random order.
    pub fn shuffle<T>(&mut self, entries: &mut [T]) {
        for last in (1..entries.len()).rev() {
            let other = self.below(last.saturating_add(1));
            entries.swap(last, other);
        }
    }
}

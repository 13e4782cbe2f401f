//! MTU, width, speed and rate of links and paths: what many attributes and records share.

mod speed;

use core::cmp::Ordering;

use crate::code_points;

pub use speed::{LinkSpeed, LinkWidth};

code_points! {
    /// Largest payload of a packet, as a code; the codes compare like the sizes.
    ///
    /// Source: IBA vol. 1, 14.2.5.6; `enums.csv`, enum `MTU`.
    pub struct Mtu(u8) {
        MTU_256  = 1 => "256",
        MTU_512  = 2 => "512",
        MTU_1024 = 3 => "1024",
        MTU_2048 = 4 => "2048",
        MTU_4096 = 5 => "4096",
    }
}

impl Mtu {
    /// The payload in bytes; `None` for a code without a meaning.
    #[must_use]
    pub const fn bytes(self) -> Option<u16> {
        match self.0 {
            1..=5 => Some(128 << self.0),
            _ => None,
        }
    }

    /// The code of a payload of `bytes` bytes, if there is one.
    #[must_use]
    pub const fn from_bytes(bytes: u16) -> Option<Self> {
        match bytes {
            256 => Some(Self::MTU_256),
            512 => Some(Self::MTU_512),
            1024 => Some(Self::MTU_1024),
            2048 => Some(Self::MTU_2048),
            4096 => Some(Self::MTU_4096),
            _ => None,
        }
    }
}

code_points! {
    /// Rate of a path or a link, as a code. The codes do not compare like the rates: use
    /// [`cmp_rate`](Self::cmp_rate).
    ///
    /// Source: IBA vol. 1, 15.2.5.16; `enums.csv`, enum `RATE`.
    pub struct Rate(u8) {
        GBPS_2_5  = 2  => "2.5 Gb/s",
        GBPS_10   = 3  => "10 Gb/s",
        GBPS_30   = 4  => "30 Gb/s",
        GBPS_5    = 5  => "5 Gb/s",
        GBPS_20   = 6  => "20 Gb/s",
        GBPS_40   = 7  => "40 Gb/s",
        GBPS_60   = 8  => "60 Gb/s",
        GBPS_80   = 9  => "80 Gb/s",
        GBPS_120  = 10 => "120 Gb/s",
        GBPS_14   = 11 => "14 Gb/s",
        GBPS_56   = 12 => "56 Gb/s",
        GBPS_112  = 13 => "112 Gb/s",
        GBPS_168  = 14 => "168 Gb/s",
        GBPS_25   = 15 => "25 Gb/s",
        GBPS_100  = 16 => "100 Gb/s",
        GBPS_200  = 17 => "200 Gb/s",
        GBPS_300  = 18 => "300 Gb/s",
        GBPS_28   = 19 => "28 Gb/s",
        GBPS_50   = 20 => "50 Gb/s",
        GBPS_400  = 21 => "400 Gb/s",
        GBPS_600  = 22 => "600 Gb/s",
        GBPS_800  = 23 => "800 Gb/s",
        GBPS_1200 = 24 => "1200 Gb/s",
    }
}

impl Rate {
    /// Every rate, the slowest first, by what a user gets: the older rates are nominal figures
    /// before 8b/10b coding, so that 30 comes before 25.
    ///
    /// Source: `enums.csv`, enum `RATE_ORDER`.
    pub const ORDER: [Self; 23] = [
        Self::GBPS_2_5,
        Self::GBPS_5,
        Self::GBPS_10,
        Self::GBPS_14,
        Self::GBPS_20,
        Self::GBPS_30,
        Self::GBPS_25,
        Self::GBPS_28,
        Self::GBPS_40,
        Self::GBPS_60,
        Self::GBPS_50,
        Self::GBPS_56,
        Self::GBPS_80,
        Self::GBPS_120,
        Self::GBPS_100,
        Self::GBPS_112,
        Self::GBPS_168,
        Self::GBPS_200,
        Self::GBPS_300,
        Self::GBPS_400,
        Self::GBPS_600,
        Self::GBPS_800,
        Self::GBPS_1200,
    ];

    /// Place in [`ORDER`](Self::ORDER), from 1; `None` for a code without a meaning.
    #[must_use]
    pub fn rank(self) -> Option<u8> {
        const RANKS: [u8; 32] = ranks();
        let rank = *RANKS.get(usize::from(self.0))?;
        (rank > 0).then_some(rank)
    }

    /// Compares two rates by usable speed; `None` where a code has no meaning.
    #[must_use]
    pub fn cmp_rate(self, other: Self) -> Option<Ordering> {
        Some(self.rank()?.cmp(&other.rank()?))
    }
}

/// The ranks by code; 0 for a code without a meaning.
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "evaluated while compiling, where an index out of range is an error"
)]
const fn ranks() -> [u8; 32] {
    let mut ranks = [0; 32];
    let mut rank = 0;
    while rank < Rate::ORDER.len() {
        ranks[Rate::ORDER[rank].0 as usize] = rank as u8 + 1;
        rank += 1;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtu_codes_and_bytes_agree_both_ways() {
        for (mtu, name) in Mtu::NAMED {
            assert_eq!(
                mtu.bytes().map(|bytes| bytes.to_string()),
                Some((*name).into())
            );
            assert_eq!(mtu.bytes().and_then(Mtu::from_bytes), Some(*mtu));
        }
        assert_eq!((Mtu(0).bytes(), Mtu(6).bytes()), (None, None));
    }

    #[test]
    fn rates_rank_by_usable_speed_as_the_spec_table_says() {
        let csv = include_str!("../testdata/spec/enums.csv");
        let mut rows = 0;
        for row in csv.lines().filter(|row| row.starts_with("RATE_ORDER,")) {
            let mut cells = row.split(',').skip(1);
            let rate = Rate(cells.next().unwrap().parse().unwrap());
            let rank = cells.next().unwrap().strip_prefix("rank ").unwrap();
            assert_eq!(rate.rank(), Some(rank.parse().unwrap()), "{rate}");
            rows += 1;
        }
        assert_eq!(rows, Rate::ORDER.len());
        assert_eq!(Rate(1).rank(), None);
    }
}

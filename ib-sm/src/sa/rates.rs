//! Limits the rates in answers: old hosts do not support the codes of newer rates (IBA vol. 1, 15.2.5.16).

use ib_wire::Rate;

use crate::SmConfig;

/// The highest code that hosts without the later extended rates support: 300 Gb/s.
const LAST_ORIGINAL: u8 = Rate::GBPS_300.0;

/// The rate if `config` permits its code, otherwise the fastest slower rate with a permitted code.
pub(super) fn reduced(config: &SmConfig, rate: Rate) -> Rate {
    let named = match config.max_rate_enum {
        0 => u8::MAX,
        code => code,
    };
    let limit = match config.use_original_extended_sa_rates_only {
        true => named.min(LAST_ORIGINAL),
        false => named,
    };
    if rate.0 <= limit {
        return rate;
    }
    let slower = Rate::ORDER.into_iter().rev().find(|other| {
        let is_slower = other.cmp_rate(rate).is_some_and(|order| order.is_lt());
        is_slower && other.0 <= limit
    });
    slower.unwrap_or(Rate::GBPS_2_5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(max_rate_enum: u8, original: bool, rate: Rate) -> Rate {
        let config = SmConfig {
            max_rate_enum,
            use_original_extended_sa_rates_only: original,
            ..SmConfig::default()
        };
        reduced(&config, rate)
    }

    #[test]
    fn a_rate_whose_code_is_too_high_becomes_the_next_slower_one_that_is_known() {
        // Codes do not increase with the rates: 28 Gb/s has code 19, and 25 Gb/s has code 15.
        for (limit, rate, expected) in [
            (0, Rate::GBPS_1200, Rate::GBPS_1200),
            (18, Rate::GBPS_300, Rate::GBPS_300),
            (18, Rate::GBPS_400, Rate::GBPS_300),
            (18, Rate::GBPS_28, Rate::GBPS_25),
            (18, Rate::GBPS_50, Rate::GBPS_60),
            (10, Rate::GBPS_56, Rate::GBPS_60),
            (10, Rate::GBPS_14, Rate::GBPS_10),
            (2, Rate::GBPS_10, Rate::GBPS_2_5),
        ] {
            assert_eq!(with(limit, false, rate), expected, "{rate} by {limit}");
        }
        assert_eq!(with(0, true, Rate::GBPS_400), Rate::GBPS_300);
        assert_eq!(with(10, true, Rate::GBPS_400), Rate::GBPS_120);
    }
}

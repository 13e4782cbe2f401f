//! Times as codes, and the delay between packets of a slower path.
//!
//! Time-outs, packet lifetimes and response times are codes n for 4.096 us * 2^n. A port that sends to
//! a slower one leaves gaps: the inter-packet delay, in lengths of the packet just sent.

use core::time::Duration;

use crate::Rate;

/// The time of a code: 4.096 us * 2^`code`.
///
/// `code` has 6 bits, as in a packet lifetime; higher bits are ignored. 0 is 4.096 us, 20 is 4.3 s.
/// Source: IBA vol. 1, 13.4.8 and 14.2.5.6; `enums.csv`, enums `RESP_TIME` and `PACKET_LIFE_TIME`.
#[must_use]
pub const fn time_of_code(code: u8) -> Duration {
    // 2^63 * 4096 ns is below 2^95: seconds and nanoseconds apart fit easily.
    let nanos = 4096u128 << (code & 63);
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    match seconds {
        0..=0xffff_ffff_ffff_ffff => Duration::new(seconds as u64, nanos as u32),
        _ => Duration::MAX,
    }
}

/// The smallest code whose time is not below `time`; 63 where there is none.
#[must_use]
pub fn code_of_time(time: Duration) -> u8 {
    (0..63)
        .find(|&code| time_of_code(code) >= time)
        .unwrap_or(63)
}

/// The time that a requester waits for an acknowledgement, by its code; `None` for 0: forever.
///
/// `code` has 5 bits; higher bits are ignored. A requester may wait up to four times as long.
/// Source: IBA vol. 1, 9.7.6.1.3 (local ACK timeout).
#[must_use]
pub const fn local_ack_timeout(code: u8) -> Option<Duration> {
    match code & 31 {
        0 => None,
        code => Some(time_of_code(code)),
    }
}

/// The static rate of a path in front of a faster port: after a packet the port waits for as long as
/// `n` such packets take, so that it sends at 1/(n + 1) of its rate.
///
/// `None` where a code has no meaning or the delay is beyond 8 bits; 0 where the path is no slower.
/// Source: IBA vol. 1, 9.11.1 (static rate control).
#[must_use]
pub fn inter_packet_delay(port: Rate, path: Rate) -> Option<u8> {
    let (port, path) = (port.tenths_of_gbps()?, path.tenths_of_gbps()?);
    u8::try_from(port.div_ceil(path).saturating_sub(1)).ok()
}

impl Rate {
    /// The nominal rate in units of 0.1 Gb/s; `None` for a code without a meaning.
    #[must_use]
    pub const fn tenths_of_gbps(self) -> Option<u16> {
        Some(match self {
            Self::GBPS_2_5 => 25,
            Self::GBPS_5 => 50,
            Self::GBPS_10 => 100,
            Self::GBPS_14 => 140,
            Self::GBPS_20 => 200,
            Self::GBPS_25 => 250,
            Self::GBPS_28 => 280,
            Self::GBPS_30 => 300,
            Self::GBPS_40 => 400,
            Self::GBPS_50 => 500,
            Self::GBPS_56 => 560,
            Self::GBPS_60 => 600,
            Self::GBPS_80 => 800,
            Self::GBPS_100 => 1000,
            Self::GBPS_112 => 1120,
            Self::GBPS_120 => 1200,
            Self::GBPS_168 => 1680,
            Self::GBPS_200 => 2000,
            Self::GBPS_300 => 3000,
            Self::GBPS_400 => 4000,
            Self::GBPS_600 => 6000,
            Self::GBPS_800 => 8000,
            Self::GBPS_1200 => 12000,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_codes_are_those_of_the_spec_tables() {
        let csv = include_str!("../testdata/spec/enums.csv");
        let mut rows = 0;
        for row in csv.lines() {
            let mut cells = row.split(',');
            let (table, code, name) = (cells.next(), cells.next(), cells.next().unwrap());
            if let (Some("RESP_TIME" | "PACKET_LIFE_TIME"), Some(nanos)) =
                (table, name.strip_suffix(" ns"))
            {
                let code = code.unwrap().parse().unwrap();
                let time = time_of_code(code);
                assert_eq!(time.as_nanos(), nanos.parse().unwrap(), "{row}");
                assert_eq!(code_of_time(time), code, "{row}");
                rows += 1;
            }
        }
        assert_eq!(rows, 95);
    }

    #[test]
    fn rates_in_figures_are_their_names() {
        for (rate, name) in Rate::NAMED {
            let tenths = rate.tenths_of_gbps().unwrap();
            let text = match tenths % 10 {
                0 => format!("{} Gb/s", tenths / 10),
                rest => format!("{}.{rest} Gb/s", tenths / 10),
            };
            assert_eq!(&text, name);
        }
        assert_eq!(Rate(0).tenths_of_gbps(), None);
    }

    #[test]
    fn a_delayed_port_is_never_faster_than_the_path() {
        for &(port, _) in Rate::NAMED {
            for &(path, _) in Rate::NAMED {
                let (fast, slow) = (port.tenths_of_gbps(), path.tenths_of_gbps());
                if let Some(delay) = inter_packet_delay(port, path) {
                    let (fast, slow) = (fast.unwrap(), slow.unwrap());
                    assert!(fast <= slow.saturating_mul(u16::from(delay) + 1));
                    assert!(delay == 0 || fast > slow * u16::from(delay));
                }
            }
        }
    }

    #[test]
    fn an_ack_timeout_of_zero_is_forever() {
        assert_eq!(local_ack_timeout(0), None);
        assert_eq!(local_ack_timeout(32), None);
        assert_eq!(
            local_ack_timeout(14),
            Some(Duration::from_nanos(67_108_864))
        );
    }
}

//! The M_Key of a port: permission to read and write, violation counts, and the lease (IBA vol. 1, 14.2.4).

use core::time::Duration;

use ib_mad::{Attribute as _, Mad, Method};
use ib_smp::{MKeyProtect, NodeInfo, PortInfo};
use ib_wire::MKey;

use crate::conform::{
    Case, Precondition,
    bench::{Bench, Outcome, Stop, attribute, ensure, fail, skip},
    case,
    ports::{PortAt, TEST_KEY, settable},
};

const PROTECTION: &str = "IBA vol. 1, 14.2.4";
const LEASE: &str = "IBA vol. 1, 14.2.4 (M_KeyLeasePeriod)";
const WRONG: MKey = MKey(0xbad);

pub(super) const CASES: &[Case] = &[
    case(
        "sma-330",
        "M_Key is kept as written",
        "IBA vol. 1, 14.2.5.6 (M_Key)",
        |bench| {
            let at = bench.edge()?.ca;
            bench.with_port(at, |bench, before| {
                bench.rule(Precondition::MKey, |bench| guard(bench, at, before, 0, 0))
            })
        },
    ),
    case(
        "sma-331",
        "Protection 0: a Get without the key is answered and shows the key",
        PROTECTION,
        |bench| guarded(bench, 0, |bench, at| answers(bench, at, WRONG, TEST_KEY)),
    ),
    case(
        "sma-332",
        "Protection 1: a Get without the key is answered and does not show the key",
        PROTECTION,
        |bench| guarded(bench, 1, |bench, at| answers(bench, at, WRONG, MKey(0))),
    ),
    case(
        "sma-333",
        "Protection 1: a Get with the key shows the key",
        PROTECTION,
        |bench| guarded(bench, 1, |bench, at| answers(bench, at, TEST_KEY, TEST_KEY)),
    ),
    case(
        "sma-334",
        "Protection 2: a Get without the key is dropped",
        PROTECTION,
        |bench| guarded(bench, 2, |bench, at| dropped(bench, at, WRONG)),
    ),
    case(
        "sma-335",
        "Protection 3: a Get without the key is dropped",
        PROTECTION,
        |bench| guarded(bench, 3, |bench, at| dropped(bench, at, WRONG)),
    ),
    case(
        "sma-336",
        "Protection 2: a Get with the key is answered and shows the key",
        PROTECTION,
        |bench| guarded(bench, 2, |bench, at| answers(bench, at, TEST_KEY, TEST_KEY)),
    ),
    case(
        "sma-337",
        "Protection 2: every attribute is guarded, NodeInfo too",
        PROTECTION,
        |bench| {
            guarded(bench, 2, |bench, at| {
                let mut smp = bench.smp(Method::GET, NodeInfo::ID, 0, &at.path);
                smp.set_m_key(WRONG);
                bench.silence(&smp.to_mad())
            })
        },
    ),
    case(
        "sma-338",
        "Protection 0: a Set without the key is dropped",
        PROTECTION,
        |bench| guarded(bench, 0, set_is_dropped),
    ),
    case(
        "sma-339",
        "Protection 1: a Set without the key is dropped",
        PROTECTION,
        |bench| guarded(bench, 1, set_is_dropped),
    ),
    case(
        "sma-340",
        "A Set with the key is carried out",
        PROTECTION,
        |bench| {
            guarded(bench, 1, |bench, at| {
                let mut wanted = settable(&known(bench, at)?);
                wanted.set_subnet_timeout(20);
                let (status, after) = bench.set_with(TEST_KEY, &at.path, at.modifier, &wanted)?;
                ensure!(
                    status.is_ok() && after.subnet_timeout() == 20,
                    "status {status}"
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-341",
        "A port whose M_Key is 0 accepts every key",
        PROTECTION,
        |bench| {
            let at = bench.edge()?.ca;
            if bench.options.m_key != MKey(0) {
                return skip("the subnet has an M_Key");
            }
            let info = read(bench, at, WRONG)?;
            ensure!(info.is_some(), "no answer");
            Ok(())
        },
    ),
    case(
        "sma-342",
        "A wrong key is counted once in M_KeyViolations",
        "IBA vol. 1, 14.2.4 (M_KeyViolations)",
        |bench| {
            guarded(bench, 2, |bench, at| {
                let before = known(bench, at)?.m_key_violations();
                dropped(bench, at, WRONG)?;
                let after = known(bench, at)?.m_key_violations();
                let expected = before.saturating_add(1);
                ensure!(
                    after == expected,
                    "M_KeyViolations {after}, expected {expected}"
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-343",
        "A Get that the protection leaves open is no violation",
        "IBA vol. 1, 14.2.4 (M_KeyViolations)",
        |bench| {
            guarded(bench, 1, |bench, at| {
                let before = known(bench, at)?.m_key_violations();
                read(bench, at, WRONG)?;
                let after = known(bench, at)?.m_key_violations();
                ensure!(
                    after == before,
                    "M_KeyViolations rose from {before} to {after}"
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-344",
        "A Set of 0 resets M_KeyViolations, another value leaves it",
        "IBA vol. 1, 14.2.5.6 (M_KeyViolations)",
        |bench| {
            guarded(bench, 2, |bench, at| {
                dropped(bench, at, WRONG)?;
                let before = known(bench, at)?;
                let mut wanted = settable(&before);
                wanted.set_m_key_violations(0x7777);
                let kept = bench.set_with(TEST_KEY, &at.path, at.modifier, &wanted)?.1;
                ensure!(
                    kept.m_key_violations() == before.m_key_violations(),
                    "a Set of 0x7777 made it {}",
                    kept.m_key_violations()
                );
                wanted.set_m_key_violations(0);
                let reset = bench.set_with(TEST_KEY, &at.path, at.modifier, &wanted)?.1;
                ensure!(
                    reset.m_key_violations() == 0,
                    "a Set of 0 made it {}",
                    reset.m_key_violations()
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-345",
        "TrapRepress with a wrong key is counted in M_KeyViolations",
        PROTECTION,
        |bench| {
            guarded(bench, 0, |bench, at| {
                let before = known(bench, at)?.m_key_violations();
                let mut smp = bench.smp(Method::TRAP_REPRESS, ib_mad::AttributeId(2), 0, &at.path);
                smp.set_m_key(WRONG);
                bench.silence(&smp.to_mad())?;
                let after = known(bench, at)?.m_key_violations();
                ensure!(after > before, "M_KeyViolations stayed {before}");
                Ok(())
            })
        },
    ),
    case(
        "sma-346",
        "The key of port 0 guards the external ports of a switch",
        PROTECTION,
        |bench| {
            let at = bench.port_0()?;
            bench.with_port(at, |bench, before| {
                guarded_port(bench, at, before, 2, 0)?;
                let external = PortAt { modifier: 1, ..at };
                dropped(bench, external, WRONG)?;
                let answer = read(bench, external, TEST_KEY)?;
                ensure!(answer.is_some(), "no answer to the right key");
                Ok(())
            })
        },
    ),
    case(
        "sma-347",
        "The lease ends the protection after a violation; the key stays",
        LEASE,
        |bench| {
            leased(bench, 1, |bench, at| {
                dropped(bench, at, WRONG)?;
                bench.pause(Duration::from_millis(1500))?;
                let info = read(bench, at, WRONG)?;
                ensure!(info.is_some(), "no answer to a Get after the lease");
                let protect = info.map(|info| info.m_key_protect_bits());
                ensure!(
                    protect == Some(MKeyProtect::GET_OPEN),
                    "protection {protect:?}, expected 0"
                );
                ensure!(
                    info.is_some_and(|info| info.m_key() == TEST_KEY),
                    "the key is gone"
                );
                Ok(())
            })
        },
    ),
    case(
        "sma-348",
        "Without a violation the lease does not run",
        LEASE,
        |bench| {
            leased(bench, 1, |bench, at| {
                bench.pause(Duration::from_millis(1500))?;
                dropped(bench, at, WRONG)
            })
        },
    ),
    case(
        "sma-349",
        "A request with the right key stops the lease",
        LEASE,
        |bench| {
            leased(bench, 1, |bench, at| {
                dropped(bench, at, WRONG)?;
                known(bench, at)?;
                bench.pause(Duration::from_millis(1500))?;
                dropped(bench, at, WRONG)
            })
        },
    ),
    case(
        "sma-350",
        "A lease period of 0 never ends the protection",
        LEASE,
        |bench| {
            leased(bench, 0, |bench, at| {
                dropped(bench, at, WRONG)?;
                bench.pause(Duration::from_millis(1500))?;
                dropped(bench, at, WRONG)
            })
        },
    ),
];

/// Protects the channel adapter's port with a key, runs the body, and removes the key.
fn guarded(
    bench: &mut Bench<'_>,
    protect: u8,
    body: fn(&mut Bench<'_>, PortAt) -> Outcome,
) -> Outcome {
    let at = bench.edge()?.ca;
    bench.with_port(at, |bench, before| {
        guarded_port(bench, at, before, protect, 0)?;
        body(bench, at)
    })
}

/// As `guarded`, with protection 2 and a lease.
fn leased(
    bench: &mut Bench<'_>,
    seconds: u16,
    body: fn(&mut Bench<'_>, PortAt) -> Outcome,
) -> Outcome {
    let at = bench.edge()?.ca;
    bench.with_port(at, |bench, before| {
        guarded_port(bench, at, before, 2, seconds)?;
        body(bench, at)
    })
}

/// As `guard`; the case is skipped if the port does not keep the key.
fn guarded_port(
    bench: &mut Bench<'_>,
    at: PortAt,
    before: &PortInfo,
    protect: u8,
    lease: u16,
) -> Outcome {
    bench.needs(Precondition::MKey, |bench| {
        guard(bench, at, before, protect, lease)
    })
}

fn guard(bench: &mut Bench<'_>, at: PortAt, before: &PortInfo, protect: u8, lease: u16) -> Outcome {
    let mut wanted = settable(before);
    wanted
        .set_m_key(TEST_KEY)
        .set_m_key_protect_bits(MKeyProtect(protect))
        .set_m_key_lease_period(lease);
    let answer = bench.put(&at.path, at.modifier, &wanted)?;
    ensure!(
        answer.m_key() == TEST_KEY,
        "the answer to the Set of M_Key shows {:?}",
        answer.m_key()
    );
    Ok(())
}

fn get(bench: &Bench<'_>, at: PortAt, key: MKey) -> Mad {
    let mut smp = bench.smp(Method::GET, PortInfo::ID, at.modifier, &at.path);
    smp.set_m_key(key);
    smp.to_mad()
}

/// Judges a Get that must not be answered.
fn dropped(bench: &mut Bench<'_>, at: PortAt, key: MKey) -> Outcome {
    let request = get(bench, at, key);
    bench.silence(&request)
}

fn read(bench: &mut Bench<'_>, at: PortAt, key: MKey) -> Result<Option<PortInfo>, Stop> {
    let request = get(bench, at, key);
    let answer = bench.ask(&request)?;
    answer.as_ref().map(attribute).transpose()
}

/// PortInfo, read with the key of the port.
fn known(bench: &mut Bench<'_>, at: PortAt) -> Result<PortInfo, Stop> {
    match read(bench, at, TEST_KEY)? {
        Some(info) => Ok(info),
        None => fail("no answer to the right key"),
    }
}

fn set_is_dropped(bench: &mut Bench<'_>, at: PortAt) -> Outcome {
    let before = known(bench, at)?;
    let mut wanted = settable(&before);
    wanted.set_subnet_timeout(20);
    let mut smp = bench.smp(Method::SET, PortInfo::ID, at.modifier, &at.path);
    smp.set_m_key(WRONG).set_attribute(&wanted);
    bench.silence(&smp.to_mad())?;
    let after = known(bench, at)?;
    ensure!(
        after.subnet_timeout() == before.subnet_timeout(),
        "the Set was carried out"
    );
    Ok(())
}

/// Judges a Get with `key` that must be answered and show `expected` as M_Key.
fn answers(bench: &mut Bench<'_>, at: PortAt, key: MKey, expected: MKey) -> Outcome {
    let info = read(bench, at, key)?;
    ensure!(
        info.is_some_and(|info| info.m_key() == expected),
        "{}",
        shown(info)
    );
    Ok(())
}

fn shown(info: Option<PortInfo>) -> &'static str {
    match info {
        None => "no answer",
        Some(info) if info.m_key() == MKey(0) => "the answer shows no key",
        Some(_) => "the answer shows a key",
    }
}

//! Traps that agents send on their own, their repetition, and TrapRepress (IBA vol. 1, 13.4.9).

use core::time::Duration;

use ib_mad::{
    Attribute as _, Instant, Mad, MadAddress, Method, MgmtClass, NoticeSm, NoticeType,
    ProducerType, RespTime, TrapNumber,
};
use ib_smp::{CapabilityMask, MKeyProtect, SmpLidRouted};
use ib_wire::{Lid, MKey};

use crate::conform::{
    Case, Precondition,
    bench::{Bench, Outcome, Stop, attribute, ensure, fail, skip},
    case,
    ports::{PortAt, TEST_KEY, settable},
};

const TRAPS: &str = "IBA vol. 1, 13.4.9 and 14.2.5.1";

pub(super) const CASES: &[Case] = &[
    case(
        "sim-141",
        "A change of a link's state makes the switch send trap 128",
        TRAPS,
        |bench| {
            let sent = |bench: &mut Bench<'_>| bench.rule(Precondition::LinkTrap, link_trap);
            trapped_by(bench, sent, |_, _| Ok(()))
        },
    ),
    case(
        "sim-142",
        "Trap 128 is generic and urgent, and comes from a switch",
        TRAPS,
        |bench| {
            trapped(bench, |_, trap| {
                let notice = trap.notice;
                ensure!(notice.is_generic(), "a vendor's notice");
                ensure!(
                    notice.type_() == NoticeType::URGENT,
                    "type {}",
                    notice.type_()
                );
                ensure!(
                    notice.producer_type() == ProducerType::SWITCH.0,
                    "producer {}",
                    notice.producer_type()
                );
                Ok(())
            })
        },
    ),
    case(
        "sim-143",
        "Trap 128 names the switch in LIDADDR and as its issuer",
        TRAPS,
        |bench| {
            trapped(bench, |_, trap| {
                let details = trap.notice.data_details();
                let named = details
                    .first_chunk()
                    .map_or(0, |bytes| u16::from_be_bytes(*bytes));
                ensure!(
                    Lid(named) == trap.switch,
                    "LIDADDR {}, expected {}",
                    Lid(named),
                    trap.switch
                );
                ensure!(
                    trap.notice.issuer_lid() == trap.switch,
                    "issuer {}",
                    trap.notice.issuer_lid()
                );
                Ok(())
            })
        },
    ),
    case(
        "sim-144",
        "A trap is a LID-routed SMP with method Trap",
        TRAPS,
        |bench| {
            trapped(bench, |_, trap| {
                let header = trap.mad.header();
                ensure!(
                    header.mgmt_class() == MgmtClass::SUBN_LID,
                    "class {}",
                    header.mgmt_class()
                );
                ensure!(
                    header.method() == Method::TRAP,
                    "method {}",
                    header.method()
                );
                Ok(())
            })
        },
    ),
    case(
        "sim-145",
        "A trap does not show the M_Key of its sender",
        TRAPS,
        |bench| {
            trapped(bench, |_, trap| {
                let key =
                    SmpLidRouted::parse(&trap.mad.bytes, 0).map_or(MKey(0), |(smp, _)| smp.m_key());
                ensure!(key == MKey(0), "M_Key is not 0");
                Ok(())
            })
        },
    ),
    case(
        "sim-146",
        "A trap is not repeated before SubnetTimeOut has passed",
        TRAPS,
        |bench| {
            trapped(bench, |bench, trap| {
                let wait = RespTime::from_bits(trap.subnet_timeout).duration();
                let deadline = bench.after(wait.saturating_mul(4));
                let again = bench.wait(deadline, |mad| same(mad, &trap.mad))?;
                let Some(_) = again else {
                    return skip("the trap is not repeated");
                };
                let gap = bench.now().since(trap.at);
                ensure!(
                    gap >= wait.saturating_sub(Duration::from_millis(20)),
                    "repeated after {gap:?}, SubnetTimeOut is {wait:?}"
                );
                Ok(())
            })
        },
    ),
    case(
        "sim-147",
        "TrapRepress ends the repetition of a trap",
        TRAPS,
        |bench| {
            trapped(bench, |bench, trap| {
                let key = bench.options.m_key;
                repress(bench, &trap.mad, trap.switch, key)?;
                let wait = RespTime::from_bits(trap.subnet_timeout)
                    .duration()
                    .saturating_mul(3);
                let deadline = bench.after(wait);
                let again = bench.wait(deadline, |mad| same(mad, &trap.mad))?;
                ensure!(again.is_none(), "the trap came again");
                Ok(())
            })
        },
    ),
    case(
        "sim-148",
        "A wrong M_Key makes the port send trap 256",
        TRAPS,
        |bench| {
            let at = bench.edge()?.ca;
            let own = bench.own_info()?.lid();
            bench.with_port(at, |bench, before| {
                let mut wanted = settable(before);
                wanted
                    .set_m_key(TEST_KEY)
                    .set_m_key_protect_bits(MKeyProtect::GET_CLOSED)
                    .set_master_sm_lid(own);
                bench.needs(Precondition::MKey, |bench| {
                    let answer = bench.put(&at.path, at.modifier, &wanted)?;
                    ensure!(
                        answer.m_key() == TEST_KEY,
                        "the answer to the Set of M_Key shows {:?}",
                        answer.m_key()
                    );
                    Ok(())
                })?;
                let mut wrong = bench.smp(Method::GET, ib_smp::NodeInfo::ID, 0, &at.path);
                wrong.set_m_key(MKey(0xbad));
                bench.silence(&wrong.to_mad())?;
                let deadline = bench.after(Duration::from_secs(2));
                let trap = bench.wait(deadline, |mad| is_trap(mad, TrapNumber::BAD_M_KEY))?;
                let Some(trap) = trap else {
                    return fail("no trap 256 within 2 s");
                };
                repress(bench, &trap, before.lid(), TEST_KEY)
            })
        },
    ),
];

/// A trap, and the facts about its sender.
struct Trap {
    mad: Mad,
    notice: NoticeSm,
    at: Instant,
    switch: Lid,
    subnet_timeout: u8,
}

/// Makes our port the destination of the switch's traps, takes a link down, and judges the trap.
fn trapped(bench: &mut Bench<'_>, judge: fn(&mut Bench<'_>, &Trap) -> Outcome) -> Outcome {
    bench.met(Precondition::LinkTrap)?;
    trapped_by(
        bench,
        |bench| bench.needs(Precondition::LinkTrap, link_trap),
        judge,
    )
}

/// Waits for trap 128.
fn link_trap(bench: &mut Bench<'_>) -> Result<Mad, Stop> {
    let deadline = bench.after(Duration::from_secs(2));
    match bench.wait(deadline, |mad| is_trap(mad, TrapNumber::LINK_STATE_CHANGE))? {
        Some(trap) => Ok(trap),
        None => fail("no trap 128 within 2 s"),
    }
}

/// As `trapped`; `sent` waits for the trap.
fn trapped_by(
    bench: &mut Bench<'_>,
    sent: fn(&mut Bench<'_>) -> Result<Mad, Stop>,
    judge: fn(&mut Bench<'_>, &Trap) -> Outcome,
) -> Outcome {
    let own = bench.own_info()?.lid();
    let edge = bench.edge()?;
    let port_0 = PortAt {
        path: edge.switch.path,
        modifier: 0,
    };
    if own == Lid::NONE {
        return skip("no LIDs: bring the subnet up first");
    }
    bench.with_port(port_0, |bench, before| {
        if !before
            .capability_mask()
            .contains(CapabilityMask::IS_TRAP_SUPPORTED)
        {
            return skip("the switch does not say that it sends traps (IsTrapSupported)");
        }
        let mut wanted = settable(before);
        // 4.096 us * 2^15 is 134 ms. With this value the trap is repeated soon.
        wanted.set_master_sm_lid(own).set_subnet_timeout(15);
        bench.put(&port_0.path, 0, &wanted)?;
        let switch = before.lid();
        bench.with_link(|bench, edge| {
            bench.drop_link(edge)?;
            let mad = sent(bench)?;
            let trap = Trap {
                notice: attribute(&mad)?,
                mad,
                at: bench.now(),
                switch,
                subnet_timeout: 15,
            };
            let outcome = judge(bench, &trap);
            let key = bench.options.m_key;
            repress(bench, &mad, switch, key)?;
            outcome
        })
    })
}

fn is_trap(mad: &Mad, number: TrapNumber) -> bool {
    let header = mad.header();
    header.method() == Method::TRAP
        && header.mgmt_class() == MgmtClass::SUBN_LID
        && attribute::<NoticeSm>(mad).is_ok_and(|notice| notice.trap_number() == number.0)
}

/// Returns true if one trap is the repetition of another.
fn same(mad: &Mad, trap: &Mad) -> bool {
    mad.header().method() == Method::TRAP
        && mad.header().transaction_id().low() == trap.header().transaction_id().low()
        && mad.bytes.get(64..128) == trap.bytes.get(64..128)
}

fn repress(bench: &mut Bench<'_>, trap: &Mad, to: Lid, key: MKey) -> Outcome {
    let mut mad = *trap;
    mad.address = MadAddress::smi(to);
    if let Ok((smp, _)) = SmpLidRouted::parse_mut(&mut mad.bytes, 0) {
        smp.set_method(Method::TRAP_REPRESS).set_m_key(key);
    }
    bench.send(&mad)
}

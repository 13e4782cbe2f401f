//! A manager represses every trap that it receives (IBA vol. 1, 13.4.9).
//!
//! The agent of the port that sent a trap consumes the TrapRepress, so no program receives it. A case can nevertheless
//! detect it: the case protects its own port with a key that the manager does not have, and the agent counts the
//! TrapRepress as a violation.

use core::time::Duration;

use ib_mad::{Attribute as _, AttributeId, MadAddress, Method, NoticeSm, NoticeType, ProducerType};
use ib_smp::{DrPath, MKeyProtect, SmpLidRouted};
use ib_wire::MKey;

use crate::conform::{
    Case,
    bench::{Bench, Outcome, ensure, skip},
    case,
    ports::{PortAt, TEST_KEY, settable},
};

const TRAPS: &str = "IBA vol. 1, 13.4.9";
const OWN: PortAt = PortAt {
    path: DrPath::OWN_NODE,
    modifier: 0,
};

pub(super) const CASES: &[Case] = &[
    case("sm-181", "Trap 129 is repressed", TRAPS, |bench| {
        repressed(bench, 129, true, 1)
    }),
    case("sm-182", "Trap 130 is repressed", TRAPS, |bench| {
        repressed(bench, 130, true, 1)
    }),
    case("sm-183", "Trap 256 is repressed", TRAPS, |bench| {
        repressed(bench, 256, true, 1)
    }),
    case("sm-184", "Trap 257 is repressed", TRAPS, |bench| {
        repressed(bench, 257, true, 1)
    }),
    case(
        "sm-185",
        "A trap of an unknown number is repressed",
        TRAPS,
        |bench| repressed(bench, 999, true, 1),
    ),
    case(
        "sm-186",
        "A trap of a vendor is repressed",
        TRAPS,
        |bench| repressed(bench, 1, false, 1),
    ),
    case(
        "sm-187",
        "A trap that comes again is repressed again",
        TRAPS,
        |bench| repressed(bench, 257, true, 3),
    ),
];

/// Sends a trap `times` times, and counts the TrapRepress datagrams from the manager.
fn repressed(bench: &mut Bench<'_>, number: u16, is_generic: bool, times: u16) -> Outcome {
    bench.with_port(OWN, |bench, before| {
        let mut wanted = settable(before);
        wanted
            .set_m_key(TEST_KEY)
            .set_m_key_protect_bits(MKeyProtect::GET_OPEN);
        bench.put(&OWN.path, OWN.modifier, &wanted)?;
        let mut wrong = bench.smp(Method::TRAP_REPRESS, AttributeId(2), 0, &OWN.path);
        wrong.set_m_key(MKey(0xbad));
        let first = bench.port_info(OWN)?.m_key_violations();
        bench.silence(&wrong.to_mad())?;
        if bench.port_info(OWN)?.m_key_violations() == first {
            return skip("the agent of our port does not count violations");
        }
        let mut details = [0; 54];
        for (to, from) in details.iter_mut().skip(2).zip(before.lid().0.to_be_bytes()) {
            *to = from;
        }
        let mut notice = NoticeSm::default();
        notice
            .set_is_generic(is_generic)
            .set_type(NoticeType::SECURITY)
            .set_producer_type(ProducerType::CA.0)
            .set_trap_number(number)
            .set_issuer_lid(before.lid())
            .set_data_details(&details);
        for _ in 0..times {
            let counted = bench.port_info(OWN)?.m_key_violations();
            let mut smp = SmpLidRouted::new(Method::TRAP, NoticeSm::ID, 0);
            let id = bench.transaction();
            smp.set_transaction_id(id).set_smp_data(notice.as_bytes());
            bench.send(&smp.to(MadAddress::smi(before.master_sm_lid())))?;
            let deadline = bench.after(bench.options.timeout.saturating_mul(2));
            while bench.port_info(OWN)?.m_key_violations() == counted {
                ensure!(bench.now() < deadline, "no TrapRepress came");
                bench.pause(Duration::from_millis(20))?;
            }
        }
        Ok(())
    })
}

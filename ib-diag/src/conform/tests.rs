//! The cases against our own programs in virtual time, and against peers that violate a rule.

mod peers;

use std::{collections::BTreeSet, format, string::String, vec::Vec};

use ib_mad::{Mad, Method, MgmtClass, transport::Clock as _};
use ib_routing::PortRef;
use ib_sim::{Behaviour, Corruption, SharedSim};
use ib_wire::PortNum;

use self::peers::{Tampered, WithManager};
use super::{Case, CaseResult, ConformOptions, Subject, UnmetPreconditions};
use crate::testing::{fabric, first_host, simulated};

fn agents() -> (SharedSim, PortRef) {
    let fabric = fabric("gen-ring-5");
    (simulated(&fabric, true), first_host(&fabric))
}

fn run(case: &Case, sim: &SharedSim, at: PortRef) -> CaseResult {
    let mut transport = sim.attach(at).unwrap();
    let mut unmet = UnmetPreconditions::default();
    case.run(&mut transport, sim, &ConformOptions::default(), &mut unmet)
        .unwrap()
}

#[test]
fn numbers_rise_and_belong_to_their_subject() {
    let mut all = BTreeSet::new();
    for subject in Subject::ALL {
        let ids: Vec<&str> = subject.cases().map(|case| case.id).collect();
        assert!(ids.is_sorted(), "{subject}: {ids:?}");
        for case in subject.cases() {
            let (name, number) = case.id.split_once('-').unwrap();
            assert_eq!(name, subject.name(), "{}", case.id);
            assert!(number.len() == 3 && number.bytes().all(|digit| digit.is_ascii_digit()));
            assert!(all.insert(case.id), "{} is there twice", case.id);
            assert!(
                !case.title.ends_with('.') && !case.source.is_empty(),
                "{}",
                case.id
            );
        }
    }
    assert!(all.len() >= 150, "{} cases", all.len());
}

/// Cases that need a device which the simulator does not have: one that lacks a width or a speed.
const NOT_HERE: [&str; 2] = ["sma-282", "sma-283"];

#[test]
fn our_agents_and_fabric_keep_every_rule_and_are_left_as_they_were() {
    let (sim, at) = agents();
    let mut bad = Vec::new();
    for case in Subject::Sma.cases().chain(Subject::Sim.cases()) {
        let before = state(&sim);
        let result = run(case, &sim, at);
        let may_skip = NOT_HERE.contains(&case.id) && matches!(result, CaseResult::Skip(_));
        if result != CaseResult::Pass && !may_skip {
            bad.push((case.id, case.title, result));
        } else if state(&sim) != before {
            bad.push((
                case.id,
                case.title,
                CaseResult::Fail("another state".into()),
            ));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// PortInfo and tables of every node as the agents hold them. Violation counters, which may have risen, are left out.
fn state(sim: &SharedSim) -> Vec<String> {
    sim.with(|sim| {
        let mut all = Vec::new();
        for (index, node) in sim.nodes().iter_enumerated() {
            for port in sim.ports_of(index) {
                let mut info = *port.info();
                info.set_m_key_violations(0);
                all.push(format!("{:?} {:?}", port.at(), info));
            }
            if let Some(switch) = node.sma().switch() {
                let mut info = *switch.info();
                info.set_port_state_change(false);
                // Entries without a port at the end of the table are the same as no entries.
                let lft: Vec<PortNum> = switch.lft().collect();
                let used = lft.iter().rposition(|port| *port != PortNum(255));
                let lft = lft.get(..=used.unwrap_or(0));
                all.push(format!("{index:?} {info:?} {lft:?}"));
            }
        }
        all
    })
}

#[test]
fn our_manager_and_administrator_keep_every_rule() {
    let mut both = WithManager::new("gen-ring-5");
    let clock = both.clock();
    let options = ConformOptions::default();
    let mut unmet = UnmetPreconditions::default();
    let mut bad = Vec::new();
    for case in Subject::Sm.cases().chain(Subject::Sa.cases()) {
        let result = case.run(&mut both, &clock, &options, &mut unmet).unwrap();
        if result != CaseResult::Pass {
            bad.push((case.id, case.title, result));
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Runs the cases of a subject against agents whose answers `spoil` corrupts, and returns the cases that fail.
fn failing(subject: Subject, spoil: fn(&mut Mad)) -> Vec<&'static str> {
    let (sim, at) = agents();
    let mut transport = Tampered::new(sim.attach(at).unwrap(), spoil);
    let options = ConformOptions::default();
    let mut unmet = UnmetPreconditions::default();
    let failed = subject.cases().filter(|case| {
        let result = case
            .run(&mut transport, &sim, &options, &mut unmet)
            .unwrap();
        matches!(result, CaseResult::Fail(_))
    });
    failed.map(|case| case.id).collect()
}

/// Runs these cases with a manager at work and corrupted answers, and returns the cases that fail.
fn failing_with_manager(ids: &[&str], spoil: fn(&mut Mad)) -> Vec<&'static str> {
    let both = WithManager::new("gen-ring-5");
    let clock = both.clock();
    let mut transport = Tampered::new(both, spoil);
    let options = ConformOptions::default();
    let mut unmet = UnmetPreconditions::default();
    let cases = Subject::Sm.cases().chain(Subject::Sa.cases());
    let failed = cases.filter(|case| ids.contains(&case.id)).filter(|case| {
        let result = case
            .run(&mut transport, &clock, &options, &mut unmet)
            .unwrap();
        matches!(result, CaseResult::Fail(_))
    });
    failed.map(|case| case.id).collect()
}

#[test]
fn an_agent_that_fills_reserved_bytes_fails_the_cases_of_reserved_bytes() {
    let failed = failing(Subject::Sma, |mad| {
        if mad.header().mgmt_class() == MgmtClass::SUBN_DIRECTED {
            mad.bytes[40] = 0x5a;
        }
    });
    assert_eq!(failed, ["sma-114"]);
}

#[test]
fn an_agent_that_carries_refused_sets_out_fails_the_cases_of_refusals() {
    let failed = failing(Subject::Sma, |mad| {
        let status = mad.header().status().0;
        mad.header_mut()
            .set_status(ib_mad::MadStatus(status & 0x8000));
    });
    for expected in [
        "sma-131", "sma-134", "sma-141", "sma-271", "sma-261", "sma-328",
    ] {
        assert!(failed.contains(&expected), "{expected} passes: {failed:?}");
    }
    assert!(!failed.contains(&"sma-101"), "{failed:?}");
}

#[test]
fn a_port_that_keeps_no_m_key_fails_one_case_and_skips_those_of_protection() {
    let (sim, at) = agents();
    let mut transport = Tampered::new(sim.attach(at).unwrap(), |mad| {
        let header = mad.header();
        if header.attribute_id().0 == 0x0015 && header.mgmt_class() == MgmtClass::SUBN_DIRECTED {
            mad.bytes[64..72].fill(0);
        }
    });
    let (options, mut unmet) = (ConformOptions::default(), UnmetPreconditions::default());
    for case in Subject::Sma.cases() {
        let number: u16 = case.id[4..].parse().unwrap();
        if (330..=350).contains(&number) && number != 341 {
            let result = case.run(&mut transport, &sim, &options, &mut unmet);
            match (number, result.unwrap()) {
                (330, CaseResult::Fail(_)) => {}
                (_, CaseResult::Skip(why)) => assert!(why.starts_with("sma-330 fails"), "{why}"),
                (_, other) => panic!("{}: {other:?}", case.id),
            }
        }
    }
}

#[test]
fn the_patience_for_a_manager_that_does_not_stand_by_is_spent_once() {
    let both = WithManager::new("gen-ring-5");
    let clock = both.clock();
    // The manager says in every SMInfo that it is the master.
    let mut transport = Tampered::new(both, |mad| {
        let header = mad.header();
        if header.attribute_id().0 == 0x0020 && header.method().is_response() {
            mad.bytes[64 + 20] = mad.bytes[64 + 20] & 0xf0 | 3;
        }
    });
    let (options, mut unmet) = (ConformOptions::default(), UnmetPreconditions::default());
    let begin = clock.now();
    for case in Subject::Sm.cases() {
        let number: u16 = case.id[3..].parse().unwrap();
        if (151..=168).contains(&number) {
            let result = case.run(&mut transport, &clock, &options, &mut unmet);
            match (number, result.unwrap()) {
                (151, CaseResult::Fail(_)) => {}
                (_, CaseResult::Skip(why)) => assert!(why.starts_with("sm-151 fails"), "{why}"),
                (_, other) => panic!("{}: {other:?}", case.id),
            }
        }
    }
    let spent = clock.now().since(begin);
    assert!(spent < options.patience.saturating_mul(2), "{spent:?}");
}

#[test]
fn a_device_with_the_guid_of_another_fails_the_case_of_identities() {
    let (sim, at) = agents();
    sim.with(|sim| {
        let guid = sim.nodes().iter().next().unwrap().guid();
        let (last, _) = sim
            .nodes()
            .iter_enumerated()
            .rfind(|(_, node)| !node.is_switch())
            .unwrap();
        sim.set_behaviour(last, Behaviour::Byzantine(Corruption::Guid(guid)));
    });
    let case = Subject::Sim
        .cases()
        .find(|case| case.id == "sim-101")
        .unwrap();
    assert!(matches!(run(case, &sim, at), CaseResult::Fail(_)));
}

#[test]
fn a_device_that_never_answers_fails_the_case_of_silence() {
    let (sim, at) = agents();
    sim.with(|sim| {
        let (last, _) = sim
            .nodes()
            .iter_enumerated()
            .rfind(|(_, node)| !node.is_switch())
            .unwrap();
        sim.set_behaviour(last, Behaviour::Silent);
    });
    let case = Subject::Sim
        .cases()
        .find(|case| case.id == "sim-103")
        .unwrap();
    assert!(matches!(run(case, &sim, at), CaseResult::Fail(_)));
}

#[test]
fn counters_of_another_port_fail_the_cases_of_port_select() {
    let failed = failing(Subject::Sim, |mad| {
        if mad.header().mgmt_class() == MgmtClass::PERF {
            mad.bytes[65] ^= 0x40;
        }
    });
    // In ClassPortInfo the corrupted byte is the class version.
    assert_eq!(failed, ["sim-161", "sim-169", "sim-176"]);
}

#[test]
fn an_administrator_that_shows_a_key_fails_the_cases_of_the_sm_key() {
    let ids = ["sa-101", "sa-105", "sa-311"];
    let failed = failing_with_manager(&ids, |mad| {
        if mad.header().mgmt_class() == MgmtClass::SUBN_ADM {
            mad.bytes[43] = 1;
        }
    });
    assert_eq!(failed, ["sa-105", "sa-311"]);
}

#[test]
fn an_administrator_that_loses_a_segment_number_fails_the_cases_of_transfers() {
    let ids = ["sa-301", "sa-305", "sa-306"];
    let failed = failing_with_manager(&ids, |mad| {
        let is_table = mad.header().method() == Method::GET_TABLE_RESP;
        if is_table && mad.bytes[31] == 3 {
            mad.bytes[31] = 2;
        }
    });
    assert_eq!(failed, ["sa-305", "sa-306"]);
}

#[test]
fn a_manager_that_takes_an_order_that_it_must_refuse_fails_the_case_of_the_order() {
    let ids = ["sm-121", "sm-131", "sm-138"];
    let failed = failing_with_manager(&ids, |mad| {
        let header = mad.header();
        let is_order = header.attribute_id().0 == 0x0020 && header.attribute_modifier() == 3;
        if is_order {
            mad.header_mut().set_status(ib_mad::MadStatus(0x8000));
        }
    });
    assert_eq!(failed, ["sm-131"]);
}

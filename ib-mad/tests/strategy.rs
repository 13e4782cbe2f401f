//! The strategies for proptest: what they promise, what can be chosen, and how they shrink.

use std::collections::BTreeSet;

use ib_mad::{
    AttributeId, CLASSES, Mad, MadAddress, Message, Method, MgmtClass, StatusCode,
    generate::FaultyMad,
    header_fault,
    strategy::{faulty_mad, valid_mad},
};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner},
};

proptest! {
    #[test]
    fn valid_datagrams_have_no_fault_and_open(mad in valid_mad(&[CLASSES])) {
        prop_assert_eq!(header_fault(&[CLASSES], &mad.header()), StatusCode::OK);
        prop_assert!(mad.header().transaction_id().0 != 0);
        let message = Message::parse(&mad.bytes);
        prop_assert_eq!(message.as_bytes(), &mad.bytes);
        let whole = Mad { bytes: mad.bytes, ..Mad::new(MadAddress::DIRECTED) };
        prop_assert_eq!(whole.used_len(), 256);
    }

    #[test]
    fn faulty_datagrams_have_their_fault(mad in faulty_mad(&[CLASSES])) {
        prop_assert_eq!(header_fault(&[CLASSES], &mad.header()), mad.fault);
    }

    #[test]
    fn only_what_was_chosen_comes(
        mad in valid_mad(&[CLASSES]).classes(&[MgmtClass::PERF]).methods(&[Method::SET]).attributes(&[AttributeId(0x12)]),
        faulty in faulty_mad(&[CLASSES]).classes(&[MgmtClass::BM]).faults(&[StatusCode::UNSUPPORTED_METHOD]),
    ) {
        let header = mad.header();
        prop_assert_eq!((header.mgmt_class(), header.method()), (MgmtClass::PERF, Method::SET));
        prop_assert_eq!(header.attribute_id(), AttributeId(0x12));
        prop_assert_eq!(faulty.header().mgmt_class(), MgmtClass::BM);
        prop_assert_eq!(faulty.fault, StatusCode::UNSUPPORTED_METHOD);
    }
}

#[test]
fn a_choice_without_datagrams_is_refused() {
    let none = valid_mad(&[CLASSES]).classes(&[MgmtClass::SUBN_ADM]);
    assert!(none.new_tree(&mut TestRunner::default()).is_err());
}

#[test]
fn every_attribute_and_every_fault_comes() {
    let mut runner = TestRunner::deterministic();
    let (mut attributes, mut faults) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..3000 {
        let header = valid_mad(&[CLASSES]).new_tree(&mut runner).unwrap();
        let header = header.current().header();
        attributes.insert((header.mgmt_class(), header.attribute_id()));
        let faulty = faulty_mad(&[CLASSES]).new_tree(&mut runner).unwrap();
        faults.insert(faulty.current().fault);
    }
    let expected: usize = CLASSES.iter().map(|table| table.attributes.len()).sum();
    assert_eq!(attributes.len(), expected);
    assert_eq!(faults.len(), FaultyMad::FAULTS.len());
}

/// An agent that fails at every Set: what is left is the first Set, and data of zeros.
#[test]
fn datagrams_shrink_to_what_fails() {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let failed = TestRunner::new_with_rng(config, rng).run(&valid_mad(&[CLASSES]), |mad| {
        prop_assert!(mad.header().method() != Method::SET);
        Ok(())
    });
    let Err(TestError::Fail(_, least)) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(least.header().mgmt_class(), CLASSES[0].class);
    assert_eq!(least.header().attribute_modifier(), 0);
    assert!(least.bytes[24..].iter().all(|&byte| byte == 0), "{least:?}");
}

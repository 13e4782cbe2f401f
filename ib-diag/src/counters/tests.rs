use ib_mad::{ClassCapabilities, ClassPortInfo, CounterDelta, PortCounters, PortCountersExtended};

use super::{CounterReadings, Thresholds, WIDE};

fn agent(mask: u16, mask2: u32) -> ClassPortInfo {
    let mut info = ClassPortInfo::default();
    info.set_capability_mask(ClassCapabilities::from_bits_retain(mask))
        .set_capability_mask2(mask2);
    info
}

#[test]
fn a_counter_comes_from_the_widest_attribute_that_the_agent_announces() {
    let (mut classic, mut extended) = (PortCounters::default(), PortCountersExtended::default());
    classic
        .set_port_xmit_data(u32::MAX)
        .set_symbol_error_counter(7);
    extended
        .set_port_xmit_data(1 << 40)
        .set_symbol_error_counter(70_000);
    let readings = CounterReadings {
        classic: Some(classic),
        extended: Some(extended),
        ..CounterReadings::default()
    };
    // The agent announces extended width, but no 64-bit error counters.
    let narrow = agent(1 << 9, 0);
    let values = readings.values(Some(&narrow));
    assert_eq!(values.get("port_xmit_data").unwrap().value, 1 << 40);
    assert_eq!(
        (
            values.get("symbol_error_counter").unwrap().value,
            values.get("symbol_error_counter").unwrap().bits
        ),
        (7, 16)
    );
    // The agent announces both.
    let wide = agent(1 << 9 | 1 << 2 | 1 << 12, 1 << 1);
    let values = readings.values(Some(&wide));
    assert_eq!(
        (
            values.get("symbol_error_counter").unwrap().value,
            values.get("symbol_error_counter").unwrap().bits
        ),
        (70_000, 64)
    );
    assert_eq!(readings.values(Some(&wide)).missing(), [""; 0]);
    // Without IETF counters the numbers of unicast and multicast packets are unknown, not 0.
    let plain = agent(1 << 10, 0);
    assert!(
        readings
            .values(Some(&plain))
            .missing()
            .contains(&"port_unicast_rcv_pkts")
    );
}

#[test]
fn the_extended_attribute_begins_with_the_counters_that_every_agent_has_there() {
    let names: Vec<&str> = CounterReadings::names().take(WIDE.len()).collect();
    assert_eq!(names, WIDE);
}

#[test]
fn nothing_that_was_not_read_has_a_value() {
    let none = CounterReadings::default();
    assert!(none.values(None).is_empty());
    assert_eq!(
        none.values(None).missing().len(),
        CounterReadings::names().count()
    );
    assert_eq!(CounterReadings::names().count(), 22);
}

#[test]
fn a_counter_at_all_ones_is_saturated_by_its_own_width() {
    let mut classic = PortCounters::default();
    classic
        .set_link_downed_counter(255)
        .set_symbol_error_counter(255)
        .set_local_link_integrity_errors(15);
    let readings = CounterReadings {
        classic: Some(classic),
        ..CounterReadings::default()
    };
    assert_eq!(
        readings.values(None).saturated(),
        ["link_downed_counter", "local_link_integrity_errors"]
    );
    let deltas = readings.since(
        &CounterReadings {
            classic: Some(PortCounters::default()),
            ..CounterReadings::default()
        },
        None,
    );
    assert_eq!(deltas["symbol_error_counter"], CounterDelta::Exactly(255));
    assert_eq!(deltas["link_downed_counter"], CounterDelta::AtLeast(255));
}

#[test]
fn thresholds_are_read_as_ibqueryerrors_reads_them() {
    let text = "# comment\nSymbolErrorCounter=3\nLinkDowned=0 # now\nVL15Dropped=0x10\nport_xmit_wait=5\n\n";
    let thresholds = Thresholds::default().read(text).unwrap();
    for (name, limit) in [
        ("symbol_error_counter", Some(3)),
        ("link_downed_counter", Some(0)),
        ("vl15_dropped", Some(16)),
        ("port_xmit_wait", Some(5)),
        ("port_rcv_errors", Some(10)),
        ("port_xmit_data", None),
    ] {
        assert_eq!(thresholds.limit(name), limit, "{name}");
    }
    let wrong = Thresholds::default().read("SymbolErrorCounter=3\nNoCounter=1\n");
    assert_eq!(wrong.unwrap_err().line, 2);
}

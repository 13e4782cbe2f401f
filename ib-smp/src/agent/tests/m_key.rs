//! Requests that the M_Key lets pass.

use super::*;

/// A CA whose port 1 has a key with this protection and a lease of 10 s.
pub(super) fn guarded(protect: MKeyProtect) -> Sma {
    let mut sma = ca();
    let mut wanted = unchanged(&port_info());
    wanted
        .set_m_key(KEY)
        .set_m_key_protect_bits(protect)
        .set_m_key_lease_period(10);
    set_port(&mut sma, 0, &wanted).unwrap();
    sma
}

pub(super) fn keyed(method: Method, key: MKey) -> SmpLidRouted {
    let mut smp = request(method, PortInfo::ID, 0, unchanged(&port_info()).as_bytes());
    smp.set_m_key(key);
    smp
}

#[test]
fn protection_decides_who_reads_and_who_sees_the_key() {
    let shown_key = |protect, key| {
        let (verdict, smp) = ask_at(&mut guarded(protect), T0, keyed(Method::GET, key));
        let info = PortInfo::from_bytes(*smp.smp_data());
        (verdict == SmpDisposition::Respond).then(|| info.m_key())
    };
    for protect in [0, 1, 2, 3].map(MKeyProtect) {
        assert_eq!(shown_key(protect, KEY), Some(KEY));
    }
    assert_eq!(shown_key(MKeyProtect(0), WRONG), Some(KEY));
    assert_eq!(shown_key(MKeyProtect(1), WRONG), Some(MKey(0)));
    assert_eq!(shown_key(MKeyProtect(2), WRONG), None);
    assert_eq!(shown_key(MKeyProtect(3), WRONG), None);
}

#[test]
fn a_set_with_a_wrong_key_is_dropped_and_counted() {
    for protect in [0, 1, 2, 3].map(MKeyProtect) {
        let mut sma = guarded(protect);
        for method in [Method::SET, Method::TRAP_REPRESS] {
            let before = sma.port(PortNum(1)).unwrap().info().m_key_violations();
            let (verdict, _) = ask_at(&mut sma, T0, keyed(method, WRONG));
            assert_eq!(verdict, SmpDisposition::Drop(SmpDropReason::BadMKey));
            let after = sma.port(PortNum(1)).unwrap().info().m_key_violations();
            assert_eq!(after, before + 1);
        }
        assert_eq!(
            ask_at(&mut sma, T0, keyed(Method::SET, KEY)).0,
            SmpDisposition::Respond
        );
    }
    let mut sma = guarded(MKeyProtect(2));
    sma.port_mut(PortNum(1))
        .unwrap()
        .info
        .set_m_key_violations(0xffff);
    let (_, _) = ask_at(&mut sma, T0, keyed(Method::SET, WRONG));
    assert_eq!(
        sma.port(PortNum(1)).unwrap().info().m_key_violations(),
        0xffff
    );
}

#[test]
fn a_lease_that_runs_out_opens_the_port_for_reading() {
    let seconds = |s: u64| Instant::from_nanos(s * 1_000_000_000);
    let get = |sma: &mut Sma, at, key| ask_at(sma, seconds(at), keyed(Method::GET, key)).0;
    let dropped = SmpDisposition::Drop(SmpDropReason::BadMKey);
    let mut sma = guarded(MKeyProtect(2));
    assert_eq!(get(&mut sma, 0, WRONG), dropped);
    // Further violations do not start it anew.
    assert_eq!(get(&mut sma, 9, WRONG), dropped);
    assert_eq!(get(&mut sma, 10, WRONG), SmpDisposition::Respond);
    let port = sma.port(PortNum(1)).unwrap().info();
    assert_eq!(port.m_key_protect_bits(), MKeyProtect(0));
    assert_eq!(port.m_key(), KEY);
    assert_eq!(
        ask_at(&mut sma, seconds(11), keyed(Method::SET, WRONG)).0,
        dropped
    );

    let mut sma = guarded(MKeyProtect(2));
    assert_eq!(get(&mut sma, 0, WRONG), dropped);
    assert_eq!(get(&mut sma, 9, KEY), SmpDisposition::Respond);
    assert_eq!(
        get(&mut sma, 30, WRONG),
        dropped,
        "a good key stops the timer"
    );
}

#[test]
fn the_other_port_of_a_ca_has_a_key_of_its_own() {
    let mut sma = ca();
    let mut wanted = unchanged(&port_info());
    wanted
        .set_m_key(KEY)
        .set_m_key_protect_bits(MKeyProtect::GET_CLOSED);
    set_port(&mut sma, 2, &wanted).unwrap();
    let mut smp = request(Method::GET, PortInfo::ID, 2, &[]);
    assert_eq!(
        ask_at(&mut sma, T0, smp).0,
        SmpDisposition::Drop(SmpDropReason::BadMKey)
    );
    smp.set_m_key(KEY);
    assert_eq!(ask_at(&mut sma, T0, smp).0, SmpDisposition::Respond);
}

#[test]
fn the_key_of_the_other_port_guards_every_attribute_that_can_name_it() {
    let mut sma = ca().with_mlnx_ext_port_info();
    let mut wanted = unchanged(&port_info());
    wanted
        .set_m_key(KEY)
        .set_m_key_protect_bits(MKeyProtect::GET_CLOSED);
    set_port(&mut sma, 2, &wanted).unwrap();
    for (id, modifier) in [
        (PartitionKeyTable::ID, 2 << 16),
        (VlArbitrationTable::ID, 1 << 16 | 2),
        (MlnxExtPortInfo::ID, 2),
    ] {
        for method in [Method::GET, Method::SET] {
            let mut smp = request(method, id, modifier, &[]);
            let dropped = SmpDisposition::Drop(SmpDropReason::BadMKey);
            assert_eq!(ask_at(&mut sma, T0, smp).0, dropped, "{id} {method}");
            smp.set_m_key(KEY);
            assert_eq!(ask_at(&mut sma, T0, smp).0, SmpDisposition::Respond);
        }
    }
}

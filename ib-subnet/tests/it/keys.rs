//! M_Keys: those that devices show, those that are kept, and the order in which they are tried.

use ib_mad::Attribute;
use ib_smp::{NodeInfo, PortInfo};
use ib_subnet::{MKeys, PortId, ReadTarget};
use ib_wire::{MKey, PortNum};

use crate::lab::{Lab, change, line, walked_line};

const OWN: MKey = MKey(0x0e);

/// Keys by port GUID and cables, as files hold them.
fn kept(keys: &str, neighbors: &str) -> MKeys {
    let mut kept = MKeys::default();
    kept.read_keys(keys).unwrap();
    kept.read_neighbors(neighbors).unwrap();
    kept
}

/// Ports show this key.
fn show(lab: &mut Lab, key: impl Fn(PortId) -> u64 + 'static) {
    lab.edit(move |read, smp| {
        change(smp, |info: &mut PortInfo| {
            let port = read.target.port().unwrap();
            info.set_m_key(MKey(key(port)));
        });
        true
    });
}

#[test]
fn a_key_that_a_device_shows_comes_before_a_kept_one() {
    let mut lab = walked_line();
    let host = lab.port("host00001 HCA-1", 1);
    let (switch, external) = (lab.port("t1", 0), lab.port("t1", 3));
    assert!(lab.subnet.m_keys().is_empty());
    for port in [host, switch, external] {
        assert_eq!(lab.subnet.m_key(port, OWN), OWN);
    }
    lab.subnet.set_m_keys(kept(
        "0x0010000000000011 0x21\n0x0020000000000100 0x22\n",
        "",
    ));
    assert!(!lab.subnet.m_keys().is_empty());
    assert_eq!(lab.subnet.m_key(host, OWN), MKey(0x21));
    // Port 0 guards all ports of a switch.
    assert_eq!(lab.subnet.m_key(external, OWN), MKey(0x22));
    show(&mut lab, move |port| match port {
        port if port == host => 0x31,
        port if port == switch => 0x32,
        // An external port's field has no meaning.
        port if port == external => 0x99,
        _ => 0,
    });
    lab.everything();
    assert_eq!(lab.subnet.m_key(host, OWN), MKey(0x31));
    assert_eq!(lab.subnet.m_key(external, OWN), MKey(0x32));
    assert_eq!(lab.subnet.m_key(lab.port("host00002 HCA-1", 1), OWN), OWN);
    let text = lab.subnet.m_keys().keys_text();
    let expected =
        "0x0010000000000011 0x0000000000000031\n\n0x0020000000000100 0x0000000000000032\n\n";
    assert_eq!(text, expected);
}

#[test]
fn cables_are_kept_with_the_guids_of_the_ports_that_guard_their_ends() {
    let lab = walked_line();
    let text = lab.subnet.m_keys().neighbors_text();
    let lines: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), 14, "seven cables from both ends");
    assert!(
        lines.contains(&"0x0020000000000000:1 0x0020000000000100:2"),
        "{text}"
    );
    assert!(
        lines.contains(&"0x0010000000000011:1 0x0020000000000000:4"),
        "{text}"
    );
}

#[test]
fn the_key_of_an_unknown_device_is_that_of_the_port_that_was_there() {
    let mut lab = line();
    let host = "0x0010000000000041 0x44\n";
    let cable = "0x0020000000000100:4 0x0010000000000041:1\n";
    lab.subnet.set_m_keys(kept(host, cable));
    lab.options.m_key = OWN;
    lab.everything();
    let key = |lab: &Lab, port| {
        let asked = lab
            .asked
            .iter()
            .filter(|(read, _)| read.target == ReadTarget::Behind(port));
        let keys = asked.map(|(_, mad)| {
            let (smp, _) = ib_smp::SmpDirected::parse(&mad.bytes, 0).unwrap();
            smp.m_key()
        });
        keys.collect::<Vec<_>>()
    };
    let (there, other) = (lab.port("t1", 4), lab.port("t1", 3));
    assert_eq!(key(&lab, there), [MKey(0x44)]);
    assert_eq!(key(&lab, other), [OWN]);
    assert_eq!(lab.subnet.m_key_behind(there, OWN), MKey(0x44));
    assert_eq!(lab.subnet.m_key_behind(lab.port("t0", 2), OWN), OWN);
    // What the device shows comes first, once the cable is known.
    let host = lab.port("host00004 HCA-1", 1);
    show(&mut lab, move |port| if port == host { 0x55 } else { 0 });
    lab.everything();
    assert_eq!(lab.subnet.m_key_behind(there, OWN), MKey(0x55));
    lab.everything();
    assert_eq!(key(&lab, there), [MKey(0x55)]);
    let to_host = lab.sent_to(ReadTarget::Port(host));
    let last = to_host
        .iter()
        .rfind(|(smp, _)| smp.attribute_id() == PortInfo::ID);
    assert_eq!(last.unwrap().0.m_key(), MKey(0x55));
}

#[test]
fn a_kept_key_to_which_nobody_answered_is_forgotten() {
    let mut lab = line();
    let keys = "0x0010000000000041 0x44\n0x0020000000000100 0x22\n";
    let cable = "0x0020000000000100:4 0x0010000000000041:1\n";
    lab.subnet.set_m_keys(kept(keys, cable));
    lab.edit(|read, smp| {
        let (behind, key) = (matches!(read.target, ReadTarget::Behind(_)), smp.m_key());
        !(behind && key == MKey(0x44))
    });
    lab.everything();
    let there = lab.port("t1", 4);
    assert_eq!(lab.subnet.m_key_behind(there, OWN), OWN);
    assert_eq!(lab.find("host00004 HCA-1"), None);
    lab.everything();
    assert!(lab.find("host00004 HCA-1").is_some());
    // A known device that does not answer to its kept key loses it as well.
    let t1 = lab.port("t1", 3);
    assert_eq!(lab.subnet.m_key(t1, OWN), MKey(0x22));
    lab.edit(move |read, _| {
        read.target.port().map(|port| port.node) != Some(t1.node)
            || matches!(read.target, ReadTarget::Behind(_))
            || read.attribute == NodeInfo::ID
    });
    lab.everything();
    assert_eq!(lab.subnet.m_key(t1, OWN), OWN);
}

#[test]
fn the_own_node_is_tried_with_each_key_in_turn() {
    let mut lab = line();
    lab.options.m_key = OWN;
    lab.subnet
        .set_m_keys(kept("0x1 0x12\n0x2 0x11\n0x3 0x12\n", ""));
    lab.edit(|read, _| read.target != ReadTarget::OwnNode);
    let mut keys = Vec::new();
    for _ in 0..4 {
        lab.everything();
        keys.push(lab.sent_to(ReadTarget::OwnNode)[0].0.m_key().0);
    }
    assert_eq!(keys, [0x11, 0x12, OWN.0, 0x11]);
    lab.honest();
    let own = MKey(0x77);
    show(&mut lab, move |_| own.0);
    lab.everything();
    assert_eq!(lab.sent_to(ReadTarget::OwnNode)[0].0.m_key(), MKey(0x12));
    // It answered and showed its key: that one is used while it answers.
    lab.everything();
    assert_eq!(lab.sent_to(ReadTarget::OwnNode)[0].0.m_key(), own);
    lab.edit(|read, _| read.target != ReadTarget::OwnNode);
    lab.everything();
    assert_eq!(lab.sent_to(ReadTarget::OwnNode)[0].0.m_key(), own);
    lab.everything();
    assert_ne!(lab.sent_to(ReadTarget::OwnNode)[0].0.m_key(), own);
}

#[test]
fn the_key_of_a_port_that_there_is_not_is_the_own_one() {
    let lab = walked_line();
    let nobody = PortId {
        port: PortNum(9),
        ..lab.port("t1", 0)
    };
    let host = PortId {
        port: PortNum(9),
        ..lab.port("host00001 HCA-1", 1)
    };
    for port in [nobody, host] {
        assert_eq!(lab.subnet.m_key(port, OWN), OWN);
        assert_eq!(lab.subnet.m_key_behind(port, OWN), OWN);
    }
}

//! Routes to devices: directed from end to end, or from a switch that has a LID.

use std::fmt::Write as _;

use ib_mad::Attribute;
use ib_sim::SimOptions;
use ib_smp::{NodeInfo, PortInfo, SwitchInfo};
use ib_subnet::{PortId, ReadTarget, WalkFinding};
use ib_testkit::fabrics::parse;
use ib_wire::{Lid, PortNum};

use crate::lab::{Lab, change};

/// A chain of switches with a host at its beginning: switch `n` has `n` + 1 hops.
fn chain(switches: u64) -> Lab {
    let mut text = String::new();
    let switch = |n: u64| format!("S-{:016x}", 0x2000 + n);
    for n in 0..switches {
        writeln!(
            text,
            "switchguid=0x{0:x}({0:x})\nSwitch\t3 \"{1}\"\t# \"s{n}\" base port 0 lid 0 lmc 0",
            0x2000 + n,
            switch(n)
        )
        .unwrap();
        if n == 0 {
            writeln!(
                text,
                "[3]\t\"H-0000000000001000\"[1](1001)\t# \"host\" lid 0 4xEDR"
            )
            .unwrap();
        } else {
            writeln!(text, "[1]\t\"{}\"[2]\t# \"\" lid 0 4xEDR", switch(n - 1)).unwrap();
        }
        if n + 1 < switches {
            writeln!(text, "[2]\t\"{}\"[1]\t# \"\" lid 0 4xEDR", switch(n + 1)).unwrap();
        }
        text.push('\n');
    }
    writeln!(text, "caguid=0x1000\nCa\t1 \"H-0000000000001000\"\t# \"host\"\n[1](1001)\t\"{}\"[3]\t# lid 0 lmc 0 \"s0\" lid 0 4xEDR", switch(0)).unwrap();
    Lab::new(&parse(&text), SimOptions::default())
}

#[test]
fn the_device_behind_the_63rd_hop_is_out_of_reach_and_named() {
    let mut lab = chain(65);
    let walked = lab.everything();
    // The host and 63 switches.
    assert_eq!(lab.subnet.nodes().count(), 64);
    let last = lab.port("s62", 2);
    assert_eq!(lab.subnet.node(last.node).unwrap().path().hop_count(), 63);
    let at = lab.subnet.port_at(last);
    let named = walked.findings.iter();
    let named: Vec<_> = named
        .filter(|finding| !matches!(finding, WalkFinding::NodeFound(_)))
        .collect();
    assert_eq!(named, [&WalkFinding::OutOfReach { at }]);
    assert_eq!(lab.subnet.ends_of_reach().collect::<Vec<_>>(), [last]);
    // Whoever looks at near nodes only is told nothing.
    lab.options.max_hops = Some(63);
    assert!(lab.everything().findings.is_empty());
    lab.options.max_hops = None;

    // From a switch with a LID the route goes on.
    let start = lab.port("s62", 0);
    lab.edit(|_, smp| {
        change(smp, |info: &mut PortInfo| {
            let lid = 1 + u16::try_from(smp_hops(info)).unwrap();
            info.set_lid(Lid(lid));
        });
        true
    });
    lab.subnet.continue_from(start.node);
    assert_eq!(lab.subnet.ends_of_reach().count(), 0);
    lab.everything();
    let asked = lab.reads(NodeInfo::ID);
    assert!(asked.contains(&(ReadTarget::Behind(last), 0)), "{asked:?}");
    let (smp, address) = lab.sent_to(ReadTarget::Behind(last))[0];
    assert_eq!(smp.path().unwrap().to_string(), "0,2");
    assert_eq!(address.lid, Lid(1));
    assert_eq!(smp.dr_slid(), Lid(1));
}

/// All ports get one LID.
fn smp_hops(_: &PortInfo) -> u32 {
    0
}

#[test]
fn a_fabric_that_ends_at_63_hops_has_nothing_out_of_reach() {
    let mut lab = chain(63);
    let walked = lab.everything();
    assert!(
        walked
            .findings
            .iter()
            .all(|finding| matches!(finding, WalkFinding::NodeFound(_)))
    );
    assert_eq!(lab.subnet.ends_of_reach().count(), 0);
}

#[test]
fn the_permission_to_begin_at_a_switch_ends_when_it_restarts() {
    let mut lab = chain(65);
    let lids = |lab: &mut Lab, lid: u16| {
        lab.honest();
        lab.edit(move |_, smp| {
            change(smp, |info: &mut PortInfo| {
                info.set_lid(Lid(lid));
            });
            change(smp, |info: &mut SwitchInfo| {
                info.set_linear_fdb_top(Lid(7));
            });
            true
        });
    };
    lids(&mut lab, 7);
    lab.everything();
    let last = lab.port("s62", 2);
    lab.subnet.continue_from(last.node);
    lab.everything();
    assert!(
        lab.reads(NodeInfo::ID)
            .contains(&(ReadTarget::Behind(last), 0))
    );
    let without = PortId {
        port: PortNum(3),
        ..last
    };
    assert!(lab.subnet.route(without).is_some());
    lids(&mut lab, 0);
    lab.everything();
    lab.everything();
    assert!(
        !lab.reads(NodeInfo::ID)
            .contains(&(ReadTarget::Behind(last), 0))
    );
}

//! Conditions of a path query: each lowers what the answer promises, or excludes the path.

use std::time::Duration;

use ib_mad::{MadStatus, SaStatus};
use ib_routing::engine;
use ib_sa::{
    MultiPathCall, MultiPathComponents as M, MultiPathRecord, PathComponents as C, PathRecord,
    Selector as S,
};
use ib_sim::DeviceProfile;
use ib_testkit::lab::{Lab, client::Client};
use ib_wire::{Gid, GidPrefix, Lid, Lmc, Mtu, PKey, Rate, Sl};

/// A client on a fabric whose routes need no service level of their own.
fn client() -> Client {
    let lab = Lab::new("gen-ring-5").routing(&engine::MINHOP);
    Client::of(lab.up())
}

type Change = fn(&mut PathRecord);

/// The path from the client to the manager, if there is one that meets the conditions.
fn path(client: &mut Client, mask: C, change: Change) -> Option<PathRecord> {
    let mut template = PathRecord::default();
    template
        .set_slid(client.lid())
        .set_dlid(client.administrator().lid);
    change(&mut template);
    let mut found = client.table(&template, (mask | C::SLID | C::DLID).into());
    assert!(found.len() <= 1);
    found.pop()
}

#[test]
fn each_condition_of_a_query_is_met_or_there_is_no_path() {
    let mut client = client();
    let plain = path(&mut client, C::empty(), |_| {}).unwrap();
    assert_eq!((plain.mtu(), plain.packet_life_time()), (Mtu::MTU_4096, 18));
    assert_eq!((plain.hop_limit(), plain.sl()), (0, Sl::ZERO));
    assert_eq!(plain.p_key(), PKey::DEFAULT_FULL);
    let rate = plain.rate();
    assert_ne!(rate, Rate::GBPS_2_5);

    let (rates, lives) = (
        C::RATE_SELECTOR | C::RATE,
        C::PACKET_LIFE_TIME_SELECTOR | C::PACKET_LIFE_TIME,
    );
    let mtus = C::MTU_SELECTOR | C::MTU;
    let met: [(C, Change, Change); 9] = [
        (
            mtus,
            |it| _ = it.set_mtu_selector(S::EXACTLY).set_mtu(Mtu::MTU_512),
            |it| {
                it.set_mtu(Mtu::MTU_512);
            },
        ),
        (
            rates,
            |it| _ = it.set_rate_selector(S::EXACTLY).set_rate(Rate::GBPS_2_5),
            |it| {
                it.set_rate(Rate::GBPS_2_5);
            },
        ),
        (
            rates,
            |it| {
                _ = it
                    .set_rate_selector(S::GREATER_THAN)
                    .set_rate(Rate::GBPS_2_5)
            },
            |_| {},
        ),
        (
            lives,
            |it| {
                it.set_packet_life_time_selector(S::EXACTLY)
                    .set_packet_life_time(20);
            },
            |it| _ = it.set_packet_life_time(20),
        ),
        (C::P_KEY, |it| _ = it.set_p_key(PKey(0x7fff)), |_| {}),
        (
            C::SL,
            |it| _ = it.set_sl(Sl::try_new(3).unwrap()),
            |it| {
                it.set_sl(Sl::try_new(3).unwrap());
            },
        ),
        (
            C::TCLASS,
            |it| _ = it.set_tclass(9),
            |it| _ = it.set_tclass(9),
        ),
        (
            C::FLOW_LABEL,
            |it| _ = it.set_flow_label(77),
            |it| _ = it.set_flow_label(77),
        ),
        (C::REVERSIBLE, |it| _ = it.set_reversible(true), |_| {}),
    ];
    for (mask, ask, answer) in met {
        let mut expected = plain;
        answer(&mut expected);
        assert_eq!(path(&mut client, mask, ask), Some(expected), "{mask:?}");
        // A component that is not named is not looked at.
        assert_eq!(path(&mut client, C::empty(), ask), Some(plain), "{mask:?}");
        if mask.iter().count() == 2 {
            for one in mask.iter() {
                assert_eq!(path(&mut client, one, ask), Some(plain), "{one:?} alone");
            }
        }
    }
    let excluded: [(C, Change); 5] = [
        (mtus, |it| {
            _ = it.set_mtu_selector(S::GREATER_THAN).set_mtu(Mtu::MTU_4096)
        }),
        (rates, |it| {
            _ = it.set_rate_selector(S::LESS_THAN).set_rate(Rate::GBPS_2_5)
        }),
        (lives, |it| {
            it.set_packet_life_time_selector(S::LESS_THAN)
                .set_packet_life_time(18);
        }),
        (C::P_KEY, |it| _ = it.set_p_key(PKey(0x8123))),
        (C::SGID, |it| {
            _ = it.set_sgid(Gid::new(GidPrefix::DEFAULT, ib_wire::Guid(0xdead)))
        }),
    ];
    for (mask, ask) in &excluded[..4] {
        assert_eq!(path(&mut client, *mask, *ask), None, "{mask:?}");
    }
    let mut template = PathRecord::default();
    excluded[4].1(&mut template);
    let unknown = client.get(&template, C::SGID.into());
    assert_eq!(unknown, Err(MadStatus::from_sa(SaStatus::REQ_INVALID_GID)));
}

#[test]
fn a_path_from_a_port_to_itself_takes_no_time() {
    let mut client = client();
    let own = client.lid();
    let mut template = PathRecord::default();
    template.set_slid(own).set_dlid(own);
    let found = client.get(&template, (C::SLID | C::DLID).into()).unwrap();
    assert_eq!(found.packet_life_time(), 0);
    assert_eq!((found.slid(), found.dlid()), (own, own));
    assert_eq!(found.sgid(), found.dgid());
    assert_eq!(found.mtu(), Mtu::MTU_4096);
}

#[test]
fn ends_with_several_lids_have_a_path_for_each_up_to_the_number_asked_for() {
    let lab = Lab::new("gen-ring-5")
        .routing(&engine::MINHOP)
        .config(|config| config.lmc = Lmc::try_new(2).unwrap());
    let mut client = Client::of(lab.up());
    let (own, other) = (client.lid().0, client.administrator().lid.0);
    let gids = client.running.sim.with(|sim| {
        [own, other].map(|lid| {
            let port = sim.find_lid(ib_wire::Lid(lid)).unwrap();
            Gid::new(GidPrefix::DEFAULT, sim.port(port).unwrap().guid())
        })
    });
    let mut template = PathRecord::default();
    template
        .set_sgid(gids[0])
        .set_dgid(gids[1])
        .set_numb_path(3);
    let pairs = |paths: &[PathRecord]| -> Vec<(u16, u16)> {
        let pairs = paths
            .iter()
            .map(|path| (path.slid().0 - own, path.dlid().0 - other));
        pairs.collect()
    };
    let ends = C::SGID | C::DGID;
    let all = client.table(&template, ends.into());
    assert_eq!(pairs(&all), [(0, 0), (1, 1), (2, 2), (3, 3)]);
    let some = client.table(&template, (ends | C::NUMB_PATH).into());
    assert_eq!(pairs(&some), [(0, 0), (1, 1), (2, 2)]);
    template.set_slid(ib_wire::Lid(own + 2));
    let one_source = client.table(&template, (ends | C::SLID).into());
    assert_eq!(pairs(&one_source), [(2, 0), (2, 1), (2, 2), (2, 3)]);
    let one = client.get(&template, (ends | C::SLID).into()).unwrap();
    assert_eq!(pairs(&[one]), [(2, 0)]);

    // The same for sets of ports.
    let administrator = client.administrator();
    let mut ask = |change: fn(&mut MultiPathRecord), mask| {
        client.running.run_for(Duration::from_secs(20));
        let mut record = MultiPathRecord::default();
        record.set_sgid_count(1).set_dgid_count(2).set_numb_path(5);
        change(&mut record);
        let mask = mask | M::SGID_COUNT | M::DGID_COUNT;
        let call = MultiPathCall::get(administrator, &record, mask, &gids[..1], &gids);
        client.ask_client(call.unwrap())
    };
    assert_eq!(ask(|_| {}, M::empty()).len(), 8);
    assert_eq!(ask(|_| {}, M::NUMB_PATH).len(), 5);
    let narrow = ask(
        |it| {
            it.set_mtu_selector(S::EXACTLY).set_mtu(Mtu::MTU_512);
        },
        M::MTU_SELECTOR | M::MTU,
    );
    assert!(narrow.iter().all(|path| path.mtu() == Mtu::MTU_512));
    assert_eq!(narrow.len(), 8);
    let foreign = ask(|it| _ = it.set_p_key(PKey(0x8123)), M::P_KEY);
    assert_eq!(foreign, []);
}

/// The paths from the client to the multicast group with this LID that meet the conditions.
fn paths_to_group(client: &mut Client, mlid: u16, mask: C, change: Change) -> Vec<PathRecord> {
    let mut template = PathRecord::default();
    template.set_slid(client.lid()).set_dlid(Lid(mlid));
    change(&mut template);
    client.table(&template, (mask | C::SLID | C::DLID).into())
}

#[test]
fn a_path_to_a_group_is_on_the_partition_and_service_level_of_the_group_or_there_is_none() {
    const MLID: u16 = 0xc000;
    let mut client = client();
    let plain = paths_to_group(&mut client, MLID, C::empty(), |_| {});
    let [group] = plain[..] else {
        panic!("{plain:?}")
    };
    assert_eq!((group.dlid(), group.slid()), (Lid(MLID), client.lid()));
    assert!(group.dgid().is_multicast());
    assert_eq!((group.p_key(), group.sl()), (PKey::DEFAULT_FULL, Sl::ZERO));
    let same: [(C, Change); 2] = [
        (C::P_KEY, |it| _ = it.set_p_key(PKey(0x7fff))),
        (C::SL, |it| _ = it.set_sl(Sl::ZERO)),
    ];
    for (mask, ask) in same {
        assert_eq!(paths_to_group(&mut client, MLID, mask, ask), plain);
    }
    let none: [(C, Change); 2] = [
        (C::P_KEY, |it| _ = it.set_p_key(PKey(0x8123))),
        (C::SL, |it| _ = it.set_sl(Sl::try_new(3).unwrap())),
    ];
    for (mask, ask) in none {
        assert_eq!(paths_to_group(&mut client, MLID, mask, ask), []);
    }
    // No group has this LID.
    assert_eq!(paths_to_group(&mut client, 0xc123, C::empty(), |_| {}), []);
}

#[test]
fn a_path_whose_service_level_keeps_packets_from_deadlocks_is_on_no_other() {
    let mut client = Client::of(Lab::new("gen-ring-5").routing(&engine::LASH).up());
    let plain = path(&mut client, C::empty(), |_| {}).unwrap();
    assert!(plain.sl() < Sl::try_new(7).unwrap());
    let other = path(&mut client, C::SL, |it| {
        _ = it.set_sl(Sl::try_new(7).unwrap())
    });
    assert_eq!(other, None);
}

#[test]
fn a_path_has_no_greater_mtu_than_its_links() {
    let lab = Lab::new("gen-ring-5").options(|options| options.profile = DeviceProfile::Ibsim);
    let mut client = Client::of(lab.up());
    let path = path(&mut client, C::empty(), |_| {}).unwrap();
    assert_eq!(path.mtu(), Mtu::MTU_2048);
}

//! Seats and slots: who gets one, who keeps it, and when it is free again.
#![cfg(target_os = "linux")]

use std::time::Duration;

use ib_mad::{
    Attribute, MadHeader, MadStatus, Method, MgmtClass, RmppData, RmppType, TransactionId,
};
use ib_smp::{
    CapabilityMask, LinearForwardingTable, MftModifier, MulticastForwardingTable, PortInfo,
    SmpDirected, SwitchInfo,
};
use ib_transport::ibsim::{Control, Datagram, MAX_JOINED, control_type};
use ib_wire::{Guid, Lid};
use zerocopy::{FromZeros, IntoBytes};

use ib_testkit::worked_traces::{
    path,
    server::{RawClient, Running},
};

/// Returns true if the port that a client is attached to says that a subnet manager is there.
fn is_sm(client: &RawClient) -> bool {
    let data = client.ask(control_type::GET_PORT_INFO, client.slot, &[0]);
    let data = data.unwrap();
    let (info, _) = PortInfo::parse(&data[..], 0).unwrap();
    info.capability_mask().contains(CapabilityMask::IS_SM)
}

#[test]
fn the_place_of_a_killed_manager_is_free_for_the_next_one() {
    let server = Running::start("");
    let killed = server.raw(1_000_001, "H", true).unwrap();
    assert!(
        server.try_attach("H", true).is_err(),
        "a manager is announced there"
    );
    drop(killed);
    let mut next = server.try_attach("H", true).unwrap();
    assert_eq!(next.guid(&[1]), Some(Guid(0x200)));
    // A client that is attached already may announce a manager as well.
    let other = server.raw(1_000_002, "T", false).unwrap();
    let killed = server.raw(1_000_003, "T", true).unwrap();
    let on = 1u32.to_ne_bytes();
    assert_eq!(other.ask(control_type::SET_ISSM, other.slot, &on), None);
    drop(killed);
    assert!(other.ask(control_type::SET_ISSM, other.slot, &on).is_some());
}

#[test]
fn a_port_shows_no_manager_soon_after_it_was_killed() {
    let server = Running::start("");
    let watcher = server.raw(1_000_001, "H", false).unwrap();
    let manager = server.raw(1_000_002, "H", true).unwrap();
    assert!(is_sm(&watcher));
    drop(manager);
    let gone = (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        !is_sm(&watcher)
    });
    assert!(gone);
}

#[test]
fn slots_of_clients_that_left_without_a_disconnect_are_given_to_new_ones() {
    let server = Running::with(|options| options.max_clients = 8);
    let crowd = |first: u32| -> Vec<_> {
        (first..first + 8)
            .filter_map(|id| server.raw(id, "T", false))
            .collect()
    };
    for round in 0..5 {
        let clients = crowd(1_000_000 + 10 * round);
        assert_eq!(clients.len(), 8, "round {round}");
        assert!(
            server.raw(1_000_009 + 10 * round, "T", false).is_none(),
            "no slot is free"
        );
    }
    assert_eq!(server.attach("H").guid(&[1]), Some(Guid(0x200)));
}

#[test]
fn a_client_has_no_say_over_the_slot_of_another_one() {
    let server = Running::start("");
    let mut victim = server.try_attach("H", true).unwrap();
    let thief = server.raw(1_000_001, "H", false).unwrap();
    let own = thief.slot;
    for slot in (0..4).filter(|&slot| slot != own) {
        for type_ in control_type::DISCONNECT..=control_type::GET_P_KEYS {
            assert_eq!(
                thief.ask(type_, slot, &[0; 4]),
                None,
                "type {type_} for slot {slot}"
            );
        }
    }
    assert!(is_sm(&thief), "the manager is still announced");
    assert_eq!(victim.guid(&[1]), Some(Guid(0x200)));
    assert!(thief.ask(control_type::GET_PORT, own, &[]).is_some());
    assert!(thief.ask(control_type::DISCONNECT, own, &[]).is_some());
    assert_eq!(
        thief.ask(control_type::GET_PORT, own, &[]),
        None,
        "the slot is free"
    );
}

/// The number of messages in each of the next datagrams, until `expected` messages have arrived.
fn messages_by_datagram(client: &RawClient, expected: usize) -> Vec<usize> {
    let mut space = [0; 2 * MAX_JOINED * Datagram::LEN];
    let mut counts = Vec::new();
    while counts.iter().sum::<usize>() < expected {
        let length = client.data.recv(&mut space).unwrap();
        assert_eq!(length % Datagram::LEN, 0);
        counts.push(length / Datagram::LEN);
    }
    counts
}

#[test]
fn messages_are_joined_for_the_client_that_asked_for_it_alone() {
    let server = Running::start("");
    let single = server.raw(1_000_001, "H", false).unwrap();
    let joining = server.raw(1_000_002, "H", false).unwrap();
    assert_eq!(joining.ask(control_type::JOIN, single.slot, &[]), None);
    let granted = joining.ask(control_type::JOIN, joining.slot, &[]).unwrap();
    let granted = u32::from_ne_bytes(*granted.first_chunk().unwrap());
    assert_eq!(granted as usize, MAX_JOINED);
    // No port has LID 5: each request comes back.
    let joined: Vec<_> = (0..MAX_JOINED as u64).map(query).collect();
    for (client, counts) in [(&single, vec![1; MAX_JOINED]), (&joining, vec![MAX_JOINED])] {
        client.data.send(joined.as_bytes()).unwrap();
        assert_eq!(messages_by_datagram(client, MAX_JOINED), counts);
    }
}

#[test]
fn a_client_that_claims_the_number_of_another_one_does_not_take_its_slot() {
    let server = Running::start("");
    let victim = server.raw(1_000_001, "H", true).unwrap();
    let control = server.control("ctl-thief");
    let mut info = [0; 44];
    info[..4].copy_from_slice(&1_000_001u32.to_ne_bytes());
    info[12] = b'H';
    let request = Control::new(control_type::CONNECT, 0, &info);
    let reply = ib_testkit::worked_traces::server::exchange(&control, &request);
    assert_eq!(reply.type_.get(), control_type::ERROR);
    assert!(is_sm(&victim));
}

/// An answer of subnet administration in one segment, with the lengths that RMPP and the sender say.
fn answer(request: &Datagram, last: bool, payload_length: u32, length: u64) -> Datagram {
    let mut answer = *request;
    answer.dlid = request.slid;
    answer.length = length.into();
    let (header, rest) = MadHeader::parse_mut(&mut answer.mad, 0).unwrap();
    header.set_method(Method(0x92));
    let (rmpp, _) = RmppData::parse_mut(rest, MadHeader::LEN).unwrap();
    rmpp.set_rmpp_version(1)
        .set_rmpp_type(RmppType::DATA)
        .set_active(true)
        .set_first(true)
        .set_last(last)
        .set_segment_number(1)
        .set_payload_length(payload_length);
    answer
}

/// A request of subnet administration to LID 5.
fn query(id: u64) -> Datagram {
    let mut request = Datagram::new_zeroed();
    request.dlid = Lid(5).into();
    request.dqp = 1.into();
    request.sqp = 1.into();
    request.length = 256.into();
    let (header, _) = MadHeader::parse_mut(&mut request.mad, 0).unwrap();
    header
        .set_base_version(1)
        .set_mgmt_class(MgmtClass::SUBN_ADM)
        .set_class_version(2)
        .set_method(Method(0x12))
        .set_transaction_id(TransactionId(id));
    request
}

#[test]
fn a_receiver_learns_the_length_of_an_answer() {
    let server = Running::start("Baselid \"H\"[1] 5\n");
    let manager = server.raw(1_000_001, "H", true).unwrap();
    let client = server.raw(1_000_002, "H", false).unwrap();
    let request = query(0);
    // The console's line is read by a thread of its own, so the LID may not be there yet: then the request comes back.
    let is_there = (0..10).any(|_| {
        client.send(&request);
        let has_arrived = manager.recv().is_some();
        has_arrived || client.recv().is_none()
    });
    assert!(is_there, "LID 5");
    // Whether it is the last segment, its PayloadLength, the length that the sender gives, the length that
    // the receiver gets.
    for (last, payload_length, said, told) in [
        // Own RMPP: headers of 36 bytes, then the payload, of which 20 bytes are a header too.
        (true, 84, 256, 120),
        (true, 20, 256, 56),
        (true, 220, 256, 256),
        // A first segment says how long the whole message is.
        (false, 440, 256, 256),
        // Impossible lengths.
        (true, 221, 256, 256),
        (true, 19, 256, 256),
        // RMPP of the layer below: the message's own length, whatever PayloadLength is.
        (true, 0, 120, 120),
        (true, 0, 56, 56),
        (true, 0, 256, 256),
        (true, 0, 1 << 40, 256),
        (true, 0, 0, 256),
    ] {
        client.send(&request);
        let received = manager.recv().expect("the request");
        assert_eq!(received.length.get(), 256);
        manager.send(&answer(&received, last, payload_length, said));
        let received = client.recv().expect("the answer");
        assert_eq!(received.status.get(), 0);
        assert_eq!(
            received.length.get(),
            told,
            "{last} {payload_length} {said}"
        );
    }
}

#[test]
fn each_of_many_requests_to_a_manager_that_is_gone_comes_back() {
    let server = Running::start("Baselid \"H\"[1] 5\n");
    let client = server.raw(1_000_002, "H", false).unwrap();
    for round in 0..3 {
        let manager = server.raw(1_000_001, "H", true).unwrap();
        // The console's line is read by a thread of its own, so the LID may not be there yet: then the request comes back.
        let is_there = (0..10).any(|_| {
            client.send(&query(1000));
            manager.recv().is_some() || client.recv().is_none()
        });
        assert!(is_there, "LID 5");
        // Its socket is gone without a message to the server.
        drop(manager);
        for id in 0..40 {
            client.send(&query(id));
        }
        let mut ids: Vec<u64> = (0..40)
            .map(|number| {
                let message = client.recv();
                let message = message.unwrap_or_else(|| panic!("round {round}, after {number}"));
                assert_eq!(message.status.get(), Datagram::TIMED_OUT);
                let (header, _) = MadHeader::parse(&message.mad, 0).unwrap();
                // The server has its own mark in the highest 16 bits.
                header.transaction_id().0 & 0xffff_ffff
            })
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, Vec::from_iter(0..40), "round {round}");
    }
}

#[test]
fn all_lids_can_be_forwarded_over_the_socket() {
    // As `sized_for` sets them for a fabric that needs them.
    let server = Running::with(|options| {
        options.sim.linear_fdb_cap = 0xc000;
        options.sim.multicast_fdb_cap = 0x3fff;
    });
    let mut client = server.attach("H");
    let to_switch = path(&[1]);
    let mut get = |id, modifier| {
        let request = SmpDirected::new(Method::GET, id, modifier, &to_switch);
        client.ask(&request).unwrap()
    };
    let info = get(SwitchInfo::ID, 0);
    let (info, _) = SwitchInfo::parse(info.smp_data(), 0).unwrap();
    assert_eq!(
        (info.linear_fdb_cap(), info.multicast_fdb_cap()),
        (0xc000, 0x3fff)
    );
    let refused = get(LinearForwardingTable::ID, 768).status();
    assert_eq!(refused, MadStatus::INVALID_FIELD_VALUE);
    let last_group = MftModifier {
        position: 0,
        block: 511,
    };
    for (id, modifier) in [
        (LinearForwardingTable::ID, 767),
        (MulticastForwardingTable::ID, last_group.bits()),
    ] {
        let mut request = SmpDirected::new(Method::SET, id, modifier, &to_switch);
        request.set_smp_data(&[1; 64]);
        assert!(client.ask(&request).unwrap().status().is_ok(), "{id}");
        let request = SmpDirected::new(Method::GET, id, modifier, &to_switch);
        assert_eq!(client.ask(&request).unwrap().smp_data(), &[1; 64], "{id}");
    }
}

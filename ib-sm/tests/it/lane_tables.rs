//! SLtoVL and VL arbitration tables that the manager reads when a query names them, because it needs none itself.

use std::{collections::BTreeSet, time::Duration};

use ib_mad::{
    Attribute as _, AttributeId, Engine as _, Input, Mad, MadAddress, MadStatus, Method, SaStatus,
    TransactionId,
};
use ib_routing::engine;
use ib_sa::{
    ComponentMask, SaMad, SlToVlMappingTableComponents as S, SlToVlMappingTableRecord,
    VlArbitrationTableComponents as V, VlArbitrationTableRecord,
};
use ib_sim::{Behaviour, Corruption};
use ib_sm::Event;
use ib_smp::{SlToVlMappingTable, VlArbitrationTable};
use ib_testkit::{
    fabrics::generated,
    lab::{Lab, client::Client},
};
use ib_transport::Clock as _;
use ib_wire::{Lid, PortNum, Sl};

/// A fabric whose routes use one lane, and whose switches have this SLtoVL table.
fn one_lane(table: SlToVlMappingTable) -> Client {
    let lab = Lab::new("gen-line-2").options(|options| options.initial_sl_to_vl = Some(table));
    Client::of(lab.up())
}

/// A table that no manager writes by itself.
fn table() -> SlToVlMappingTable {
    SlToVlMappingTable::from_bytes([0x01, 0x23, 0x45, 0x67, 0x76, 0x54, 0x32, 0x10])
}

/// Number of reads of an attribute by the manager.
fn reads(client: &Client, attribute: AttributeId) -> usize {
    let gets = client.running.transport.sent_with(Method::GET);
    let of_attribute = gets.iter().filter(|get| get.attribute_id() == attribute);
    of_attribute.count()
}

fn switch(client: &Client) -> Lid {
    let destinations = client.running.sm.lids().destinations().iter();
    let mut switches = destinations.filter(|end| end.is_switch());
    switches.next().unwrap().range.base()
}

/// The components that name one table of a switch.
const PAIR: S = S::LID.union(S::INPUT_PORT_NUM).union(S::OUTPUT_PORT_NUM);

/// Names the table of a switch for packets that pass from port 1 to port 2.
fn pair(switch: Lid) -> SlToVlMappingTableRecord {
    let mut template = SlToVlMappingTableRecord::default();
    template
        .set_lid(switch)
        .set_input_port_num(PortNum(1))
        .set_output_port_num(PortNum(2));
    template
}

#[test]
fn a_table_is_read_when_a_query_names_it_and_then_known() {
    let mut client = one_lane(table());
    assert_eq!(reads(&client, SlToVlMappingTable::ID), 0);
    assert_eq!(reads(&client, VlArbitrationTable::ID), 0);

    let (template, mask) = (pair(switch(&client)), PAIR.into());
    for _ in 0..2 {
        let record = client.get(&template, mask).unwrap();
        assert_eq!(*record.sl_to_vl_mapping_table(), table());
        assert_eq!(reads(&client, SlToVlMappingTable::ID), 1);
    }
    assert_eq!(reads(&client, VlArbitrationTable::ID), 0);
}

#[test]
fn all_tables_of_a_switch_are_read_for_a_query_by_its_lid() {
    let mut client = one_lane(table());
    let mut template = SlToVlMappingTableRecord::default();
    template.set_lid(switch(&client));
    let records = client.table(&template, S::LID.into());
    let ports = records.iter().map(|record| record.output_port_num().0);
    let num_ports = usize::from(ports.max().unwrap());
    let read = reads(&client, SlToVlMappingTable::ID);
    assert_eq!(read, num_ports * (num_ports + 1));
    // Port 0 has a table for each input as well, which is empty.
    assert_eq!(records.len(), read + num_ports + 1);
    for record in records {
        let expected = match record.output_port_num() {
            PortNum(0) => SlToVlMappingTable::default(),
            _ => table(),
        };
        assert_eq!(*record.sl_to_vl_mapping_table(), expected);
    }
}

#[test]
fn a_query_for_all_tables_is_answered_once_all_are_read() {
    let lab = Lab::new("seed-dualstar").routing(&engine::MINHOP);
    let mut client = Client::of(lab.up());
    let all = |client: &mut Client| {
        let records = client.table(&SlToVlMappingTableRecord::default(), ComponentMask(0));
        records.len()
    };
    let first = all(&mut client);
    let read = reads(&client, SlToVlMappingTable::ID);
    // More than are read at a time.
    assert!(read > 200, "{read}");
    assert_eq!(all(&mut client), first);
    assert_eq!(reads(&client, SlToVlMappingTable::ID), read);
}

#[test]
fn a_port_has_four_arbitration_blocks_and_those_without_room_are_empty() {
    let mut client = one_lane(table());
    let mut template = VlArbitrationTableRecord::default();
    template.set_lid(client.lid());
    let blocks = client.table(&template, V::LID.into());
    let numbers: Vec<u8> = blocks.iter().map(|block| block.block_num()).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    // The port has room for eight entries in each table, and none for the second halves.
    assert_eq!(reads(&client, VlArbitrationTable::ID), 2);
    for second in [&blocks[1], &blocks[3]] {
        let empty = VlArbitrationTable::default();
        assert_eq!(*second.vl_arbitration_table(), empty);
    }
}

#[test]
fn each_of_many_requests_that_wait_for_tables_is_answered_once() {
    let mut client = one_lane(table());
    let mask: ComponentMask = PAIR.into();
    let pairs = (1..=4).flat_map(|input| (1..=4).map(move |output| (input, output)));
    let mut waiting = BTreeSet::new();
    for (number, (input, output)) in pairs.enumerate() {
        let mut template = SlToVlMappingTableRecord::default();
        template
            .set_lid(switch(&client))
            .set_input_port_num(PortNum(input))
            .set_output_port_num(PortNum(output));
        let mut request = SaMad::query(Method::GET, &template, mask);
        request.set_transaction_id(TransactionId(number as u64));
        client.send(&request);
        waiting.insert(number as u32);
    }
    while let Some(answer) = client.receive() {
        let (answer, _) = SaMad::parse(&answer.bytes, 0).unwrap();
        assert!(answer.status().is_ok(), "{:?}", answer.status());
        assert!(waiting.remove(&answer.transaction_id().low()));
    }
    assert!(waiting.is_empty(), "{waiting:?}");
}

/// The ports in a record about a CA follow from its LID.
#[test]
fn the_ports_in_a_query_about_a_ca_are_not_looked_at() {
    let mut client = one_lane(table());
    let mut template = SlToVlMappingTableRecord::default();
    template.set_lid(client.lid());
    let mask: ComponentMask = PAIR.into();
    assert!(client.get(&template, mask).is_ok());
    assert_eq!(reads(&client, SlToVlMappingTable::ID), 1);
}

#[test]
fn a_query_about_a_port_that_does_not_exist_reads_nothing() {
    let mut client = one_lane(table());
    let mut template = SlToVlMappingTableRecord::default();
    template
        .set_lid(switch(&client))
        .set_output_port_num(PortNum(200));
    let mask: ComponentMask = (S::LID | S::OUTPUT_PORT_NUM).into();
    let none = Err(MadStatus::from_sa(SaStatus::NO_RECORDS));
    assert_eq!(client.get(&template, mask), none);
    assert_eq!(reads(&client, SlToVlMappingTable::ID), 0);
}

/// The datagrams that the administrator has sent to a LID.
fn answers(client: &Client, lid: Lid) -> Vec<MadStatus> {
    let sent = client.running.transport.sent.iter();
    let answers =
        sent.filter(|mad| mad.address.lid == lid && mad.header().method() == Method::GET_RESP);
    answers.map(|mad| mad.header().status()).collect()
}

#[test]
fn at_most_256_requests_wait_for_tables() {
    const MOST: usize = 256;
    let mut client = one_lane(table());
    let mut template = SlToVlMappingTableRecord::default();
    template.set_lid(client.lid());
    let own = client.lid();
    client.running.transport.sent.clear();
    for id in 0..=MOST as u64 {
        let mut request = SaMad::query(Method::GET, &template, S::LID);
        request.set_transaction_id(TransactionId(id));
        // The second datagram repeats the request, as a client does after its time-out.
        for _ in 0..if id == 0 { 2 } else { 1 } {
            let mut mad = Mad::new(MadAddress::gsi(own, Sl::ZERO));
            mad.bytes = *request.as_bytes();
            let now = client.running.sim.now();
            client.running.sm.handle_input(now, Input::Mad(&mad));
        }
    }
    client.running.run_for(Duration::from_millis(10));
    let answers = answers(&client, own);
    let busy = answers.iter().filter(|status| **status == MadStatus::BUSY);
    assert_eq!(busy.count(), 1);
    let ok = answers.iter().filter(|status| status.is_ok());
    assert_eq!(ok.count(), MOST);
}

#[test]
fn a_table_that_a_switch_refused_is_asked_for_again_after_the_next_sweep() {
    let mut client = one_lane(table());
    let lid = switch(&client);
    let node = client
        .running
        .sim
        .with(|sim| sim.find_lid(lid).unwrap().node);
    let behave = |client: &Client, behaviour| {
        client
            .running
            .sim
            .with(|sim| sim.set_behaviour(node, behaviour));
    };
    let (template, mask) = (pair(switch(&client)), PAIR.into());
    let none = Err(MadStatus::from_sa(SaStatus::NO_RECORDS));
    behave(&client, Behaviour::Byzantine(Corruption::Status));
    assert_eq!(client.get(&template, mask), none);
    behave(&client, Behaviour::Honest);
    assert_eq!(client.get(&template, mask), none);
    assert_eq!(reads(&client, SlToVlMappingTable::ID), 1);
    client.running.resweep();
    let record = client.get(&template, mask).unwrap();
    assert_eq!(*record.sl_to_vl_mapping_table(), table());
}

#[test]
fn a_switch_that_does_not_answer_is_named_with_the_output_port_of_the_table() {
    let mut client = one_lane(table());
    let lid = switch(&client);
    client.running.sim.with(|sim| {
        let node = sim.find_lid(lid).unwrap().node;
        sim.set_behaviour(node, Behaviour::Silent);
    });
    client.send(&SaMad::query(Method::GET, &pair(lid), PAIR));
    client.running.run_for(Duration::from_secs(5));
    let silent = client.running.events.iter().find_map(|event| match event {
        Event::Unresponsive(silent) => silent.at,
        _ => None,
    });
    assert_eq!(silent.map(|at| at.port_num), Some(PortNum(2)));
}

#[test]
fn a_query_for_the_tables_of_all_nodes_reads_none_where_there_are_more_than_128() {
    for (spec, reads_all) in [
        ("ring:switches=64,hosts=1", true),
        ("ring:switches=43,hosts=2", false),
    ] {
        let lab = Lab::of(generated(spec)).routing(&engine::MINHOP);
        let mut client = Client::of(lab.up());
        let mut template = VlArbitrationTableRecord::default();
        template.set_lid(client.lid());
        assert_eq!(client.table(&template, V::LID.into()).len(), 4);
        let of_one = reads(&client, VlArbitrationTable::ID);
        assert_eq!(of_one, 2, "those of the node that a query names are read");
        client.table(&template, ComponentMask(0));
        let of_all = reads(&client, VlArbitrationTable::ID);
        assert_eq!(of_all > of_one, reads_all, "{spec}");
    }
}

#[test]
fn the_port_in_a_query_for_arbitration_tables_selects_what_is_read_of_a_switch() {
    let mut client = one_lane(table());
    let mut template = VlArbitrationTableRecord::default();
    let mask: ComponentMask = (V::LID | V::OUTPUT_PORT_NUM).into();
    template
        .set_lid(switch(&client))
        .set_output_port_num(PortNum(1));
    // A port has a table of low and one of high priority.
    client.table(&template, mask);
    assert_eq!(reads(&client, VlArbitrationTable::ID), 2);
    template.set_output_port_num(PortNum(200));
    client.table(&template, mask);
    assert_eq!(reads(&client, VlArbitrationTable::ID), 2);
    // The port of a CA follows from its LID.
    template.set_lid(client.lid());
    client.table(&template, mask);
    assert_eq!(reads(&client, VlArbitrationTable::ID), 4);
    // Without the component the port is not looked at.
    template.set_lid(switch(&client));
    client.table(&template, V::LID.into());
    assert!(reads(&client, VlArbitrationTable::ID) > 4);
}

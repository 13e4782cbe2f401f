//! Every counter of performance management: what counts it, where it stops, which bit of CounterSelect writes it.

use std::collections::{BTreeMap, BTreeSet};

use ib_mad::{
    Attribute, AttributeId, ClassPortInfo, Mad, MadAddress, MadStatus, Method, MgmtClass,
    PerfAttribute, PerfCapabilities2, PerformanceMad, PortCounters, PortCountersExtended,
    PortOpRcvCounters, PortSamplesControl, PortSamplesResult, PortSamplesResultExtended,
    PortVlOpData, PortVlOpPackets,
};
use ib_routing::{NodeIdx, PortRef};
use ib_sim::{FaultRates, SimOptions};
use ib_smp::{LinkTrouble, NodeInfo, PartitionKeyTable, SlToVlMappingTable, SmpDirected, VlCap};
use ib_wire::table::{Layout, load_bits, store_bits};
use ib_wire::{Lid, Lrh, Mtu, OpCode, PKey, PacketBuilder, Rwh, Sl, Vl};

use ib_testkit::worked_traces::data::{Ud, activate, multicast, trace, write_lft};
use ib_testkit::worked_traces::{H, Host, S1, S2, T, at, path};

/// A brought-up fabric without traps, whose agents hold two SMPs.
fn host() -> Host {
    let mut host = Host::new(SimOptions {
        traps: false,
        vl15_buffers: 2,
        ..SimOptions::default()
    });
    host.bring_up();
    host
}

const FIRST_OF_VENDORS: AttributeId = AttributeId(0xff00);

/// A counter of an attribute.
#[derive(Clone, Debug)]
struct Counter {
    id: AttributeId,
    attribute: &'static str,
    name: &'static str,
    /// Its lane or service level.
    index: u8,
    bit_offset: usize,
    bits: usize,
    /// The bit with which a Set writes it.
    select: Select,
}

/// All counters, in the order of each attribute's layout.
///
/// `counters.csv` has a row for each: the attribute's ID and name, the counter, the number of its lanes or service levels,
/// the place of the first one in the attribute, its width, the mask (1: CounterSelect, 2: CounterSelect2) and the bit of the
/// first one there. Source: IBA vol. 1, 16.1.3.5 and 16.1.4.
fn counters() -> Vec<Counter> {
    let mut found = Vec::new();
    for row in include_str!("counters.csv").lines().skip(1) {
        let [id, attribute, name, elements, bit_offset, bits, mask, bit] =
            row.split(',').collect::<Vec<_>>()[..]
        else {
            panic!("{row}");
        };
        let id = u16::from_str_radix(id.trim_start_matches("0x"), 16).unwrap();
        let bits: usize = bits.parse().unwrap();
        let bit_offset: usize = bit_offset.parse().unwrap();
        let first: u32 = bit.parse().unwrap();
        found.extend((0..elements.parse().unwrap()).map(|index: u8| Counter {
            id: AttributeId(id),
            attribute,
            name,
            index,
            bit_offset: bit_offset + usize::from(index) * bits,
            bits,
            select: match mask {
                "1" => Select::First(first + u32::from(index)),
                _ => Select::Second(first + u32::from(index)),
            },
        }));
    }
    found
}

/// The counts of every port, by the counter's name and lane.
type Snapshot = BTreeMap<(PortRef, &'static str, u8), u64>;

fn snapshot(host: &Host) -> Snapshot {
    let counters = counters();
    host.sim.with(|sim| {
        let nodes: Vec<_> = sim.nodes().indices().collect();
        let ports = nodes.iter().flat_map(|&node| sim.ports_of(node));
        let all = ports.flat_map(|port| {
            counters.iter().map(move |counter| {
                let count = port.counters().get(counter.name, counter.index);
                ((port.at(), counter.name, counter.index), count)
            })
        });
        all.collect()
    })
}

/// Returns true if a counter counts packets and words that pass, delivered or not.
fn is_traffic(name: &str) -> bool {
    ["_data", "_pkts", "_data_sl"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// A counter at a port: node, port, name, lane, and by how much it has grown.
type Count = (NodeIdx, u8, &'static str, u8, u64);

/// Something that happens in the fabric, and what counts it.
struct Event {
    what: &'static str,
    /// Steps before it; not counted.
    prepare: fn(&mut Host),
    happen: fn(&mut Host),
    /// True if packets and words are in `counts`, too.
    with_traffic: bool,
    counts: Vec<Count>,
}

/// Sends a datagram of 100 bytes with these changes from H to T.
fn send(host: &Host, change: impl FnOnce(&mut Ud)) {
    let mut packet = Ud::default();
    change(&mut packet);
    trace(host, &packet.bytes());
}

fn send_raw(host: &Host) {
    let mut lrh = Lrh::default();
    lrh.set_slid(Lid(1)).set_dlid(Lid(9));
    let mut buffer = [0; 128];
    let mut packet = PacketBuilder::raw(lrh, Rwh::default());
    let len = packet.payload(&[7; 64]).build(&mut buffer).unwrap();
    trace(host, &buffer[..len]);
}

/// Flips a bit of the ICRC or of the VCRC; a VCRC over a wrong ICRC is right.
fn send_broken(host: &Host, icrc: bool) {
    let mut bytes = Ud::default().bytes();
    let vcrc_at = bytes.len() - 2;
    if icrc {
        bytes[vcrc_at - 1] ^= 1;
        let vcrc = ib_wire::crc::vcrc(&bytes[..vcrc_at]);
        bytes[vcrc_at..].copy_from_slice(&vcrc);
    } else {
        bytes[vcrc_at] ^= 1;
    }
    trace(host, &bytes);
}

fn with_bit_errors(host: &Host, send: impl FnOnce(&Host)) {
    let bit_error = FaultRates {
        bit_error: 1.0,
        ..FaultRates::NONE
    };
    host.sim.with(|sim| sim.set_fault_rates(bit_error));
    send(host);
    host.sim.with(|sim| sim.set_fault_rates(FaultRates::NONE));
}

/// Lets S2 enforce partition 1 only at a port, in one direction.
fn enforce(host: &mut Host, port: u8, inbound: bool) {
    let mut table = PartitionKeyTable::default();
    table.set_p_key_block(0, PKey(0x8001)).unwrap();
    let modifier = u32::from(port) << 16;
    host.set(&[1, 7], PartitionKeyTable::ID, modifier, table.as_bytes())
        .unwrap();
    host.change_port(&[1, 7], port, |info| {
        info.set_partition_enforcement_inbound(inbound)
            .set_partition_enforcement_outbound(!inbound);
    });
}

/// Gives SL 1 this lane on the path through S1.
fn map_sl_1(host: &mut Host, lane: Vl) {
    let mut table = SlToVlMappingTable::default();
    table.set_sl_to_vl(1, lane).unwrap();
    host.set(&[1], SlToVlMappingTable::ID, 0x0407, table.as_bytes())
        .unwrap();
}

/// A second cable between the switches, and LID 20 that goes round by both.
fn make_loop(host: &mut Host) {
    host.sim.with(|sim| sim.link(at(S1, 8), at(S2, 8)).unwrap());
    let later = ib_transport::Clock::now(&host.sim) + std::time::Duration::from_secs(1);
    host.sim.advance(later);
    activate(host, &[1], &[8]);
    activate(host, &[1, 7], &[8]);
    write_lft(host, &[1], &[(20, 7)]);
    write_lft(host, &[1, 7], &[(20, 8)]);
}

/// Tells every port that T's packets pass which operation to count.
fn count_datagrams(host: &mut Host) {
    for (lid, port) in [(3, 2), (9, 1)] {
        for id in [PortOpRcvCounters::ID, PortVlOpPackets::ID, PortVlOpData::ID] {
            let mut data = [0; 192];
            data[0] = OpCode::UD_SEND_ONLY.0;
            data[1] = port;
            let (status, answer) = ask(host, lid, Method::SET, id, &data);
            assert!(status.is_ok());
            assert_eq!(answer[0], OpCode::UD_SEND_ONLY.0);
        }
    }
}

/// Words of 4 bytes of the datagram of 100 bytes, from the LRH to the ICRC: 8 + 12 + 8 + 100 + 4 bytes.
const WORDS: u64 = 33;

/// The counts of a datagram from H to T at every port that it passes.
fn passing(unicast: bool) -> Vec<Count> {
    let sent = [(H, 1), (S1, 7), (S2, 5)]
        .into_iter()
        .flat_map(|(node, port)| {
            let kind = if unicast {
                "port_unicast_xmit_pkts"
            } else {
                "port_multicast_xmit_pkts"
            };
            // A GRH has 40 bytes.
            let words = if unicast { WORDS } else { WORDS + 10 };
            [
                (node, port, "port_xmit_pkts", 0, 1),
                (node, port, kind, 0, 1),
                (node, port, "port_xmit_data", 0, words),
                (node, port, "port_xmit_data_sl", 0, words),
            ]
        });
    let received = [(S1, 4), (S2, 2), (T, 1)]
        .into_iter()
        .flat_map(|(node, port)| {
            let kind = if unicast {
                "port_unicast_rcv_pkts"
            } else {
                "port_multicast_rcv_pkts"
            };
            let words = if unicast { WORDS } else { WORDS + 10 };
            [
                (node, port, "port_rcv_pkts", 0, 1),
                (node, port, kind, 0, 1),
                (node, port, "port_rcv_data", 0, words),
                (node, port, "port_rcv_data_sl", 0, words),
            ]
        });
    sent.chain(received).collect()
}

fn events() -> Vec<Event> {
    let event = |what, happen: fn(&mut Host), counts: &[Count]| Event {
        what,
        prepare: |_| {},
        happen,
        with_traffic: false,
        counts: counts.to_vec(),
    };
    let prepared = |what, prepare, happen: fn(&mut Host), counts: &[Count]| Event {
        prepare,
        ..event(what, happen, counts)
    };
    let mut marked = passing(true);
    for (node, port) in [(S1, 4), (S2, 2), (T, 1)] {
        for name in [
            "port_pkt_rcv_fecn",
            "port_pkt_rcv_becn",
            "port_sl_rcv_fecn",
            "port_sl_rcv_becn",
        ] {
            marked.push((node, port, name, 0, 1));
        }
    }
    let mut by_operation = passing(true);
    for (node, port) in [(S2, 2), (T, 1)] {
        by_operation.push((node, port, "port_op_rcv_pkts", 0, 1));
        by_operation.push((node, port, "port_op_rcv_data", 0, WORDS));
        by_operation.push((node, port, "port_vl_op_packets", 0, 1));
        by_operation.push((node, port, "port_vl_op_data", 0, WORDS));
    }
    let relay = "port_rcv_switch_relay_errors";
    let discards = "port_xmit_discards";
    let errors = "port_rcv_errors";
    let physical = "port_local_physical_errors";
    let recovery = |node, port| (node, port, "link_error_recovery_counter", 0, 1);
    vec![
        Event {
            with_traffic: true,
            ..event("a datagram", |host| send(host, |_| {}), &passing(true))
        },
        Event {
            with_traffic: true,
            ..prepared(
                "a multicast datagram",
                |host| multicast(host, &[7], &[5]),
                |host| send(host, |packet| packet.dlid = 0xc000),
                &passing(false),
            )
        },
        Event {
            with_traffic: true,
            ..event(
                "a datagram with FECN and BECN",
                |host| send(host, |packet| packet.marked = true),
                &marked,
            )
        },
        Event {
            with_traffic: true,
            ..prepared(
                "an operation that is counted",
                count_datagrams,
                |host| send(host, |_| {}),
                &by_operation,
            )
        },
        event(
            "a bit error",
            |host| with_bit_errors(host, |host| send(host, |_| {})),
            &[
                (S1, 4, "symbol_error_counter", 0, 1),
                (S1, 4, errors, 0, 1),
                (S1, 4, physical, 0, 1),
            ],
        ),
        event(
            "a wrong VCRC",
            |host| send_broken(host, false),
            &[(S1, 4, errors, 0, 1), (S1, 4, physical, 0, 1)],
        ),
        event(
            "a wrong ICRC",
            |host| send_broken(host, true),
            &[(T, 1, errors, 0, 1), (T, 1, physical, 0, 1)],
        ),
        event(
            "nine wrong VCRCs, one more than LocalPhyErrors",
            |host| (0..9).for_each(|_| send_broken(host, false)),
            &[
                (S1, 4, errors, 0, 9),
                (S1, 4, physical, 0, 9),
                (S1, 4, "local_link_integrity_errors", 0, 1),
                recovery(S1, 4),
                recovery(H, 1),
            ],
        ),
        event(
            "a LID that no table has",
            |host| send(host, |packet| packet.dlid = 8),
            &[
                (S1, 4, relay, 0, 1),
                (S1, 4, "port_dlid_mapping_errors", 0, 1),
            ],
        ),
        prepared(
            "a LID that leads back",
            |host| {
                write_lft(host, &[1], &[(20, 7)]);
                write_lft(host, &[1, 7], &[(20, 2)]);
            },
            |host| send(host, |packet| packet.dlid = 20),
            &[(S2, 2, relay, 0, 1), (S2, 2, "port_looping_errors", 0, 1)],
        ),
        prepared(
            "a service level without a lane",
            |host| map_sl_1(host, Vl::MANAGEMENT),
            |host| send(host, |packet| packet.sl = 1),
            &[
                (S1, 4, relay, 0, 1),
                (S1, 4, "port_vl_mapping_errors", 0, 1),
            ],
        ),
        prepared(
            "a lane that the next port does not have",
            |host| {
                map_sl_1(host, Vl::try_new(1).unwrap());
                host.change_port(&[1, 7], 2, |info| {
                    info.set_operational_vls(VlCap::VL0);
                });
            },
            |host| send(host, |packet| packet.sl = 1),
            &[
                (S2, 2, errors, 0, 1),
                (S2, 2, "port_malformed_packet_errors", 0, 1),
            ],
        ),
        prepared(
            "a payload beyond the next link's MTU",
            |host| {
                host.change_port(&[1, 7], 5, |info| {
                    info.set_neighbor_mtu(Mtu::MTU_1024);
                });
            },
            |host| send(host, |packet| packet.payload = vec![1; 1028]),
            &[
                (S2, 5, discards, 0, 1),
                (S2, 5, "port_neighbor_mtu_discards", 0, 1),
            ],
        ),
        event(
            "a cable pulled out",
            |host| host.sim.with(|sim| sim.unlink(at(S2, 5)).unwrap()),
            &[
                (S2, 5, "link_downed_counter", 0, 1),
                (T, 1, "link_downed_counter", 0, 1),
            ],
        ),
        prepared(
            "a packet for a cable that is gone",
            |host| host.sim.with(|sim| sim.unlink(at(S2, 5)).unwrap()),
            |host| send(host, |_| {}),
            &[
                (S2, 5, discards, 0, 1),
                (S2, 5, "port_inactive_discards", 0, 1),
            ],
        ),
        event(
            "a cable pulled out under a packet",
            |host| {
                host.sim.with(|sim| {
                    sim.send_packet(at(H, 1), &Ud::default().bytes()).unwrap();
                    sim.unlink(at(H, 1)).unwrap();
                });
                assert_eq!(host.receive(), None);
            },
            &[
                (H, 1, "link_downed_counter", 0, 1),
                (S1, 4, "link_downed_counter", 0, 1),
            ],
        ),
        prepared(
            "a packet that goes round until its life is over",
            make_loop,
            |host| send(host, |packet| packet.dlid = 20),
            // 64 hops: the first leads to S1, every second one from there, too.
            &[
                (S2, 8, discards, 0, 1),
                (S2, 8, "port_sw_lifetime_limit_discards", 0, 1),
            ],
        ),
        prepared(
            "a foreign partition at a port that enforces inbound",
            |host| enforce(host, 2, true),
            |host| send(host, |_| {}),
            &[(S2, 2, "port_rcv_constraint_errors", 0, 1)],
        ),
        prepared(
            "a foreign partition at a port that enforces outbound",
            |host| enforce(host, 5, false),
            |host| send(host, |_| {}),
            &[(S2, 5, "port_xmit_constraint_errors", 0, 1)],
        ),
        prepared(
            "a raw packet at a port that filters inbound",
            |host| {
                host.change_port(&[1, 7], 2, |info| {
                    info.set_filter_raw_inbound(true);
                });
            },
            |host| send_raw(host),
            &[(S2, 2, "port_rcv_constraint_errors", 0, 1)],
        ),
        prepared(
            "a raw packet at a port that filters outbound",
            |host| {
                host.change_port(&[1, 7], 5, |info| {
                    info.set_filter_raw_outbound(true);
                });
            },
            |host| send_raw(host),
            &[(S2, 5, "port_xmit_constraint_errors", 0, 1)],
        ),
        event(
            "five SMPs at once for an agent that holds two",
            |host| {
                for _ in 0..5 {
                    let smp = SmpDirected::new(Method::GET, NodeInfo::ID, 0, &path(&[1]));
                    let mut mad = Mad::new(MadAddress::DIRECTED);
                    mad.bytes = *smp.as_bytes();
                    host.send(&mad);
                }
                assert_eq!(std::iter::from_fn(|| host.receive()).count(), 2);
            },
            &[(S1, 4, "vl15_dropped", 0, 3)],
        ),
        event(
            "a link without integrity",
            |host| trouble(host, LinkTrouble::LocalLinkIntegrity),
            &[
                (S2, 5, "local_link_integrity_errors", 0, 1),
                recovery(S2, 5),
                recovery(T, 1),
            ],
        ),
        event(
            "buffers that overrun in as many periods as OverrunErrors says",
            |host| trouble(host, LinkTrouble::ExcessiveBufferOverrun),
            &[
                (S2, 5, "excessive_buffer_overrun_errors", 0, 1),
                (S2, 5, "port_buffer_overrun_errors", 0, 8),
                (S2, 5, errors, 0, 8),
                recovery(S2, 5),
                recovery(T, 1),
            ],
        ),
        event(
            "no flow control update in time",
            |host| trouble(host, LinkTrouble::FlowControlUpdateWatchdog),
            &[
                (S2, 5, "port_vl_xmit_flow_ctl_update_errors", 0, 1),
                recovery(S2, 5),
                recovery(T, 1),
            ],
        ),
    ]
}

fn trouble(host: &Host, trouble: LinkTrouble) {
    host.sim
        .with(|sim| sim.trouble_link(at(S2, 5), trouble).unwrap());
}

/// Counters that never count here: links have no credits, no congestion and no error correction, switches send nothing
/// on before all of it has come, and agents hold any number of GMPs.
const NEVER: [&str; 15] = [
    "port_rcv_remote_physical_errors",
    "qp1_dropped",
    "port_xmit_wait",
    "port_sw_hoq_limit_discards",
    "port_xmit_flow_pkts",
    "port_rcv_flow_pkts",
    "port_vl_xmit_wait",
    "sw_port_vl_congestion",
    "port_xmit_time_cong",
    "port_vl_xmit_time_cong",
    "sync_header_error_counter",
    "unknown_block_counter",
    "error_detection_counter_lane",
    "fec_correctable_block_counter_lane",
    "fec_uncorrectable_block_counter_lane",
];

#[test]
fn each_event_counts_what_tells_of_it_and_nothing_else() {
    for event in events() {
        let mut host = host();
        (event.prepare)(&mut host);
        let before = snapshot(&host);
        (event.happen)(&mut host);
        let after = snapshot(&host);
        let grown: BTreeSet<Count> = after
            .iter()
            .filter(|&(key, count)| *count != before[key])
            .filter(|((_, name, _), _)| event.with_traffic || !is_traffic(name))
            .map(|(key, count)| {
                let (port, name, index) = *key;
                (port.node, port.port.0, name, index, count - before[key])
            })
            .collect();
        let expected = BTreeSet::from_iter(event.counts.iter().copied());
        assert_eq!(grown, expected, "{}", event.what);
    }
}

#[test]
fn every_counter_of_the_tables_has_its_event_or_is_named() {
    let counted: BTreeSet<&str> = events()
        .iter()
        .flat_map(|event| &event.counts)
        .map(|&(_, _, name, _, _)| name)
        .collect();
    let never = |name: &str| {
        NEVER
            .iter()
            .any(|never| name.trim_end_matches(char::is_numeric) == *never)
    };
    for counter in counters() {
        let name = counter.name;
        assert!(
            counted.contains(name) != never(name),
            "{name} of {}",
            counter.attribute
        );
    }
}

fn ask(
    host: &mut Host,
    lid: u16,
    method: Method,
    id: AttributeId,
    data: &[u8; 192],
) -> (MadStatus, [u8; 192]) {
    try_ask(host, lid, method, id, data).unwrap()
}

fn try_ask(
    host: &mut Host,
    lid: u16,
    method: Method,
    id: AttributeId,
    data: &[u8; 192],
) -> Option<(MadStatus, [u8; 192])> {
    let mut mad = Mad::new(MadAddress::gsi(Lid(lid), Sl::ZERO));
    let (perf, _) = PerformanceMad::parse_mut(&mut mad.bytes, 0).unwrap();
    perf.set_base_version(1)
        .set_mgmt_class(MgmtClass::PERF)
        .set_class_version(1)
        .set_method(method)
        .set_attribute_id(id)
        .set_data(data);
    let answer = host.exchange(&mad)?;
    let (perf, _) = PerformanceMad::parse(&answer.bytes, 0).unwrap();
    Some((perf.status(), *perf.data()))
}

/// An attribute of a port, as its agent shows it.
fn read(host: &mut Host, lid: u16, port: u8, id: AttributeId) -> [u8; 192] {
    let mut data = [0; 192];
    data[1] = port;
    let (status, data) = ask(host, lid, Method::GET, id, &data);
    assert!(status.is_ok(), "{id:?}");
    data
}

/// The layout of an attribute.
fn layout(id: AttributeId) -> &'static Layout {
    let mut entries = PerfAttribute::ATTRIBUTES.iter();
    entries
        .find(|entry| entry.id == id)
        .unwrap()
        .layout
        .unwrap()
}

/// Writes counters of an attribute: those whose bit is set in the 16 bits and the second mask, or in the one of 64 bits.
fn write(
    host: &mut Host,
    lid: u16,
    port: u8,
    id: AttributeId,
    select: Select,
    values: &[(&Counter, u64)],
) {
    let mut data = [0; 192];
    data[1] = port;
    let mut store = |name: &str, value: u64| {
        if let Some(field) = layout(id).field(name) {
            store_bits(&mut data, field.bit_offset, field.bits, value).unwrap();
        }
    };
    match select {
        Select::All => {
            store("counter_select", u64::MAX);
            store("counter_select2", u64::MAX);
        }
        Select::First(bit) => store("counter_select", 1 << bit),
        Select::Second(bit) => store("counter_select2", 1 << bit),
    }
    for (counter, value) in values {
        store_bits(&mut data, counter.bit_offset, counter.bits, *value).unwrap();
    }
    let (status, _) = ask(host, lid, Method::SET, id, &data);
    assert!(status.is_ok(), "{id:?}");
}

/// The counters that a Set writes.
#[derive(Clone, Copy, Debug)]
enum Select {
    All,
    /// A bit of CounterSelect.
    First(u32),
    /// A bit of CounterSelect2.
    Second(u32),
}

#[test]
fn the_table_has_every_attribute_with_counters() {
    let others = [
        ClassPortInfo::ID,
        PortSamplesControl::ID,
        PortSamplesResult::ID,
        PortSamplesResultExtended::ID,
    ];
    let listed: BTreeSet<_> = counters().iter().map(|counter| counter.id).collect();
    let own = PerfAttribute::ATTRIBUTES
        .iter()
        .map(|entry| entry.id)
        .filter(|&id| id < FIRST_OF_VENDORS && !others.contains(&id));
    assert_eq!(listed, own.collect());
}

fn ones(bits: usize) -> u64 {
    u64::MAX >> (64 - bits)
}

#[test]
fn a_set_writes_the_counters_that_it_selects_and_no_other() {
    // No cable is plugged in at S2's port 8: its counts stay.
    let (lid, port) = (3, 8);
    let all = counters();
    for chosen in &all {
        let mut host = host();
        let own: Vec<_> = all
            .iter()
            .filter(|counter| counter.id == chosen.id)
            .collect();
        let values: Vec<_> = own
            .iter()
            .map(|counter| (*counter, ones(counter.bits) - 1))
            .collect();
        write(&mut host, lid, port, chosen.id, Select::All, &values);
        write(&mut host, lid, port, chosen.id, chosen.select, &[]);
        let data = read(&mut host, lid, port, chosen.id);
        for (counter, value) in values {
            let found = load_bits(&data, counter.bit_offset, counter.bits).unwrap();
            let expected = if counter.bit_offset == chosen.bit_offset {
                0
            } else {
                value
            };
            assert_eq!(found, expected, "{counter:?} after a Set of {chosen:?}");
        }
    }
}

#[test]
fn a_counter_stops_at_all_ones() {
    let all = counters();
    for event in events() {
        for &(node, port, name, index, _) in &event.counts {
            let lid = match node {
                H => 1,
                S1 => 2,
                S2 => 3,
                _ => 9,
            };
            let windows = all
                .iter()
                .filter(|counter| counter.name == name && counter.index == index);
            for counter in windows.filter(|counter| counter.bits < 64) {
                let mut host = host();
                (event.prepare)(&mut host);
                let value = ones(counter.bits) - 1;
                host.sim.with(|sim| {
                    let field = match counter.name {
                        name if name.starts_with("port_vl_") || name.contains("_sl") => {
                            format!("{name}{index}")
                        }
                        name => name.to_owned(),
                    };
                    let set = sim.set_counter(at(node, port), counter.attribute, &field, value);
                    assert_eq!(set, Some(value), "{counter:?}");
                });
                (event.happen)(&mut host);
                (event.happen)(&mut host);
                let mut data = [0; 192];
                data[1] = port;
                let found = match try_ask(&mut host, lid, Method::GET, counter.id, &data) {
                    Some((_, data)) => load_bits(&data, counter.bit_offset, counter.bits).unwrap(),
                    // The cable is gone, and the path to the port with it.
                    None => host.sim.with(|sim| {
                        let counters = sim.port(at(node, port)).unwrap().counters();
                        counters.get(name, index).min(ones(counter.bits))
                    }),
                };
                assert_eq!(
                    found,
                    ones(counter.bits),
                    "{counter:?} after {}",
                    event.what
                );
            }
        }
    }
}

#[test]
fn a_count_beyond_32_bits_is_whole_in_the_extended_attribute() {
    let mut host = host();
    let count = 0x12_3456_7890;
    let port = at(S2, 8);
    host.sim.with(|sim| {
        sim.set_counter(port, "PortCountersExtended", "PortXmitData", count)
            .unwrap()
    });
    let narrow = read(&mut host, 3, 8, PortCounters::ID);
    let narrow = PortCounters::from_bytes(*narrow.first_chunk().unwrap());
    assert_eq!(narrow.port_xmit_data(), u32::MAX);
    let wide = read(&mut host, 3, 8, PortCountersExtended::ID);
    let wide = PortCountersExtended::from_bytes(*wide.first_chunk().unwrap());
    assert_eq!(wide.port_xmit_data(), count);
}

#[test]
fn all_ports_of_a_switch_are_read_as_their_sum_and_written_at_once() {
    let mut host = host();
    let all = counters();
    let mut own = all.iter().filter(|counter| counter.id == PortCounters::ID);
    let counter = own
        .find(|counter| counter.name == "port_rcv_errors")
        .unwrap();
    let sum = |host: &mut Host| {
        load_bits(
            &read(host, 3, 255, counter.id),
            counter.bit_offset,
            counter.bits,
        )
    };
    write(&mut host, 3, 7, counter.id, Select::All, &[(counter, 3)]);
    write(&mut host, 3, 8, counter.id, Select::All, &[(counter, 4)]);
    // Port 0 is no external one.
    write(&mut host, 3, 0, counter.id, Select::All, &[(counter, 100)]);
    assert_eq!(sum(&mut host), Some(7));
    write(
        &mut host,
        3,
        255,
        counter.id,
        counter.select,
        &[(counter, 2)],
    );
    assert_eq!(sum(&mut host), Some(16), "8 ports");
    write(
        &mut host,
        3,
        7,
        counter.id,
        Select::All,
        &[(counter, 0xffff)],
    );
    assert_eq!(sum(&mut host), Some(0xffff), "a sum saturates, too");
}

#[test]
fn ports_that_are_not_there_have_no_counters() {
    let mut host = host();
    for (lid, port) in [(3, 9), (3, 254), (9, 0), (9, 3), (9, 255)] {
        for counter in counters() {
            let mut data = [0; 192];
            data[1] = port;
            for method in [Method::GET, Method::SET] {
                let (status, _) = ask(&mut host, lid, method, counter.id, &data);
                assert_eq!(
                    status,
                    MadStatus::INVALID_FIELD_VALUE,
                    "port {port}: {counter:?}"
                );
            }
        }
    }
}

#[test]
fn attributes_that_the_agent_does_not_have_are_refused() {
    let mut host = host();
    for id in [AttributeId(0x0013), FIRST_OF_VENDORS, AttributeId(0xffff)] {
        for method in [Method::GET, Method::SET] {
            let (status, _) = ask(&mut host, 3, method, id, &[1; 192]);
            assert_eq!(status, MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE, "{id:?}");
        }
    }
}

#[test]
fn the_agent_says_which_counters_it_has() {
    let mut host = host();
    let (status, data) = ask(&mut host, 3, Method::GET, ClassPortInfo::ID, &[0; 192]);
    assert!(status.is_ok());
    let info = ClassPortInfo::from_bytes(*data.first_chunk().unwrap());
    let more = PerfCapabilities2::IS_ADDITIONAL_PORT_COUNTERS_EXTENDED_SUPPORTED;
    assert!(PerfCapabilities2::from_bits_retain(info.capability_mask2()).contains(more));
}

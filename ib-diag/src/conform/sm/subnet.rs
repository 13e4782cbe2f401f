//! The state of a subnet after its manager has brought it up (IBA vol. 1, 14.4.3).

use alloc::{
    collections::{BTreeMap, BTreeSet},
    format,
    vec::Vec,
};

use ib_routing::{NodeIdx, PortRef};
use ib_smp::{
    MftModifier, MulticastForwardingTable, PortInfo, PortPhysicalState, PortState, SmState, VlCap,
};
use ib_wire::{Lid, Lmc, PKey, PortNum};

use crate::{
    conform::{
        Case,
        bench::{Bench, Outcome, Stop, ensure, fail, listed, skip},
        case,
    },
    snapshot::{Contents, Snapshot},
};

const UP: &str = "IBA vol. 1, 14.4.3";
const LIDS: &str = "IBA vol. 1, 14.2.5.6 (LID, LMC)";

pub(super) const CASES: &[Case] = &[
    case(
        "sm-101",
        "Every link that is up is Active at both ends",
        UP,
        |bench| {
            links(bench, |info| {
                info.port_physical_state() != PortPhysicalState::LINK_UP
                    || info.port_state() == PortState::ACTIVE
            })
        },
    ),
    case(
        "sm-102",
        "Every end port has a unicast LID",
        LIDS,
        |bench| ends(bench, |info| info.lid().is_unicast()),
    ),
    case("sm-103", "No two end ports share a LID", LIDS, |bench| {
        let mut owners: BTreeMap<u16, PortRef> = BTreeMap::new();
        for (at, info) in end_ports(&bench.subnet) {
            for offset in 0..info.lmc().lid_count() {
                let lid = info.lid().0.saturating_add(offset);
                if owners.insert(lid, at).is_some_and(|other| other != at) {
                    return fail(format!("LID {} is there twice", Lid(lid)));
                }
            }
        }
        Ok(())
    }),
    case(
        "sm-104",
        "A base LID is a multiple of 2^LMC",
        LIDS,
        |bench| ends(bench, |info| info.lid().0 & info.lmc().path_bits() == 0),
    ),
    case("sm-105", "A base switch port 0 has LMC 0", LIDS, |bench| {
        let wrong = bench.subnet.ports().filter(|(at, node, port)| {
            let base = node.switch_info.is_some_and(|info| !info.enhanced_port0());
            base && at.port == PortNum::MANAGEMENT
                && port.info.is_some_and(|info| info.lmc() != Lmc::ZERO)
        });
        ensure!(wrong.count() == 0, "a base switch port 0 with an LMC");
        Ok(())
    }),
    case(
        "sm-106",
        "MasterSMLID of every end port is the LID of the master",
        UP,
        |bench| {
            let master = master(bench)?;
            ends_with(bench, |info| info.master_sm_lid() == master)
        },
    ),
    case(
        "sm-107",
        "The subnet has one master",
        "IBA vol. 1, 14.4.1",
        |bench| {
            bench.survey(Contents::SM_INFO)?;
            let masters = bench.subnet.ports().filter(|(_, _, port)| {
                port.sm_info
                    .is_some_and(|info| info.sm_state() == SmState::MASTER)
            });
            let count = masters.count();
            ensure!(count == 1, "{count} masters");
            Ok(())
        },
    ),
    case(
        "sm-108",
        "NeighborMTU of both ends of a link is the smaller MTUCap",
        "IBA vol. 1, 14.2.5.6 (NeighborMTU)",
        |bench| {
            pairs(bench, |a, b| {
                let least = a.mtu_cap().min(b.mtu_cap());
                [a, b].iter().all(|info| {
                    info.neighbor_mtu() <= least && info.neighbor_mtu() == a.neighbor_mtu()
                })
            })
        },
    ),
    case(
        "sm-109",
        "OperationalVLs of both ends of a link are the same, and both ends have them",
        "IBA vol. 1, 14.2.5.6 (OperationalVLs)",
        |bench| {
            pairs(bench, |a, b| {
                let effective = |info: &PortInfo| info.operational_vls().max(VlCap::VL0);
                effective(a) == effective(b) && effective(a) <= a.vl_cap().min(b.vl_cap())
            })
        },
    ),
    case(
        "sm-110",
        "All end ports have one GidPrefix",
        "IBA vol. 1, 14.2.5.6 (GidPrefix)",
        |bench| {
            let prefix = end_ports(&bench.subnet)
                .next()
                .map(|(_, info)| info.gid_prefix());
            ends_with(bench, |info| Some(info.gid_prefix()) == prefix)
        },
    ),
    case(
        "sm-111",
        "Every end port holds the default P_Key",
        "IBA vol. 1, 10.9",
        |bench| keys(bench, |keys, _| keys.iter().any(|key| key.base() == 0x7fff)),
    ),
    case(
        "sm-112",
        "The master's port is a full member of the default partition",
        "IBA vol. 1, 10.9",
        |bench| {
            let master = master(bench)?;
            keys(bench, |keys, info| {
                info.lid() != master || keys.contains(&PKey(0xffff))
            })
        },
    ),
    case(
        "sm-113",
        "No P_Key is there twice in a table",
        "IBA vol. 1, 10.9",
        |bench| {
            keys(bench, |keys, _| {
                let mut sorted: Vec<u16> = keys.iter().map(|key| key.0).collect();
                sorted.sort_unstable();
                sorted.windows(2).all(|pair| pair.first() != pair.last())
            })
        },
    ),
    case(
        "sm-114",
        "The tables lead from every switch to every LID",
        "IBA vol. 1, 14.2.5.10",
        reach,
    ),
    case(
        "sm-115",
        "LinearFDBTop of every switch is at least the highest LID",
        "IBA vol. 1, 14.2.5.4 (LinearFDBTop)",
        |bench| {
            let last = |info: &PortInfo| info.lid().0 | info.lmc().path_bits();
            let highest = end_ports(&bench.subnet)
                .map(|(_, info)| last(info))
                .max()
                .unwrap_or(0);
            let low = bench.subnet.nodes.iter().filter(|node| {
                node.switch_info
                    .is_some_and(|info| info.linear_fdb_top().0 < highest)
            });
            let low = listed(low.map(|node| node.guid()));
            ensure!(low.is_empty(), "LinearFDBTop below {highest} at {low}");
            Ok(())
        },
    ),
    case(
        "sm-116",
        "PortStateChange of every switch is cleared",
        "IBA vol. 1, 14.2.5.4 (PortStateChange)",
        |bench| {
            let set = bench.subnet.nodes.iter().filter(|node| {
                node.switch_info
                    .is_some_and(|info| info.port_state_change())
            });
            let set = listed(set.map(|node| node.guid()));
            ensure!(set.is_empty(), "set at {set}");
            Ok(())
        },
    ),
    case(
        "sm-118",
        "The multicast tables name ports that exist, and each group's switches form one tree",
        "IBA vol. 1, 14.2.5.12",
        |bench| {
            bench.survey(Contents::FORWARDING)?;
            // Every port in a port mask must exist at the switch.
            for node in bench.subnet.nodes.iter().filter(|node| node.is_switch()) {
                for (place, table) in &node.mft {
                    for pair in table.as_bytes().as_chunks::<2>().0 {
                        let mask = u16::from_be_bytes(*pair);
                        let first = u16::from(place.position).saturating_mul(16);
                        let highest = 16u16
                            .saturating_sub(u16::try_from(mask.leading_zeros()).unwrap_or(0))
                            .saturating_add(first);
                        ensure!(
                            mask == 0
                                || highest <= u16::from(node.info.num_ports()).saturating_add(1),
                            "a port past the last one at {}",
                            node.guid()
                        );
                    }
                }
            }
            for (mlid, members) in tree_ports(&bench.subnet) {
                one_tree(&bench.subnet, mlid, &members)?;
            }
            Ok(())
        },
    ),
    case(
        "sm-119",
        "Packets to the master have a lane: SLtoVLMappingTable maps MasterSMSL to one that is operational",
        "IBA vol. 1, 14.2.5.8 and 14.2.5.6 (MasterSMSL)",
        |bench| {
            bench.survey(Contents::QOS)?;
            for node in bench.subnet.nodes.iter().filter(|node| !node.is_switch()) {
                for ((_, output), table) in &node.sl_to_vl {
                    let info = node.port(*output).and_then(|port| port.info.as_ref());
                    let Some(info) = info.filter(|info| info.port_state() == PortState::ACTIVE)
                    else {
                        continue;
                    };
                    let lanes = info.operational_vls().count().unwrap_or(1);
                    let vl = table.vl(info.master_sm_sl());
                    ensure!(
                        vl.bits() < lanes,
                        "VL {vl} at {}, which has {lanes}",
                        node.guid()
                    );
                }
            }
            Ok(())
        },
    ),
];

/// By multicast LID: the ports of switches that forward to it and have a cable to another switch.
fn tree_ports(subnet: &Snapshot) -> BTreeMap<u32, BTreeSet<PortRef>> {
    let mut groups: BTreeMap<u32, BTreeSet<PortRef>> = BTreeMap::new();
    for (at, node, port) in subnet.ports().filter(|(_, node, _)| node.is_switch()) {
        let peer = port.peer.and_then(|peer| subnet.node(peer.node));
        if !peer.is_some_and(|peer| peer.is_switch()) {
            continue;
        }
        let here = |place: &MftModifier| place.position == at.port.0 >> 4;
        for (place, table) in node.mft.iter().filter(|(place, _)| here(place)) {
            let masks = table.as_bytes().as_chunks::<2>().0.iter();
            for (index, mask) in (0u32..).zip(masks) {
                let first =
                    u32::from(place.block).saturating_mul(MulticastForwardingTable::ENTRIES.into());
                if u16::from_be_bytes(*mask) >> (at.port.0 & 15) & 1 != 0 {
                    let mlid = first
                        .saturating_add(index)
                        .saturating_add(u32::from(Lid::MULTICAST_MIN.0));
                    groups.entry(mlid).or_default().insert(at);
                }
            }
        }
    }
    groups
}

/// Both ends of each cable forward to the group, and the cables join the switches without a loop.
fn one_tree(subnet: &Snapshot, mlid: u32, ports: &BTreeSet<PortRef>) -> Outcome {
    let mut part: BTreeMap<NodeIdx, NodeIdx> = ports.iter().map(|at| (at.node, at.node)).collect();
    for &at in ports {
        let Some(peer) = subnet.port(at).and_then(|port| port.peer) else {
            continue;
        };
        ensure!(
            ports.contains(&peer),
            "{mlid:#06x} is forwarded from {} and not back",
            place(subnet, at)
        );
        if peer < at {
            continue;
        }
        let (Some(&one), Some(&other)) = (part.get(&at.node), part.get(&peer.node)) else {
            continue;
        };
        ensure!(
            one != other,
            "{mlid:#06x} has a loop at {}",
            place(subnet, at)
        );
        for joined in part.values_mut().filter(|joined| **joined == other) {
            *joined = one;
        }
    }
    let parts: BTreeSet<NodeIdx> = part.into_values().collect();
    ensure!(parts.len() <= 1, "{mlid:#06x} has {} trees", parts.len());
    Ok(())
}

/// PortInfo of every end port with a link; for a switch that is port 0.
fn end_ports(subnet: &Snapshot) -> impl Iterator<Item = (PortRef, &PortInfo)> {
    subnet.ports().filter_map(|(at, node, port)| {
        let is_end = node.is_switch() == (at.port == PortNum::MANAGEMENT);
        let linked = node.is_switch() || port.peer.is_some();
        let info = port.info.as_ref()?;
        (is_end && linked).then_some((at, info))
    })
}

fn ends(bench: &Bench<'_>, keeps: fn(&PortInfo) -> bool) -> Outcome {
    ends_with(bench, keeps)
}

fn ends_with(bench: &Bench<'_>, keeps: impl Fn(&PortInfo) -> bool) -> Outcome {
    let wrong = end_ports(&bench.subnet).filter(|(_, info)| !keeps(info));
    let wrong = listed(wrong.map(|(at, _)| place(&bench.subnet, at)));
    ensure!(wrong.is_empty(), "not at {wrong}");
    Ok(())
}

fn links(bench: &Bench<'_>, keeps: fn(&PortInfo) -> bool) -> Outcome {
    let ends = bench.subnet.cables().flat_map(|(a, b)| [a, b]);
    let wrong = ends.filter(|at| {
        let info = bench.subnet.port(*at).and_then(|port| port.info.as_ref());
        info.is_some_and(|info| !keeps(info))
    });
    let wrong = listed(wrong.map(|at| place(&bench.subnet, at)));
    ensure!(wrong.is_empty(), "not at {wrong}");
    Ok(())
}

fn pairs(bench: &Bench<'_>, agree: fn(&PortInfo, &PortInfo) -> bool) -> Outcome {
    let info = |at: PortRef| bench.subnet.port(at).and_then(|port| port.info);
    let wrong = bench
        .subnet
        .cables()
        .filter(|(a, b)| match (info(*a), info(*b)) {
            (Some(a), Some(b)) => !agree(&a, &b),
            _ => false,
        });
    let wrong = listed(wrong.map(|(at, _)| place(&bench.subnet, at)));
    ensure!(wrong.is_empty(), "not at {wrong}");
    Ok(())
}

/// Judges the P_Keys of every channel adapter's port.
fn keys(bench: &mut Bench<'_>, keeps: impl Fn(&[PKey], &PortInfo) -> bool) -> Outcome {
    bench.survey(Contents::P_KEYS)?;
    for (at, info) in end_ports(&bench.subnet) {
        let Some(port) = bench.subnet.port(at).filter(|port| !port.p_keys.is_empty()) else {
            continue;
        };
        let blocks = port.p_keys.values();
        let pairs = blocks.flat_map(|block| block.as_bytes().as_chunks::<2>().0);
        let keys: Vec<PKey> = pairs
            .map(|pair| PKey(u16::from_be_bytes(*pair)))
            .filter(|key| key.base() != 0)
            .collect();
        ensure!(
            keeps(&keys, info),
            "not at {}: {keys:?}",
            place(&bench.subnet, at)
        );
    }
    Ok(())
}

/// The LID of the port whose manager reports that it is the master.
pub(super) fn master(bench: &mut Bench<'_>) -> Result<Lid, Stop> {
    bench.survey(Contents::SM_INFO)?;
    let found = bench.subnet.ports().find_map(|(at, node, port)| {
        let is_master = port.sm_info?.sm_state() == SmState::MASTER;
        let own = if node.is_switch() {
            node.port(PortNum::MANAGEMENT)?.info?
        } else {
            bench.subnet.port(at)?.info?
        };
        is_master.then(|| own.lid())
    });
    match found {
        Some(lid) => Ok(lid),
        None => skip("no manager of the subnet says that it is the master"),
    }
}

fn place(subnet: &Snapshot, at: PortRef) -> alloc::string::String {
    let guid = subnet
        .node(at.node)
        .map(|node| node.guid())
        .unwrap_or_default();
    format!("port {} of {guid}", at.port)
}

/// Judges that the linear tables lead from every switch to every end port.
fn reach(bench: &mut Bench<'_>) -> Outcome {
    bench.survey(Contents::FORWARDING)?;
    let subnet = &bench.subnet;
    for (start, _) in subnet
        .nodes
        .iter_enumerated()
        .filter(|(_, node)| node.is_switch())
    {
        for (end, info) in end_ports(subnet) {
            let mut at = start;
            let mut hops = 0u8;
            while at != end.node {
                let node = subnet.node(at).filter(|node| node.is_switch() && hops < 64);
                let (block, entry) = ib_smp::LinearForwardingTable::block_of(info.lid());
                let port = node
                    .and_then(|node| node.lft.get(&block)?.as_bytes().get(entry).copied())
                    .map(PortNum);
                let next = port.and_then(|port| subnet.port(PortRef { node: at, port })?.peer);
                let Some(next) = next else {
                    return fail(format!(
                        "LID {} is not reached from {}",
                        info.lid(),
                        place(
                            subnet,
                            PortRef {
                                node: start,
                                port: PortNum(0)
                            }
                        )
                    ));
                };
                at = next.node;
                hops = hops.saturating_add(1);
            }
        }
    }
    Ok(())
}

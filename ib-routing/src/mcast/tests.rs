use super::*;
use crate::generate::FabricSpec;

fn fabric(spec: &str) -> Fabric {
    spec.parse::<FabricSpec>()
        .and_then(|spec| spec.build())
        .expect("a fabric")
}

fn hosts(fabric: &Fabric) -> Vec<PortRef> {
    let nodes = fabric
        .nodes()
        .iter_enumerated()
        .filter(|(_, node)| !node.type_.is_switch());
    nodes
        .map(|(node, _)| PortRef {
            node,
            port: PortNum(1),
        })
        .collect()
}

#[test]
fn every_member_gets_every_packet_once() {
    for spec in [
        "thesis",
        "torus:4x4,hosts=2",
        "fat-tree:radix=8,levels=3",
        "dragonfly:a=4,p=2,h=2",
    ] {
        let fabric = fabric(spec);
        let mut trees = Trees::new(&fabric, BTreeSet::new());
        let members: Vec<PortRef> = hosts(&fabric).into_iter().step_by(3).collect();
        let tree = trees.tree(&members);
        assert_eq!(tree.left_out, []);
        for &from in &members {
            let others: Vec<PortRef> = members
                .iter()
                .copied()
                .filter(|&member| member != from)
                .collect();
            assert_eq!(flood(&fabric, &tree, from), others, "{spec}");
        }
    }
}

#[test]
fn groups_of_the_same_members_take_different_links() {
    let fabric = fabric("fat-tree:radix=8,levels=2");
    let members = hosts(&fabric);
    let ends = [members[0], members[31]];
    let mut trees = Trees::new(&fabric, BTreeSet::new());
    let spines: BTreeSet<SwitchIdx> = (0..4)
        .flat_map(|_| trees.tree(&ends).ports.into_keys())
        .filter(|&switch| fabric.switch(switch).description.starts_with("L2"))
        .collect();
    assert_eq!(spines.len(), 4);
}

#[test]
fn members_behind_switches_without_multicast_are_left_out() {
    let fabric = fabric("ring:switches=4,hosts=1");
    let members = hosts(&fabric);
    let mut trees = Trees::new(&fabric, BTreeSet::from([SwitchIdx(1), SwitchIdx(3)]));
    let tree = trees.tree(&[members[0], members[1], members[2]]);
    assert_eq!(tree.left_out, [members[1], members[2]]);
}

#[test]
fn multicast_lids_run_out_with_an_error() {
    let mut mlids = Mlids::new(2);
    assert!(mlids.take(Lid(0xc000)));
    assert_eq!(mlids.allocate(), Ok(Lid(0xc001)));
    assert_eq!(mlids.allocate(), Err(MlidsExhausted(2)));
    mlids.release(Lid(0xc000));
    assert_eq!(mlids.allocate(), Ok(Lid(0xc000)));
}

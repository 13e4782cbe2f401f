use alloc::{collections::BTreeSet, vec::Vec};

use super::{FabricLayout, Shape, natural_order};
use crate::{
    fabric::Fabric,
    format::{dot, ibnetdiscover, svg},
    generate::{FabricSpec, remove_links},
    index::NodeIdx,
};

fn generated(spec: &str) -> Fabric {
    let spec: FabricSpec = spec.parse().expect("a specification");
    spec.build().expect("a fabric")
}

fn name(fabric: &Fabric, node: NodeIdx) -> &str {
    &fabric.node(node).description
}

/// Boxes of one kind do not lie over each other, and all are within the picture.
fn is_readable(fabric: &Fabric, layout: &FabricLayout) {
    let mut taken = BTreeSet::new();
    for (node, place) in layout.places.iter_enumerated() {
        let (width, height) = layout.size(fabric.node(node).type_.is_switch());
        assert!(place.x >= width / 2 && place.x + width / 2 <= layout.width);
        assert!(place.y >= height / 2 && place.y + height / 2 <= layout.height);
        assert!(
            taken.insert(*place),
            "{} lies over another",
            name(fabric, node)
        );
    }
    let switches: Vec<_> = fabric
        .switches()
        .iter()
        .map(|&node| layout.places[node])
        .collect();
    for (at, one) in switches.iter().enumerate() {
        for other in &switches[at + 1..] {
            let is_apart = one.x.abs_diff(other.x) >= FabricLayout::SWITCH.0
                || one.y.abs_diff(other.y) >= FabricLayout::SWITCH.1;
            assert!(is_apart, "{one:?} {other:?}");
        }
    }
}

#[test]
fn the_levels_of_a_fat_tree_are_rows_with_the_roots_on_top() {
    for spec in ["fat-tree:radix=8,levels=2", "fat-tree:radix=4,levels=3"] {
        let fabric = generated(spec);
        let layout = FabricLayout::new(&fabric);
        assert_eq!(layout.shape, Shape::Tree, "{spec}");
        is_readable(&fabric, &layout);
        // Switches are named L1-.., L2-.., from the leaves up.
        for (one, other) in fabric.links() {
            let level = |node| name(&fabric, node).as_bytes()[1];
            if [one, other]
                .iter()
                .all(|end| fabric.switch_of(end.node).is_some())
            {
                let above = layout.places[one.node].y < layout.places[other.node].y;
                assert_eq!(level(one.node) > level(other.node), above, "{spec}");
            }
        }
    }
}

#[test]
fn hosts_stand_below_their_switch() {
    let fabric = generated("fat-tree:radix=12,levels=2");
    let layout = FabricLayout::new(&fabric);
    for (node, leaf) in layout.leaves.iter_enumerated() {
        let Some(leaf) = *leaf else {
            assert!(fabric.switch_of(node).is_some());
            continue;
        };
        let (host, leaf) = (layout.places[node], layout.places[leaf]);
        assert!(host.y > leaf.y && host.x.abs_diff(leaf.x) <= FabricLayout::SWITCH.0 / 2);
    }
}

#[test]
fn a_torus_is_a_grid_with_neighbors_side_by_side() {
    for (spec, links_that_wrap) in [("torus:5x6,hosts=1", 11), ("mesh:6x4,hosts=1", 0)] {
        let fabric = generated(spec);
        let layout = FabricLayout::new(&fabric);
        assert_eq!(layout.shape, Shape::Grid, "{spec}");
        is_readable(&fabric, &layout);
        let mut lengths: Vec<_> = fabric
            .links()
            .filter(|(one, other)| {
                fabric.switch_of(one.node).is_some() && fabric.switch_of(other.node).is_some()
            })
            .map(|(one, other)| {
                let (one, other) = (layout.places[one.node], layout.places[other.node]);
                (one.x.abs_diff(other.x), one.y.abs_diff(other.y))
            })
            .collect();
        // Links go along one dimension, and only those around the border are long.
        assert!(
            lengths
                .iter()
                .all(|&(across, down)| across == 0 || down == 0)
        );
        let shortest = |of: fn(&(u32, u32)) -> u32| {
            let lengths = lengths.iter().map(of);
            lengths.filter(|&length| length > 0).min().expect("a link")
        };
        let (column, line) = (shortest(|length| length.0), shortest(|length| length.1));
        lengths.retain(|&(across, down)| across > column || down > line);
        assert_eq!(lengths.len(), links_that_wrap, "{spec}");
    }
}

#[test]
fn grids_of_any_number_of_dimensions_are_found() {
    for spec in [
        "torus:8,hosts=1",
        "torus:4x4x4,hosts=1",
        "torus:3x3x3,hosts=1",
        "torus:8x8x8,hosts=1",
        "mesh:3x4x5,hosts=1",
        "hypercube:dim=4,hosts=1",
        "torus:4x6,hosts=2",
    ] {
        let fabric = generated(spec);
        let layout = FabricLayout::new(&fabric);
        assert_eq!(layout.shape, Shape::Grid, "{spec}");
        is_readable(&fabric, &layout);
    }
}

#[test]
fn coordinates_go_up_with_the_names() {
    let fabric = generated("torus:4x4,hosts=1");
    let layout = FabricLayout::new(&fabric);
    let place = |wanted: &str| {
        let mut nodes = fabric.nodes().indices();
        let node = nodes.find(|&node| name(&fabric, node) == wanted);
        layout.places[node.expect("a switch")]
    };
    let places = ["t0.0", "t1.0", "t2.0", "t3.0"].map(place);
    assert!(
        places.is_sorted_by(|one, other| one.x < other.x && one.y == other.y),
        "{places:?}"
    );
    let places = ["t0.0", "t0.1", "t0.2", "t0.3"].map(place);
    assert!(
        places.is_sorted_by(|one, other| one.y < other.y && one.x == other.x),
        "{places:?}"
    );
}

#[test]
fn a_torus_with_broken_links_is_still_a_grid() {
    let whole = generated("torus:6x6,hosts=1");
    let fabric = remove_links(&whole, 3.0, 7);
    assert!(fabric.num_links() < whole.num_links());
    assert_eq!(FabricLayout::new(&fabric).shape, Shape::Grid);
}

#[test]
fn what_is_neither_tree_nor_grid_is_laid_out_by_distance() {
    for spec in [
        "jellyfish:switches=30,degree=5,hosts=1,seed=3",
        "dragonfly:a=4,p=2,h=2",
    ] {
        let fabric = generated(spec);
        let layout = FabricLayout::new(&fabric);
        assert_eq!(layout.shape, Shape::Distance, "{spec}");
        is_readable(&fabric, &layout);
    }
}

#[test]
fn every_file_of_the_test_data_is_readable() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/fabrics");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the fabrics") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "net") {
            let text = std::fs::read_to_string(&path).expect("text");
            let fabric = ibnetdiscover::read(&text).expect("a fabric").fabric;
            is_readable(&fabric, &FabricLayout::new(&fabric));
            count += 1;
        }
    }
    assert!(count > 20);
}

#[test]
fn a_picture_of_thousands_of_hosts_is_about_as_high_as_wide() {
    let fabric = generated("fat-tree:radix=24,levels=3");
    let layout = FabricLayout::new(&fabric);
    assert!(
        layout.width < 6000 && layout.height < 6000,
        "{} x {}",
        layout.width,
        layout.height
    );
    assert!(layout.width < 4 * layout.height && layout.height < 4 * layout.width);
}

#[test]
fn boxes_show_names_and_not_the_ends_of_guids() {
    let fabric = generated("fat-tree:radix=4,levels=2");
    let picture = svg::write(&fabric, &[]);
    let graph = dot::write(&fabric);
    for node in fabric.nodes().iter() {
        let label = alloc::format!(">{}</text>", node.description);
        assert!(picture.contains(&label), "{label}");
        assert!(graph.contains(&alloc::format!("label=\"{}\"", node.description)));
    }
}

#[test]
fn a_name_that_several_nodes_have_gives_way_to_the_guid() {
    let text = "switchguid=0x21\nSwitch 2 \"S-21\" # \"sw\"\n[1] \"S-22\"[1]\n\nswitchguid=0x22\nSwitch 2 \"S-22\" # \"sw\"\n[1] \"S-21\"[1]\n";
    let fabric = ibnetdiscover::read(text).expect("a fabric").fabric;
    let picture = svg::write(&fabric, &[]);
    assert!(!picture.contains(">sw</text>"), "{picture}");
    assert_eq!(picture.matches("</text>").count(), 2);
}

#[test]
fn a_picture_of_an_even_load_is_not_red() {
    let fabric = generated("fat-tree:radix=4,levels=2");
    let load = alloc::vec![12; fabric.channels().len()];
    assert!(!svg::write(&fabric, &load).contains("rgb(255,0,0)"));
    let mut uneven = load;
    uneven[0] = 13;
    assert!(!svg::write(&fabric, &uneven).contains("rgb(255,0,0)"));
    uneven[0] = 24;
    assert!(svg::write(&fabric, &uneven).contains("rgb(255,0,0)"));
}

#[test]
fn order_counts_numbers() {
    assert!(natural_order("L1-9.0") < natural_order("L1-10.0"));
}

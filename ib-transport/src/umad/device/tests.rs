use std::{
    fs,
    path::PathBuf,
    sync::atomic::{AtomicU32, Ordering},
};

use super::*;

/// A directory in the shape of `/sys/class`, removed when dropped.
struct Tree(PathBuf);

impl Tree {
    fn new(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "ib-transport-sysfs-{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let tree = Self(std::env::temp_dir().join(name));
        fs::create_dir_all(tree.0.join(DEVICES)).unwrap();
        for (file, text) in files {
            tree.write(file, text.as_bytes());
        }
        tree
    }

    fn write(&self, file: &str, bytes: &[u8]) {
        let path = self.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn devices(&self) -> Vec<Device> {
        devices_in(&self.0).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// An adapter as the kernel shows it: every file that libibumad reads.
const ADAPTER: &[(&str, &str)] = &[
    ("infiniband_mad/abi_version", "5\n"),
    ("infiniband_mad/umad3/ibdev", "mlx5_0\n"),
    ("infiniband_mad/umad3/port", "1\n"),
    ("infiniband_mad/issm3/ibdev", "mlx5_0\n"),
    ("infiniband_mad/issm3/port", "1\n"),
    ("infiniband/mlx5_0/node_type", "1: CA\n"),
    ("infiniband/mlx5_0/node_guid", "0002:c903:00a1:b2c2\n"),
    ("infiniband/mlx5_0/sys_image_guid", "0002:c903:00a1:b2c5\n"),
    ("infiniband/mlx5_0/hca_type", "MT4123\n"),
    ("infiniband/mlx5_0/fw_ver", "20.43.1014\n"),
    ("infiniband/mlx5_0/hw_rev", "0\n"),
    ("infiniband/mlx5_0/board_id", "MT_0000000224\n"),
    ("infiniband/mlx5_0/node_desc", "node17 HCA-1\n"),
    ("infiniband/mlx5_0/ports/1/lid", "0x1a\n"),
    ("infiniband/mlx5_0/ports/1/lid_mask_count", "2\n"),
    ("infiniband/mlx5_0/ports/1/sm_lid", "0x1\n"),
    ("infiniband/mlx5_0/ports/1/sm_sl", "3\n"),
    ("infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
    ("infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n"),
    ("infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n"),
    ("infiniband/mlx5_0/ports/1/cap_mask", "0x2651e848\n"),
    ("infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n"),
    (
        "infiniband/mlx5_0/ports/1/gids/0",
        "fe80:0000:0000:0000:0002:c903:00a1:b2c3\n",
    ),
    ("infiniband/mlx5_0/ports/1/pkeys/0", "0x7fff\n"),
    ("infiniband/mlx5_0/ports/1/pkeys/1", "0x0000\n"),
    ("infiniband/mlx5_0/ports/1/pkeys/2", "0x8001\n"),
    ("infiniband/mlx5_0/ports/1/pkeys/10", "0x0002\n"),
];

#[test]
fn every_file_of_an_adapter_is_read() {
    let tree = Tree::new(ADAPTER);
    assert_eq!(abi_version_in(&tree.0), Some(ABI_VERSION));
    let [device] = &tree.devices()[..] else {
        panic!("one device")
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    assert_eq!((device.name.as_str(), device.node_type), ("mlx5_0", 1));
    assert_eq!(device.node_guid, Some(Guid(0x0002_c903_00a1_b2c2)));
    assert_eq!(device.sys_image_guid, Some(Guid(0x0002_c903_00a1_b2c5)));
    assert_eq!(text(&device.hca_type), "MT4123");
    assert_eq!(text(&device.fw_ver), "20.43.1014");
    assert_eq!(text(&device.hw_rev), "0");
    assert_eq!(text(&device.board_id), "MT_0000000224");
    assert_eq!(text(&device.node_desc), "node17 HCA-1");
    let [port] = &device.ports[..] else {
        panic!("one port")
    };
    assert_eq!((port.number, port.umad), (1, Some(3)));
    assert_eq!(port.link_layer, LinkLayer::InfiniBand);
    assert_eq!((port.state, port.phys_state), (Some(4), Some(5)));
    assert_eq!((port.lid, port.sm_lid), (Some(Lid(0x1a)), Some(Lid(1))));
    assert_eq!(port.lmc.map(Lmc::bits), Some(2));
    assert_eq!(port.sm_sl.map(Sl::bits), Some(3));
    assert_eq!(port.guid(), Some(Guid(0x0002_c903_00a1_b2c3)));
    assert_eq!(port.cap_mask, Some(0x2651_e848));
    assert_eq!(text(&port.rate), "100 Gb/sec (4X EDR)");
    let p_keys: Vec<u16> = port.p_keys.iter().map(|p_key| p_key.0).collect();
    assert_eq!(p_keys, [0x7fff, 0, 0x8001, 0, 0, 0, 0, 0, 0, 0, 2]);
    assert!(port.has_smi());
}

#[test]
fn a_p_key_is_named_by_its_index() {
    let port = Tree::new(ADAPTER).devices().remove(0).ports.remove(0);
    assert_eq!(port.p_key_index(PKey(0x8001)), Some(2));
    // Another membership of the same partition is as good as there is.
    assert_eq!(port.p_key_index(PKey(0xffff)), Some(0));
    assert_eq!(port.p_key_index(PKey(0x0001)), Some(2));
    assert_eq!(port.p_key_index(PKey(0x8002)), Some(10));
    assert_eq!(port.p_key_index(PKey(0x8003)), None);
    // A free entry is no partition.
    assert_eq!(port.p_key_index(PKey(0x8000)), None);
}

#[test]
fn one_bad_device_never_hides_the_others() {
    let tree = Tree::new(ADAPTER);
    // A device that is being removed, one whose files hold garbage, and a file where a device should be.
    fs::create_dir_all(tree.0.join("infiniband/empty0")).unwrap();
    tree.write("infiniband/bad0/node_type", b"\xff\xfe??\n");
    tree.write("infiniband/bad0/node_guid", b"no GUID");
    tree.write("infiniband/bad0/ports/one/state", b"4: ACTIVE\n");
    tree.write("infiniband/bad0/ports/+2/state", b"4: ACTIVE\n");
    tree.write("infiniband/bad0/ports/1/state", b"ACTIVE\n");
    tree.write("infiniband/bad0/ports/1/phys_state", b"-5: LinkUp\n");
    tree.write("infiniband/bad0/ports/1/lid", b"0x1ffff\n");
    tree.write("infiniband/bad0/ports/1/sm_lid", b"+1\n");
    tree.write("infiniband/bad0/ports/1/lid_mask_count", b"8\n");
    tree.write("infiniband/bad0/ports/1/sm_sl", b"16\n");
    tree.write("infiniband/bad0/ports/1/cap_mask", b"0x+1\n");
    tree.write("infiniband/bad0/ports/1/gids/0", b"\n");
    tree.write("infiniband/bad0/ports/1/link_layer", &[b'x'; 10_000]);
    // A directory in place of a file cannot be read.
    fs::create_dir_all(tree.0.join("infiniband/bad0/ports/1/rate")).unwrap();
    tree.write("infiniband/file0", b"");
    fs::create_dir_all(tree.0.join("infiniband_mad/umad0")).unwrap();
    tree.write("infiniband_mad/umad1/ibdev", b"bad0\n");
    tree.write("infiniband_mad/umad1/port", b"first\n");
    tree.write("infiniband_mad/umadX/ibdev", b"bad0\n");
    tree.write("infiniband_mad/umadX/port", b"1\n");

    let devices = tree.devices();
    let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["bad0", "empty0", "file0", "mlx5_0"]);
    let bad = &devices[0];
    assert_eq!((bad.node_type, bad.node_guid), (0, None));
    let [port] = &bad.ports[..] else {
        panic!("one port: {:?}", bad.ports)
    };
    assert_eq!((port.umad, port.state, port.phys_state), (None, None, None));
    assert_eq!((port.lid, port.sm_lid, port.lmc), (None, None, None));
    assert_eq!((port.sm_sl, port.cap_mask, port.gid), (None, None, None));
    assert!(port.rate.is_none() && port.p_keys.is_empty());
    assert!(matches!(&port.link_layer, LinkLayer::Other(name) if name.len() <= 4096));
    assert!(devices[1].ports.is_empty() && devices[2].ports.is_empty());
    let chosen = crate::umad::PortSelector::default();
    let chosen = chosen.choose(&devices).unwrap();
    assert_eq!((chosen.0.name.as_str(), chosen.1.number), ("mlx5_0", 1));
}

#[test]
fn ethernet_ports_and_split_devices_are_told_apart() {
    let tree = Tree::new(ADAPTER);
    // RoCE: a umad node, but no QP0.
    tree.write("infiniband_mad/umad0/ibdev", b"rxe0\n");
    tree.write("infiniband_mad/umad0/port", b"1\n");
    tree.write("infiniband/rxe0/node_type", b"1: CA\n");
    tree.write("infiniband/rxe0/ports/1/state", b"4: ACTIVE\n");
    tree.write("infiniband/rxe0/ports/1/link_layer", b"Ethernet\n");
    // The half of a port that has no subnet management.
    tree.write("infiniband_mad/umad1/ibdev", b"mlx5_1\n");
    tree.write("infiniband_mad/umad1/port", b"1\n");
    tree.write("infiniband/mlx5_1/ports/1/cap_mask", b"0x2651ec48\n");
    tree.write("infiniband/mlx5_1/ports/1/link_layer", b"InfiniBand\n");
    let devices = tree.devices();
    let kinds: Vec<(&str, String, bool)> = devices
        .iter()
        .map(|device| {
            let port = &device.ports[0];
            let link_layer = port.link_layer.to_string();
            (device.name.as_str(), link_layer, port.has_smi())
        })
        .collect();
    let kind = |name, link_layer: &str, has_smi| (name, link_layer.to_owned(), has_smi);
    assert_eq!(
        kinds,
        [
            kind("mlx5_0", "InfiniBand", true),
            kind("mlx5_1", "InfiniBand", false),
            kind("rxe0", "Ethernet", false),
        ]
    );
}

#[test]
fn what_ibsims_library_leaves_out_is_taken_for_infiniband() {
    let tree = Tree::new(&[
        ("infiniband_mad/abi_version", "5\n"),
        ("infiniband_mad/umad0/ibdev", "ibsim0"),
        ("infiniband_mad/umad0/port", "1"),
        ("infiniband/ibsim0/hca_type", "simulator"),
        ("infiniband/ibsim0/ports/1/state", "2: INIT"),
        ("infiniband/ibsim0/ports/1/lid", "0x0"),
    ]);
    let device = tree.devices().remove(0);
    assert_eq!(device.hca_type.as_deref(), Some("simulator"));
    assert_eq!(device.ports[0].link_layer, LinkLayer::InfiniBand);
    assert!(device.ports[0].has_smi());
}

#[test]
fn without_the_module_there_is_no_version_and_without_rdma_no_list() {
    let tree = Tree::new(&[]);
    assert_eq!(abi_version_in(&tree.0), None);
    assert!(tree.devices().is_empty());
    tree.write("infiniband_mad/abi_version", b"4\n");
    assert_eq!(abi_version_in(&tree.0), Some(4));
    let error = devices_in(&tree.0.join("nowhere")).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn states_are_read_by_their_leading_number() {
    assert_eq!(leading_number("4: ACTIVE"), Some(4));
    assert_eq!(leading_number("2: SWITCH"), Some(2));
    assert_eq!(leading_number("unknown"), None);
    assert_eq!(leading_number("0x4: ACTIVE"), None);
    assert_eq!(leading_number("256: more than a byte"), None);
}

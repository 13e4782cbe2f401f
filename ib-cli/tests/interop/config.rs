//! The configuration in effect, read by OpenSM.

use std::{collections::BTreeMap, fs, process::Command};

use crate::peers::printed;

/// Values by key, without those that are commented out.
fn values(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once(' '));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn opensm_reads_the_configuration_that_is_printed() {
    let folder = std::env::temp_dir().join(format!("ib-config-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(at("roots"), "").expect("written");
    let text = "lmc 2\nm_key 0x1234\nm_key_lease_period 60\nsm_priority 7\nsweep_interval 0\nlog_max_size 5\n\
        routing_engine ftree,updn,no_fallback\nqos TRUE\nqos_ca_sl2vl 0,1\nqos_vlarb_high 0:4,1:9\nforce_link_width 2\n\
        part_enforce in\npacket_life_time 0x10\nsm_assigned_guid 0x21\nmax_op_vls 3\n";
    let text = format!("{text}root_guid_file {}\n", at("roots"));
    fs::write(at("ours.conf"), text).expect("written");
    let mut ib = Command::new(env!("CARGO_BIN_EXE_ib"));
    let ours = printed(ib.args(["sm", "--print-config", "--config", &at("ours.conf")]));
    fs::write(at("printed.conf"), &ours).expect("written");
    let mut opensm = Command::new("opensm");
    opensm.args(["-F", &at("printed.conf"), "-c", &at("opensm.conf")]);
    // OpenSM reports its actions on standard output, and ends with status 0.
    printed(&mut opensm);
    let theirs = values(&fs::read_to_string(at("opensm.conf")).expect("opensm wrote it"));
    let ours = values(&ours);
    assert!(ours.len() > 90, "{}", ours.len());
    for (key, value) in &ours {
        // 0 means no limit, and OpenSM prints the number that it uses instead.
        let limit = key == "max_wire_smps";
        assert!(
            limit || theirs.get(key) == Some(value),
            "{key}: {value}, {:?}",
            theirs.get(key)
        );
    }
    let _ = fs::remove_dir_all(&folder);
}

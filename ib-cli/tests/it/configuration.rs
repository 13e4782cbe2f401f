//! Option files of the manager: OpenSM's template, precedence, and the printed configuration.

use std::fs;

use crate::common::ib;

#[test]
fn the_template_of_opensm_is_read_without_a_word_and_the_command_line_wins() {
    let folder = std::env::temp_dir().join(format!("ib-template-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("opensm.conf");
    let template = include_str!("opensm-3.3.23.conf");
    fs::write(&file, template).unwrap();
    let file = file.to_str().unwrap();
    let output = ib(&["sm", "--config", file, "--print-config"], "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), stderr.as_str()), (Some(0), ""));
    // Each option that has an effect is printed as it is in the template.
    let printed = String::from_utf8(output.stdout).unwrap();
    let set = |line: &&str| !line.starts_with('#') && !line.is_empty();
    assert!(printed.lines().filter(set).count() > 90);
    for line in printed.lines().filter(set) {
        assert!(template.lines().any(|theirs| theirs == line), "{line}");
    }
    fs::write(file, "lmc 2\nsm_priority 3\n").unwrap();
    let options = ["--lmc", "0", "--set", "sm_priority=4", "--print-config"];
    let output = ib(&[&["sm", "--config", file], &options[..]].concat(), "");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("\nlmc 0\n") && printed.contains("\nsm_priority 4\n"));
    let refused = ib(&["sm", "--set", "lmc=9", "--print-config"], "");
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(
        stderr.contains("`lmc` is `9`, expected a number from 0 to 7"),
        "{stderr}"
    );
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_template_with_quality_of_service_and_without_a_policy_comes_up() {
    let file = std::env::temp_dir().join(format!("ib-qos-{}.conf", std::process::id()));
    let template = include_str!("opensm-3.3.23.conf");
    fs::write(&file, template.replace("qos FALSE", "qos TRUE")).unwrap();
    let output = ib(
        &[
            "up",
            "--fabric",
            "ring:switches=3,hosts=1",
            "--config",
            file.to_str().unwrap(),
        ],
        "",
    );
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(
        stderr.contains("qos-policy.conf: there is no such file, so none is used"),
        "{stderr}"
    );
    fs::remove_file(&file).unwrap();
}

/// `target/debug/ib sm --print-config > ib-cli/packaging/ib-sm.conf` writes the file.
#[test]
fn the_packaged_configuration_is_the_default_one() {
    let printed = ib(&["sm", "--print-config"], "");
    let printed = String::from_utf8(printed.stdout).unwrap();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/ib-sm.conf");
    let packaged = fs::read_to_string(file).unwrap();
    // Comments may change without a change of the configuration.
    let options = |text: &str| -> Vec<String> {
        let set = text.lines().filter(|line| !line.starts_with('#'));
        set.filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect()
    };
    assert!(options(&packaged).len() > 90);
    assert_eq!(options(&packaged), options(&printed));
}

#[test]
fn lanes_of_service_levels_that_the_routes_override_are_warned_of() {
    let file = std::env::temp_dir().join(format!("ib-lanes-{}.conf", std::process::id()));
    // A short list, as in the manual of OpenSM.
    fs::write(&file, "qos TRUE\nqos_sl2vl 0,0,0,1,\n").unwrap();
    let config = file.to_str().unwrap();
    let run = |engine: &str| {
        let fabric = ["up", "--fabric", "ring:switches=5,hosts=1"];
        let output = ib(
            &[&fabric[..], &["--engine", engine, "--config", config]].concat(),
            "",
        );
        String::from_utf8(output.stderr).unwrap()
    };
    let lanes = run("dfsssp");
    assert!(
        lanes.contains("qos_sl2vl is not in effect: dfsssp"),
        "{lanes}"
    );
    let one_lane = run("updn");
    assert!(!one_lane.contains("qos_sl2vl"), "{one_lane}");
    fs::remove_file(&file).unwrap();
}

//! Reading and writing option files.

use super::*;

#[test]
fn an_option_file_changes_what_it_names_and_nothing_else() {
    let text = "# comment\nlmc 2\nsweep_interval 0 # off\nm_key 0x1234\nguide 0x0\n";
    let (config, unknown) = SmConfig::parse(text).unwrap();
    let expected = SmConfig {
        lmc: Lmc::try_new(2).unwrap(),
        sweep_interval: None,
        m_key: MKey(0x1234),
        ..SmConfig::default()
    };
    assert_eq!(alloc::format!("{config:?}"), alloc::format!("{expected:?}"));
    assert_eq!(unknown.len(), 1);
    assert_eq!((unknown[0].line, unknown[0].key.as_str()), (5, "guide"));
}

#[test]
fn options_of_engines_links_and_files_are_read() {
    let text = "connect_roots TRUE\nscatter_ports 7\nmax_reverse_hops 3\nforce_link_speed 15\n\
                force_link_width 2\nforce_link_speed_ext 30\nroot_guid_file roots.txt\n\
                cn_guid_file (null)\nhonor_guid2lid_file TRUE\nuse_mfttop FALSE\n";
    let (config, unknown) = SmConfig::parse(text).unwrap();
    assert!(unknown.is_empty(), "{unknown:?}");
    assert!(config.route_options.connect_roots);
    assert_eq!(config.route_options.scatter_ports, Some(7));
    assert_eq!(config.route_options.max_reverse_hops, 3);
    // 15 means all that a port supports.
    let all = ib_smp::LinkSpeeds::SET_TO_SUPPORTED;
    assert_eq!(config.forced_links.speed, Some(all));
    assert_eq!(config.forced_links.width, Some(ib_smp::LinkWidths::X4));
    let off = ib_smp::LinkSpeedsExt::DISABLED;
    assert_eq!(config.forced_links.speed_ext, Some(off));
    assert_eq!(config.files.root_guid_file.as_deref(), Some("roots.txt"));
    assert_eq!(config.files.cn_guid_file, None);
    assert!(config.honor_guid2lid && !config.use_mfttop);
}

#[test]
fn a_value_out_of_range_names_line_and_key() {
    let error = SmConfig::parse("lmc 0\nlmc 8\n").unwrap_err();
    let text = alloc::format!("{error}");
    assert!(text.starts_with("line 2: `lmc` is `8`"), "{text}");
}

#[test]
fn engines_that_end_with_no_fallback_end_there() {
    let (config, _) = SmConfig::parse("routing_engine ftree, updn,no_fallback\n").unwrap();
    let engines = [engine::FTREE.clone(), engine::UPDN.clone()];
    assert_eq!(config.routing_engines, engines);
    assert!(config.no_fallback);
}

#[test]
fn zero_smps_on_the_wire_are_no_limit_and_polls_without_a_pause_are_refused() {
    let (config, _) = SmConfig::parse("max_wire_smps 0\n").unwrap();
    assert!(config.max_wire_smps > 1000);
    assert!(SmConfig::parse("sminfo_polling_timeout 0\n").is_err());
}

#[test]
fn a_key_without_a_value_is_an_error() {
    let error = SmConfig::parse("lmc\n").unwrap_err();
    let key = "lmc".to_owned();
    let problem = ConfigProblem::NoValue { key };
    assert_eq!(error, ConfigError { line: 1, problem });
}

/// Keys and defaults of `opensm -c` of OpenSM 3.3.23, without its comments.
const TEMPLATE: &str = include_str!("tests/opensm-3.3.23.conf");

#[test]
fn the_untouched_template_of_opensm_draws_no_warning() {
    let (config, ignored) = SmConfig::parse(TEMPLATE).unwrap();
    assert_eq!(ignored, []);
    assert_eq!(config.sm_priority, 0);
    for line in TEMPLATE.lines() {
        let key = line.split_whitespace().next().unwrap();
        assert!(SmConfig::option(key).is_some(), "{key}");
    }
    // Two keys more that OpenSM reads and its template does not print.
    for key in ["dimn_ports_file", "max_rate_enum"] {
        assert!(SmConfig::option(key).is_some(), "{key}");
    }
    assert_eq!(SmConfig::options().count(), 162);
}

#[test]
fn a_key_that_cannot_be_followed_is_refused_with_the_line_and_the_reason_if_it_asks_for_something()
{
    let (_, unknown) = SmConfig::parse("daemon FALSE\nfrob 1\nconsole OFF\n").unwrap();
    let [frob] = unknown.as_slice() else {
        panic!("{unknown:?}");
    };
    assert_eq!((frob.line, frob.key.as_str()), (2, "frob"));
    for (key, value) in [
        ("daemon", "TRUE"),
        ("console", "loopback"),
        ("event_plugin_name", "ibutils"),
        ("event_plugin_options", "x"),
        ("console_port", "10001"),
        ("quasi_ftree_indexing", "TRUE"),
    ] {
        let error = SmConfig::parse(&format!("lmc 1\n{key} {value}\n")).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(&format!("line 2: `{key} {value}` is refused: ")),
            "{text}"
        );
    }
    // All others act.
    let refused = SmConfig::options().filter(|option| option.refused().is_some());
    assert_eq!(refused.count(), 6);
}

#[test]
fn what_is_written_is_read_again_as_it_was() {
    let text = "lmc 3\nm_key 0x1234\nsweep_interval 0\nrouting_engine ftree,updn,no_fallback\nmax_wire_smps 0\n\
                force_link_width 255\nqos_ca_sl2vl 1,2\nqos_vlarb_high 0:4,1:0\nqos_high_limit 7\nscatter_ports 9\n\
                part_enforce in\nlog_file /tmp/x y.log\nsminfo_polling_timeout 1500\nsm_sl 4\n\
                cc_ca_cong_setting_ccti_timer 0 7\ncc_ca_cong_setting_ccti_timer 5 9\ncc_cct 0:1,2:3\n\
                cc_sw_cong_setting_victim_mask 0xf1\ncc_sw_cong_setting_credit_starvation_return_delay 1:2\n\
                perfmgr_sweep_time_s 60\n";
    let (config, _) = SmConfig::parse(text).unwrap();
    let written = config.to_text();
    let (again, ignored) = SmConfig::parse(&written).unwrap();
    assert_eq!(ignored, []);
    assert_eq!(config.changes(&again), []);
    assert_eq!(again.to_text(), written);
    let defaults = SmConfig::default().changes(&config);
    assert_eq!(defaults.len(), 19, "{defaults:?}");
    assert!(
        defaults
            .iter()
            .any(|change| change.key == "lmc" && change.to == "3" && !change.is_live)
    );
}

#[test]
fn a_reload_keeps_what_needs_a_restart_and_names_it() {
    let now = SmConfig::default();
    let (mut new, _) =
        SmConfig::parse("lmc 2\nsm_priority 5\nsubnet_prefix 0xfec0000000000000\n").unwrap();
    assert_eq!(new.keep_fixed(&now), ["subnet_prefix", "lmc"]);
    assert_eq!((new.lmc, new.sm_priority), (Lmc::ZERO, 5));
}

#[test]
fn each_row_reads_what_it_writes_and_refuses_nonsense() {
    let mut config = SmConfig::default();
    for row in SmConfig::options() {
        let default = row.default_value();
        assert!((row.read)(&mut config, &default), "{} {default}", row.key());
        if row.refused().is_some() {
            continue;
        }
        assert!(
            !row.meaning().is_empty() && !row.expected().is_empty(),
            "{}",
            row.key()
        );
        let text = row.expected().contains("a text");
        assert!(
            text || !(row.read)(&mut config, "nonsense"),
            "{}",
            row.key()
        );
    }
    let keys: alloc::collections::BTreeSet<_> = SmConfig::options().map(OptionInfo::key).collect();
    assert_eq!(keys.len(), SmConfig::options().count());
}

#[test]
fn requests_that_no_answer_can_meet_are_refused() {
    let error = SmConfig::parse("transaction_timeout 0\n").unwrap_err();
    let text = alloc::format!("{error}");
    assert!(
        text.contains("`transaction_timeout` is `0`, expected milliseconds, 1 to"),
        "{text}"
    );
}

#[test]
fn the_highest_code_of_a_link_option_is_all_that_the_port_supports() {
    use ib_smp::{LinkSpeeds, LinkSpeedsExt, LinkWidths, PortInfo};
    let text = "force_link_width 255\nforce_link_speed 15\nforce_link_speed_ext 31\n";
    let (config, _) = SmConfig::parse(text).unwrap();
    let mut info = PortInfo::default();
    let (widths, speeds) = (
        LinkWidths::X1 | LinkWidths::X4,
        LinkSpeeds::from_bits_retain(7),
    );
    let above = LinkSpeedsExt::from_bits_retain(3);
    info.set_link_width_supported(widths)
        .set_link_width_enabled(LinkWidths::X1)
        .set_link_speed_supported(speeds)
        .set_link_speed_enabled(LinkSpeeds::from_bits_retain(1))
        .set_link_speed_ext_supported(above)
        .set_link_speed_ext_enabled(LinkSpeedsExt::DISABLED);
    config.forced_links.apply(&mut info);
    assert_eq!(info.link_width_enabled(), widths);
    assert_eq!(info.link_speed_enabled(), speeds);
    assert_eq!(info.link_speed_ext_enabled(), above);
}

#[test]
fn a_long_value_is_quoted_in_part() {
    let text = alloc::format!("lmc {}\n", "9".repeat(5000));
    let error = alloc::format!("{}", SmConfig::parse(&text).unwrap_err());
    assert!(error.len() < 200, "{error}");
}

/// `UPDATE_OPTIONS=1 cargo test -p ib-sm` writes the file.
#[test]
fn the_table_in_the_docs_is_that_of_the_code() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/OPTIONS.md");
    let table = SmConfig::options_table();
    if std::env::var_os("UPDATE_OPTIONS").is_some() {
        std::fs::write(file, &table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), table);
}

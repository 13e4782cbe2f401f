//! Widths and speeds to which the operator limits links.

use ib_mad::Method;
use ib_smp::{LinkSpeedsExt, LinkWidths, PortInfo};
use ib_testkit::lab::{Lab, Running};

/// Widths and speeds that are enabled at every port with a link, as its device reports them.
fn enabled(running: &Running) -> Vec<(LinkWidths, LinkWidths, LinkSpeedsExt, LinkSpeedsExt)> {
    running.sim.with(|sim| {
        let nodes = sim.nodes().iter_enumerated().map(|(index, _)| index);
        let ports = nodes.flat_map(|node| sim.ports_of(node));
        let linked = ports.filter(|port| port.is_link_up() && port.at().port.0 != 0);
        linked
            .map(|port| {
                let info: &PortInfo = port.info();
                (
                    info.link_width_enabled(),
                    info.link_width_supported(),
                    info.link_speed_ext_enabled(),
                    info.link_speed_ext_supported(),
                )
            })
            .collect()
    })
}

#[test]
fn links_are_held_to_what_is_chosen_once() {
    let mut running = Lab::new("gen-ring-5")
        .config(|config| config.forced_links.width = Some(LinkWidths::X1))
        .up();
    let all = enabled(&running);
    assert!(!all.is_empty());
    for (width, supported, _, _) in all {
        assert!(supported.contains(LinkWidths::X1));
        assert_eq!(width, LinkWidths::X1);
    }
    // A sweep over ports that are configured as desired sets nothing.
    running.resweep();
    assert!(running.transport.sent_with(Method::SET).is_empty());
}

#[test]
fn what_a_port_cannot_do_changes_nothing() {
    let before = enabled(&Lab::new("gen-ring-5").up());
    let mut running = Lab::new("gen-ring-5")
        .config(|config| config.forced_links.width = Some(LinkWidths::X8))
        .up();
    let after = enabled(&running);
    let held = before.iter().zip(&after);
    for (before, after) in held.filter(|(before, _)| !before.1.contains(LinkWidths::X8)) {
        assert_eq!(before, after);
    }
    running.resweep();
    assert!(running.sm.is_up());
}

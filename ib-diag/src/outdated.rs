//! Signs in counters that the topology of a snapshot is no longer that of the subnet.

use ib_mad::CounterDelta;

use crate::{Snapshot, SnapshotPort};

/// The counter that grows when a link goes down.
const LINK_DOWNED: &str = "link_downed_counter";

impl Snapshot {
    /// Returns true if counters that were read later show that nodes or cables may have changed: a port whose counters
    /// were readable no longer answers, or a link has been down.
    ///
    /// `later` is what [`Collector::of_counters`](crate::Collector::of_counters) has read of this snapshot, so both have
    /// the same ports. A link that comes up at a port that had none shows in no counter.
    #[must_use]
    pub fn is_outdated_by(&self, later: &Self) -> bool {
        later.ports().any(|(at, _, now)| {
            self.port(at)
                .is_some_and(|before| is_lost(before, now) || was_down(before, now))
        })
    }
}

fn is_lost(before: &SnapshotPort, now: &SnapshotPort) -> bool {
    now.counters.unread.is_some() && !before.counters.is_empty()
}

fn was_down(before: &SnapshotPort, now: &SnapshotPort) -> bool {
    let info = now.perf_class_port_info.as_ref();
    let deltas = now.counters.since(&before.counters, info);
    let downs = deltas.get(LINK_DOWNED).copied();
    downs.is_some_and(|downs| CounterDelta::at_least(downs) > 0)
}

#[cfg(test)]
mod tests {
    use ib_routing::PortRef;
    use ib_sim::Behaviour;
    use ib_wire::PortNum;

    use crate::{
        Collector, CollectorConfig, Contents, Snapshot,
        testing::{fabric, first_host, run, simulated},
    };

    /// The snapshot before, and the counters that are read after something happens to the second host, which has a cable
    /// to port 2 of its switch.
    fn around(event: impl FnOnce(&mut ib_sim::Sim, PortRef)) -> (Snapshot, Snapshot) {
        let fabric = fabric("gen-ring-5");
        let sim = simulated(&fabric, true);
        let own = first_host(&fabric);
        let config = CollectorConfig {
            contents: Contents::COUNTERS,
            ..CollectorConfig::default()
        };
        let (before, _) = run(&sim, own, Collector::new(config.clone()));
        let mut hosts = fabric.nodes().iter_enumerated();
        let (host, _) = hosts
            .find(|(index, node)| !node.type_.is_switch() && *index != own.node)
            .unwrap();
        let port = PortRef {
            node: host,
            port: PortNum(1),
        };
        sim.with(|sim| event(sim, port));
        let again = Collector::of_counters(config, before.clone(), None);
        let (later, _) = run(&sim, own, again);
        (before, later)
    }

    #[test]
    fn counters_of_an_unchanged_subnet_show_no_change() {
        let (before, later) = around(|_, _| {});
        assert!(!before.is_outdated_by(&later));
    }

    #[test]
    fn a_device_that_no_longer_answers_shows() {
        let (before, later) = around(|sim, port| sim.set_behaviour(port.node, Behaviour::Silent));
        assert!(before.is_outdated_by(&later));
        // It is not a sign once the snapshot says so.
        assert!(!later.is_outdated_by(&later));
    }

    #[test]
    fn a_link_that_was_down_for_a_moment_shows() {
        let (before, later) = around(|sim, port| {
            sim.unlink(port).unwrap();
            sim.relink(port).unwrap();
        });
        assert!(before.is_outdated_by(&later));
    }
}

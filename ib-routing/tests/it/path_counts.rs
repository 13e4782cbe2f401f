//! Path counts after random scripts of changes: the updated report equals that of a full verification.

use std::collections::BTreeSet;

use ib_routing::{
    Fabric, LidMap, LidOptions, PortRef, RouteOptions, Routes, VerifyReport, engine,
    generate::FabricSpec,
    repair::{Installed, repair, try_repair},
    verify::{PathCounts, certificate, verify_on},
};
use ib_wire::{Lid, random::SplitMix64};

const FABRICS: [&str; 6] = [
    "fat-tree:radix=6,levels=3",
    "torus:4x4,hosts=2",
    "dragonfly:a=4,p=2,h=2",
    "jellyfish:switches=16,degree=4,hosts=2,seed=5",
    "random:switches=12,links=20,hosts=2,seed=3",
    "ring:switches=5,hosts=2",
];

/// A fabric with its LIDs and routes.
#[derive(Clone)]
struct Net {
    fabric: Fabric,
    lids: LidMap,
    routes: Routes,
}

impl Net {
    fn installed(&self) -> Installed<'_> {
        Installed {
            fabric: &self.fabric,
            lids: &self.lids,
            routes: &self.routes,
        }
    }

    fn verify(&self) -> VerifyReport {
        verify_on(1, &self.fabric, &self.lids, &self.routes)
    }

    fn count(&self, report: &VerifyReport) -> Option<PathCounts> {
        PathCounts::new(&self.fabric, &self.lids, &self.routes, report)
    }

    /// This net after its cables became those of another fabric, repaired.
    fn repaired(&self, fabric: Fabric) -> Option<Self> {
        let ranges = self.lids.destinations().iter();
        let lids = LidMap::of_ranges(&fabric, ranges.map(|port| (port.end, port.range)));
        let repair = repair(self.installed(), &fabric, &lids, &options(), 0).ok()?;
        Some(Self {
            routes: repair.routes,
            fabric,
            lids,
        })
    }
}

fn options() -> RouteOptions {
    RouteOptions {
        threads: 1,
        ..RouteOptions::default()
    }
}

fn cables(fabric: &Fabric) -> Vec<(PortRef, PortRef)> {
    let is_switch = |end: PortRef| fabric.switch_of(end.node).is_some();
    let links = fabric.links();
    links
        .filter(|&(one, other)| is_switch(one) && is_switch(other))
        .collect()
}

/// The report without the fields of which several values are correct.
fn comparable(report: &VerifyReport) -> VerifyReport {
    VerifyReport {
        order: None,
        cycle: report.cycle.as_ref().map(|_| Vec::new()),
        management_cycle: report.management_cycle.as_ref().map(|_| Vec::new()),
        ..report.clone()
    }
}

/// Fails or returns a cable, or leads one entry elsewhere.
fn change(whole: &Fabric, net: &Net, random: &mut SplitMix64) -> Option<Net> {
    match random.below(4) {
        0 | 1 => {
            let mut cables = cables(&net.fabric);
            random.shuffle(&mut cables);
            let mut builder = net.fabric.to_builder();
            builder.remove_link(cables.first()?.0);
            net.repaired(builder.build())
        }
        2 => {
            let present: BTreeSet<_> = cables(&net.fabric).into_iter().collect();
            let mut gone: Vec<_> = cables(whole)
                .into_iter()
                .filter(|at| !present.contains(at))
                .collect();
            random.shuffle(&mut gone);
            let mut builder = whole.to_builder();
            for &(end, _) in gone.iter().skip(1) {
                builder.remove_link(end);
            }
            net.repaired(builder.build())
        }
        _ => {
            let mut net = net.clone();
            let mut switches: Vec<_> = net.fabric.switches().indices().collect();
            random.shuffle(&mut switches);
            let switch = *switches.first()?;
            let lid = Lid(1 + random.below(usize::from(net.lids.max_lid().0)) as u16);
            let mut ports: Vec<_> = net
                .fabric
                .channels_from(switch)
                .map(|(_, channel)| channel.port)
                .collect();
            random.shuffle(&mut ports);
            net.routes.set_port(switch, lid, *ports.first()?);
            Some(net)
        }
    }
}

/// A repair that is told the path counts is that of one that surveys the routes.
fn assert_same_repair(net: &Net, counts: &PathCounts, next: &Net, context: &str) {
    let repair = |counts| {
        let repair = try_repair(
            net.installed(),
            counts,
            &next.fabric,
            &next.lids,
            &options(),
        );
        repair.map(|repair| (repair.routes, repair.before, repair.broken, repair.moved))
    };
    assert!(repair(Some(counts)) == repair(None), "{context}");
}

#[test]
fn an_updated_report_equals_that_of_a_full_verification() {
    for (seed, spec) in (1..).zip(FABRICS) {
        let whole = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        for engine in [
            &engine::MINHOP,
            &engine::UPDN,
            &engine::LASH,
            &engine::DFSSSP,
            &engine::NUE,
        ] {
            let lids = LidMap::assign(&whole, &LidOptions::default()).unwrap();
            let Ok(routes) = engine.route(&whole, &lids, &options()) else {
                continue;
            };
            let mut net = Net {
                fabric: whole.clone(),
                lids,
                routes,
            };
            let mut random = SplitMix64::new(seed);
            let mut counts = net.count(&net.verify());
            let mut updated = 0;
            for step in 0..12 {
                let Some(next) = change(&whole, &net, &mut random) else {
                    continue;
                };
                let full = next.verify();
                let context = format!("{spec} {engine} step {step}");
                if let Some(counts) = &counts {
                    assert_same_repair(&net, counts, &next, &context);
                }
                let more = counts
                    .as_ref()
                    .and_then(|counts| counts.updated(net.installed(), next.installed()));
                let is_complete = full.unreachable == 0;
                assert!(more.is_none() || is_complete, "{context}: {full:?}");
                if let Some(counts) = &more {
                    updated += 1;
                    let report = counts.report();
                    assert_eq!(comparable(&report), comparable(&full), "{context}");
                    if let Some(order) = &report.order {
                        certificate::check(&next.fabric, &next.lids, &next.routes, order).unwrap();
                    }
                }
                // A change that breaks a path is taken back.
                if is_complete {
                    counts = more.or_else(|| next.count(&full));
                    net = next;
                }
            }
            assert!(
                updated >= 3 || counts.is_none(),
                "{spec} {engine}: {updated} updates"
            );
        }
    }
}

#[test]
fn only_the_lids_whose_entries_changed_are_examined() {
    let fabric = "fat-tree:radix=8,levels=3"
        .parse::<FabricSpec>()
        .unwrap()
        .build()
        .unwrap();
    let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
    let routes = engine::MINHOP.route(&fabric, &lids, &options()).unwrap();
    let net = Net {
        fabric,
        lids,
        routes,
    };
    let counts = net.count(&net.verify()).unwrap();
    assert_eq!(counts.examined(), net.lids.num_lids());
    for (end, _) in cables(&net.fabric).into_iter().step_by(11) {
        let mut builder = net.fabric.to_builder();
        builder.remove_link(end);
        let next = net.repaired(builder.build()).unwrap();
        let owned = net
            .lids
            .destinations()
            .iter()
            .flat_map(|end| end.range.iter());
        let differs = |lid: &Lid| {
            let mut switches = net.fabric.switches().indices();
            switches.any(|switch| net.routes.port(switch, *lid) != next.routes.port(switch, *lid))
        };
        let changed = owned.filter(differs).count();
        let counts = counts.updated(net.installed(), next.installed()).unwrap();
        assert!(
            counts.examined() <= changed,
            "{} > {changed}",
            counts.examined()
        );
        assert!(changed < net.lids.num_lids());
    }
}

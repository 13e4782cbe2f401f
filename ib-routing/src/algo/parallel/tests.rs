//! Results are the same on every number of threads, and the gain of threads is counted.

use super::{plan::Plan, *};
use crate::{
    LidMap, LidOptions, RouteOptions, SharedEngine, engine, generate::FabricSpec, routes::Routes,
    verify::verify_on,
};

#[test]
fn a_slip_of_the_keyboard_starts_no_million_threads() {
    assert_eq!(workers(1_000_000, FEW), MOST);
    assert_eq!(workers(3, FEW), 3);
}

#[test]
fn every_row_and_number_is_worked_on_once() {
    for threads in [1, 2, 3, 16] {
        for count in [0, 1, FEW - 1, FEW, 1000] {
            let (mut items, mut data) = (vec![0; count], vec![0; count * 3]);
            let mut spaces = Spaces::new(workers(threads, count), |worker| worker);
            rows_with(
                threads,
                &mut items,
                &mut data,
                3,
                &mut spaces,
                |_, item, row| {
                    *item += 1;
                    row.iter_mut().for_each(|entry| *entry += 1);
                },
            );
            assert!(items.iter().chain(&data).all(|&entry| entry == 1));
            let numbers: Vec<usize> = (0..count).collect();
            assert_eq!(map(threads, count, |at| at), numbers);
            assert_eq!(map_many(threads, count, |at| at), numbers);
            let parts = gather(threads, count, Vec::new, |part, at| part.push(at));
            assert!((1..=threads).contains(&parts.len()));
            assert!(parts.iter().all(|part| part.is_sorted()));
            let mut gathered = parts.concat();
            gathered.sort_unstable();
            assert_eq!(gathered, numbers);
        }
    }
}

#[test]
fn the_span_is_the_serial_work_and_the_longest_part_of_each_step() {
    let (plan, _) = Plan::of(|| {
        count(5);
        map(8, 4, |at| {
            count(at);
            map(8, 2, |inner| count(10 * inner));
        });
        rows(2, &mut [(); 64], &mut [(); 64], 1, |_, _| count(1));
        gather(2, 3, || count(100), |(), at| count(at));
        Lockstep::default().run(&mut [1, 2], 1, 3, |part, stage| count(1000 * *part * stage));
    });
    assert_eq!(plan.work, 5 + (1 + 2 + 3) + 4 * 10 + 64 + 200 + 3 + 6000);
    assert_eq!(plan.span, 5 + (3 + 10) + 1 + 101 + 6000);
}

/// A fabric with its routes, on which the gain of threads is counted: the ratio of their time to that of one thread.
struct Gain {
    fabric: Fabric,
    lids: LidMap,
    routes: Routes,
}

impl Gain {
    fn on(spec: &str) -> Self {
        let fabric = spec.parse::<FabricSpec>().unwrap().build().unwrap();
        let lids = LidMap::assign(&fabric, &LidOptions::default()).unwrap();
        let routes = route(&engine::MINHOP, &fabric, &lids, 1);
        Self {
            fabric,
            lids,
            routes,
        }
    }

    /// Checks the gain in an engine's run for numbers of threads, each with the least gain that it must have. Returns the units
    /// of time on the last of these numbers.
    fn check_route(&self, engine: &SharedEngine, wanted: &[(usize, f64)]) -> f64 {
        check(engine.name(), wanted, |threads| {
            route(engine, &self.fabric, &self.lids, threads)
        })
    }

    fn check_verify(&self, wanted: &[(usize, f64)]) {
        check("verify", wanted, |threads| {
            verify_on(threads, &self.fabric, &self.lids, &self.routes)
        });
    }
}

fn route(engine: &SharedEngine, fabric: &Fabric, lids: &LidMap, threads: usize) -> Routes {
    let options = RouteOptions {
        threads,
        ..RouteOptions::default()
    };
    engine.route(fabric, lids, &options).unwrap()
}

fn check<R: PartialEq>(name: &str, wanted: &[(usize, f64)], work: impl Fn(usize) -> R) -> f64 {
    let (one, result) = Plan::of(|| work(1));
    assert_eq!(one.work, one.span);
    let mut time = one.time(1);
    for &(threads, least) in wanted {
        let (plan, same) = Plan::of(|| work(threads));
        assert!(result == same, "{name} on {threads} threads");
        time = plan.time(threads);
        let gain = one.work as f64 / time;
        assert!(
            gain >= least,
            "{name} on {threads} threads: {gain} of {least}"
        );
    }
    time
}

/// The serial work and the longest parts weigh more than in larger fabrics.
#[test]
fn two_threads_are_nearly_twice_as_fast_and_more_gain_more() {
    let gain = Gain::on("fat-tree:radix=24,levels=3");
    gain.check_route(&engine::MINHOP, &[(2, 1.8), (16, 8.0), (64, 13.0)]);
    gain.check_verify(&[(2, 1.9), (16, 10.0), (64, 19.0)]);
}

/// Threads that choose trees have 128 switches each, at least, so 16 find too few here.
#[test]
fn threads_that_share_the_switches_gain_as_long_as_there_are_many() {
    let gain = Gain::on("fat-tree:radix=24,levels=3");
    gain.check_route(&engine::SSSP, &[(2, 1.8), (16, 5.0)]);
    let gain = Gain::on("fat-tree:radix=16,levels=3");
    gain.check_route(&engine::DFSSSP, &[(2, 1.6), (16, 2.5)]);
    gain.check_route(&engine::NUE, &[(2, 1.6), (16, 2.5)]);
}

#[test]
#[ignore = "it takes minutes without optimisation; `.ci/run scale` runs it with"]
fn routes_of_47824_lids_keep_64_threads_busy() {
    let gain = Gain::on("fat-tree:radix=56,levels=3");
    gain.check_route(&engine::MINHOP, &[(2, 1.9), (16, 14.0), (64, 50.0)]);
    gain.check_verify(&[(2, 1.9), (16, 12.0), (64, 30.0)]);
    // Trees to switches take hardly any work, so that the gain is that of the trees by parts alone.
    let time = gain.check_route(&engine::SSSP, &[(2, 1.9), (16, 12.8)]);
    assert!(time <= 108e6, "sssp on 16 threads: {time} units of time");
}

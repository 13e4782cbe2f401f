//! Measuring two things by turns.

use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};

/// Figures of several repetitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    /// The figures `figures`.
    pub(crate) fn new(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        Self(figures)
    }

    /// The middle figure.
    pub(crate) fn median(&self) -> f64 {
        self.at(0.5)
    }

    /// The quarter of the figures that is least: what else runs on the machine only adds to wall time.
    pub(crate) fn least(mut self) -> Self {
        self.0.truncate(self.0.len().div_ceil(4));
        self
    }

    /// The figures of one of `count` things that a call did.
    pub(crate) fn per(self, count: u32) -> Self {
        Self(
            self.0
                .iter()
                .map(|figure| figure / f64::from(count))
                .collect(),
        )
    }

    /// Half the distance of the quartiles over the median.
    pub(crate) fn spread(&self) -> f64 {
        (self.at(0.75) - self.at(0.25)) / 2.0 / self.median()
    }

    fn at(&self, part: f64) -> f64 {
        let last = self.0.len().saturating_sub(1);
        let index = (last as f64 * part).round() as usize;
        self.0.get(index).copied().unwrap_or(f64::NAN)
    }
}

/// Nanoseconds a call of `ours` and of `peer`, each over several repetitions by turns.
///
/// A repetition calls the function often enough to last about 0.2 ms: short beside a time slice, so that
/// most repetitions are not interrupted. The results of the functions go through `black_box`, so that no
/// work is optimised away.
pub(crate) fn by_turns<A, B>(ours: impl FnMut() -> A, peer: impl FnMut() -> B) -> (Sample, Sample) {
    figures_by_turns(SHORT_REPETITIONS, timed(ours), timed(peer))
}

/// The number of repetitions of 0.2 ms that give a figure.
pub(crate) const SHORT_REPETITIONS: usize = 301;

/// One repetition of `function` a call: nanoseconds a call of it.
pub(crate) fn timed<T>(mut function: impl FnMut() -> T) -> impl FnMut() -> f64 {
    let calls = calls(&mut function);
    move || time(&mut function, calls)
}

/// As [`by_turns`], for functions that measure themselves: each returns its own figure.
pub(crate) fn figures_by_turns(
    repetitions: usize,
    mut ours: impl FnMut() -> f64,
    mut peer: impl FnMut() -> f64,
) -> (Sample, Sample) {
    let mut figures = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        figures.0.push(ours());
        figures.1.push(peer());
    }
    (Sample::new(figures.0), Sample::new(figures.1))
}

/// Processor time of the calling thread so far.
pub(crate) fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Processor time of all threads of this process so far.
pub(crate) fn process_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// Processor time between two readings of [`process_time`] with nothing in between: the least of many.
pub(crate) fn process_time_overhead() -> Duration {
    let readings = (0..1000).map(|_| {
        let start = process_time();
        process_time().saturating_sub(start)
    });
    readings.min().unwrap_or(Duration::ZERO)
}

/// Returns true if a program is on the path.
pub(crate) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// The number of calls that last about 0.2 ms.
fn calls<T>(function: &mut impl FnMut() -> T) -> u32 {
    let mut calls = 1;
    loop {
        let took = time(function, calls) * f64::from(calls);
        if took > Duration::from_micros(100).as_nanos() as f64 {
            return calls.saturating_mul(2);
        }
        calls = calls.saturating_mul(2);
    }
}

/// Nanoseconds a call.
fn time<T>(function: &mut impl FnMut() -> T, calls: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..calls {
        std::hint::black_box(function());
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

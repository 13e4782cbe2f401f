//! Stages of work on parts of some data: no part begins a stage before all have ended the one before.
//!
//! Stages of some microseconds are too short to sleep between them, so threads spin until the others are done. They are
//! threads of a pool, which may be busy with something else: those that do not start in time are not waited for, and the
//! others do their parts. Where other programs need the processors, too, several threads can take longer than one. So the
//! time of both is measured, and the faster way is taken for most of the work.

#[cfg(feature = "std")]
use core::{
    hint,
    sync::atomic::{
        AtomicBool, AtomicUsize,
        Ordering::{AcqRel, Acquire, Relaxed, Release},
    },
    time::Duration,
};
#[cfg(feature = "std")]
use std::{
    sync::{Mutex, PoisonError},
    thread,
    time::Instant,
    vec::Vec,
};

#[cfg(test)]
use super::plan;

/// Work on parts in runs of stages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lockstep {
    #[cfg(feature = "std")]
    times: Times,
}

impl Lockstep {
    /// Does `stages` stages: `work` gets each part in each of them. The very first run is on one thread. `units` says how
    /// much work there is: a unit takes about the same time in all runs.
    pub(crate) fn run<P: Send>(
        &mut self,
        parts: &mut [P],
        units: usize,
        stages: usize,
        work: impl Fn(&mut P, usize) + Sync,
    ) {
        #[cfg(test)]
        if plan::is_made() && parts.len() > 1 {
            return (0..stages).for_each(|stage| plan::abreast(parts, |part| work(part, stage)));
        }
        #[cfg(feature = "std")]
        if parts.len() > 1 {
            let begin = Instant::now();
            let is_alone = self.times.is_alone();
            if is_alone {
                alone(parts, stages, &work);
            } else {
                together(parts, stages, &work);
            }
            let units = u32::try_from(units).unwrap_or(u32::MAX).max(1);
            return self.times.note(is_alone, begin.elapsed() / units);
        }
        let _ = units;
        alone(parts, stages, &work);
    }
}

/// The measured times of several threads and of one.
#[cfg(feature = "std")]
#[derive(Clone, Debug, Default)]
struct Times {
    /// Time of one thread for a unit of work, in its last run.
    alone: Option<Duration>,
    /// The number of runs on one thread before the next on several.
    pause: u32,
    /// The number of runs on several threads, one after the other, that were no faster.
    slower: u32,
}

#[cfg(feature = "std")]
impl Times {
    /// The most runs on one thread before several are tried again.
    const LONGEST_PAUSE: u32 = 64;

    /// Returns true if the next run is for one thread.
    fn is_alone(&self) -> bool {
        self.alone.is_none() || self.pause > 0
    }

    /// Notes the time of a unit of work in a run on one thread or on several.
    fn note(&mut self, is_alone: bool, time: Duration) {
        if is_alone {
            self.alone = Some(time);
            self.pause = self.pause.saturating_sub(1);
        } else if self.alone.is_none_or(|alone| time < alone) {
            self.slower = 0;
        } else {
            let pause = 1_u32.checked_shl(self.slower).unwrap_or(u32::MAX);
            self.pause = pause.min(Self::LONGEST_PAUSE);
            self.slower = self.slower.saturating_add(1);
        }
    }
}

/// Does all stages on this thread.
fn alone<P>(parts: &mut [P], stages: usize, work: &impl Fn(&mut P, usize)) {
    for stage in 0..stages {
        for part in &mut *parts {
            work(part, stage);
        }
    }
}

/// Does all stages on as many threads of this pool as there are parts, or as come in time.
#[cfg(feature = "std")]
fn together<P: Send>(parts: &mut [P], stages: usize, work: &(impl Fn(&mut P, usize) + Sync)) {
    let team = Team::new();
    let parts: Vec<Mutex<&mut P>> = parts.iter_mut().map(Mutex::new).collect();
    let run = |member: usize| {
        let _guard = BreakOnPanic(&team);
        let threads = team.wait_for_start();
        let own = parts.iter().skip(member).step_by(threads);
        let locked = own.map(|part| part.lock().unwrap_or_else(PoisonError::into_inner));
        let mut own: Vec<_> = locked.collect();
        for stage in 0..stages {
            if !team.wait(stage, threads) {
                return;
            }
            for part in &mut own {
                work(part, stage);
            }
        }
    };
    rayon::scope(|scope| {
        for _ in 1..parts.len() {
            scope.spawn(|_| {
                if let Some(member) = team.join() {
                    run(member);
                }
            });
        }
        team.start(parts.len());
        run(0);
    });
}

/// Threads that do stages together, and the barrier before each stage.
///
/// The standard library's barrier puts threads to sleep, which takes longer than a stage. Nothing else is in the cache line,
/// so that threads that spin do not slow down those that work.
#[cfg(feature = "std")]
#[repr(align(128))]
struct Team {
    /// The number of threads, and [`STARTED`](Self::STARTED).
    members: AtomicUsize,
    /// The number of times that a thread has arrived at a stage, over all stages.
    arrived: AtomicUsize,
    /// A thread is missing, so that nothing is to be waited for.
    is_broken: AtomicBool,
}

#[cfg(feature = "std")]
impl Team {
    /// The bit that closes the team: no thread joins once it is set.
    const STARTED: usize = 1 << (usize::BITS - 1);

    /// The longest time that the first thread waits for others to start: to wake one up takes less.
    const LONGEST_WAIT: Duration = Duration::from_micros(300);

    /// The number of spins before a thread sleeps: they take longer than most stages.
    const SPINS: usize = 1 << 12;

    /// The time that a thread sleeps then. If the one that it waits for is to run on the same processor, the system lets one
    /// of them go on on another when this one wakes up; to yield would leave both there.
    const SLEEP: Duration = Duration::from_micros(1);

    /// One thread alone.
    const fn new() -> Self {
        Self {
            members: AtomicUsize::new(1),
            arrived: AtomicUsize::new(0),
            is_broken: AtomicBool::new(false),
        }
    }

    /// Adds a thread, and returns its number; `None` if the others have started.
    fn join(&self) -> Option<usize> {
        let add = |members| (members & Self::STARTED == 0).then_some(members + 1);
        self.members.fetch_update(AcqRel, Acquire, add).ok()
    }

    /// Lets those start that have joined, when all have or when [`LONGEST_WAIT`](Self::LONGEST_WAIT) is over.
    fn start(&self, all: usize) {
        let begin = Instant::now();
        while self.members.load(Acquire) < all && begin.elapsed() < Self::LONGEST_WAIT {
            thread::yield_now();
        }
        self.members.fetch_or(Self::STARTED, AcqRel);
    }

    /// The number of threads, when that is known.
    fn wait_for_start(&self) -> usize {
        let mut members = 0;
        self.spin_until(|| {
            members = self.members.load(Acquire);
            members & Self::STARTED > 0
        });
        (members & !Self::STARTED).max(1)
    }

    /// Waits until all threads may begin a stage. Returns false if one is missing.
    ///
    /// All writes of a thread before this call happen before all reads of others after it.
    fn wait(&self, stage: usize, threads: usize) -> bool {
        let all = (stage + 1) * threads;
        self.arrived.fetch_add(1, Release);
        self.spin_until(|| self.arrived.load(Acquire) >= all)
    }

    /// Spins until something is true. Returns false if a thread is missing.
    fn spin_until(&self, mut is_true: impl FnMut() -> bool) -> bool {
        let mut spins = 0;
        while !is_true() {
            if self.is_broken.load(Relaxed) {
                return false;
            }
            spins += 1;
            if spins % Self::SPINS == 0 {
                thread::sleep(Self::SLEEP);
            }
            hint::spin_loop();
        }
        true
    }

    fn break_barrier(&self) {
        self.is_broken.store(true, Relaxed);
    }
}

/// Ends the waiting of other threads when this one panics.
#[cfg(feature = "std")]
struct BreakOnPanic<'a>(&'a Team);

#[cfg(feature = "std")]
impl Drop for BreakOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.break_barrier();
        }
    }
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use std::{panic, string::String, vec::Vec};

    use super::*;

    /// Each part reads what all parts wrote in the stage before.
    #[test]
    fn no_stage_begins_before_the_last_has_ended() {
        const STAGES: usize = 1000;
        for threads in [1, 2, 3, 5] {
            let ended: Vec<AtomicUsize> = (0..threads).map(|_| AtomicUsize::new(0)).collect();
            let mut parts: Vec<usize> = (0..threads).collect();
            let work = |part: &mut usize, stage: usize| {
                assert!(ended.iter().all(|ended| ended.load(Relaxed) >= stage));
                ended[*part].store(stage + 1, Relaxed);
            };
            together(&mut parts, STAGES, &work);
            assert!(ended.iter().all(|ended| ended.load(Relaxed) == STAGES));
            ended.iter().for_each(|ended| ended.store(0, Relaxed));
            Lockstep::default().run(&mut parts, 1, STAGES, work);
            assert!(ended.iter().all(|ended| ended.load(Relaxed) == STAGES));
        }
    }

    #[test]
    fn a_panic_of_one_thread_keeps_no_other_waiting() {
        for panicking in [0, 1, 2] {
            let work = |part: &mut usize, stage: usize| {
                assert!((*part, stage) != (panicking, 5), "this panic is wanted");
            };
            let mut parts = [0, 1, 2];
            let run = panic::AssertUnwindSafe(|| together(&mut parts, 10, &work));
            assert!(panic::catch_unwind(run).is_err());
        }
    }

    /// Runs alone and together, by letters.
    fn runs(times: &mut Times, count: usize, together: u64) -> String {
        let run = |_| {
            let is_alone = times.is_alone();
            let time = if is_alone { 10 } else { together };
            times.note(is_alone, Duration::from_micros(time));
            if is_alone { 'a' } else { 't' }
        };
        (0..count).map(run).collect()
    }

    #[test]
    fn threads_that_are_slower_than_one_are_tried_less_often() {
        let mut times = Times::default();
        assert_eq!(runs(&mut times, 5, 6), "atttt");
        assert_eq!(runs(&mut times, 11, 12), "tataataaaat");
        assert_eq!(runs(&mut times, 10, 6), "aaaaaaaatt");
        assert_eq!(runs(&mut times, 3, 12), "tat");
        // The pauses become longer up to the longest one.
        let long = runs(&mut times, 1000, 12);
        assert!(long.matches('t').count() <= 1000 / 64 + 7, "{long}");
    }
}

//! Threads that use one thing by turns, always in the same order.

use std::sync::mpsc::{self, Receiver, Sender};

/// One thread's turns at a thing.
#[derive(Debug)]
pub struct Turns<T> {
    from_previous: Receiver<T>,
    to_next: Sender<T>,
}

/// The turns of `threads` threads at `thing`: the first begins, and after the last it is the first one's turn again.
pub fn of<T>(thing: T, threads: usize) -> impl Iterator<Item = Turns<T>> {
    let (mut senders, receivers): (Vec<_>, Vec<_>) = (0..threads).map(|_| mpsc::channel()).unzip();
    if let Some(first) = senders.first() {
        // Its receiver exists, so this cannot fail.
        let _ = first.send(thing);
        senders.rotate_left(1);
    }
    let pairs = receivers.into_iter().zip(senders);
    pairs.map(|(from_previous, to_next)| Turns {
        from_previous,
        to_next,
    })
}

impl<T> Turns<T> {
    /// Waits for this thread's turn, uses the thing, and passes it on. `None` after another thread has ended, even by a
    /// panic, as its turn would never end.
    pub fn take<R>(&self, mut use_it: impl FnMut(&mut T) -> R) -> Option<R> {
        let mut thing = self.from_previous.recv().ok()?;
        let result = use_it(&mut thing);
        // A thread that has ended has no more turns.
        let _ = self.to_next.send(thing);
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn turns_come_in_the_same_order_again_and_again() {
        for threads in [1, 2, 5] {
            let mut order = Vec::new();
            let turns: Vec<_> = of(&mut order, threads).collect();
            assert_eq!(turns.len(), threads);
            thread::scope(|scope| {
                for (thread, turns) in turns.into_iter().enumerate() {
                    scope.spawn(move || {
                        for _ in 0..100 {
                            turns.take(|order| order.push(thread));
                        }
                    });
                }
            });
            let expected: Vec<_> = (0..threads).cycle().take(100 * threads).collect();
            assert_eq!(order, expected);
        }
    }

    #[test]
    fn no_thread_waits_for_one_that_has_ended() {
        let mut turns = of(0, 3);
        let (first, second, third) = (turns.next(), turns.next(), turns.next());
        assert_eq!(first.as_ref().unwrap().take(|uses| *uses += 1), Some(()));
        drop(second);
        assert_eq!(third.as_ref().unwrap().take(|uses| *uses += 1), None);
        drop(third);
        assert_eq!(first.unwrap().take(|uses| *uses += 1), None);
    }
}

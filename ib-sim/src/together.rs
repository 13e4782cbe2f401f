//! The loop that lets several engines work side by side on one fabric, each by its own transport.

use core::ops::ControlFlow;

use ib_mad::{Engine, Input, Instant, Mad};
use ib_transport::{Clock as _, MadTransport, Received};

use crate::transport::SharedSim;

/// Runs all `engines` over their transports of the fabric `sim` until `on_event` breaks, and returns what it broke
/// with; `on_event` gets the place of the engine in the list.
///
/// Returns `None` once nothing can happen any more, and at `end`, which the fabric's time has reached then. Time
/// passes for all alike; what happens at one moment happens in the order of the list, so a run is the same every
/// time. [`drive`](ib_transport::drive) is the loop of one engine.
///
/// # Errors
/// The transports'.
pub fn drive_all<E, T, B>(
    sim: &SharedSim,
    engines: &mut [(E, T)],
    end: Option<Instant>,
    mut on_event: impl FnMut(usize, &mut E, E::Event) -> ControlFlow<B>,
) -> Result<Option<B>, T::Error>
where
    E: for<'a> Engine<Input<'a> = Input<'a>, Transmit = Mad>,
    T: MadTransport,
{
    loop {
        let mut received = true;
        // What arrives at this moment may call forth more at the same one.
        while received {
            received = false;
            for (place, (engine, transport)) in engines.iter_mut().enumerate() {
                let now = sim.now();
                while let Some(mad) = engine.poll_transmit(now) {
                    transport.send(now, &mad)?;
                }
                while let Some(event) = engine.poll_event() {
                    if let ControlFlow::Break(value) = on_event(place, engine, event) {
                        return Ok(Some(value));
                    }
                }
                match transport.recv(now)? {
                    Some(Received::Mad(mad)) => engine.handle_input(now, Input::Mad(&mad)),
                    Some(Received::Returned(mad)) => {
                        engine.handle_input(now, Input::Returned(&mad));
                    }
                    None => continue,
                }
                received = true;
            }
        }
        let timers = engines
            .iter()
            .filter_map(|(engine, _)| engine.poll_timeout());
        let Some(next) = timers.chain(sim.next_at()).min() else {
            return Ok(None);
        };
        if let Some(end) = end.filter(|&end| next > end) {
            sim.advance(end);
            return Ok(None);
        }
        sim.advance(next.max(sim.now()));
        let now = sim.now();
        for (engine, _) in engines.iter_mut() {
            if engine.poll_timeout().is_some_and(|at| at <= now) {
                engine.handle_timeout(now);
            }
        }
    }
}

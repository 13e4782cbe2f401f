//! The subnet manager on a device without an operating system: firmware brings a port, a timer and an
//! allocator, and nothing else. Built for thumbv7em by `.ci/run no_std`.
#![no_std]
#![forbid(unsafe_code)]

use core::ops::ControlFlow;

use ib_mad::transport::{Clock, MadTransport, drive};
use ib_sm::{Event, SmConfig, SubnetManager};

/// Manages the subnet behind `port` until it is up, and returns how many ports are active; `None` if
/// the port falls silent before.
///
/// # Errors
/// Those of the port.
pub fn bring_up<T, C>(port: &mut T, clock: &C) -> Result<Option<usize>, T::Error>
where
    T: MadTransport,
    C: Clock,
{
    let mut manager = SubnetManager::new(SmConfig::default(), clock.now());
    drive(&mut manager, port, clock, |_, event| match event {
        Event::SubnetUp(summary) => ControlFlow::Break(summary.ports.active),
        _ => ControlFlow::Continue(()),
    })
}

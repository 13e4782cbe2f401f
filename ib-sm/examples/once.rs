//! Brings a subnet that a simulator serves up, once: `once SOCKET [NODE]`.

use std::{env, error::Error, ops::ControlFlow};

use ib_sm::{Event, SmConfig, SubnetManager};
use ib_transport::{
    Clock, MonotonicClock, drive,
    ibsim::{IbsimOptions, IbsimPort},
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let options = IbsimOptions {
        server: arguments.next().unwrap_or_else(|| "sim".to_owned()),
        node: arguments.next().unwrap_or_default(),
        announce_sm: true,
    };
    let clock = MonotonicClock::start();
    let mut port = IbsimPort::attach(&options)?;
    let mut sm = SubnetManager::new(SmConfig::default(), clock.now());
    drive(&mut sm, &mut port, &clock, |_, event| {
        println!("{event:?}");
        match event {
            Event::SubnetUp(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    })?;
    Ok(())
}

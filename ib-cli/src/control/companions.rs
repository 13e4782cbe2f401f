//! The engines that work beside the subnet manager on the same port: performance management and congestion control.
//!
//! Both are off unless the configuration switches them on. A datagram from the port goes to the engine of its class.
//! Subnet management goes to the subnet manager; while a standby walks the subnet to read counters, it also goes to the
//! performance manager.

use std::{path::PathBuf, time::SystemTime};

use ib_diag::{PerfManager, PerfManagerConfig, PerfManagerEvent};
use ib_mad::{Engine as _, InFlight, Input, Instant, Mad, MgmtClass, WindowConfig};
use ib_sm::{CongestionManager, SmConfig, SubnetManager};
use ib_smp::SmState;

use super::retry::Retry;
use crate::{error::CliError, files, log::Log};

/// Distance between the first transaction IDs of the engines, so that no response matches a request of another engine.
const PERF_IDS: u32 = 1 << 30;
const CONGESTION_IDS: u32 = 1 << 31;

/// Both engines, and the file of the counter totals.
pub struct Companions {
    perf: Option<PerfManager>,
    congestion: CongestionManager,
    log: Log,
    dump_file: Option<PathBuf>,
    dump: Retry,
    /// One moment in the engines' clock and in the system clock, to convert between them.
    epoch: (Instant, SystemTime),
}

impl Companions {
    /// Creates the engines that the configuration switches on.
    pub fn new(config: &SmConfig, log: Log, now: Instant) -> Self {
        let mut companions = Self {
            perf: None,
            congestion: CongestionManager::new(
                config.congestion.clone(),
                window(config, CONGESTION_IDS),
            ),
            log,
            dump_file: None,
            dump: Retry::default(),
            epoch: (now, SystemTime::now()),
        };
        companions.reconfigure(config, now);
        companions
    }

    /// Applies a new configuration.
    pub fn reconfigure(&mut self, config: &SmConfig, now: Instant) {
        self.congestion.reconfigure(config.congestion.clone());
        self.dump_file = config.performance.dump_file.as_ref().map(PathBuf::from);
        match &mut self.perf {
            _ if !config.performance.enabled => self.perf = None,
            Some(perf) => perf.reconfigure(now, perf_config(config)),
            None => self.perf = Some(PerfManager::new(perf_config(config), now)),
        }
    }

    /// The performance manager; `None` if it is off.
    pub fn perf(&self) -> Option<&PerfManager> {
        self.perf.as_ref()
    }

    /// The performance manager for changes; `None` if it is off.
    pub fn perf_mut(&mut self) -> Option<&mut PerfManager> {
        self.perf.as_mut()
    }

    /// Switches the performance manager on or off. The next reading of the configuration overrides this.
    pub fn enable_perf(&mut self, config: &SmConfig, on: bool, now: Instant) {
        match on {
            true if self.perf.is_none() => {
                self.perf = Some(PerfManager::new(perf_config(config), now));
            }
            true => {}
            false => self.perf = None,
        }
    }

    /// The totals of all ports in the format of OpenSM; empty if the performance manager is off.
    pub fn dump_text(&self) -> String {
        let perf = self.perf.as_ref();
        perf.map_or_else(String::new, |perf| perf.dump(|at| self.date(at)))
    }

    /// A moment as a date and time for people.
    pub fn date(&self, at: Instant) -> String {
        let (epoch, world) = self.epoch;
        httpdate::fmt_http_date(world + at.since(epoch))
    }

    /// Passes a datagram from the port to the engines. Returns whether the subnet manager must receive it as well.
    pub fn handle_input(&mut self, now: Instant, input: &Input<'_>) -> bool {
        let (mad, again): (&Mad, fn(&Mad) -> Input<'_>) = match input {
            Input::Mad(mad) => (mad, |mad| Input::Mad(mad)),
            Input::SendFailed(mad) => (mad, |mad| Input::SendFailed(mad)),
            Input::Returned(mad) => (mad, |mad| Input::Returned(mad)),
        };
        let is_response = matches!(input, Input::Mad(_));
        match mad.header().mgmt_class() {
            MgmtClass::CONGESTION_CONTROL => {
                self.congestion.handle_input(now, again(mad));
                false
            }
            class => {
                let is_perf = class == MgmtClass::PERF;
                let perf = self.perf.as_mut();
                if let Some(perf) = perf.filter(|perf| !is_response || perf.expects(mad)) {
                    perf.handle_input(now, again(mad));
                }
                !is_perf
            }
        }
    }

    /// Runs the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.congestion.handle_timeout(now);
        if let Some(perf) = &mut self.perf {
            perf.handle_timeout(now);
        }
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let perf = self.perf.as_mut();
        perf.and_then(|perf| perf.poll_transmit(now))
            .or_else(|| self.congestion.poll_transmit(now))
    }

    /// Time at which to call [`handle_timeout`](Self::handle_timeout) next; `None` if no timer runs.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timers = [
            self.perf.as_ref().and_then(PerfManager::poll_timeout),
            self.congestion.poll_timeout(),
            self.dump.due(),
        ];
        Instant::earliest(timers)
    }

    /// Starts to configure congestion control on the devices, as the subnet is up.
    pub fn subnet_is_up(&mut self, sm: &SubnetManager) {
        self.congestion.begin(sm.subnet());
    }

    /// Handles the events of the engines, and writes the file of the totals when it is due.
    pub fn poll(&mut self, sm: &SubnetManager, now: Instant) {
        while let Some(event) = self.congestion.poll_event() {
            self.log.congestion(&event);
        }
        while let Some(event) = self.perf.as_mut().and_then(PerfManager::poll_event) {
            if matches!(event, PerfManagerEvent::SweepDone { .. }) && self.dump_file.is_some() {
                self.dump.request(now);
            }
            if event != PerfManagerEvent::SweepDue {
                self.log.performance(&event);
            }
        }
        if let Some(perf) = self.perf.as_mut().filter(|perf| perf.is_due()) {
            // A standby has no current view of the subnet, so it walks. A master waits until its subnet is up.
            match sm.status().state {
                _ if sm.is_up() => perf.begin(now, Some(sm.subnet())),
                SmState::STANDBY => perf.begin(now, None),
                _ => {}
            }
        }
        self.keep(now);
    }

    /// Writes the totals, if they are due.
    fn keep(&mut self, now: Instant) {
        let due = self.dump.due().is_some_and(|due| due <= now);
        let text = if due { self.dump_text() } else { String::new() };
        let file = self.dump_file.as_deref();
        self.dump.run(now, || write(file, &text));
    }

    /// Writes the totals to the file that the configuration names.
    ///
    /// # Errors
    /// Fails if the configuration names no file, or the file cannot be written.
    pub fn dump_now(&self) -> Result<PathBuf, CliError> {
        let file = self.dump_file.clone().ok_or_else(|| {
            CliError::input("event_db_dump_file of the configuration names no file")
        })?;
        write(Some(&file), &self.dump_text())?;
        Ok(file)
    }
}

fn write(file: Option<&std::path::Path>, text: &str) -> Result<(), CliError> {
    file.map_or(Ok(()), |file| files::write(file, text))
}

/// Time-outs and transaction IDs of an engine beside the subnet manager.
fn window(config: &SmConfig, offset: u32) -> WindowConfig {
    let first = config.first_transaction_id;
    WindowConfig {
        timeout: config.transaction_timeout,
        first_transaction_id: first.with_low(first.low().wrapping_add(offset)),
        ..WindowConfig::default()
    }
}

fn perf_config(config: &SmConfig) -> PerfManagerConfig {
    let options = &config.performance;
    let defaults = PerfManagerConfig::default();
    let threshold = u64::from(options.xmit_wait_threshold);
    let max = u32::from(options.max_in_flight);
    let window = WindowConfig {
        in_flight: InFlight::Adaptive {
            min: max.min(16),
            max,
        },
        max_redirects: if options.redirect { 4 } else { 0 },
        per_destination: defaults.window.per_destination,
        ..window(config, PERF_IDS)
    };
    PerfManagerConfig {
        sweep_interval: options.sweep_interval,
        ignore_cas: options.ignore_cas,
        remove_nodes: options.remove_nodes,
        log_errors: options.log_errors,
        class_port_info: options.class_port_info,
        xmit_wait_threshold: options.log_xmit_wait.then_some(threshold),
        window,
        ..defaults
    }
}

//! A server that ibsim's clients attach to: unmodified programs, preloaded with ibsim's `umad2sim`, see our fabric.
//!
//! A client asks the control socket for a slot, gets a data socket of its own, and exchanges datagrams over it with the
//! fabric, as the port that it is attached to. The fabric runs in real time; its hops and agents take none unless the
//! options give them latencies, so only timers wait, such as the repetition of a trap without TrapRepress.
//!
//! No client can harm another one: a message of the wrong size is dropped, a flood is read in
//! turns, a client that is gone loses its slot.

mod attach;
mod client;
mod console;
mod input;
mod options;
mod poller;
mod silence;
mod socket;

use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ib_mad::{Engine, Instant, Mad, MgmtClass};
use ib_routing::Fabric;
use ib_transport::ibsim::{Control, Datagram, Messages};
use ib_transport::{Clock, MonotonicClock};
use thiserror::Error;

use crate::event::{Delivery, DropReason, Notification};
use crate::sim::Sim;

pub use options::{Listen, ServerOptions};

use client::Client;
use console::{Console, Outcome};
use poller::{Poller, Ready};
use silence::Silence;
use socket::{Credentials, Socket};

/// Messages read from one client before the others get their turn.
const MAX_BURST: usize = 64;

/// Longest sleep: how soon a request to stop is seen.
const MAX_WAIT: Duration = Duration::from_millis(100);

/// Time between two searches for clients that are gone.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// The reason why the server cannot run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServerError {
    /// A socket cannot be opened or read.
    #[error("{action}: {source}")]
    Io {
        /// The operation that failed.
        action: String,
        /// The system's answer.
        source: io::Error,
    },
}

impl ServerError {
    fn new(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        |source| Self::Io { action, source }
    }
}

/// Serves `fabric` until `stop` is set or the console says `Quit`.
///
/// `console` gives commands, one a line; what they print goes to `output`. At the end of `console` the server runs on.
///
/// # Errors
/// [`ServerError::Io`] if the sockets cannot be opened, as when another server has the name.
pub fn serve(
    fabric: &Fabric,
    options: &ServerOptions,
    console: Option<Box<dyn BufRead + Send>>,
    output: &mut dyn Write,
    stop: &AtomicBool,
) -> Result<(), ServerError> {
    Server::bind(fabric, options)?.run(console, output, stop)
}

/// A server with its sockets open: clients that come now wait until it [runs](Self::run).
#[derive(Debug)]
pub struct Server {
    sim: Sim,
    listen: Listen,
    control: Socket,
    poller: Poller,
    owner: Credentials,
    /// By slot; a free slot is none.
    clients: Vec<Option<Client>>,
    max_clients: u16,
    started: bool,
    prompt: bool,
    clock: MonotonicClock,
    /// End of the console's `Wait`, until which the server does nothing.
    asleep_until: Option<Instant>,
    /// Time at which all clients were probed last.
    probed_at: Instant,
    silence: Silence,
    observer: Option<Observer>,
    /// Slots of the clients that messages wait for, each once.
    waiting: Vec<usize>,
}

/// A function that gets every datagram that a client sends.
struct Observer(Box<dyn FnMut(&Mad) + Send>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Server {
    /// Opens the sockets.
    ///
    /// # Errors
    /// [`ServerError::Io`], as when another server has the name.
    pub fn bind(fabric: &Fabric, options: &ServerOptions) -> Result<Self, ServerError> {
        let control = Socket::control(&options.listen)?;
        let poller = Poller::new()?;
        Ok(Self {
            sim: Sim::new(fabric, options.sim.clone()),
            listen: options.listen.clone(),
            control,
            poller,
            owner: Credentials::own(),
            clients: Vec::new(),
            max_clients: options.max_clients,
            started: options.started,
            prompt: options.prompt,
            clock: MonotonicClock::start(),
            asleep_until: None,
            probed_at: Instant::ZERO,
            silence: Silence::default(),
            observer: None,
            waiting: Vec::new(),
        })
    }

    /// Calls a function for every datagram that a client sends from now on, before the fabric gets it. It runs on the
    /// thread of the server, so it must be short. The transaction ID has the client's slot in its highest 16 bits.
    pub fn observe(&mut self, observer: impl FnMut(&Mad) + Send + 'static) {
        self.observer = Some(Observer(Box::new(observer)));
    }

    /// The fabric that is served.
    #[must_use]
    pub fn sim(&self) -> &Sim {
        &self.sim
    }

    /// Serves until `stop` is set or the console says `Quit`.
    ///
    /// # Errors
    /// [`ServerError::Io`] if the system cannot wait for the sockets any more.
    pub fn run(
        &mut self,
        console: Option<Box<dyn BufRead + Send>>,
        output: &mut dyn Write,
        stop: &AtomicBool,
    ) -> Result<(), ServerError> {
        let input = console.map(|console| input::read_lines(console, self.poller.alarm()));
        let mut console = Console::default();
        let mut ready = Vec::new();
        let mut space = Messages::default();
        if self.started {
            self.start()?;
        }
        self.show_prompt(output);
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            if let Some(until) = self.asleep_until.filter(|&until| until > now) {
                std::thread::sleep(until.since(now).min(MAX_WAIT));
                continue;
            }
            self.asleep_until = None;
            if now.since(self.probed_at) >= PROBE_INTERVAL {
                self.probe_clients();
            }
            let line = console.next_line(input.as_ref());
            let executed = line.is_some();
            if let Some(line) = line {
                let from_file = line.is_from_file();
                let outcome = console.execute(self, line, output)?;
                self.settle();
                if outcome == Outcome::Quit {
                    return Ok(());
                }
                if !from_file {
                    self.show_prompt(output);
                }
            }
            // Clients get their turn after each line, so an endless console does not shut them out.
            self.serve(&mut ready, &mut space);
            let wait = if executed {
                Duration::ZERO
            } else {
                self.longest_wait()
            };
            self.poller.wait(wait, &mut ready)?;
        }
        Ok(())
    }

    fn show_prompt(&self, output: &mut dyn Write) {
        if self.prompt {
            let state = if self.started { "" } else { " (inactive)" };
            // A console that cannot be written to is no reason to stop serving.
            let _ = write!(output, "sim{state}> ").and_then(|()| output.flush());
        }
    }

    /// The longest time that the server may wait for its sockets: until the next timer, or [`MAX_WAIT`].
    fn longest_wait(&self) -> Duration {
        let timers = [self.sim.poll_timeout(), self.silence.poll_timeout()];
        let next = Instant::earliest(timers);
        let wait = next.map(|next| next.since(self.clock.now()));
        wait.unwrap_or(MAX_WAIT).min(MAX_WAIT)
    }

    /// Starts to accept clients.
    fn start(&mut self) -> Result<(), ServerError> {
        let added = self.poller.add(&self.control, Ready::Control);
        added.map_err(ServerError::new("waiting for the control socket"))?;
        self.started = true;
        Ok(())
    }

    /// Reads the sockets that are readable, and handles all due events of the fabric.
    fn serve(&mut self, ready: &mut Vec<Ready>, space: &mut Messages) {
        for from in ready.drain(..) {
            match from {
                Ready::Control => self.serve_control(),
                Ready::Client(slot) => self.serve_client(slot, space),
            }
        }
        self.settle();
    }

    fn serve_control(&mut self) {
        let probed_at = self.probed_at;
        for _ in 0..MAX_BURST {
            let mut bytes = [0; Control::LEN + 1];
            let Some((len, from)) = self.control.receive_control(&mut bytes) else {
                return;
            };
            // A foreign user's messages are none: abstract sockets have no permissions of their own.
            if !from.may_use(&self.owner) {
                continue;
            }
            let request = bytes.get(..len).and_then(Control::parse);
            if let Some(request) = request {
                let reply = self.answer_control(request, &from);
                if let Some(address) = &from.address {
                    self.control.reply(&reply, address);
                }
            }
            // A search through all clients takes time: clients get their turn before the next one.
            if self.probed_at != probed_at {
                return;
            }
        }
    }

    /// Reads a client's messages into `space`. They enter the fabric batch by batch.
    fn serve_client(&mut self, slot: usize, space: &mut Messages) {
        let mut count = 0_usize;
        while count < MAX_BURST {
            let Some(Some(client)) = self.clients.get_mut(slot) else {
                return;
            };
            client.socket.receive(space);
            for message in space.iter() {
                self.take(slot, message);
                count = count.saturating_add(1);
            }
            self.settle();
            // What arrives from now on makes the socket readable again.
            if !space.is_full() {
                return;
            }
        }
    }

    /// A client's datagram enters the fabric. All that earlier ones have caused by now happens before it.
    fn take(&mut self, slot: usize, datagram: &Datagram) {
        let Some(Some(client)) = self.clients.get_mut(slot) else {
            return;
        };
        let Some((port, mad)) = client.outgoing(slot, datagram) else {
            return;
        };
        self.sim.advance(self.clock.now());
        if let Some(Observer(observe)) = &mut self.observer {
            observe(&mad);
        }
        self.sim.send_datagram(port, &mad, client::length(datagram));
    }

    /// Handles all due events of the fabric, and delivers the datagrams that have arrived.
    fn settle(&mut self) {
        loop {
            let now = self.clock.now();
            self.sim.advance(now);
            let mut idle = true;
            while let Some(delivery) = self.sim.poll_transmit(now) {
                idle = false;
                self.hand_out(&delivery);
            }
            while let Some(event) = self.sim.poll_event() {
                match event {
                    Notification::Dropped {
                        reason: DropReason::Silent,
                        at,
                        mad,
                        ..
                    } => self.silence.take(now, at.node, mad),
                    Notification::Dropped { mad, .. } => self.return_to_sender(&mad),
                    Notification::PortState { .. } => {}
                }
            }
            while let Some(mad) = self.silence.poll(now) {
                self.return_to_sender(&mad);
            }
            self.send_posted();
            if idle && self.sim.poll_timeout().is_none_or(|next| next > now) {
                return;
            }
        }
    }

    fn hand_out(&mut self, delivery: &Delivery) {
        match self.receiver_of(delivery) {
            Some(slot) => self.post(slot, client::incoming(delivery, 0)),
            None => self.return_to_sender(&delivery.mad),
        }
    }

    /// The client that a datagram is for.
    ///
    /// A response goes to the slot in its transaction ID. A request goes to the subnet manager on the port if it is
    /// of a class that managers serve, else to a client that only listens: `umad2sim` crashes on a class that its
    /// program has not registered.
    fn receiver_of(&self, delivery: &Delivery) -> Option<usize> {
        let header = delivery.mad.header();
        let here = |slot: usize| {
            let client = self.clients.get(slot)?.as_ref()?;
            (client.port == delivery.port).then_some(client)
        };
        let slots = || (0..self.clients.len()).filter_map(|slot| Some((slot, here(slot)?)));
        let manager = || slots().find(|(_, client)| client.is_sm);
        if header.method().is_response() {
            let slot = client::slot_of(header.transaction_id());
            if client::is_rmpp_control(&delivery.mad) {
                // The requester's own number is in it; the transaction that it acknowledges is the
                // manager's.
                let manager = manager().map(|(slot, _)| slot);
                return manager.or_else(|| here(slot).map(|_| slot));
            }
            return here(slot).map(|_| slot);
        }
        let qpn = delivery.dest_qp.bits();
        if qpn > 1 {
            return slots()
                .find(|(_, client)| client.qp == qpn)
                .map(|(slot, _)| slot);
        }
        let of_manager = matches!(
            header.mgmt_class(),
            MgmtClass::SUBN_LID | MgmtClass::SUBN_DIRECTED | MgmtClass::SUBN_ADM
        );
        let listener = || slots().find(|(_, client)| !client.is_sm && !client.has_asked);
        let found = if of_manager {
            manager()
        } else {
            listener().or_else(manager)
        };
        found.map(|(slot, _)| slot)
    }

    /// Returns a request to its sender at once, because no answer will come.
    fn return_to_sender(&mut self, mad: &Mad) {
        let slot = client::slot_of(mad.header().transaction_id());
        if let Some(message) = client::returned(mad) {
            self.post(slot, message);
        }
    }

    /// Keeps a message for a client until [`send_posted`](Self::send_posted). One for a free slot is lost.
    fn post(&mut self, slot: usize, message: Datagram) {
        if let Some(Some(client)) = self.clients.get_mut(slot) {
            if client.posted.is_empty() {
                self.waiting.push(slot);
            }
            client.posted.push(message);
        }
    }

    /// Sends the messages that were posted. A client that is gone loses its slot, and what was for it returns to its
    /// sender.
    fn send_posted(&mut self) {
        while let Some(slot) = self.waiting.pop() {
            let Some(Some(client)) = self.clients.get_mut(slot) else {
                continue;
            };
            let lost = client.send_posted();
            if lost.is_empty() {
                continue;
            }
            self.free_slot(slot);
            for mad in lost.iter().filter_map(client::undelivered) {
                self.return_to_sender(&mad);
            }
        }
    }
}

//! A port of this host, and the calls that send one request and wait for its answer.

use core::fmt;

use ib_mad::{
    Attribute, Call, CallError, Client, ClientConfig, Mad, MadAddress, Method, Response,
    transport::{Clock, MadTransport, ask},
};
use ib_smp::PortAddress;
use ib_wire::{MKey, ParseError};
use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Why a question has no answer.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GetError<E> {
    /// The transport cannot go on.
    #[error(transparent)]
    Transport(E),
    /// No response, a refusal, or another attribute than the one asked for.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The response is shorter than the attribute.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// The destination is a GUID or a GID: ask subnet administration for its LID first.
    #[error("{0} has no LID here: ask subnet administration for it first")]
    NeedsLid(PortAddress),
}

/// The port that requests leave by, over any transport. Each call sends one request and waits for its answer.
pub struct LocalPort<T, C> {
    transport: T,
    clock: C,
    client: Client<Mad>,
    m_key: MKey,
}

/// Opens a port: an adapter's, as `mlx5_0`, by the GUID of its port, or `sim:NAME`, of a simulator.
///
/// # Errors
/// Those of [`AnyPort::open`](ib_transport::AnyPort::open).
#[cfg(feature = "ports")]
pub fn open(
    device: &str,
) -> Result<
    LocalPort<ib_transport::AnyPort, ib_transport::MonotonicClock>,
    ib_transport::TransportError,
> {
    let options = ib_transport::PortOptions {
        device: Some(device.to_owned()),
        ..ib_transport::PortOptions::default()
    };
    let classes = ib_transport::umad::AgentClass::DIAGNOSTICS;
    let transport = ib_transport::AnyPort::open(&options, &classes)?;
    Ok(LocalPort::new(
        transport,
        ib_transport::MonotonicClock::start(),
    ))
}

impl<T: MadTransport, C: Clock> LocalPort<T, C> {
    /// A port over `transport`, whose time is that of `clock`.
    pub fn new(transport: T, clock: C) -> Self {
        Self {
            transport,
            clock,
            client: Client::new(ClientConfig::default()),
            m_key: MKey(0),
        }
    }

    /// Sets the key that subnet management packets carry; 0 at first.
    pub fn set_m_key(&mut self, key: MKey) -> &mut Self {
        self.m_key = key;
        self
    }

    /// Gets an attribute of subnet management; the attribute says what `modifier` means: of PortInfo it
    /// is the port.
    ///
    /// # Errors
    /// [`NeedsLid`](GetError::NeedsLid) for a GUID or a GID; [`Call`](GetError::Call) if there is no
    /// response or a refusal.
    pub fn get<A>(
        &mut self,
        destination: &PortAddress,
        modifier: u32,
    ) -> Result<A, GetError<T::Error>>
    where
        A: Attribute + FromBytes + Immutable + KnownLayout + Unaligned,
    {
        let mut mad = destination
            .smp(Method::GET, A::ID, modifier)
            .ok_or(GetError::NeedsLid(*destination))?;
        // Both forms of an SMP have the key in the same place.
        if let Ok((smp, _)) = ib_smp::SmpLidRouted::parse_mut(&mut mad.bytes, 0) {
            smp.set_m_key(self.m_key);
        }
        let response = self.ask(mad)?;
        let data = response.data();
        match A::read_from_prefix(data) {
            Ok((attribute, _)) => Ok(attribute),
            Err(_) => Err(GetError::Parse(ParseError::Truncated {
                at: ib_wire::At::new(<A as Attribute>::LAYOUT.name, 0),
                needed: <A as Attribute>::LAYOUT.len,
                left: data.len(),
            })),
        }
    }

    /// Sends a typed request of a general class, as performance management, and waits for its answer.
    ///
    /// # Errors
    /// [`Call`](GetError::Call) if there is no response, or a refusal.
    pub fn call<A>(&mut self, call: Call<A>, address: MadAddress) -> Result<A, GetError<T::Error>>
    where
        A: FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + Copy,
    {
        let response = self.ask(call.request(address))?;
        Ok(*call.answer(response.first())?)
    }

    /// Sends a typed request that carries `structure`, as the port whose counters are wanted, and waits for its
    /// answer.
    ///
    /// # Errors
    /// [`Call`](GetError::Call) if there is no response, or a refusal.
    pub fn call_with<A>(
        &mut self,
        call: Call<A>,
        address: MadAddress,
        structure: &A,
    ) -> Result<A, GetError<T::Error>>
    where
        A: FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + Copy,
    {
        let response = self.ask(call.request_with(address, structure))?;
        Ok(*call.answer(response.first())?)
    }

    /// Sends a request and waits for its answer, of however many datagrams.
    ///
    /// # Errors
    /// [`Call`](GetError::Call) if there is no response, or a refusal.
    pub fn ask(&mut self, request: Mad) -> Result<Response, GetError<T::Error>> {
        let outcome = ask(&mut self.client, request, &mut self.transport, &self.clock);
        Ok(outcome.map_err(GetError::Transport)??)
    }
}

impl<T: fmt::Debug, C> fmt::Debug for LocalPort<T, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalPort")
            .field("transport", &self.transport)
            .finish_non_exhaustive()
    }
}

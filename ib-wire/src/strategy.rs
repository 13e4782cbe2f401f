//! Packets for the property tests of other crates: proptest's strategies (feature `proptest`).
//!
//! [`valid_packet`] and [`faulty_packet`] give any network and any operation until they are narrowed. A
//! failing packet shrinks to the first network and operation that were allowed, to the shortest payload,
//! and to headers of zeros where these are not what fails.
//!
//! ```
//! use ib_wire::{OpCode, Packet, packet::Network, strategy::{faulty_packet, valid_packet}};
//! use proptest::prelude::*;
//!
//! proptest!(|(
//!     valid in valid_packet().networks(&[Network::RoceV2Ipv4]).op_codes(&[OpCode::UD_SEND_ONLY]),
//!     faulty in faulty_packet(),
//! )| {
//!     let packet = Packet::parse_as(valid.start, &valid.bytes[..]);
//!     prop_assert_eq!(packet.bth().map(|bth| bth.op_code()), Some(OpCode::UD_SEND_ONLY));
//!     prop_assert!(packet.validate().is_empty());
//!     let found = Packet::parse_as(faulty.start, &faulty.bytes[..]).validate();
//!     prop_assert!(found.into_iter().any(|fault| fault.kind == faulty.fault));
//! });
//! ```

use alloc::vec::Vec;

use arbitrary::Unstructured;
use proptest::{
    bool::weighted,
    collection::vec,
    prelude::{BoxedStrategy, any},
    sample::select,
    strategy::{NewTree, Strategy},
    test_runner::{Reason, TestRunner},
};

use crate::{
    FaultKind, OPERATIONS, OpCode,
    generate::{ALL_NETWORKS, FaultyPacket, MAX_PAYLOAD, ValidPacket},
    packet::Network,
};

/// Bytes that decide every field of the longest stack of headers, and more.
const NOISE: usize = 400;

/// Packets without a fault, of any network and operation.
#[must_use]
pub fn valid_packet() -> ValidPackets {
    ValidPackets {
        choice: Choice::default(),
    }
}

/// Packets with one fault, which they name, of any network and operation that can have it.
#[must_use]
pub fn faulty_packet() -> FaultyPackets {
    FaultyPackets {
        choice: Choice::default(),
        faults: FaultyPacket::FAULTS.to_vec(),
    }
}

/// The choices for a packet.
#[derive(Clone, Debug)]
struct Choice {
    networks: Vec<Network>,
    /// The permitted operations; `None` permits all.
    op_codes: Option<Vec<OpCode>>,
    max_payload: usize,
}

impl Default for Choice {
    fn default() -> Self {
        Self {
            networks: ALL_NETWORKS.to_vec(),
            op_codes: None,
            max_payload: MAX_PAYLOAD,
        }
    }
}

impl Choice {
    fn allows_network(&self, network: Network) -> bool {
        let is_raw = matches!(network, Network::Raw | Network::RawIpv6);
        self.networks.contains(&network) && !(is_raw && self.op_codes.is_some())
    }

    fn allows_op_code(&self, op_code: OpCode) -> bool {
        let chosen = self.op_codes.as_ref();
        chosen.is_none_or(|chosen| chosen.contains(&op_code))
    }
}

macro_rules! choices {
    ($strategy:ident) => {
        impl $strategy {
            /// Restricts the packets to these networks; [`Network::None`] has no packets.
            #[must_use]
            pub fn networks(mut self, networks: &[Network]) -> Self {
                self.choice.networks = networks.to_vec();
                self
            }

            /// Restricts the packets to these operations. Raw packets are excluded, because they have no operation.
            #[must_use]
            pub fn op_codes(mut self, op_codes: &[OpCode]) -> Self {
                self.choice.op_codes = Some(op_codes.to_vec());
                self
            }

            /// At most so many bytes of payload, where operation and fault leave the choice: 0 to 4096, the
            /// default. A First or a Middle packet has 256 at least.
            #[must_use]
            pub fn max_payload(mut self, bytes: usize) -> Self {
                self.choice.max_payload = bytes.min(MAX_PAYLOAD);
                self
            }
        }
    };
}

/// The strategy of [`valid_packet`].
#[derive(Clone, Debug)]
pub struct ValidPackets {
    choice: Choice,
}

choices!(ValidPackets);

impl Strategy for ValidPackets {
    type Tree = <BoxedStrategy<ValidPacket> as Strategy>::Tree;
    type Value = ValidPacket;

    /// # Errors
    /// If no network, or no operation that has packets, is allowed.
    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let networks = ALL_NETWORKS.iter().copied();
        let networks = networks.filter(|&network| self.choice.allows_network(network));
        let codes = OPERATIONS.iter().map(|operation| operation.op_code);
        let codes = codes.filter(|&code| self.choice.allows_op_code(code));
        let (networks, codes): (Vec<_>, Vec<_>) = (networks.collect(), codes.collect());
        if networks.is_empty() || codes.is_empty() {
            return Err(Reason::from("no network and operation to choose from"));
        }
        let kinds = (select(networks), select(codes)).boxed();
        packet(kinds, self.choice.max_payload, |u, (network, code), len| {
            ValidPacket::of(u, network, code, len).ok()
        })
        .new_tree(runner)
    }
}

/// The strategy of [`faulty_packet`].
#[derive(Clone, Debug)]
pub struct FaultyPackets {
    choice: Choice,
    faults: Vec<FaultKind>,
}

choices!(FaultyPackets);

impl FaultyPackets {
    /// Restricts the packets to these faults, of [`FaultyPacket::FAULTS`].
    #[must_use]
    pub fn faults(mut self, faults: &[FaultKind]) -> Self {
        self.faults = faults.to_vec();
        self
    }

    /// The allowed networks and operations that can have the fault, if any.
    fn kinds(&self, fault: FaultKind) -> Option<Kinds> {
        let networks = FaultyPacket::networks(fault).iter();
        let allowed = |network: &&Network| self.choice.allows_network(**network);
        let networks: Vec<_> = ALL_NETWORKS
            .iter()
            .filter(|network| networks.clone().any(|able| able == *network))
            .filter(allowed)
            .copied()
            .collect();
        let codes = FaultyPacket::op_codes(fault);
        let codes: Vec<_> = codes
            .filter(|&code| self.choice.allows_op_code(code))
            .collect();
        (!networks.is_empty() && !codes.is_empty()).then_some((fault, networks, codes))
    }
}

/// A fault, with the networks and the operations that can have it.
type Kinds = (FaultKind, Vec<Network>, Vec<OpCode>);

impl Strategy for FaultyPackets {
    type Tree = <BoxedStrategy<FaultyPacket> as Strategy>::Tree;
    type Value = FaultyPacket;

    /// # Errors
    /// If no allowed network and operation can have an allowed fault.
    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let faults = self.faults.iter().filter_map(|&fault| self.kinds(fault));
        // Every fault is equally likely, however many networks and operations can have it.
        let faults: Vec<_> = faults.collect();
        if faults.is_empty() {
            return Err(Reason::from(
                "no network and operation that can have the fault",
            ));
        }
        let max_payload = self.choice.max_payload;
        let of_fault = move |(fault, networks, codes): Kinds| {
            let kinds = (select(networks), select(codes)).boxed();
            packet(kinds, max_payload, move |u, (network, code), len| {
                FaultyPacket::of(u, fault, network, code, len).ok()
            })
        };
        select(faults)
            .prop_flat_map(of_fault)
            .boxed()
            .new_tree(runner)
    }
}

/// Packets that `make` builds from bytes for the fields, one of `kinds` and a wanted length of
/// payload.
fn packet<K, T>(
    kinds: BoxedStrategy<K>,
    max_payload: usize,
    make: impl Fn(&mut Unstructured<'_>, K, usize) -> Option<T> + 'static,
) -> BoxedStrategy<T>
where
    K: Clone + core::fmt::Debug + 'static,
    T: core::fmt::Debug + 'static,
{
    // No bytes at all are tried before single ones when a packet shrinks: every field that is free becomes
    // zero.
    let parts = (
        kinds,
        0..=max_payload,
        weighted(0.97),
        vec(any::<u8>(), NOISE),
    );
    parts
        .prop_filter_map(
            "the parts make a packet",
            move |(kind, len, has_noise, noise)| {
                let noise = if has_noise { noise.as_slice() } else { &[] };
                make(&mut Unstructured::new(noise), kind, len)
            },
        )
        .boxed()
}

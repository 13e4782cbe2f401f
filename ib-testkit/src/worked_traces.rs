//! A fabric to test with: H.1 - S1.4, S1.7 - S2.2, S2.5 - T.1, as in the worked traces of directed routes.

pub mod data;
#[cfg(target_os = "linux")]
pub mod server;

use ib_mad::{Attribute, AttributeId, Mad, MadAddress, Method};
use ib_routing::{Fabric, FabricBuilder, NewNode, NodeIdx, NodeType, PortRef};
use ib_sim::{SharedSim, Sim, SimOptions, SimTransport};
use ib_smp::{
    DrPath, LinearForwardingTable, PortInfo, PortInfoModifier, PortState, SmpDirected,
    SmpLidRouted, SwitchInfo,
};
use ib_transport::{Clock, MadTransport, Received, receive};
use ib_wire::{Guid, Lid, PortNum};

/// The host that sends the requests.
pub const H: NodeIdx = NodeIdx(0);
/// Its switch.
pub const S1: NodeIdx = NodeIdx(1);
/// The other switch.
pub const S2: NodeIdx = NodeIdx(2);
/// The other host.
pub const T: NodeIdx = NodeIdx(3);

/// A port by its number.
pub fn at(node: NodeIdx, port: u8) -> PortRef {
    PortRef {
        node,
        port: PortNum(port),
    }
}

/// The fabric of the traces; every node is named by its letter.
pub fn fabric() -> Fabric {
    let mut builder = FabricBuilder::new();
    for (name, type_, num_ports, guid) in [
        ("H", NodeType::CA, 1, 0x100),
        ("S1", NodeType::SWITCH, 8, 0x200),
        ("S2", NodeType::SWITCH, 8, 0x300),
        ("T", NodeType::CA, 2, 0x400),
    ] {
        let node = NewNode {
            type_,
            guid: Guid(guid),
            num_ports,
            description: name.to_owned(),
            name: name.to_owned(),
            ..NewNode::default()
        };
        builder.add_node(node).unwrap();
    }
    builder.add_link(at(H, 1), at(S1, 4)).unwrap();
    builder.add_link(at(S1, 7), at(S2, 2)).unwrap();
    builder.add_link(at(S2, 5), at(T, 1)).unwrap();
    builder.build()
}

/// A directed route by the ports that it leaves through.
pub fn path(ports: &[u8]) -> DrPath {
    let ports: Vec<_> = ports.iter().copied().map(PortNum).collect();
    DrPath::try_new(&ports).unwrap()
}

/// A host at port 1 of H that sends requests one at a time.
pub struct Host {
    /// The simulator.
    pub sim: SharedSim,
    /// The transport of the port.
    pub transport: SimTransport,
}

impl Host {
    /// A host at port 1 of H.
    pub fn new(options: SimOptions) -> Self {
        Self::at(Sim::new(&fabric(), options).share(), at(H, 1))
    }

    /// A host at this port.
    pub fn at(sim: SharedSim, port: PortRef) -> Self {
        let transport = sim.attach(port).unwrap();
        Self { sim, transport }
    }

    /// Sends a datagram, waits up to a second, and returns the response.
    pub fn exchange(&mut self, mad: &Mad) -> Option<Mad> {
        self.send(mad);
        self.receive()
    }

    /// Sends a datagram now.
    pub fn send(&mut self, mad: &Mad) {
        self.transport.send(self.sim.now(), mad).unwrap();
    }

    /// The next datagram, within a second of virtual time.
    pub fn receive(&mut self) -> Option<Mad> {
        let deadline = self.sim.now() + std::time::Duration::from_secs(1);
        let (_, received) = receive(&mut self.transport, &self.sim, Some(deadline)).unwrap();
        match received {
            Some(Received::Mad(mad)) => Some(mad),
            Some(Received::Returned(mad)) => panic!("{mad:?} came back"),
            None => None,
        }
    }

    /// Sends a directed-route SMP and returns its answer.
    pub fn directed(&mut self, smp: &SmpDirected, address: MadAddress) -> Option<SmpDirected> {
        let mut mad = Mad::new(address);
        mad.bytes = *smp.as_bytes();
        let answer = self.exchange(&mad)?;
        Some(SmpDirected::from_bytes(answer.bytes))
    }

    /// Gets an attribute by a directed route.
    pub fn get(&mut self, ports: &[u8], id: AttributeId, modifier: u32) -> Option<SmpDirected> {
        let smp = SmpDirected::new(Method::GET, id, modifier, &path(ports));
        self.directed(&smp, MadAddress::DIRECTED)
    }

    /// Sets an attribute by a directed route.
    pub fn set(
        &mut self,
        ports: &[u8],
        id: AttributeId,
        modifier: u32,
        data: &[u8],
    ) -> Option<SmpDirected> {
        let mut smp = SmpDirected::new(Method::SET, id, modifier, &path(ports));
        let mut whole = [0; 64];
        whole[..data.len()].copy_from_slice(data);
        smp.set_smp_data(&whole);
        self.directed(&smp, MadAddress::DIRECTED)
    }

    /// Gets an attribute by a LID.
    pub fn get_by_lid(&mut self, lid: u16, id: AttributeId, modifier: u32) -> Option<SmpLidRouted> {
        let smp = SmpLidRouted::new(Method::GET, id, modifier);
        let mut mad = Mad::new(MadAddress::smi(Lid(lid)));
        mad.bytes = *smp.as_bytes();
        let answer = self.exchange(&mad)?;
        Some(SmpLidRouted::from_bytes(answer.bytes))
    }

    /// PortInfo of a port of the node at the end of a directed route.
    pub fn port_info(&mut self, ports: &[u8], port: u8) -> PortInfo {
        let modifier = PortInfoModifier {
            port: PortNum(port),
            extended_speeds: true,
        };
        let smp = self.get(ports, PortInfo::ID, modifier.bits()).unwrap();
        PortInfo::from_bytes(*smp.smp_data())
    }

    /// Sets PortInfo, changed by `change`.
    pub fn change_port(&mut self, ports: &[u8], port: u8, change: impl FnOnce(&mut PortInfo)) {
        let mut info = self.port_info(ports, port);
        info.set_port_state(PortState::NO_CHANGE)
            .set_port_physical_state(ib_smp::PortPhysicalState::NO_CHANGE);
        change(&mut info);
        let modifier = u32::from(port);
        let answer = self.set(ports, PortInfo::ID, modifier, info.as_bytes());
        let answer = answer.unwrap();
        assert!(answer.status().is_ok(), "{:?}", answer.status());
    }

    /// Configures the fabric of the traces as a subnet manager would: LIDs H 1, S1 2, S2 3, T 9, tables, states.
    pub fn bring_up(&mut self) {
        let ends: [(&[u8], u8, u16); 4] = [
            (&[], 1, 1),
            (&[1], 0, 2),
            (&[1, 7], 0, 3),
            (&[1, 7, 5], 1, 9),
        ];
        for (route, port, lid) in ends {
            self.change_port(route, port, |info| {
                info.set_lid(Lid(lid)).set_master_sm_lid(Lid(1));
            });
        }
        for (route, to_h, to_s1, to_s2, to_t) in [(&[1][..], 4, 0, 7, 7), (&[1, 7], 2, 2, 0, 5)] {
            let mut table = LinearForwardingTable::default();
            for lid in 0..64 {
                let port = match lid {
                    1 => to_h,
                    2 => to_s1,
                    3 => to_s2,
                    9 => to_t,
                    _ => 255,
                };
                table.set_port_block(lid, PortNum(port)).unwrap();
            }
            self.set(route, LinearForwardingTable::ID, 0, table.as_bytes())
                .unwrap();
            let mut info = SwitchInfo::from_bytes(
                *self
                    .get(route, SwitchInfo::ID, 0)
                    .unwrap()
                    .smp_data()
                    .first_chunk()
                    .unwrap(),
            );
            info.set_linear_fdb_top(Lid(9));
            self.set(route, SwitchInfo::ID, 0, info.as_bytes()).unwrap();
        }
        for state in [PortState::ARMED, PortState::ACTIVE] {
            let ports: [(&[u8], u8); 6] = [
                (&[], 1),
                (&[1], 4),
                (&[1], 7),
                (&[1, 7], 2),
                (&[1, 7], 5),
                (&[1, 7, 5], 1),
            ];
            for (route, port) in ports {
                self.change_port(route, port, |info| {
                    info.set_port_state(state);
                });
            }
        }
    }
}

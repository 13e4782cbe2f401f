//! Data packets between the hosts of the worked traces, and the tables that forward them.

use ib_mad::Attribute;
use ib_sim::PacketTrace;
use ib_smp::{LinearForwardingTable, MulticastForwardingTable, SwitchInfo};
use ib_wire::{
    Bth, Deth, Gid, Grh, GrhNxtHdr, Lid, Lrh, OpCode, PKey, PacketBuilder, PortNum, Psn, QKey, Qpn,
    Sl,
};

use super::{H, Host, at};

/// A datagram of H, as an adapter would send it.
pub struct Ud {
    /// Destination LID.
    pub dlid: u16,
    /// Service level: 0 to 15.
    pub sl: u8,
    /// Partition key.
    pub p_key: PKey,
    /// FECN and BECN.
    pub marked: bool,
    /// The payload.
    pub payload: Vec<u8>,
}

impl Default for Ud {
    fn default() -> Self {
        Self {
            dlid: 9,
            sl: 0,
            p_key: PKey::DEFAULT_FULL,
            marked: false,
            payload: vec![0x5a; 100],
        }
    }
}

impl Ud {
    /// The packet.
    pub fn bytes(&self) -> Vec<u8> {
        let mut lrh = Lrh::default();
        lrh.set_slid(Lid(1))
            .set_dlid(Lid(self.dlid))
            .set_sl(Sl::try_new(self.sl).unwrap());
        let multicast = Lid(self.dlid).is_multicast();
        let mut bth = Bth::default();
        bth.set_op_code(OpCode::UD_SEND_ONLY)
            .set_p_key(self.p_key)
            .set_dest_qp(if multicast {
                Qpn::MULTICAST
            } else {
                Qpn::try_new(0x48).unwrap()
            })
            .set_fecn(self.marked)
            .set_becn(self.marked)
            .set_psn(Psn::new(7));
        let mut deth = Deth::default();
        deth.set_q_key(QKey(0xb1b))
            .set_src_qp(Qpn::try_new(0x49).unwrap());
        let mut grh = Grh::default();
        grh.set_ip_ver(6)
            .set_nxt_hdr(GrhNxtHdr::IBA_TRANSPORT)
            .set_hop_lmt(1)
            .set_dgid("ff12:401b:ffff::ffff:ffff".parse::<Gid>().unwrap());
        let mut packet = if multicast {
            PacketBuilder::global(lrh, grh, bth)
        } else {
            PacketBuilder::local(lrh, bth)
        };
        let mut buffer = [0xa5; 5000];
        let len = packet
            .with(&deth)
            .payload(&self.payload)
            .build(&mut buffer)
            .unwrap();
        buffer[..len].to_vec()
    }

    /// The packet's path through the fabric.
    pub fn trace(&self, host: &Host) -> PacketTrace {
        trace(host, &self.bytes())
    }
}

/// A packet's path through the fabric.
pub fn trace(host: &Host, bytes: &[u8]) -> PacketTrace {
    let trace = host
        .sim
        .with(|sim| sim.trace_packet(at(H, 1), bytes).unwrap());
    assert!(trace.is_complete());
    assert_eq!(host.sim.with(|sim| sim.in_flight()), 0);
    trace
}

/// A counter of a port, selected by the name of its field.
pub fn count(host: &Host, node: ib_routing::NodeIdx, port: u8, name: &str) -> u64 {
    host.sim
        .with(|sim| sim.port(at(node, port)).unwrap().counters().get(name, 0))
}

/// Makes S1 copy packets to MLID 0xC000 to the first ports, S2 to the second.
pub fn multicast(host: &mut Host, of_s1: &[u8], of_s2: &[u8]) {
    for (route, ports) in [(&[1][..], of_s1), (&[1, 7], of_s2)] {
        let mask = ports.iter().fold(0u16, |mask, port| mask | 1 << port);
        let mut table = MulticastForwardingTable::default();
        table.set_port_mask_block(0, mask).unwrap();
        host.set(route, MulticastForwardingTable::ID, 0, table.as_bytes())
            .unwrap();
    }
}

/// Writes entries (LID, port) of the first block of a linear forwarding table.
pub fn write_lft(host: &mut Host, route: &[u8], entries: &[(u16, u8)]) {
    let table = host.get(route, LinearForwardingTable::ID, 0).unwrap();
    let mut table = LinearForwardingTable::from_bytes(*table.smp_data());
    for &(lid, port) in entries {
        table
            .set_port_block(usize::from(lid), PortNum(port))
            .unwrap();
    }
    host.set(route, LinearForwardingTable::ID, 0, table.as_bytes())
        .unwrap();
    let info = host.get(route, SwitchInfo::ID, 0).unwrap();
    let mut info = SwitchInfo::from_bytes(*info.smp_data().first_chunk().unwrap());
    info.set_linear_fdb_top(Lid(63));
    host.set(route, SwitchInfo::ID, 0, info.as_bytes()).unwrap();
}

/// Makes ports of the node at the end of a route active.
pub fn activate(host: &mut Host, route: &[u8], ports: &[u8]) {
    for state in [ib_smp::PortState::ARMED, ib_smp::PortState::ACTIVE] {
        for &port in ports {
            if host.port_info(route, port).port_state() < state {
                host.change_port(route, port, |info| {
                    info.set_port_state(state);
                });
            }
        }
    }
}

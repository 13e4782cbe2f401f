//! Options of the server: its address, its fabric, its limits.

use std::net::IpAddr;
use std::time::Duration;

use ib_routing::Fabric;

use crate::options::{DeviceProfile, PortGuids, SimOptions};

/// Entries of a linear forwarding table: every unicast LID from 0 to 0xbfff.
const MAX_LINEAR_FDB_CAP: u16 = 0xc000;

/// Entries of a multicast forwarding table: every multicast LID from 0xc000 to 0xfffe.
const MAX_MULTICAST_FDB_CAP: u16 = 0x3fff;

/// Address of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Abstract Unix sockets under this name: the value of `IBSIM_SOCKNAME`.
    Unix(String),
    /// UDP: control at this port, slot K at the K + 1st after it, as `ibsim -r` has it. Clients of ibsim speak no TCP.
    Udp {
        /// Address to bind to.
        address: IpAddr,
        /// The control port: the value of `IBSIM_SERVER_PORT`.
        port: u16,
    },
}

/// Options of the server: its address, its fabric, its limits.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Address of the server.
    pub listen: Listen,
    /// The fabric's options. [`ServerOptions::new`] gives those that make tools print what they print on ibsim.
    pub sim: SimOptions,
    /// Greatest number of clients at once. Default: 4096.
    pub max_clients: u16,
    /// True if clients are served at once, false if the server waits for the console's `Start`. Default: true.
    pub started: bool,
    /// True if the console prints a prompt. Default: false.
    pub prompt: bool,
}

impl ServerOptions {
    /// Options that make a server like ibsim: its initial attributes, its port GUIDs, no latencies.
    #[must_use]
    pub fn new(listen: Listen) -> Self {
        Self {
            listen,
            sim: SimOptions {
                hop_latency: Duration::ZERO,
                agent_latency: Duration::ZERO,
                training_time: Duration::ZERO,
                port_guids: PortGuids::NodePlusPort,
                profile: DeviceProfile::Ibsim,
                linear_fdb_cap: 30720,
                multicast_fdb_cap: 1024,
                partition_cap: 64,
                drop_events: true,
                ..SimOptions::default()
            },
            max_clients: 4096,
            started: true,
            prompt: false,
        }
    }

    /// The same options with forwarding tables that hold `fabric`: a switch has ibsim's 30,720 unicast and 1,024
    /// multicast entries unless the fabric has more end ports than that. A unicast table grows to all 49,152 entries,
    /// because LMC multiplies LIDs; a multicast table grows to one entry for each end port (16,383 at most), because
    /// IPv6 over InfiniBand uses one group for each.
    #[must_use]
    pub fn sized_for(mut self, fabric: &Fabric) -> Self {
        let nodes = fabric.nodes().iter();
        let end_ports: usize = nodes.map(|node| node.end_ports().count()).sum();
        // LID 0 has an entry too.
        let sim = &mut self.sim;
        if end_ports >= usize::from(sim.linear_fdb_cap) {
            sim.linear_fdb_cap = MAX_LINEAR_FDB_CAP;
        }
        let groups = u16::try_from(end_ports).unwrap_or(u16::MAX);
        let groups = groups.min(MAX_MULTICAST_FDB_CAP);
        sim.multicast_fdb_cap = sim.multicast_fdb_cap.max(groups);
        self
    }
}

//! How a fabric is simulated.

use std::time::Duration;

use crate::fault::FaultSpec;

/// How a fabric is simulated: latencies, capacities of its nodes, faults.
#[derive(Clone, Debug, PartialEq)]
pub struct SimOptions {
    /// Time from the output port of a node to the output port of the next one.
    pub hop_latency: Duration,
    /// Time an agent takes to answer.
    pub agent_latency: Duration,
    /// SMPs that an agent can have before it; what comes then is lost and counts as VL15Dropped.
    pub vl15_buffers: u32,
    /// Time a link takes from its plugging in to the state Initialize.
    pub training_time: Duration,
    /// What goes wrong on links.
    pub faults: FaultSpec,
    /// Entries of a switch's linear forwarding table.
    pub linear_fdb_cap: u16,
    /// Entries of a switch's multicast forwarding table.
    pub multicast_fdb_cap: u16,
    /// P_Keys that a CA's port can hold.
    pub partition_cap: u16,
    /// P_Keys that an external port of a switch can hold.
    pub partition_enforcement_cap: u16,
    /// Which port GUIDs the CAs have.
    pub port_guids: PortGuids,
    /// The attributes that a node is born with.
    pub profile: DeviceProfile,
    /// Whether NDR and XDR switches show extended speeds only to a manager that says it knows them (bit 31 of PortInfo's
    /// modifier), as real ones do.
    pub hidden_extended_speeds: bool,
    /// Whether nodes send traps, and say so (IsTrapSupported).
    pub traps: bool,
    /// How often an agent sends a trap that nobody represses.
    pub trap_attempts: u32,
    /// Whether changes of port states are reported as events.
    pub events: bool,
    /// Whether dropped packets are reported as events; their number is counted always.
    pub drop_events: bool,
}

impl Default for SimOptions {
    fn default() -> Self {
        Self {
            hop_latency: Duration::from_nanos(250),
            agent_latency: Duration::from_micros(3),
            vl15_buffers: u32::MAX,
            training_time: Duration::from_millis(10),
            faults: FaultSpec::default(),
            linear_fdb_cap: 0xc000,
            multicast_fdb_cap: 4096,
            partition_cap: 128,
            partition_enforcement_cap: 64,
            port_guids: PortGuids::AsGiven,
            profile: DeviceProfile::Specified,
            hidden_extended_speeds: false,
            traps: true,
            trap_attempts: 5,
            events: false,
            drop_events: false,
        }
    }
}

/// Which GUIDs the ports of CAs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortGuids {
    /// Those of the fabric; node GUID + port number where it names none.
    #[default]
    AsGiven,
    /// Node GUID + port number on all, whatever the fabric says: as ibsim has it.
    NodePlusPort,
}

/// The values of the attributes before a subnet manager writes any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceProfile {
    /// What the specification names as defaults, and what adapters and switches of today show.
    #[default]
    Specified,
    /// What ibsim shows, for the comparison of tools: no subnet prefix, some odd constants.
    Ibsim,
}

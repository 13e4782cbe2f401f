//! Options of a simulated fabric.

use std::time::Duration;

use ib_smp::SlToVlMappingTable;

use crate::fault::FaultSpec;

/// Options of a simulated fabric: latencies, capacities of its nodes, faults.
#[derive(Clone, Debug, PartialEq)]
pub struct SimOptions {
    /// Time from the output port of a node to the output port of the next one. Default: 250 ns.
    pub hop_latency: Duration,
    /// Time that an agent takes to answer. Default: 3 us.
    pub agent_latency: Duration,
    /// Number of unanswered SMPs that an agent can hold; the next one is dropped and counts as VL15Dropped. Default: no limit.
    pub vl15_buffers: u32,
    /// Time from plugging a cable in to the state Initialize. Default: 10 ms.
    pub training_time: Duration,
    /// Faults on links. Default: none.
    pub faults: FaultSpec,
    /// Entries of a switch's linear forwarding table, up to 0xc000, the default.
    pub linear_fdb_cap: u16,
    /// Entries of a switch's multicast forwarding table, up to 0x3fff. Default: 4096.
    pub multicast_fdb_cap: u16,
    /// SwitchInfo.OptimizedSLtoVLMappingProgramming of switches: with bit 1 set, one write serves all input ports of an output
    /// port. Default: 0.
    pub optimized_sl_to_vl: u8,
    /// All SLtoVL tables of switches after a reset, which the specification leaves open. Default: `None`, each SL has the VL of
    /// its number, and SL 15 has VL 7.
    pub initial_sl_to_vl: Option<SlToVlMappingTable>,
    /// P_Keys that a CA's port can hold. Default: 128.
    pub partition_cap: u16,
    /// P_Keys that an external port of a switch can hold. Default: 64.
    pub partition_enforcement_cap: u16,
    /// Port GUIDs of CAs. Default: as given by the fabric.
    pub port_guids: PortGuids,
    /// Initial values of the attributes. Default: those of the specification.
    pub profile: DeviceProfile,
    /// Widths and speeds that ports support. Default: all.
    pub supported_links: SupportedLinks,
    /// True if NDR and XDR switches show extended speeds only to a manager that sets bit 31 of PortInfo's modifier, as real ones
    /// do. Default: false.
    pub hidden_extended_speeds: bool,
    /// True if nodes send traps and set IsTrapSupported. Default: true.
    pub traps: bool,
    /// Number of times that an agent sends a trap without TrapRepress. Default: 5.
    pub trap_attempts: u32,
    /// True if changes of port states are notifications. Default: false.
    pub events: bool,
    /// True if dropped packets are notifications; their number is always counted. Default: false.
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
            optimized_sl_to_vl: 0,
            initial_sl_to_vl: None,
            partition_cap: 128,
            partition_enforcement_cap: 64,
            port_guids: PortGuids::AsGiven,
            profile: DeviceProfile::Specified,
            supported_links: SupportedLinks::All,
            hidden_extended_speeds: false,
            traps: true,
            trap_attempts: 5,
            events: false,
            drop_events: false,
        }
    }
}

/// Port GUIDs of CAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortGuids {
    /// Those of the fabric; node GUID + port number where it names none.
    #[default]
    AsGiven,
    /// Node GUID + port number on all, whatever the fabric says: as ibsim has it.
    NodePlusPort,
}

/// Widths and speeds that a port supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SupportedLinks {
    /// All widths, and with extended speeds HDR at least: as ibsim has it.
    #[default]
    All,
    /// Up to the widest and fastest link that the device has in the fabric, and 4x at least: a link that is narrower or
    /// slower than its devices can do shows up as such.
    OfDevice,
}

/// The values of the attributes before a subnet manager writes any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceProfile {
    /// Defaults of the specification, and values of today's adapters and switches.
    #[default]
    Specified,
    /// Values of ibsim, so that tools print the same on both: no subnet prefix, some unusual constants.
    Ibsim,
}

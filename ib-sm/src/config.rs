//! Configuration of the manager: keys, LIDs, timers, limits. Names follow OpenSM's options.
//!
//! A [`SmConfig`] is plain data with OpenSM's defaults; change the fields that matter and hand it to
//! [`SubnetManager::new`](crate::SubnetManager::new). [`SmConfig::parse`] reads OpenSM's option
//! file (`opensm.conf`): `key value` lines, `#` comments; [`SmConfig::to_text`] writes one. Each option is one row of
//! the table below, see [`OptionInfo`]. Nothing random comes from inside the engine: the first transaction ID is an
//! option too.

mod codec;
mod congestion;
mod files;
mod host;
mod links;
mod performance;
mod qos;
mod refused;
mod table;

use alloc::{
    borrow::ToOwned as _,
    collections::BTreeMap,
    string::{String, ToString as _},
    vec,
    vec::Vec,
};
use core::{str::FromStr as _, time::Duration};

use ib_mad::{RmppConfig, SmKey, TransactionId};
use ib_routing::{RouteOptions, SharedEngine, engine};
use ib_subnet::MKeys;
use ib_wire::{GidPrefix, Guid, Lid, Lmc, MKey, Sl, text::shorten};
use thiserror::Error;

pub(crate) use self::qos::PortKind;
use self::{
    codec::{
        AtLeastOne, Codec, Describe, Directions, Flag, Hex, Int, LmcBits, Micros, Millis,
        RateLimit, Requests, SecondsOrNever, Seed, ServiceLevel, Text, UNSET, Wide,
    },
    links::{SpeedCodes, SpeedExtCodes, WidthCodes},
    table::{TakesEffect, options, row},
};
pub use self::{
    congestion::{
        CaCongestion, CongestionOptions, Delay, LevelCongestion, PortMask, SwitchCongestion,
    },
    files::{OptionFiles, RouteTables},
    host::HostOptions,
    links::ForcedLinks,
    performance::PerformanceOptions,
    qos::{Qos, QosOptions},
    table::{OptionChange, OptionGroup, OptionInfo},
};
use crate::{
    cluster::ClusterRole,
    partition::{Enforcement, Partitions},
    prefix_routes::PrefixRoutes,
    qos_policy::QosPolicy,
    registrations::Registrations,
};

options! {
    /// The options of a subnet manager.
    pub struct SmConfig {
        options {
            /// Subnet prefix that every port gets.
            subnet_prefix: GidPrefix = GidPrefix::DEFAULT, Device "subnet_prefix" Wide, Restart;
            /// Management key that guards every port; 0 guards nothing.
            m_key: MKey = MKey(0), Device "m_key" Wide, Live;
            /// Seconds until a port whose M_Key was violated gives its M_Key up, unless its manager asks before;
            /// 0 is never.
            m_key_lease_period: u16 = 0, Device "m_key_lease_period" Int(0, 0xffff), Live;
            /// Protection of ports against a wrong M_Key. 0: PortInfo is readable and shows the M_Key.
            /// 1: readable, the M_Key shows as 0. 2 and 3: nothing is readable.
            m_key_protect_bits: u8 = 0, Device "m_key_protection_level" Int(0, 3), Live;
            /// Addresses ports by the M_Keys that were kept for them, before `m_key` is tried: the files that `--guid2mkey` and
            /// `--neighbors` name, in the formats of OpenSM.
            m_key_lookup: bool = true, Device "m_key_lookup" Flag, Restart;
            /// LID mask control: each CA and router port gets 2^N LIDs.
            lmc: Lmc = Lmc::ZERO, Device "lmc" LmcBits, Restart;
            /// Gives enhanced switch ports 0 the same LMC; else they get one LID.
            lmc_esp0: bool = false, Device "lmc_esp0" Flag, Restart;
            /// Trusts the LIDs of the guid2lid file even where another manager was the master meanwhile.
            honor_guid2lid: bool = false, Device "honor_guid2lid_file" Flag, Live;
            /// Assigns new LIDs to all ports instead of keeping valid ones.
            reassign_lids: bool = false, Device "reassign_lids" Flag, Restart;
            /// Service level for messages to the manager.
            sm_sl: Sl = Sl::ZERO, Device "sm_sl" ServiceLevel, Live;
            /// First byte of the alias GUIDs that the manager chooses; unique in the subnet.
            sm_assigned_guid: u8 = 0, Device "sm_assigned_guid" Hex(0, 0xff), Live;

            /// Longest time that a packet takes through the subnet: 4.096 us * 2^N.
            subnet_timeout: u8 = 0x12, Links "subnet_timeout" Int(0, 31), Live;
            /// Longest time that a switch keeps a packet: 4.096 us * 2^N; above 19 it is kept for ever.
            packet_life_time: u8 = 0x12, Links "packet_life_time" Hex(0, 31), Live;
            /// Longest time that a packet stays at the head of a queue: 4.096 us * 2^N; above 19 it is never dropped.
            head_of_queue_lifetime: u8 = 0x12, Links "head_of_queue_lifetime" Hex(0, 31), Live;
            /// Longest time that a packet stays at the head of a queue of a switch port to a CA or router: 4.096 us * 2^N; above
            /// 19 it is never dropped.
            leaf_head_of_queue_lifetime: u8 = 0x10, Links "leaf_head_of_queue_lifetime" Hex(0, 31), Live;
            /// Packets in a row that are dropped at the head of a queue until the VL stalls.
            vl_stall_count: u8 = 7, Links "vl_stall_count" Hex(0, 7), Live;
            /// Packets in a row that are dropped at the head of a queue of a switch port to a CA or router until the VL stalls.
            leaf_vl_stall_count: u8 = 7, Links "leaf_vl_stall_count" Hex(0, 7), Live;
            /// Threshold of link errors for trap 129.
            local_phy_errors_threshold: u8 = 8, Links "local_phy_errors_threshold" Hex(0, 15), Live;
            /// Threshold of buffer overruns for trap 130.
            overrun_errors_threshold: u8 = 8, Links "overrun_errors_threshold" Hex(0, 15), Live;
            /// Highest code of OperationalVLs to use: 1 is VL0, 2 VL0-1, 3 VL0-3, 4 VL0-7, 5 VL0-14.
            max_op_vls: u8 = 5, Links "max_op_vls" AtLeastOne(5), Live;
            /// Disables a port that reports the same link errors 250 times.
            babbling_port_policy: bool = false, Links "babbling_port_policy" Flag, Live;
            /// FDR10 on ports of Mellanox devices that support it: 1 enables it, 2 disables it, 0 leaves it as it is and reads
            /// nothing of it. The vendor attribute MlnxExtPortInfo carries it.
            fdr10: u8 = 1, Links "fdr10" Int(0, 2), Live;

            /// File with the partitions (partitions.conf).
            partition_config_file: Option<String> = None, Partitions "partition_config_file" Text, Live;
            /// Directions in which switches enforce partitions at ports to hosts.
            part_enforce: Enforcement = Enforcement::Both, Partitions "part_enforce" Directions, Live;
            /// Lets a port hold the full and the limited key of one partition.
            allow_both_pkeys: bool = false, Partitions "allow_both_pkeys" Flag, Live;
            /// Leaves P_Keys at the index where they are.
            keep_pkey_indexes: bool = true, Partitions "keep_pkey_indexes" Flag, Live;

            /// Seconds between two light sweeps; 0 for none.
            sweep_interval: Option<Duration> = Some(Duration::from_secs(10)),
                Sweep "sweep_interval" SecondsOrNever, Live;
            /// Discovers the whole subnet at every sweep.
            force_heavy_sweep: bool = false, Sweep "force_heavy_sweep" Flag, Live;
            /// Discovers the subnet when a trap reports a change.
            sweep_on_trap: bool = true, Sweep "sweep_on_trap" Flag, Live;

            /// Keeps the routes that still hold after cables or switches are lost or hosts come, instead of computing
            /// all anew. A new cable between switches always has all routes computed.
            use_ucast_cache: bool = true, Routing "use_ucast_cache" Flag, Live;
            /// Routes around links between switches that run slower or narrower than both ends have enabled, as long as
            /// every switch stays reachable without them.
            avoid_throttled_links: bool = false, Routing "avoid_throttled_links" Flag, Live;

            /// Writes the last multicast LID in use to switches that can stop there.
            use_mfttop: bool = true, Multicast "use_mfttop" Flag, Live;
            /// Keeps no multicast groups.
            disable_multicast: bool = false, Multicast "disable_multicast" Flag, Live;
            /// Refuses to join hosts to a group with parameters other than the group's.
            mcgroup_join_validation: bool = true, Multicast "mcgroup_join_validation" Flag, Live;
            /// Refuses IPoIB groups whose name does not carry their P_Key.
            ipoib_mcgroup_creation_validation: bool = true,
                Multicast "ipoib_mcgroup_creation_validation" Flag, Live;
            /// Gives the IPv6 solicited-node groups of one partition and scope one multicast LID. It counts for groups that are
            /// created from then on.
            consolidate_ipv6_snm_req: bool = false, Multicast "consolidate_ipv6_snm_req" Flag, Live;

            /// Priority in the election of the master; 15 wins.
            sm_priority: u8 = 0, HighAvailability "sm_priority" Int(0, 15), Live;
            /// Key that the managers of one subnet share. Managers with different keys do not yield to each other.
            sm_key: SmKey = SmKey(1), HighAvailability "sm_key" Wide, Live;
            /// Ignores other managers.
            ignore_other_sm: bool = false, HighAvailability "ignore_other_sm" Flag, Live;
            /// Milliseconds between two polls of the master by a standby.
            sminfo_polling_timeout: Duration = Duration::from_secs(10),
                HighAvailability "sminfo_polling_timeout" Millis(1), Live;
            /// Unanswered polls in a row after which the master counts as gone.
            polling_retry_number: u8 = 4, HighAvailability "polling_retry_number" Int(0, 255), Live;
            /// Stays inactive until another manager asks for a standby.
            sm_inactive: bool = false, HighAvailability "sm_inactive" Flag, Restart;
            /// Ends subscriptions and services of a port that is gone. FALSE keeps them for its return, as long as less than half
            /// of the room for them is taken.
            drop_event_subscriptions: bool = false, HighAvailability "drop_event_subscriptions" Flag, Live;

            /// Most requests in flight at once; the window starts smaller and adapts. 0 sets no limit.
            max_wire_smps: usize = 32, Timing "max_wire_smps" Requests, Restart;
            /// Most requests in flight while devices do not answer: see max_smps_timeout. Up to max_wire_smps it has no effect.
            max_wire_smps2: u16 = 4, Timing "max_wire_smps2" Int(0, 0xffff), Restart;
            /// Microseconds without an answer after which one more request than max_wire_smps is sent, up to max_wire_smps2:
            /// devices that do not answer and hold all places stop the others no longer.
            max_smps_timeout: Duration = Duration::from_micros(600_000),
                Timing "max_smps_timeout" Micros, Restart;
            /// Milliseconds until a request without an answer is sent again.
            transaction_timeout: Duration = Duration::from_millis(200),
                Timing "transaction_timeout" Millis(1), Restart;
            /// The number of repetitions of a request without an answer.
            transaction_retries: u8 = 3, Timing "transaction_retries" Int(0, 255), Restart;
            /// Milliseconds until a request that takes a device long is sent again: SLtoVL tables for all input ports. It is not
            /// shorter than transaction_timeout.
            long_transaction_timeout: Duration = Duration::from_millis(500),
                Timing "long_transaction_timeout" Millis(1), Live;
            /// Milliseconds that a request to the administrator may wait; an older one is answered with BUSY.
            max_msg_fifo_timeout: Duration = Duration::from_secs(10),
                Timing "max_msg_fifo_timeout" Millis(1), Live;

            /// Key of trusted requests to the administrator, which see every record. Requests with another key are dropped.
            sa_key: SmKey = SmKey(1), Administrator "sa_key" Wide, Live;
            /// File that keeps memberships, services and subscriptions over a restart.
            sa_db_file: Option<String> = None, Administrator "sa_db_file" Text, Restart;
            /// Writes that file when something changes.
            sa_db_dump: bool = false, Administrator "sa_db_dump" Flag, Restart;
            /// Does not ask hosts to subscribe and join again.
            no_clients_rereg: bool = false, Administrator "no_clients_rereg" Flag, Live;
            /// Highest code of a rate in paths and new groups; faster ones are lowered to the fastest rate up to this code. 0 sets
            /// no limit.
            max_rate_enum: u8 = 0, Administrator "max_rate_enum" RateLimit, Live;
            /// The old spelling of `max_rate_enum 18`.
            use_original_extended_sa_rates_only: bool = false,
                Administrator "use_original_extended_sa_rates_only" Flag, Live;
            /// Adapts paths to devices with known faults, by a table of vendors and devices: InfiniHost (Tavor) gets paths of
            /// 1024 bytes unless the request asks for more.
            enable_quirks: bool = false, Administrator "enable_quirks" Flag, Live;

            /// File that says which service level a path gets, by its ends and its use; it needs `qos`.
            qos_policy_file: Option<String> = None, Qos "qos_policy_file" Text, Live;
            /// Does not count or report that a device refuses an SLtoVL table.
            suppress_sl2vl_mad_status_errors: bool = false, Qos "suppress_sl2vl_mad_status_errors" Flag, Live;
            /// Writes one SLtoVL table for all pairs of ports of a switch, or for all input ports of an output port, where the
            /// switch supports it and the tables are equal; FALSE writes each by itself.
            use_optimized_slvl: bool = true, Qos "use_optimized_slvl" Flag, Live;
        }
        state {
            /// Transaction ID of the first datagram; the following ones count up from it. A host that may
            /// restart gives another value each time, so that late answers to the old run match nothing.
            first_transaction_id: TransactionId = TransactionId(1);
            /// Routing engines in the order of preference (`routing_engine`). The next one is tried where
            /// one cannot route the fabric. The last one is [`minhop`](engine::MINHOP), unless
            /// [`no_fallback`](Self::no_fallback) is set or [`auto`](engine::AUTO), the default, is named.
            /// An engine from outside is a [`SharedEngine`] too.
            routing_engines: Vec<SharedEngine> = vec![SharedEngine::default()];
            /// Gives up where none of the engines can route the fabric, instead of installing `minhop`.
            no_fallback: bool = false;
            /// Installs routes that can deadlock, where a named engine makes such; without it they are refused.
            /// The key `routing_engine` of OpenSM's configuration file sets it, as OpenSM installs them.
            allow_deadlock: bool = false;
            /// Writes its own routes at once where a manager before this one left routes that hold. Without it those
            /// stay, and what is changed all the same is said before.
            takeover: bool = false;
            /// Options of the routing engines; the number of VLs comes from the fabric.
            route_options: RouteOptions = RouteOptions::default();
            /// Tables for the engine `file`, as text: they are read against the fabric that a sweep found. The host reads
            /// `lfts_file` and `lid_matrix_dump_file`.
            route_tables: RouteTables = RouteTables::default();
            /// Files that the options name and the host reads.
            files: OptionFiles = OptionFiles::default();
            /// Options that act in the host: log, port, fatal errors.
            host: HostOptions = HostOptions::default();
            /// Options of the performance manager, which the host runs beside this one.
            performance: PerformanceOptions = PerformanceOptions::default();
            /// Options of the congestion control manager.
            congestion: CongestionOptions = CongestionOptions::default();
            /// Widths and speeds that links may use.
            forced_links: ForcedLinks = ForcedLinks::default();
            /// Lanes of service levels, and how lanes share a link (all keys that begin with `qos`).
            qos: Qos = Qos::default();
            /// Service level, MTU and rate of paths; the host reads `qos_policy_file`.
            qos_policy: QosPolicy = QosPolicy::default();
            /// The logical cluster that the manager is confined to; `None` for one that manages the whole subnet. It
            /// does not change while the manager runs.
            cluster: Option<ClusterRole> = None;
            /// Routers by the subnets that they lead to; the host reads `prefix_routes_file`.
            prefix_routes: PrefixRoutes = PrefixRoutes::default();
            /// Partitions: the ports that may exchange packets. The host reads `partition_config_file`.
            partitions: Partitions = Partitions::default();
            /// Base LIDs that ports had before this manager, by port GUID: the host keeps
            /// [`SubnetManager::guid2lid`](crate::SubnetManager::guid2lid) and gives it back here after a restart.
            guid2lid: BTreeMap<Guid, Lid> = BTreeMap::new();
            /// M_Keys of ports and cables from before a restart: the host keeps
            /// [`SubnetManager::m_keys`](crate::SubnetManager::m_keys) and gives it back here.
            m_keys: MKeys = MKeys::default();
            /// Registrations of hosts before a restart: the host keeps
            /// [`SubnetManager::registrations`](crate::SubnetManager::registrations) and gives it back here. They are dropped if
            /// another manager was the master meanwhile.
            registrations: Registrations = Registrations::default();
            /// LID of a port whose administrator answers instead of this manager: requests are answered with the
            /// redirection to its queue pair 1, except those of that port itself. `None` answers them here. It does not
            /// change while the manager runs.
            sa_redirect: Option<Lid> = None;
            /// Times and limits of the administrator's tables. The host says here whether clients acknowledge them:
            /// those that ibsim's library is preloaded into do not.
            rmpp: RmppConfig = RmppConfig::default();
        }
        nested {
            /// Widths that links may use, as PortInfo.LinkWidthEnabled codes them; 255 is all that a port supports, 0
            /// leaves ports as they are.
            forced_links.width => Links "force_link_width" WidthCodes, Live;
            /// Speeds up to QDR that links may use, as PortInfo.LinkSpeedEnabled codes them; 15 is all that a port
            /// supports, 0 leaves ports as they are.
            forced_links.speed => Links "force_link_speed" SpeedCodes, Live;
            /// Speeds above QDR that links may use, as PortInfo.LinkSpeedExtEnabled codes them; 30 is none, 31 all that a
            /// port supports, 0 leaves ports as they are.
            forced_links.speed_ext => Links "force_link_speed_ext" SpeedExtCodes, Live;

            /// Lets the roots of trees talk to each other, at the cost of the guarantee (updn, dnup).
            route_options.connect_roots => Routing "connect_roots" Flag, Live;
            /// Begins the search for the least used port after the last one found.
            route_options.port_shifting => Routing "port_shifting" Flag, Live;
            /// Chooses among equal ports at random, by this seed; 0 does not.
            route_options.scatter_ports => Routing "scatter_ports" Seed, Live;
            /// The number of times that a route to an I/O node may go down and up again; 0 sets no limit (ftree).
            route_options.max_reverse_hops => Routing "max_reverse_hops" Int(0, 255), Live;
            /// Counts routes to switches in the balance.
            route_options.port_profile_switch_nodes => Routing "port_profile_switch_nodes" Flag, Live;
            /// Looks for a mesh and numbers its switches (lash).
            route_options.do_mesh_analysis => Routing "do_mesh_analysis" Flag, Live;
            /// First service level to use (lash).
            route_options.lash_start_vl => Routing "lash_start_vl" Int(0, 15), Live;
            /// Virtual lanes to use (nue).
            route_options.nue_max_num_vls => Routing "nue_max_num_vls" AtLeastOne(15), Live;
            /// Counts routes to switches in the balance as those to CAs (nue).
            route_options.nue_include_switches => Routing "nue_include_switches" Flag, Live;
            /// File with the GUIDs of root switches (updn, dnup, ftree).
            files.root_guid_file => Routing "root_guid_file" Text, Live;
            /// File with the port GUIDs of compute nodes (ftree, dfsssp).
            files.cn_guid_file => Routing "cn_guid_file" Text, Live;
            /// File with the port GUIDs of I/O nodes (ftree, dfsssp).
            files.io_guid_file => Routing "io_guid_file" Text, Live;
            /// File with numbers of switches, for engines that would break ties by GUID (updn).
            files.ids_guid_file => Routing "ids_guid_file" Text, Live;
            /// File with port GUIDs to route first, in this order.
            files.guid_routing_order_file => Routing "guid_routing_order_file" Text, Live;
            /// Takes the ports of `guid_routing_order_file` out of `scatter_ports`: equal ports are chosen for them in the
            /// order of their numbers.
            route_options.guid_routing_order_no_scatter => Routing "guid_routing_order_no_scatter" Flag, Live;
            /// File with the hops that links count.
            files.hop_weights_file => Routing "hop_weights_file" Text, Live;
            /// File with the order in which ports of switches are tried.
            files.port_search_ordering_file => Routing "port_search_ordering_file" Text, Live;
            /// File with forwarding tables for the engine `file`, as OpenSM's opensm-lfts.dump.
            files.lfts_file => Routing "lfts_file" Text, Live;
            /// File with the hops that the engine `file` routes by, as OpenSM's opensm-lid-matrix.dump.
            files.lid_matrix_dump_file => Routing "lid_matrix_dump_file" Text, Live;
            /// File with ports whose routes do not count in the balance.
            files.port_prof_ignore_file => Routing "port_prof_ignore_file" Text, Live;
            /// Configuration file of torus-2QoS.
            files.torus_config => Routing "torus_config" Text, Live;
            /// File with the routers by the prefixes of the subnets that they lead to.
            files.prefix_routes_file => Administrator "prefix_routes_file" Text, Live;
            /// Directory that tables are written to on request.
            files.dump_files_dir => Log "dump_files_dir" Text, Live;

            /// Writes SLtoVL and VLArbitration tables; else only where the routes need several lanes.
            qos.enabled => Qos "qos" Flag, Live;
        }
    }
}

/// Options that set more than one field, or the field of another option.
static SPECIAL_ROWS: &[OptionInfo] = &[
    OptionInfo {
        key: "routing_engine",
        group: OptionGroup::Routing,
        doc: &[
            "Routing engines in the order of preference. The next one is tried where one cannot route the fabric; the last \
             one is minhop, unless no_fallback is among the names. (null) is `auto`: the best engine that cannot deadlock.",
        ],
        expected: || ENGINES.to_owned(),
        change: TakesEffect::Live,
        refusal: None,
        read: |config, text| {
            let Some(engines) = engines(text) else {
                return false;
            };
            config.routing_engines = engines;
            config.allow_deadlock = true;
            config.no_fallback = names(text).any(|name| name == NO_FALLBACK);
            true
        },
        write: |config| {
            let mut names: Vec<_> = config
                .routing_engines
                .iter()
                .map(|engine| engine.to_string())
                .collect();
            if names == [engine::AUTO.to_string()] && !config.no_fallback {
                return UNSET.to_owned();
            }
            if config.no_fallback {
                names.push(NO_FALLBACK.to_owned());
            }
            names.join(",")
        },
        copy: |to, from| {
            to.routing_engines.clone_from(&from.routing_engines);
            to.no_fallback = from.no_fallback;
            to.allow_deadlock = from.allow_deadlock;
        },
    },
    OptionInfo {
        key: "no_partition_enforcement",
        group: OptionGroup::Partitions,
        doc: &["The old spelling of `part_enforce off`."],
        expected: || Flag.expected(),
        change: TakesEffect::Live,
        refusal: None,
        read: |config, text| match Flag.read(text) {
            Some(off) => {
                if off {
                    config.part_enforce = Enforcement::Off;
                }
                true
            }
            None => false,
        },
        write: |_| Flag.write(&false),
        copy: |_, _| {},
    },
    OptionInfo {
        key: "dimn_ports_file",
        group: OptionGroup::Routing,
        doc: &["The old spelling of `port_search_ordering_file`."],
        expected: || Text.expected(),
        change: TakesEffect::Live,
        refusal: None,
        read: |config, text| match Text.read(text) {
            Some(file) => {
                if file.is_some() {
                    config.files.port_search_ordering_file = file;
                }
                true
            }
            None => false,
        },
        write: |_| UNSET.to_owned(),
        copy: |_, _| {},
    },
];

/// All parts of the table.
fn tables() -> [&'static [OptionInfo]; 7] {
    [
        ROWS,
        SPECIAL_ROWS,
        host::ROWS,
        qos::ROWS,
        performance::ROWS,
        congestion::ROWS,
        refused::ROWS,
    ]
}

/// Why an option file was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct ConfigError {
    /// Line, counted from 1.
    pub line: usize,
    /// The fault of the line.
    pub problem: ConfigProblem,
}

/// The fault of a line of an option file. Keys and values are cut to a length that fits an error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigProblem {
    /// A key without a value.
    #[error("`{key}` has no value, expected `key value`")]
    NoValue {
        /// The key.
        key: String,
    },
    /// The value does not fit the key.
    #[error("`{key}` is `{found}`, expected {expected}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// The value that was found.
        found: String,
        /// The values that the key takes.
        expected: String,
    },
    /// A key of OpenSM that cannot be followed here has another value than OpenSM's default.
    #[error("`{key} {found}` is refused: {reason}")]
    Refused {
        /// The key.
        key: &'static str,
        /// The value that was found.
        found: String,
        /// The reason, and what to use instead.
        reason: &'static str,
    },
}

/// A line of an option file whose key is not one of OpenSM's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOption {
    /// Line, counted from 1.
    pub line: usize,
    /// The key, cut to a length that fits a warning.
    pub key: String,
}

impl SmConfig {
    /// Reads OpenSM's option file on top of the defaults.
    ///
    /// Unknown keys are returned as well, so that the host can name them.
    ///
    /// # Errors
    /// [`ConfigError`] at the first line whose value is missing, does not fit its key, or is refused.
    pub fn parse(text: &str) -> Result<(Self, Vec<UnknownOption>), ConfigError> {
        let mut config = Self::default();
        let unknown = config.apply(text)?;
        Ok((config, unknown))
    }

    /// Reads lines of an option file on top of what is set. After an error the lines before it are in effect.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn apply(&mut self, text: &str) -> Result<Vec<UnknownOption>, ConfigError> {
        let mut unknown = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let refused = |problem| ConfigError { line, problem };
            let Some((key, value)) = content.split_once(char::is_whitespace) else {
                let key = shorten(content);
                return Err(refused(ConfigProblem::NoValue { key }));
            };
            match Self::option(key) {
                Some(row) => row.apply(self, value.trim()).map_err(refused)?,
                None => unknown.push(UnknownOption {
                    line,
                    key: shorten(key),
                }),
            }
        }
        Ok(unknown)
    }
}

impl OptionInfo {
    /// Gives an option this value.
    fn apply(&self, config: &mut SmConfig, value: &str) -> Result<(), ConfigProblem> {
        let (key, found) = (self.key, shorten(value));
        if let Some(refusal) = &self.refusal {
            let reason = refusal.reason;
            return match refusal.refuses(value) {
                true => Err(ConfigProblem::Refused { key, found, reason }),
                false => Ok(()),
            };
        }
        if (self.read)(config, value) {
            return Ok(());
        }
        let expected = self.expected();
        Err(ConfigProblem::BadValue {
            key,
            found,
            expected,
        })
    }
}

/// The name among routing engines after which minhop is not tried.
const NO_FALLBACK: &str = "no_fallback";
const ENGINES: &str = "names of routing engines, with commas between";

fn names(value: &str) -> impl Iterator<Item = &str> {
    value
        .split([',', ' ', '\t'])
        .filter(|name| !name.is_empty())
}

fn engines(value: &str) -> Option<Vec<SharedEngine>> {
    if value == UNSET {
        return Some(vec![SharedEngine::default()]);
    }
    names(value)
        .filter(|name| *name != NO_FALLBACK)
        .map(|name| SharedEngine::from_str(name).ok())
        .collect()
}

#[cfg(test)]
mod tests;

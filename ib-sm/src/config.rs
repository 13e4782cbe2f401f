//! What the operator decides: keys, LIDs, timers, limits. Names follow OpenSM's options.
//!
//! A [`SmConfig`] is plain data with OpenSM's defaults; change the fields that matter and hand it to
//! [`SubnetManager::new`](crate::SubnetManager::new). [`SmConfig::parse`] reads OpenSM's option
//! file (`opensm.conf`): `key value` lines, `#` comments. Nothing random comes from inside the
//! engine: the first transaction ID stands here too.

mod files;
mod links;
mod qos;

use alloc::{collections::BTreeMap, string::String, vec, vec::Vec};
use core::{str::FromStr, time::Duration};

use ib_mad::{SmKey, TransactionId};
use ib_routing::{RouteOptions, RoutingEngine};
use ib_wire::{GidPrefix, Guid, Lid, Lmc, MKey, Sl, addr};
use thiserror::Error;

pub(crate) use self::qos::PortKind;
pub use self::{
    files::OptionFiles,
    links::ForcedLinks,
    qos::{Qos, QosOptions},
};
use crate::{
    partition::{Enforcement, Partitions},
    prefix_routes::PrefixRoutes,
    qos_policy::QosPolicy,
    registrations::Registrations,
};

/// The options of a subnet manager.
#[derive(Clone, Debug)]
pub struct SmConfig {
    /// Transaction ID of the first datagram; the following ones count up from it. A host that may
    /// restart gives another value each time, so that late answers to the old run match nothing.
    pub first_transaction_id: TransactionId,

    /// Routing engines in the order of preference (`routing_engine`). The next one is tried where
    /// one cannot route the fabric. At the end stands [`minhop`](RoutingEngine::MinHop), unless
    /// [`no_fallback`](Self::no_fallback) is set or [`auto`](RoutingEngine::Auto), the default, is named.
    pub routing_engines: Vec<RoutingEngine>,
    /// Options of the routing engines; the number of VLs comes from the fabric.
    pub route_options: RouteOptions,
    /// Files that the options name.
    pub files: OptionFiles,
    /// Gives up where none of the engines can route the fabric, instead of installing `minhop`.
    pub no_fallback: bool,
    /// Keeps the routes that still hold after cables or switches are lost or hosts come, instead of
    /// computing all anew (`use_ucast_cache`; on, other than in OpenSM). A new cable between switches
    /// always has all routes computed, to be used.
    pub use_ucast_cache: bool,

    /// Subnet prefix that every port gets (`subnet_prefix`).
    pub subnet_prefix: GidPrefix,
    /// Management key that guards every port; 0 guards nothing (`m_key`).
    pub m_key: MKey,
    /// Seconds until an M_Key without its manager can be read; 0 is never (`m_key_lease_period`).
    pub m_key_lease_period: u16,
    /// What a wrong M_Key may still do: 0..=3 (`m_key_protection_level`).
    pub m_key_protect_bits: u8,
    /// Key that the managers of one subnet share (`sm_key`).
    pub sm_key: SmKey,
    /// Priority in the election; 15 wins (`sm_priority`).
    pub sm_priority: u8,
    /// Service level for messages to the manager (`sm_sl`).
    pub sm_sl: Sl,

    /// LID mask control of CA and router ports (`lmc`).
    pub lmc: Lmc,
    /// Gives enhanced switch ports 0 the same LMC (`lmc_esp0`).
    pub lmc_esp0: bool,
    /// Base LIDs that ports had before this manager, by port GUID: the host keeps
    /// [`SubnetManager::guid2lid`](crate::SubnetManager::guid2lid) and gives it back here after a restart.
    pub guid2lid: BTreeMap<Guid, Lid>,
    /// What hosts told the administrator before a restart: the host keeps
    /// [`SubnetManager::registrations`](crate::SubnetManager::registrations) and gives it back here. Another manager that
    /// was the master meanwhile knows better: then it is dropped.
    pub registrations: Registrations,
    /// Where the host keeps them (`sa_db_file`).
    pub sa_db_file: Option<String>,
    /// Whether it writes them when they change (`sa_db_dump`).
    pub sa_db_dump: bool,
    /// Trusts these LIDs even where another manager was the master meanwhile (`honor_guid2lid`).
    pub honor_guid2lid: bool,
    /// Gives new LIDs to all ports instead of keeping valid ones (`reassign_lids`).
    pub reassign_lids: bool,

    /// Most requests in flight at once; the window starts smaller and adapts (`max_wire_smps`).
    pub max_wire_smps: usize,
    /// Wait for an answer before the request is sent again (`transaction_timeout`).
    pub transaction_timeout: Duration,
    /// How often a request is sent again (`transaction_retries`).
    pub transaction_retries: u8,

    /// Time between two light sweeps; `None` for none (`sweep_interval`, 0).
    pub sweep_interval: Option<Duration>,
    /// Discovers the whole subnet each time instead (`force_heavy_sweep`).
    pub force_heavy_sweep: bool,
    /// Discovers the subnet when a trap tells of a change (`sweep_on_trap`).
    pub sweep_on_trap: bool,

    /// Disables a port that reports the same link errors over and over (`babbling_port_policy`).
    pub babbling_port_policy: bool,
    /// Stands aside until another manager orders it to stand by (`sm_inactive`).
    pub sm_inactive: bool,

    /// 4.096 us * 2^n: longest time a packet takes through the subnet (`subnet_timeout`).
    pub subnet_timeout: u8,
    /// How long a switch may keep a packet (`packet_life_time`).
    pub packet_life_time: u8,
    /// How long a packet may stay at the head of a queue (`head_of_queue_lifetime`).
    pub head_of_queue_lifetime: u8,
    /// The same on switch ports to CAs and routers (`leaf_head_of_queue_lifetime`).
    pub leaf_head_of_queue_lifetime: u8,
    /// Packets in a row dropped by head-of-queue time that stall a VL (`vl_stall_count`).
    pub vl_stall_count: u8,
    /// The same on switch ports to CAs and routers (`leaf_vl_stall_count`).
    pub leaf_vl_stall_count: u8,
    /// Threshold of link errors for trap 129 (`local_phy_errors_threshold`).
    pub local_phy_errors_threshold: u8,
    /// Threshold of buffer overruns for trap 130 (`overrun_errors_threshold`).
    pub overrun_errors_threshold: u8,
    /// Widths and speeds that links may use (`force_link_width`, `force_link_speed`, `force_link_speed_ext`).
    pub forced_links: ForcedLinks,
    /// Highest code of OperationalVLs to use: 1 is VL0, 5 is VL0..VL14 (`max_op_vls`).
    pub max_op_vls: u8,

    /// Which lane a service level takes, and how lanes share a link (`qos` and all keys that begin so).
    pub qos: Qos,
    /// Which service level a path gets, by who asks for what; it needs `qos`.
    pub qos_policy: QosPolicy,
    /// The file that says so: the host reads it (`qos_policy_file`).
    pub qos_policy_file: Option<String>,

    /// Time between two polls of the master by a standby (`sminfo_polling_timeout`).
    pub sminfo_polling_timeout: Duration,
    /// Unanswered polls in a row after which the master counts as gone (`polling_retry_number`).
    pub polling_retry_number: u8,
    /// Ignores other managers (`ignore_other_sm`).
    pub ignore_other_sm: bool,
    /// Does not ask hosts to subscribe and join again (`no_clients_rereg`).
    pub no_clients_rereg: bool,

    /// Which router leads to which other subnet; the host reads `prefix_routes_file`.
    pub prefix_routes: PrefixRoutes,
    /// Who may talk to whom.
    pub partitions: Partitions,
    /// The file that says so: the host reads it (`partition_config_file`).
    pub partition_config_file: Option<String>,
    /// Where switches enforce it (`part_enforce`; `no_partition_enforcement` is off).
    pub part_enforce: Enforcement,
    /// Lets a port hold the full and the limited key of one partition (`allow_both_pkeys`).
    pub allow_both_pkeys: bool,
    /// Leaves P_Keys at the index where they are (`keep_pkey_indexes`).
    pub keep_pkey_indexes: bool,

    /// Tells switches where their multicast tables end, if they can be told (`use_mfttop`).
    pub use_mfttop: bool,
    /// Keeps no multicast groups (`disable_multicast`).
    pub disable_multicast: bool,
    /// Lets hosts join a group only with parameters that are the group's (`mcgroup_join_validation`).
    pub mcgroup_join_validation: bool,
    /// Lets hosts create an IPoIB group only under a name that carries its P_Key
    /// (`ipoib_mcgroup_creation_validation`).
    pub ipoib_mcgroup_creation_validation: bool,
    /// First byte of the alias GUIDs that the manager chooses (`sm_assigned_guid`).
    pub sm_assigned_guid: u8,
}

impl Default for SmConfig {
    fn default() -> Self {
        Self {
            first_transaction_id: TransactionId(1),
            routing_engines: vec![RoutingEngine::Auto],
            route_options: RouteOptions::default(),
            files: OptionFiles::default(),
            no_fallback: false,
            use_ucast_cache: true,
            subnet_prefix: GidPrefix::DEFAULT,
            m_key: MKey(0),
            m_key_lease_period: 0,
            m_key_protect_bits: 0,
            sm_key: SmKey(1),
            sm_priority: 0,
            sm_sl: Sl::ZERO,
            lmc: Lmc::ZERO,
            lmc_esp0: false,
            guid2lid: BTreeMap::new(),
            registrations: Registrations::default(),
            sa_db_file: None,
            sa_db_dump: false,
            honor_guid2lid: false,
            reassign_lids: false,
            max_wire_smps: 32,
            transaction_timeout: Duration::from_millis(200),
            transaction_retries: 3,
            sweep_interval: Some(Duration::from_secs(10)),
            force_heavy_sweep: false,
            sweep_on_trap: true,
            babbling_port_policy: false,
            sm_inactive: false,
            subnet_timeout: 0x12,
            packet_life_time: 0x12,
            head_of_queue_lifetime: 0x12,
            leaf_head_of_queue_lifetime: 0x10,
            vl_stall_count: 7,
            leaf_vl_stall_count: 7,
            local_phy_errors_threshold: 8,
            overrun_errors_threshold: 8,
            forced_links: ForcedLinks::default(),
            max_op_vls: 5,
            qos: Qos::default(),
            qos_policy: QosPolicy::default(),
            qos_policy_file: None,
            sminfo_polling_timeout: Duration::from_secs(10),
            polling_retry_number: 4,
            ignore_other_sm: false,
            no_clients_rereg: false,
            prefix_routes: PrefixRoutes::default(),
            partitions: Partitions::default(),
            partition_config_file: None,
            part_enforce: Enforcement::Both,
            allow_both_pkeys: false,
            keep_pkey_indexes: true,
            use_mfttop: true,
            disable_multicast: false,
            mcgroup_join_validation: true,
            ipoib_mcgroup_creation_validation: true,
            sm_assigned_guid: 0,
        }
    }
}

/// Why an option file was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A key stands alone.
    #[error("line {line}: `{key}` has no value")]
    NoValue {
        /// Line, counted from 1.
        line: usize,
        /// The key.
        key: String,
    },
    /// The value does not fit the key.
    #[error("line {line}: `{key}` is `{found}`, expected {expected}")]
    BadValue {
        /// Line, counted from 1.
        line: usize,
        /// The key.
        key: String,
        /// What stands there.
        found: String,
        /// What would fit.
        expected: &'static str,
    },
}

/// A line of an option file that has no effect here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOption {
    /// Line, counted from 1.
    pub line: usize,
    /// The key.
    pub key: String,
}

impl SmConfig {
    /// Reads OpenSM's option file on top of the defaults.
    ///
    /// Keys that mean nothing here are returned as well, so that the host can name them: OpenSM's
    /// template has over 160 keys, and a file made by it is no error.
    ///
    /// # Errors
    /// [`ConfigError`] at the first line whose value is missing or does not fit its key.
    pub fn parse(text: &str) -> Result<(Self, Vec<UnknownOption>), ConfigError> {
        let mut config = Self::default();
        let mut unknown = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.split('#').next().unwrap_or_default().trim();
            if content.is_empty() {
                continue;
            }
            let Some((key, value)) = content.split_once(char::is_whitespace) else {
                return Err(ConfigError::NoValue {
                    line,
                    key: content.into(),
                });
            };
            match config.set(key, value.trim()) {
                Ok(()) => {}
                Err(SetError::UnknownKey) => unknown.push(UnknownOption {
                    line,
                    key: key.into(),
                }),
                Err(SetError::BadValue { expected }) => {
                    return Err(ConfigError::BadValue {
                        line,
                        key: key.into(),
                        found: value.trim().into(),
                        expected,
                    });
                }
            }
        }
        Ok((config, unknown))
    }

    /// Puts back what cannot change while the manager runs, and names it where it differs.
    pub(crate) fn keep_fixed(&mut self, now: &Self) -> Vec<&'static str> {
        let mut names = Vec::new();
        macro_rules! keep {
            ($($field:ident)*) => {$(
                if self.$field != now.$field {
                    names.push(stringify!($field));
                    self.$field = now.$field;
                }
            )*};
        }
        keep!(
            subnet_prefix lmc lmc_esp0 reassign_lids max_wire_smps transaction_timeout
            transaction_retries sm_inactive
        );
        // These are the host's at the start, and the manager's own from then on.
        self.first_transaction_id = now.first_transaction_id;
        self.guid2lid.clone_from(&now.guid2lid);
        self.registrations = Registrations::default();
        names
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), SetError> {
        match key {
            "routing_engine" => {
                self.routing_engines = engines(value)?;
                self.no_fallback = names(value).any(|name| name == "no_fallback");
            }
            "subnet_prefix" => self.subnet_prefix = GidPrefix(number(value, u64::MAX)?),
            "m_key" => self.m_key = MKey(number(value, u64::MAX)?),
            "m_key_lease_period" => self.m_key_lease_period = narrow(value, u16::MAX)?,
            "m_key_protection_level" => self.m_key_protect_bits = narrow(value, 3u8)?,
            "sm_key" => self.sm_key = SmKey(number(value, u64::MAX)?),
            "sm_priority" => self.sm_priority = narrow(value, 15u8)?,
            "sm_sl" => self.sm_sl = Sl::try_new(narrow(value, 15u8)?).unwrap_or(Sl::ZERO),
            "lmc" => self.lmc = Lmc::try_new(narrow(value, 7u8)?).unwrap_or(Lmc::ZERO),
            "lmc_esp0" => self.lmc_esp0 = boolean(value)?,
            "sa_db_file" => self.sa_db_file = (value != "(null)").then(|| value.into()),
            "sa_db_dump" => self.sa_db_dump = boolean(value)?,
            "honor_guid2lid" | "honor_guid2lid_file" => self.honor_guid2lid = boolean(value)?,
            "reassign_lids" => self.reassign_lids = boolean(value)?,
            // As in OpenSM 0 sets no limit.
            "max_wire_smps" => {
                let most: u16 = narrow(value, u16::MAX)?;
                self.max_wire_smps = if most == 0 { u16::MAX } else { most }.into();
            }
            "transaction_timeout" => self.transaction_timeout = milliseconds(value)?,
            "transaction_retries" => self.transaction_retries = narrow(value, u8::MAX)?,
            "sweep_interval" => {
                let seconds = number(value, u64::from(u32::MAX))?;
                self.sweep_interval = (seconds != 0).then(|| Duration::from_secs(seconds));
            }
            "connect_roots" => self.route_options.connect_roots = boolean(value)?,
            "port_shifting" => self.route_options.port_shifting = boolean(value)?,
            // As in OpenSM 0 does not scatter.
            "scatter_ports" => {
                let seed = number(value, u64::from(u32::MAX))?;
                self.route_options.scatter_ports = (seed != 0).then_some(seed);
            }
            "max_reverse_hops" => {
                self.route_options.max_reverse_hops = narrow(value, u8::MAX)?;
            }
            "port_profile_switch_nodes" => {
                self.route_options.port_profile_switch_nodes = boolean(value)?;
            }
            "quasi_ftree_indexing" => {
                self.route_options.quasi_ftree_indexing = boolean(value)?;
            }
            "do_mesh_analysis" => self.route_options.do_mesh_analysis = boolean(value)?,
            "lash_start_vl" => self.route_options.lash_start_vl = narrow(value, 15u8)?,
            "nue_max_num_vls" => self.route_options.nue_max_num_vls = narrow(value, 15u8)?,
            "nue_include_switches" => {
                self.route_options.nue_include_switches = boolean(value)?;
            }
            "force_link_width" => self.forced_links.set_width(narrow(value, u8::MAX)?),
            "force_link_speed" => self.forced_links.set_speed(narrow(value, 15u8)?),
            "force_link_speed_ext" => {
                self.forced_links.set_speed_ext(narrow(value, 31u8)?);
            }
            "use_mfttop" => self.use_mfttop = boolean(value)?,
            "use_ucast_cache" => self.use_ucast_cache = boolean(value)?,
            "force_heavy_sweep" => self.force_heavy_sweep = boolean(value)?,
            "sweep_on_trap" => self.sweep_on_trap = boolean(value)?,
            "babbling_port_policy" => self.babbling_port_policy = boolean(value)?,
            "sm_inactive" => self.sm_inactive = boolean(value)?,
            "subnet_timeout" => self.subnet_timeout = narrow(value, 31u8)?,
            "packet_life_time" => self.packet_life_time = narrow(value, 31u8)?,
            "head_of_queue_lifetime" => self.head_of_queue_lifetime = narrow(value, 31u8)?,
            "leaf_head_of_queue_lifetime" => {
                self.leaf_head_of_queue_lifetime = narrow(value, 31u8)?;
            }
            "vl_stall_count" => self.vl_stall_count = narrow(value, 7u8)?,
            "leaf_vl_stall_count" => self.leaf_vl_stall_count = narrow(value, 7u8)?,
            "local_phy_errors_threshold" => {
                self.local_phy_errors_threshold = narrow(value, 15u8)?;
            }
            "overrun_errors_threshold" => self.overrun_errors_threshold = narrow(value, 15u8)?,
            "max_op_vls" => self.max_op_vls = narrow(value, 5u8)?.max(1),
            "qos" => self.qos.enabled = boolean(value)?,
            "qos_policy_file" => self.qos_policy_file = (value != "(null)").then(|| value.into()),
            "sminfo_polling_timeout" => {
                self.sminfo_polling_timeout = milliseconds(value)?;
                if self.sminfo_polling_timeout.is_zero() {
                    return Err(SetError::BadValue {
                        expected: "milliseconds, at least 1",
                    });
                }
            }
            "polling_retry_number" => self.polling_retry_number = narrow(value, u8::MAX)?,
            "ignore_other_sm" => self.ignore_other_sm = boolean(value)?,
            "no_clients_rereg" => self.no_clients_rereg = boolean(value)?,
            "partition_config_file" => {
                self.partition_config_file = (value != "(null)").then(|| value.into());
            }
            "part_enforce" => {
                self.part_enforce = match value {
                    "both" => Enforcement::Both,
                    "in" => Enforcement::Inbound,
                    "out" => Enforcement::Outbound,
                    "off" => Enforcement::Off,
                    _ => {
                        return Err(SetError::BadValue {
                            expected: "both, in, out or off",
                        });
                    }
                }
            }
            "no_partition_enforcement" if boolean(value)? => self.part_enforce = Enforcement::Off,
            "no_partition_enforcement" => {}
            "allow_both_pkeys" => self.allow_both_pkeys = boolean(value)?,
            "keep_pkey_indexes" => self.keep_pkey_indexes = boolean(value)?,
            "mcgroup_join_validation" => self.mcgroup_join_validation = boolean(value)?,
            "disable_multicast" => self.disable_multicast = boolean(value)?,
            "ipoib_mcgroup_creation_validation" => {
                self.ipoib_mcgroup_creation_validation = boolean(value)?;
            }
            "sm_assigned_guid" => self.sm_assigned_guid = narrow(value, u8::MAX)?,
            _ if self.files.set(key, value) => {}
            _ => match key.strip_prefix("qos_") {
                Some(name) => self.qos.set(name, value)?,
                None => return Err(SetError::UnknownKey),
            },
        }
        Ok(())
    }
}

enum SetError {
    UnknownKey,
    BadValue { expected: &'static str },
}

fn names(value: &str) -> impl Iterator<Item = &str> {
    value
        .split([',', ' ', '\t'])
        .filter(|name| !name.is_empty())
}

fn engines(value: &str) -> Result<Vec<RoutingEngine>, SetError> {
    if value == "(null)" {
        return Ok(vec![RoutingEngine::Auto]);
    }
    names(value)
        .filter(|name| *name != "no_fallback")
        .map(|name| {
            RoutingEngine::from_str(name).map_err(|_| SetError::BadValue {
                expected: "names of routing engines, with commas between",
            })
        })
        .collect()
}

fn number(value: &str, max: u64) -> Result<u64, SetError> {
    addr::number(value, max).ok_or(SetError::BadValue {
        expected: "a number in the range of the option",
    })
}

fn narrow<T: TryFrom<u64> + Into<u64>>(value: &str, max: T) -> Result<T, SetError> {
    let number = number(value, max.into())?;
    T::try_from(number).map_err(|_| SetError::BadValue {
        expected: "a number in the range of the option",
    })
}

fn milliseconds(value: &str) -> Result<Duration, SetError> {
    number(value, u64::from(u32::MAX)).map(Duration::from_millis)
}

fn boolean(value: &str) -> Result<bool, SetError> {
    match value {
        "TRUE" | "true" | "yes" | "1" => Ok(true),
        "FALSE" | "false" | "no" | "0" => Ok(false),
        _ => Err(SetError::BadValue {
            expected: "TRUE or FALSE",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_file_changes_what_it_names_and_nothing_else() {
        let text = "# comment\nlmc 2\nsweep_interval 0 # off\nm_key 0x1234\nguid 0x0\n";
        let (config, unknown) = SmConfig::parse(text).unwrap();
        let expected = SmConfig {
            lmc: Lmc::try_new(2).unwrap(),
            sweep_interval: None,
            m_key: MKey(0x1234),
            ..SmConfig::default()
        };
        assert_eq!(alloc::format!("{config:?}"), alloc::format!("{expected:?}"));
        assert_eq!(unknown.len(), 1);
        assert_eq!((unknown[0].line, unknown[0].key.as_str()), (5, "guid"));
    }

    #[test]
    fn options_of_engines_links_and_files_are_read() {
        let text = "connect_roots TRUE\nscatter_ports 7\nmax_reverse_hops 3\nforce_link_speed 15\n\
                    force_link_width 2\nforce_link_speed_ext 30\nroot_guid_file roots.txt\n\
                    cn_guid_file (null)\nhonor_guid2lid_file TRUE\nuse_mfttop FALSE\n";
        let (config, unknown) = SmConfig::parse(text).unwrap();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert!(config.route_options.connect_roots);
        assert_eq!(config.route_options.scatter_ports, Some(7));
        assert_eq!(config.route_options.max_reverse_hops, 3);
        // 15 means all, which ports have anyway.
        assert_eq!(config.forced_links.speed, None);
        assert_eq!(config.forced_links.width, Some(ib_smp::LinkWidths::X4));
        let off = ib_smp::LinkSpeedsExt::DISABLED;
        assert_eq!(config.forced_links.speed_ext, Some(off));
        assert_eq!(config.files.root_guid_file.as_deref(), Some("roots.txt"));
        assert_eq!(config.files.cn_guid_file, None);
        assert!(config.honor_guid2lid && !config.use_mfttop);
    }

    #[test]
    fn a_value_out_of_range_names_line_and_key() {
        let error = SmConfig::parse("lmc 0\nlmc 8\n").unwrap_err();
        let text = alloc::format!("{error}");
        assert!(text.starts_with("line 2: `lmc` is `8`"), "{text}");
    }

    #[test]
    fn engines_that_end_with_no_fallback_end_there() {
        let (config, _) = SmConfig::parse("routing_engine ftree, updn,no_fallback\n").unwrap();
        let engines = [RoutingEngine::FatTree, RoutingEngine::UpDown];
        assert_eq!(config.routing_engines, engines);
        assert!(config.no_fallback);
    }

    #[test]
    fn zero_smps_on_the_wire_are_no_limit_and_polls_without_a_pause_are_refused() {
        let (config, _) = SmConfig::parse("max_wire_smps 0\n").unwrap();
        assert!(config.max_wire_smps > 1000);
        assert!(SmConfig::parse("sminfo_polling_timeout 0\n").is_err());
    }

    #[test]
    fn a_key_without_a_value_is_an_error() {
        let error = SmConfig::parse("lmc\n").unwrap_err();
        assert!(matches!(error, ConfigError::NoValue { line: 1, .. }));
    }
}

//! The totals as text, in the format of OpenSM's `event_db_dump_file`.

use alloc::string::{String, ToString as _};
use core::fmt::Write as _;

use ib_mad::Instant;
use ib_subnet::PortAt;

use super::{PerfManager, PortHistory};

/// OpenSM's name and the specification's name of each error counter, in the order of the file.
const ERRORS: [(&str, &str); 13] = [
    ("symbol_err_cnt", "symbol_error_counter"),
    ("link_err_recover", "link_error_recovery_counter"),
    ("link_downed", "link_downed_counter"),
    ("rcv_err", "port_rcv_errors"),
    ("rcv_rem_phys_err", "port_rcv_remote_physical_errors"),
    ("rcv_switch_relay_err", "port_rcv_switch_relay_errors"),
    ("xmit_discards", "port_xmit_discards"),
    ("xmit_constraint_err", "port_xmit_constraint_errors"),
    ("rcv_constraint_err", "port_rcv_constraint_errors"),
    ("link_integrity_err", "local_link_integrity_errors"),
    ("buf_overrun_err", "excessive_buffer_overrun_errors"),
    ("vl15_dropped", "vl15_dropped"),
    ("xmit_wait", "port_xmit_wait"),
];

/// OpenSM's name and the specification's name of each data counter, in the order of the file.
const DATA: [(&str, &str); 8] = [
    ("xmit_data", "port_xmit_data"),
    ("rcv_data", "port_rcv_data"),
    ("xmit_pkts", "port_xmit_pkts"),
    ("rcv_pkts", "port_rcv_pkts"),
    ("unicast_xmit_pkts", "port_unicast_xmit_pkts"),
    ("unicast_rcv_pkts", "port_unicast_rcv_pkts"),
    ("multicast_xmit_pkts", "port_multicast_xmit_pkts"),
    ("multicast_rcv_pkts", "port_multicast_rcv_pkts"),
];

impl PerfManager {
    /// The totals of all ports in the format of OpenSM's `event_db_dump_file`. `date` formats a time. A counter that
    /// was never read appears as 0, because the format cannot express a missing value.
    #[must_use]
    pub fn dump(&self, date: impl Fn(Instant) -> String) -> String {
        let mut text = String::new();
        for (at, port) in self.ports() {
            write_port(&mut text, at, port, &date);
        }
        text
    }

    /// The totals of one port in the format of OpenSM's `event_db_dump_file`; empty if the port is not known.
    #[must_use]
    pub fn dump_port(&self, at: PortAt, date: impl Fn(Instant) -> String) -> String {
        let mut text = String::new();
        if let Some(port) = self.port(at) {
            write_port(&mut text, at, port, &date);
        }
        text
    }
}

fn write_port(
    text: &mut String,
    at: PortAt,
    port: &PortHistory,
    date: &impl Fn(Instant) -> String,
) {
    let active = if port.is_active() { "TRUE" } else { "FALSE" };
    let moment = |at: Option<Instant>| at.map_or_else(|| "never".to_string(), date);
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "\"{}\" {:#x} active {active} port {}\n     Last Reset           : {}\n     Last Error Update    : {}",
        port.name(),
        at.node_guid.0,
        at.port_num.0,
        moment(port.last_reset()),
        moment(port.last_error_update()),
    );
    write_counters(text, port, &ERRORS);
    let _ = writeln!(
        text,
        "     Last Data Update     : {}",
        moment(port.last_data_update())
    );
    write_counters(text, port, &DATA);
}

fn write_counters(text: &mut String, port: &PortHistory, counters: &[(&str, &str)]) {
    for (name, counter) in counters {
        let total = port.total(counter).unwrap_or(0);
        let _ = writeln!(text, "     {name:<20} : {total}");
    }
}

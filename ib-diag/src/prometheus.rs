//! Counters in Prometheus' text format, with the metric and label names of treydock/infiniband_exporter.
//!
//! In addition to that exporter, every port that was read is present, even if all its counters are 0. Ports whose
//! counters could not be read, saturated counters and devices that do not respond have gauges of their own.

use alloc::{
    collections::BTreeMap,
    format,
    string::{String, ToString as _},
    vec::Vec,
};
use core::fmt::Write as _;

use ib_routing::NodeType;

use crate::snapshot::{Snapshot, SnapshotNode};

/// For each counter: its name, the end of the metric's name, and the factor by which the value is multiplied.
const METRICS: [(&str, &str, u64); 22] = [
    // Data is counted in words of 4 bytes.
    ("port_xmit_data", "port_transmit_data_bytes_total", 4),
    ("port_rcv_data", "port_receive_data_bytes_total", 4),
    ("port_xmit_pkts", "port_transmit_packets_total", 1),
    ("port_rcv_pkts", "port_receive_packets_total", 1),
    (
        "port_unicast_xmit_pkts",
        "port_unicast_transmit_packets_total",
        1,
    ),
    (
        "port_unicast_rcv_pkts",
        "port_unicast_receive_packets_total",
        1,
    ),
    (
        "port_multicast_xmit_pkts",
        "port_multicast_transmit_packets_total",
        1,
    ),
    (
        "port_multicast_rcv_pkts",
        "port_multicast_receive_packets_total",
        1,
    ),
    ("symbol_error_counter", "port_symbol_error_total", 1),
    (
        "link_error_recovery_counter",
        "port_link_error_recovery_total",
        1,
    ),
    ("link_downed_counter", "port_link_downed_total", 1),
    ("port_rcv_errors", "port_receive_errors_total", 1),
    (
        "port_rcv_remote_physical_errors",
        "port_receive_remote_physical_errors_total",
        1,
    ),
    (
        "port_rcv_switch_relay_errors",
        "port_receive_switch_relay_errors_total",
        1,
    ),
    ("port_xmit_discards", "port_transmit_discards_total", 1),
    (
        "port_xmit_constraint_errors",
        "port_transmit_constraint_errors_total",
        1,
    ),
    (
        "port_rcv_constraint_errors",
        "port_receive_constraint_errors_total",
        1,
    ),
    (
        "local_link_integrity_errors",
        "port_local_link_integrity_errors_total",
        1,
    ),
    (
        "excessive_buffer_overrun_errors",
        "port_excessive_buffer_overrun_errors_total",
        1,
    ),
    ("vl15_dropped", "port_vl15_dropped_total", 1),
    ("port_xmit_wait", "port_transmit_wait_total", 1),
    ("qp1_dropped", "port_qp1_dropped_total", 1),
];

/// Metrics by name, each with its kind, its help text and its samples.
#[derive(Default)]
struct Metrics(BTreeMap<String, Metric>);

struct Metric {
    kind: &'static str,
    help: String,
    /// The labels and the value of each sample.
    samples: Vec<(String, String)>,
}

impl Metrics {
    fn add(
        &mut self,
        name: &str,
        kind: &'static str,
        help: &str,
        labels: &[(&str, &str)],
        value: impl ToString,
    ) {
        let mut text = String::new();
        for (label, content) in labels {
            let separator = if text.is_empty() { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(text, "{separator}{label}=\"{}\"", escaped(content));
        }
        let entry = self.0.entry(name.into()).or_insert_with(|| Metric {
            kind,
            help: help.into(),
            samples: Vec::new(),
        });
        entry.samples.push((text, value.to_string()));
    }

    fn print(self) -> String {
        let mut out = String::new();
        for (
            name,
            Metric {
                kind,
                help,
                samples,
            },
        ) in self.0
        {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let braces = if labels.is_empty() {
                    labels
                } else {
                    format!("{{{labels}}}")
                };
                let _ = writeln!(out, "{name}{braces} {value}");
            }
        }
        out
    }
}

/// A label's value, with backslash, quote and line end escaped.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// The exporter's word for a kind of device in metric names.
const fn kind_of(type_: NodeType) -> &'static str {
    match type_ {
        NodeType::SWITCH => "switch",
        _ => "hca",
    }
}

impl Snapshot {
    /// The counters in the text format that Prometheus scrapes. `seconds` is the duration of the reading.
    #[must_use]
    pub fn prometheus(&self, seconds: f64) -> String {
        let mut metrics = Metrics::default();
        for node in self.nodes.iter() {
            self.add_node(node, &mut metrics);
        }
        for silent in &self.silent {
            let guid = silent
                .node_guid
                .map_or_else(String::new, |guid| guid.to_string());
            let path = silent.path.to_string();
            let in_front = self.in_front_of(&silent.path);
            let name = in_front.map_or_else(String::new, |at| self.name(at.node));
            let port = in_front.map_or_else(String::new, |at| at.port.to_string());
            let labels = [
                ("guid", guid.as_str()),
                ("path", path.as_str()),
                ("behind", name.as_str()),
                ("behind_port", port.as_str()),
            ];
            metrics.add(
                "infiniband_silent_device",
                "gauge",
                "A device that does not respond",
                &labels,
                1,
            );
        }
        for collector in ["switch", "hca"] {
            let unread = self.ports().filter(|(_, node, port)| {
                kind_of(node.type_()) == collector && port.counters.unread.is_some()
            });
            let labels = [("collector", collector)];
            let help = "Ports whose counters could not be read";
            metrics.add(
                "infiniband_exporter_collect_errors",
                "gauge",
                help,
                &labels,
                unread.count(),
            );
            let help = "Devices that do not respond";
            let silent = if collector == "switch" {
                self.silent.len()
            } else {
                0
            };
            metrics.add(
                "infiniband_exporter_collect_timeouts",
                "gauge",
                help,
                &labels,
                silent,
            );
            let help = "Seconds that the reading took";
            metrics.add(
                "infiniband_exporter_collector_duration_seconds",
                "gauge",
                help,
                &labels,
                seconds,
            );
        }
        metrics.print()
    }

    fn add_node(&self, node: &SnapshotNode, metrics: &mut Metrics) {
        let kind = kind_of(node.type_());
        let (guid, name) = (node.guid().to_string(), node.name());
        let lid = node
            .end_ports()
            .map(|(_, port)| port.lid())
            .find(|lid| lid.is_unicast());
        let lid = lid.unwrap_or_default().to_string();
        let labels = [("guid", guid.as_str()), (kind, &name), ("lid", &lid)];
        let help = format!("Infiniband {kind} information");
        metrics.add(
            &format!("infiniband_{kind}_info"),
            "gauge",
            &help,
            &labels,
            1,
        );
        let mut fastest = None;
        for (number, port) in node.ports().filter(|(number, _)| number.0 > 0) {
            let number = number.to_string();
            let labels = [("guid", guid.as_str()), ("port", &number)];
            let extended = node.has_extended_speeds(ib_wire::PortNum(number.parse().unwrap_or(0)));
            if let Some(info) = port.info.filter(|_| port.is_link_up()) {
                let rate = info
                    .width()
                    .zip(ib_subnet::active_speed(&info, extended))
                    .map(|(width, speed)| {
                        bytes_per_second(speed).saturating_mul(u64::from(width.lanes()))
                    });
                fastest = fastest.max(rate);
            }
            if let Some(peer) = port.peer {
                self.add_uplink(kind, &labels, &name, peer, metrics);
            }
            let is_unread = u8::from(port.counters.unread.is_some());
            let metric = format!("infiniband_{kind}_port_unread");
            metrics.add(
                &metric,
                "gauge",
                "Whether counters of the port could not be read",
                &labels,
                is_unread,
            );
            let values = port.counters.values(port.perf_class_port_info.as_ref());
            for (counter, end, factor) in &METRICS {
                let Some(value) = values.get(counter) else {
                    continue;
                };
                let metric = format!("infiniband_{kind}_{end}");
                let help = format!("Infiniband {kind} port {counter}");
                // Prometheus stores floating-point numbers, so the conversion loses no digits that it could keep.
                let scaled = u128::from(value.value).saturating_mul(u128::from(*factor));
                metrics.add(&metric, "counter", &help, &labels, scaled);
            }
            for counter in values.saturated() {
                let labels = [
                    ("guid", guid.as_str()),
                    ("port", &number),
                    ("counter", counter),
                ];
                let metric = format!("infiniband_{kind}_port_counter_saturated");
                metrics.add(
                    &metric,
                    "gauge",
                    "A counter that has reached its highest value",
                    &labels,
                    1,
                );
            }
        }
        if let Some(rate) = fastest {
            let metric = format!("infiniband_{kind}_rate_bytes_per_second");
            let help = format!("Infiniband {kind} rate");
            metrics.add(&metric, "gauge", &help, &[("guid", &guid)], rate);
        }
    }

    fn add_uplink(
        &self,
        kind: &str,
        labels: &[(&str, &str); 2],
        name: &str,
        peer: ib_routing::PortRef,
        metrics: &mut Metrics,
    ) {
        let Some(other) = self.node(peer.node) else {
            return;
        };
        let managing = other.port(other.managing_port(peer.port));
        let lid = managing
            .map(|port| port.lid())
            .unwrap_or_default()
            .to_string();
        let type_ = match other.type_() {
            NodeType::SWITCH => "SW",
            NodeType::ROUTER => "RT",
            _ => "CA",
        };
        let (uplink, guid, port) = (
            other.name(),
            other.guid().to_string(),
            peer.port.to_string(),
        );
        let [first, second] = *labels;
        let labels = [
            first,
            second,
            (kind, name),
            ("uplink", &uplink),
            ("uplink_guid", &guid),
            ("uplink_type", type_),
            ("uplink_port", &port),
            ("uplink_lid", &lid),
        ];
        let help = format!("Infiniband {kind} uplink information");
        metrics.add(
            &format!("infiniband_{kind}_uplink_info"),
            "gauge",
            &help,
            &labels,
            1,
        );
    }
}

/// Data bytes per second of one lane at a speed, without the overhead of its line coding, rounded as the exporter does.
const fn bytes_per_second(speed: ib_routing::LinkSpeed) -> u64 {
    use ib_routing::LinkSpeed;
    match speed {
        LinkSpeed::Sdr => 250_000_000,
        LinkSpeed::Ddr => 500_000_000,
        LinkSpeed::Qdr => 1_000_000_000,
        LinkSpeed::Fdr10 => 1_250_000_000,
        LinkSpeed::Fdr => 1_705_000_000,
        LinkSpeed::Edr => 3_125_000_000,
        LinkSpeed::Hdr => 6_250_000_000,
        LinkSpeed::Ndr => 12_500_000_000,
        _ => 25_000_000_000,
    }
}

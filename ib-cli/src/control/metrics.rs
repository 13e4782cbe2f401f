//! Read-only access to the manager over HTTP: `/metrics` for Prometheus, `/status` as JSON.

use std::{
    fmt::{Display, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    thread,
};

use ib_sm::SubnetManager;
use ib_subnet::PortSummary;
use tiny_http::{Header, Method, Response, Server};

use super::console::CommandSender;
use crate::error::CliError;

/// Reads `ADDRESS:PORT`, or only a port, which is then one of the loopback address.
///
/// # Errors
/// A description of the error.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    text.parse()
        .map_err(|_| "expected ADDRESS:PORT, as 127.0.0.1:9090, or a port".to_owned())
}

/// Serves from a thread of its own. Returns the address with its actual port, as port 0 lets the kernel choose one.
///
/// # Errors
/// Fails if the address cannot be listened on.
pub fn serve(at: SocketAddr, commands: CommandSender) -> Result<SocketAddr, CliError> {
    let refuse = |error: &dyn Display| CliError::at(format_args!("--metrics {at}"), error);
    let server = Server::http(at).map_err(|error| refuse(&error))?;
    let bound = server.server_addr().to_ip().unwrap_or(at);
    thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || {
            for request in server.incoming_requests() {
                let read = matches!(request.method(), Method::Get | Method::Head);
                let path = request.url().split('?').next().unwrap_or_default();
                let command = match path {
                    "/metrics" => Some(("metrics", "text/plain; version=0.0.4")),
                    "/status" => Some(("json status", "application/json")),
                    _ => None,
                };
                let response = match command {
                    _ if !read => text(405, "GET only\n"),
                    None => text(404, "/metrics and /status are served here\n"),
                    Some((command, kind)) => match commands.ask(command) {
                        Some(answer) => typed(text(200, &answer), kind),
                        None => text(503, "the manager does not answer\n"),
                    },
                };
                // A client that has disconnected does not receive its answer.
                let _ = request.respond(response);
            }
        })
        .map_err(|error| refuse(&error))?;
    Ok(bound)
}

type Text = Response<std::io::Cursor<Vec<u8>>>;

fn text(status: u16, body: &str) -> Text {
    Response::from_string(body).with_status_code(status)
}

fn typed(response: Text, kind: &str) -> Text {
    match Header::from_bytes("Content-Type", kind) {
        Ok(header) => response.with_header(header),
        Err(()) => response,
    }
}

/// The metrics in Prometheus' text format.
pub fn text_of(sm: &SubnetManager) -> String {
    let mut text = String::new();
    let mut metric = |name: &str, kind: &str, help: &str, values: &[(&str, u64)]| {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "# HELP ib_sm_{name} {help}\n# TYPE ib_sm_{name} {kind}"
        );
        for (labels, value) in values {
            let _ = writeln!(text, "ib_sm_{name}{labels} {value}");
        }
    };
    let (status, summary) = (sm.status(), sm.summary());
    let state = u64::from(status.state.0);
    metric(
        "state",
        "gauge",
        "State in the election: 0 not active, 1 discovering, 2 standby, 3 master.",
        &[("", state)],
    );
    metric(
        "up",
        "gauge",
        "Whether the last sweep left every port configured.",
        &[("", status.up.into())],
    );
    metric(
        "priority",
        "gauge",
        "Priority in the election.",
        &[("", status.priority.into())],
    );
    let fabric = summary.fabric;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    metric(
        "nodes",
        "gauge",
        "Nodes that the last sweep found.",
        &[
            ("{type=\"switch\"}", count(fabric.switches)),
            ("{type=\"ca\"}", count(fabric.cas)),
            ("{type=\"router\"}", count(fabric.routers)),
        ],
    );
    metric(
        "links",
        "gauge",
        "Links that the last sweep found.",
        &[("", count(fabric.links))],
    );
    metric("lids", "gauge", "LIDs in use.", &[("", count(fabric.lids))]);
    let tally = PortSummary::of(sm.subnet(), None);
    let states: Vec<(String, u64)> = tally
        .states
        .iter()
        .map(|(state, number)| (format!("{{state=\"{state}\"}}"), count(*number)))
        .collect();
    let states: Vec<_> = states
        .iter()
        .map(|(label, number)| (label.as_str(), *number))
        .collect();
    metric("ports", "gauge", "Ports by their state.", &states);
    metric(
        "unresponsive",
        "gauge",
        "Requests of the last sweep that were not answered.",
        &[("", count(summary.unresponsive.len()))],
    );
    metric(
        "errors",
        "gauge",
        "Sets of the last sweep that were refused or not answered.",
        &[("", count(summary.errors))],
    );
    let mads = status.mads;
    metric(
        "mads_sent_total",
        "counter",
        "Datagrams sent, repetitions included.",
        &[("", mads.sent)],
    );
    metric(
        "mads_received_total",
        "counter",
        "Datagrams received.",
        &[("", mads.received)],
    );
    metric(
        "mads_retried_total",
        "counter",
        "Requests that were sent again.",
        &[("", mads.retried)],
    );
    metric(
        "mads_timed_out_total",
        "counter",
        "Requests that were given up.",
        &[("", mads.timed_out)],
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_alone_is_the_loopbacks() {
        assert_eq!(address("9090").unwrap().to_string(), "127.0.0.1:9090");
        assert_eq!(address("0.0.0.0:1").unwrap().to_string(), "0.0.0.0:1");
        assert_eq!(address("[::1]:1").unwrap().to_string(), "[::1]:1");
        assert!(address("localhost").is_err());
    }
}

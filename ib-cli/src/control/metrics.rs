//! Read-only access to the manager over HTTP: `/metrics` for Prometheus, `/status` as JSON, and with `--status-page` the map of
//! the subnet at `/`.

use std::{
    fmt::{Display, Write as _},
    net::{IpAddr, Ipv4Addr, SocketAddr},
    thread,
};

use ib_sm::SubnetManager;
use ib_subnet::PortSummary;
use tiny_http::{Header, Method, Response, Server};

use super::console::CommandSender;
use crate::{commands::map::live, error::CliError};

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

/// Serves from a thread of its own; with a title also the page of that title. Returns the address with its actual port, as port 0 lets the kernel choose one.
///
/// # Errors
/// Fails if the address cannot be listened on.
pub fn serve(
    at: SocketAddr,
    commands: CommandSender,
    page: Option<String>,
) -> Result<SocketAddr, CliError> {
    let refuse = |error: &dyn Display| CliError::at(format_args!("--metrics {at}"), error);
    let server = Server::http(at).map_err(|error| refuse(&error))?;
    let bound = server.server_addr().to_ip().unwrap_or(at);
    thread::Builder::new()
        .name("metrics".to_owned())
        .spawn(move || {
            for request in server.incoming_requests() {
                let read = matches!(request.method(), Method::Get | Method::Head);
                let path = request.url().split('?').next().unwrap_or_default();
                let answer = match (path, &page) {
                    _ if !read => text(405, "GET only\n"),
                    ("/metrics", _) => asked(&commands, "metrics", "text/plain; version=0.0.4"),
                    ("/status", _) => asked(&commands, "json status", "application/json"),
                    ("/", Some(_)) => typed(text(200, &live::page()), "text/html; charset=utf-8"),
                    ("/map.js", Some(_)) => {
                        typed(text(200, live::script()), "text/javascript; charset=utf-8")
                    }
                    ("/topology", Some(title)) => topology(&commands, title),
                    (_, None) => text(404, "/metrics and /status are served here\n"),
                    _ => text(404, "/, /topology, /metrics and /status are served here\n"),
                };
                // The page asks nobody but this server, and nobody may show it in a frame.
                let response = headed(answer, "Content-Security-Policy", POLICY);
                // A client that has disconnected does not receive its answer.
                let _ = request.respond(response);
            }
        })
        .map_err(|error| refuse(&error))?;
    Ok(bound)
}

/// The content policy of the page: it may load its own parts only.
const POLICY: &str = "default-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

/// The manager's answer to a command.
fn asked(commands: &CommandSender, command: &str, kind: &str) -> Text {
    match commands.ask(command) {
        Some(answer) => typed(text(200, &answer), kind),
        None => text(503, "the manager does not answer\n"),
    }
}

/// The installed routes as the document that the page draws. It is made here, so that the manager does not wait for it.
fn topology(commands: &CommandSender, title: &str) -> Text {
    let Some(installed) = commands.installed() else {
        return text(503, "there are no routes yet\n");
    };
    match live::document(&installed, title.to_owned()) {
        Ok(document) => typed(text(200, &document), "application/json"),
        Err(error) => text(500, &format!("{error}\n")),
    }
}

type Text = Response<std::io::Cursor<Vec<u8>>>;

fn text(status: u16, body: &str) -> Text {
    Response::from_string(body).with_status_code(status)
}

fn typed(response: Text, kind: &str) -> Text {
    headed(response, "Content-Type", kind)
}

fn headed(response: Text, name: &str, value: &str) -> Text {
    match Header::from_bytes(name, value) {
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
    let port_summary = PortSummary::of(sm.subnet(), None);
    let states: Vec<(String, u64)> = port_summary
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

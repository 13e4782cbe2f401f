//! `ib export`: the counters for Prometheus to scrape.

use std::{io, net::SocketAddr, time::Instant};

use ib_diag::Contents;
use tiny_http::{Header, Response, Server};

use crate::{
    commands::refuse_json,
    error::{CliError, Verdict},
    output::stderr,
    source::{SourceArgs, elapsed},
};

/// Serve the counters of all ports over HTTP, named as infiniband_exporter names them.
///
/// Each scrape reads the subnet. Runs until it is interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Address to listen on
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:9315")]
    prometheus: SocketAddr,
    /// End after this many scrapes [default: never]
    #[arg(long, value_name = "N")]
    count: Option<usize>,
    #[command(flatten)]
    source: SourceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib export --prometheus 127.0.0.1:9315
  curl http://127.0.0.1:9315/metrics";

pub fn run(args: ExportArgs, as_json: bool) -> Result<Verdict, CliError> {
    refuse_json("export", as_json)?;
    let source = args.source.open()?;
    let address = args.prometheus;
    let server = Server::http(address)
        .map_err(|error| CliError::at(address, format_args!("{error}, expected a free address")))?;
    stderr::info(format_args!("http://{}/metrics", server.server_addr()));
    for request in server
        .incoming_requests()
        .take(args.count.unwrap_or(usize::MAX))
    {
        let path = request
            .url()
            .split('?')
            .next()
            .unwrap_or_default()
            .to_owned();
        let response = match path.as_str() {
            "/metrics" => {
                let began = Instant::now();
                match source.snapshot(Contents::COUNTERS) {
                    Ok(snapshot) => Response::from_string(snapshot.prometheus(elapsed(began))),
                    Err(error) => {
                        stderr::warn(&error);
                        Response::from_string(format!("{error}\n")).with_status_code(503)
                    }
                }
            }
            "/" => Response::from_string("ib export: see /metrics\n"),
            _ => Response::from_string("not found\n").with_status_code(404),
        };
        let plain = "Content-Type: text/plain; version=0.0.4; charset=utf-8".parse::<Header>();
        let response = match plain {
            Ok(header) => response.with_header(header),
            Err(()) => response,
        };
        // A scraper that has gone does not want the answer.
        let sent: io::Result<()> = request.respond(response);
        if let Err(error) = sent {
            stderr::warn(format_args!("a scrape was not answered: {error}"));
        }
    }
    Ok(Verdict::Holds)
}

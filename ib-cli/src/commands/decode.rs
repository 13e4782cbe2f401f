//! `ib decode`: every header and field of packets and management datagrams.
//!
//! Cases are read, decoded and printed in batches: while one batch is decoded, the one before is
//! written and the next one read.

mod cases;
mod mad;
mod packet;

use std::{
    io::{self, Write},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use ib_wire::Start;
use rayon::prelude::*;

use crate::{
    error::{CliError, Verdict},
    output::{fields::Style, line::Line},
};
use cases::{Batch, Cases};

/// Decode packets or management datagrams.
///
/// Each case is one block of text, or with --json one document a line. Status 1 where a case is
/// malformed or a CRC is wrong.
#[derive(Debug, Args)]
pub struct DecodeArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Packets: headers, payload, both CRCs, and the management datagram in a packet to QP0 or QP1
    Packet {
        #[command(flatten)]
        input: InputArgs,
        /// Where the bytes start: ib (LRH), rocev1 (GRH), rocev2-ipv4 or rocev2-ipv6 (IP header),
        /// ethernet
        #[arg(long = "as", value_name = "START", default_value_t = Start::Ib, value_parser = start)]
        start: Start,
        /// Read the packets from a pcap or pcapng file (`-`: stdin) of any link type that can carry
        /// InfiniBand or RoCE; frames of other protocols are skipped and counted on stderr
        #[arg(long, value_name = "FILE", conflicts_with_all = ["hex", "start"])]
        pcap: Option<PathBuf>,
    },
    /// Management datagrams of 256 bytes: the format of the class, then the attribute
    Mad {
        #[command(flatten)]
        input: InputArgs,
    },
}

#[derive(Debug, Args)]
struct InputArgs {
    /// Hexadecimal digits of one case; `-` or nothing: one case a line on stdin
    #[arg(value_name = "HEX")]
    hex: Option<String>,
}

fn start(text: &str) -> Result<Start, String> {
    let names = Start::NAMED.iter().map(|(_, name)| *name);
    let names = names.collect::<Vec<_>>().join(", ");
    text.parse().map_err(|_| format!("expected one of {names}"))
}

/// Decodes one case after the other into text.
trait Decoder {
    /// Appends the case's text; whether everything about it was right.
    fn decode(&mut self, start: Start, case: &[u8], line: &mut Line) -> bool;
}

pub fn run(args: DecodeArgs, json: bool) -> Result<Verdict, CliError> {
    let style = if json { Style::Json } else { Style::Plain };
    match args.what {
        What::Packet { input, start, pcap } => {
            let cases = match pcap {
                Some(file) => Cases::capture(&file)?,
                None => Cases::hex(input.hex, start),
            };
            print(cases, || packet::PacketDecoder::new(style))
        }
        What::Mad { input } => print(Cases::hex(input.hex, Start::Ib), || {
            mad::MadDecoder::new(style)
        }),
    }
}

/// One thread's share of the work: a batch, its text, and whether all of it was right.
struct Job<D> {
    decoder: D,
    batch: Batch,
    text: Line,
    good: bool,
}

impl<D: Decoder> Job<D> {
    fn decode(&mut self) {
        self.text.clear();
        self.good = true;
        for (start, case) in self.batch.cases() {
            self.good &= self.decoder.decode(start, case, &mut self.text);
        }
    }
}

fn print<D: Decoder + Send>(
    mut cases: Cases,
    decoder: impl Fn() -> D,
) -> Result<Verdict, CliError> {
    let mut out = io::stdout();
    let job = || Job {
        decoder: decoder(),
        batch: Batch::default(),
        text: Line::default(),
        good: true,
    };
    let mut first = job();
    let ended = cases.read(&mut first.batch);
    first.decode();
    out.write_all(first.text.as_bytes())?;
    let mut good = first.good;
    if !ended? {
        good &= pipeline(&mut cases, &mut out, job)?;
    }
    out.flush()?;
    cases.finish();
    Ok(Verdict::of(good))
}

/// Reads, decodes and writes at the same time; whether everything was right.
fn pipeline<D: Decoder + Send>(
    cases: &mut Cases,
    out: &mut (impl Write + Send),
    job: impl Fn() -> Job<D>,
) -> Result<bool, CliError> {
    let jobs = || {
        (0..rayon::current_num_threads())
            .map(|_| job())
            .collect::<Vec<_>>()
    };
    // One set of jobs is read, one decoded, one written; then each moves on.
    let (mut reading, mut decoding, mut writing) = (jobs(), jobs(), jobs());
    let mut ended: Result<bool, CliError> = Ok(false);
    let mut good = true;
    // After the end of the input two more turns decode and write what has been read.
    let mut turns = 2;
    while turns > 0 {
        let (written, ()) = rayon::join(
            || -> Result<(), CliError> {
                for job in &mut writing {
                    out.write_all(job.text.as_bytes())?;
                    job.text.clear();
                    good &= job.good;
                }
                for job in &mut reading {
                    job.batch.clear();
                    if matches!(ended, Ok(false)) {
                        ended = cases.read(&mut job.batch);
                    }
                }
                Ok(())
            },
            || decoding.par_iter_mut().for_each(Job::decode),
        );
        written?;
        if !matches!(ended, Ok(false)) {
            turns -= 1;
        }
        std::mem::swap(&mut decoding, &mut writing);
        std::mem::swap(&mut reading, &mut decoding);
    }
    for job in &mut writing {
        out.write_all(job.text.as_bytes())?;
        good &= job.good;
    }
    ended.map(|_| good)
}

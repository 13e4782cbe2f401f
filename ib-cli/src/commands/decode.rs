//! `ib decode`: every header and field of packets and management datagrams.
//!
//! Cases are read, decoded and printed in batches. Each thread does all three with batches of its own: while it
//! decodes one, the others read and write theirs.

mod batch;
mod cases;
mod columns;
mod lines;
mod link;
mod mad;
mod packet;
mod pages;
mod parts;
mod turns;

use std::{
    io::{self, Stdout, Write},
    path::PathBuf,
    thread,
};

use clap::{Args, Subcommand};
use ib_wire::Start;

use crate::{
    error::{CliError, Verdict},
    output::terminal,
};
use batch::Batch;
use cases::Cases;
use ib_text::{Line, Style};
use lines::{BadLine, Lines};
use turns::Turns;

/// Decode packets or management datagrams.
///
/// Each case is one block of text, or with --json one document a line. Status 1 where a case is
/// malformed or a CRC is wrong.
#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
#[command(after_help = EXAMPLES)]
pub struct DecodeArgs {
    #[command(subcommand)]
    what: What,
}

const EXAMPLES: &str = "\
Examples:
  ib decode packet 7012375c000e17d2...       a packet, as hexadecimal digits
  ib decode packet --pcap trace.pcapng --fields BTH.op_code,BTH.dest_qp,BTH.psn
  ib decode mad - < mads.txt                 a datagram a line
  ib decode packet --json - < packets.txt | ib encode --raw";

#[derive(Debug, Subcommand)]
enum What {
    /// Packets: headers, payload, both CRCs, and the management datagram in a packet to QP0 or QP1
    Packet {
        #[command(flatten)]
        input: InputArgs,
        /// Form of the input: a packet that starts at its LRH (ib), GRH (rocev1), IP header (rocev2-ipv4,
        /// rocev2-ipv6) or Ethernet header (ethernet), or a flow control packet (link)
        #[arg(long = "as", value_name = "START", default_value = "ib", value_parser = form)]
        form: Form,
        /// Read the packets from a pcap or pcapng file (`-`: stdin) of any link type that can carry
        /// InfiniBand or RoCE; frames of other protocols are skipped and counted on stderr
        #[arg(long, value_name = "FILE", conflicts_with_all = ["hex", "form"])]
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
    /// Print only these fields, such as `BTH.dest_qp,BTH.psn`: one line for each case, with tabs between the fields. The
    /// structure may be left out if no other has a field of that name. A field that a case lacks is empty; values of
    /// several structures have commas between them. Nothing else is decoded or checked. With --json each line is an
    /// object
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    fields: Vec<String>,
}

/// Form of the bytes of a packet.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// A packet that starts here.
    Packet(Start),
    /// A link packet: the credits of a virtual lane.
    Link,
}

/// The word for link packets.
const LINK: &str = "link";

fn form(text: &str) -> Result<Form, String> {
    if text == LINK {
        return Ok(Form::Link);
    }
    let names = Start::NAMED.iter().map(|(_, name)| *name);
    let names: Vec<_> = names.chain([LINK]).collect();
    let start = text.parse().map(Form::Packet);
    start.map_err(|_| format!("expected one of {}", names.join(", ")))
}

/// Decodes one case after the other into text.
trait Decoder {
    /// Called before the first case of a line that is empty.
    fn begin(&mut self);

    /// Appends the case's text; whether everything about it was right.
    fn decode(&mut self, start: Start, case: &[u8], line: &mut Line) -> bool;
}

pub fn run(args: DecodeArgs, json: bool) -> Result<Verdict, CliError> {
    let style = if json { Style::Json } else { Style::Plain };
    let terminal = terminal::of_stdout();
    match args.what {
        What::Packet { input, form, pcap } => {
            let (start, is_link) = match form {
                Form::Packet(start) => (start, false),
                Form::Link => (Start::Ib, true),
            };
            let cases = match pcap {
                Some(file) => Cases::capture(&file)?,
                None => Cases::hex(input.hex, start),
            };
            match (input.fields.as_slice(), is_link) {
                ([], false) => print(cases, || Ok(packet::PacketDecoder::new(style, terminal))),
                ([], true) => print(cases, || Ok(link::LinkDecoder::new(style, terminal))),
                (names, false) => print(cases, || columns::PacketColumns::new(style, names)),
                (names, true) => print(cases, || columns::LinkColumns::new(style, names)),
            }
        }
        What::Mad { input } => {
            let cases = Cases::hex(input.hex, Start::Ib);
            if input.fields.is_empty() {
                return print(cases, || Ok(mad::MadDecoder::new(style, terminal)));
            }
            print(cases, || columns::MadColumns::new(style, &input.fields))
        }
    }
}

/// The cases that were not read.
struct Source {
    cases: Cases,
    /// True if all were read; the error if no more can be.
    ended: Result<bool, CliError>,
}

impl Source {
    /// Replaces the cases of the job by the next ones; returns false if there was nothing to read.
    fn read<D>(&mut self, job: &mut Job<D>) -> bool {
        let is_open = matches!(self.ended, Ok(false));
        if is_open {
            self.ended = self.cases.read(&mut job.lines, &mut job.batch);
        }
        is_open
    }
}

/// The output.
struct Sink {
    out: Stdout,
    /// Lines of the input that were written.
    lines: usize,
    /// True if all that was written was right.
    good: bool,
    /// The first error of a write or of a line of the input.
    result: Result<(), CliError>,
}

impl Sink {
    /// Writes the text of a job, unless there was an error before; returns true if more can be written.
    fn write<D>(&mut self, job: &Job<D>) -> bool {
        if self.result.is_err() {
            return false;
        }
        self.good &= job.good;
        let written = self.out.write_all(job.text.as_bytes());
        self.result = written
            .map_err(CliError::from)
            .and_then(|()| match &job.parsed {
                Ok(lines) => {
                    self.lines += lines;
                    Ok(())
                }
                Err(BadLine { number, what }) => {
                    let number = self.lines + number;
                    Err(CliError::at(format_args!("-:{number}"), what))
                }
            });
        self.result.is_ok()
    }
}

/// One thread's work: a batch, and its text.
struct Job<D> {
    decoder: D,
    /// Lines that are to be parsed into the batch.
    lines: Lines,
    /// The number of lines that were, or the first that could not be.
    parsed: Result<usize, BadLine>,
    batch: Batch,
    text: Line,
    /// True if all of the batch was right.
    good: bool,
}

impl<D: Decoder> Job<D> {
    fn new(decoder: D) -> Self {
        Self {
            decoder,
            lines: Lines::default(),
            parsed: Ok(0),
            batch: Batch::default(),
            text: Line::default(),
            good: true,
        }
    }

    fn decode(&mut self) {
        self.parsed = self.lines.parse(&mut self.batch);
        self.text.clear();
        self.decoder.begin();
        self.good = true;
        for (start, case) in self.batch.cases() {
            self.good &= self.decoder.decode(start, case, &mut self.text);
        }
    }

    /// Returns true if there was more input than the batch holds.
    fn is_full(&self) -> bool {
        self.lines.is_full() || self.batch.is_full()
    }

    /// Reads a batch, decodes it while other threads use the source, and writes its text, until there is no more to
    /// read or to write. As all threads wait for both in the same order, texts are written in the order of the cases.
    fn run(&mut self, source: &Turns<&mut Source>, sink: &Turns<&mut Sink>) {
        while source.take(|source| source.read(self)) == Some(true) {
            self.decode();
            if sink.take(|sink| sink.write(self)) != Some(true) {
                return;
            }
        }
    }
}

fn print<D: Decoder + Send>(
    cases: Cases,
    decoder: impl Fn() -> Result<D, CliError>,
) -> Result<Verdict, CliError> {
    let mut source = Source {
        cases,
        ended: Ok(false),
    };
    let mut sink = Sink {
        out: io::stdout(),
        lines: 0,
        good: true,
        result: Ok(()),
    };
    // Other threads start when there is more input than one batch holds. Few cases, or cases that arrive one by one, do
    // not wait for them.
    let mut first = Job::new(decoder()?);
    let mut goes_on = true;
    while goes_on && !first.is_full() {
        goes_on = source.read(&mut first) && {
            first.decode();
            sink.write(&first)
        };
    }
    if goes_on {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let others = (1..threads).map(|_| Ok(Job::new(decoder()?)));
        let others: Vec<Job<D>> = others.collect::<Result<_, CliError>>()?;
        run_in_turn(&mut source, &mut sink, first, others)?;
    }
    sink.result?;
    sink.out.flush()?;
    source.ended?;
    source.cases.finish();
    Ok(Verdict::of(sink.good))
}

/// Runs each job on a thread of its own, `first` on this one.
///
/// # Errors
/// A thread that could not be started: the others have ended.
fn run_in_turn<D: Decoder + Send>(
    source: &mut Source,
    sink: &mut Sink,
    mut first: Job<D>,
    others: Vec<Job<D>>,
) -> io::Result<()> {
    let threads = 1 + others.len();
    let turns = turns::of(source, threads).zip(turns::of(sink, threads));
    thread::scope(|scope| {
        let mut turns = turns;
        let own = turns.next();
        for (mut job, (source, sink)) in others.into_iter().zip(turns) {
            thread::Builder::new().spawn_scoped(scope, move || job.run(&source, &sink))?;
        }
        if let Some((source, sink)) = own {
            first.run(&source, &sink);
        }
        Ok(())
    })
}

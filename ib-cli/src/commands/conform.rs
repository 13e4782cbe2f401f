//! `ib conform`: whether a manager, an administrator, agents or a simulator keep the rules of the specification.

use std::{
    io::{self, Write},
    path::PathBuf,
    time::Duration,
};

use ib_diag::{Case, CaseResult, ConformOptions, Subject, UnmetPreconditions};
use ib_mad::{Method, MgmtClass, SmKey};
use ib_transport::MonotonicClock;
use ib_wire::{MKey, addr::number};
use serde_json::json;

use crate::{
    device::{DeviceArgs, DevicePort},
    error::{CliError, Verdict},
    files,
    output::json,
};

/// Test a manager, an administrator, agents or a simulator against the specification.
///
/// Runs numbered cases against the programs and devices of the subnet, by management datagrams alone. A case restores what
/// it changes. Cases for agents and for a simulator change ports and links: run them on a subnet that was brought up and
/// has no manager now. Status 1 if a case fails.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ConformArgs {
    /// Part to test: sm is the master manager, sa its subnet administrator, sma the agents of the devices, sim the fabric of a
    /// simulator
    #[arg(value_name = "SUBJECT")]
    subject: Subject,
    /// List the cases, and run none
    #[arg(long)]
    list: bool,
    /// Run only this case; may be given several times
    #[arg(long = "case", value_name = "ID")]
    cases: Vec<String>,
    /// Write the results to this file in JUnit's format
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Milliseconds that an answer may take; a later one counts as no answer
    #[arg(long, value_name = "MS", default_value_t = 500)]
    timeout: u64,
    /// Seconds that a manager may take to react to a change of the subnet
    #[arg(long, value_name = "SECONDS", default_value_t = 90)]
    patience: u64,
    /// M_Key of the subnet's ports, decimal or 0x; 0 is none
    #[arg(
        long,
        value_name = "KEY",
        default_value = "0",
        hide_default_value = true
    )]
    m_key: MKey,
    /// SM_Key that the managers of the subnet share, decimal or 0x. They ignore a manager with another key
    #[arg(long, value_name = "KEY", default_value = "1", value_parser = sm_key)]
    sm_key: SmKey,
    #[command(flatten)]
    device: DeviceArgs,
}

const EXAMPLES: &str = "\
Examples:
  ib conform sma --list
  ib conform sma --device sim:lab --node H-2
  ib conform sm --device sim:lab --node H-2 --json
  ib conform sa --case sa-304 --junit results.xml";

fn sm_key(text: &str) -> Result<SmKey, String> {
    number(text, u64::MAX)
        .map(SmKey)
        .ok_or_else(|| format!("{text:?} is no number of 64 bits"))
}

pub fn run(args: ConformArgs, as_json: bool) -> Result<Verdict, CliError> {
    let cases = chosen(&args)?;
    let mut out = io::stdout().lock();
    if args.list {
        list(&mut out, &cases, as_json)?;
        return Ok(Verdict::Holds);
    }
    let options = ConformOptions {
        timeout: Duration::from_millis(args.timeout),
        patience: Duration::from_secs(args.patience),
        m_key: args.m_key,
        sm_key: args.sm_key,
    };
    let clock = MonotonicClock::start();
    let mut port = open(&args, options.timeout)?;
    let mut unmet = UnmetPreconditions::default();
    let mut results = Vec::new();
    for case in cases {
        let result = case
            .run(&mut port, &clock, &options, &mut unmet)
            .map_err(CliError::input)?;
        if !as_json {
            line(&mut out, case, &result)?;
        }
        results.push((case, result));
    }
    if let Some(file) = &args.junit {
        files::write(file, &junit(args.subject, &results))?;
    }
    let failed = count(&results, |result| matches!(result, CaseResult::Fail(_)));
    if as_json {
        json::print(&mut out, &document(&results))?;
    } else {
        let skipped = count(&results, |result| matches!(result, CaseResult::Skip(_)));
        let passed = results.len().saturating_sub(failed + skipped);
        writeln!(
            out,
            "{} cases: {passed} passed, {failed} failed, {skipped} skipped",
            results.len()
        )?;
    }
    Ok(Verdict::of(failed == 0))
}

/// The cases that the arguments select.
fn chosen(args: &ConformArgs) -> Result<Vec<&'static Case>, CliError> {
    let all: Vec<&Case> = args.subject.cases().collect();
    if args.cases.is_empty() {
        return Ok(all);
    }
    args.cases
        .iter()
        .map(|id| {
            let found = all.iter().find(|case| case.id == id.as_str());
            found.copied().ok_or_else(|| {
                CliError::input(format_args!(
                    "--case {id}: no such case, expected one of `ib conform {} --list`",
                    args.subject
                ))
            })
        })
        .collect()
}

/// Opens the port as a subnet manager does, so that it receives orders, traps and reports.
fn open(args: &ConformArgs, timeout: Duration) -> Result<DevicePort, CliError> {
    const ASKED: &[Method] = &[Method::GET, Method::SET, Method::TRAP, Method::TRAP_REPRESS];
    let classes: &[(MgmtClass, u8, &'static [Method])] = &[
        (MgmtClass::SUBN_DIRECTED, 1, &[Method::GET, Method::SET]),
        (MgmtClass::SUBN_LID, 1, ASKED),
        (MgmtClass::SUBN_ADM, 2, &[Method::REPORT]),
        (MgmtClass::PERF, 1, &[]),
    ];
    args.device.open(classes, true, timeout)
}

fn word(result: &CaseResult) -> (&'static str, &str) {
    match result {
        CaseResult::Pass => ("pass", ""),
        CaseResult::Fail(message) => ("fail", message),
        CaseResult::Skip(message) => ("skip", message),
    }
}

fn count(results: &[(&Case, CaseResult)], is: fn(&CaseResult) -> bool) -> usize {
    results.iter().filter(|(_, result)| is(result)).count()
}

fn list(out: &mut impl Write, cases: &[&Case], as_json: bool) -> Result<(), CliError> {
    if as_json {
        let cases = cases
            .iter()
            .map(|case| json!({ "id": case.id, "title": case.title, "source": case.source }));
        json::print(out, &json!({ "cases": cases.collect::<Vec<_>>() }))?;
        return Ok(());
    }
    for case in cases {
        writeln!(out, "{:<8} {} ({})", case.id, case.title, case.source)?;
    }
    Ok(())
}

fn line(out: &mut impl Write, case: &Case, result: &CaseResult) -> io::Result<()> {
    let (word, message) = word(result);
    writeln!(out, "{:<8} {word}  {}", case.id, case.title)?;
    if !message.is_empty() {
        writeln!(out, "               {message}")?;
        writeln!(out, "               {}", case.source)?;
    }
    out.flush()
}

fn document(results: &[(&Case, CaseResult)]) -> serde_json::Value {
    let cases = results.iter().map(|(case, result)| {
        let (word, message) = word(result);
        json!({
            "id": case.id,
            "title": case.title,
            "source": case.source,
            "result": word,
            "message": message,
        })
    });
    json!({ "cases": cases.collect::<Vec<_>>() })
}

/// The results in JUnit's XML format, which continuous integration systems read.
fn junit(subject: Subject, results: &[(&Case, CaseResult)]) -> String {
    let failures = count(results, |result| matches!(result, CaseResult::Fail(_)));
    let skipped = count(results, |result| matches!(result, CaseResult::Skip(_)));
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{subject}\" tests=\"{}\" \
         failures=\"{failures}\" skipped=\"{skipped}\">\n",
        results.len()
    );
    for (case, result) in results {
        let name = escaped(&format!("{} {}", case.id, case.title));
        text.push_str(&format!(
            "  <testcase classname=\"{}\" name=\"{name}\"",
            escaped(case.source)
        ));
        let (element, message) = match result {
            CaseResult::Pass => {
                text.push_str("/>\n");
                continue;
            }
            CaseResult::Fail(message) => ("failure", message),
            CaseResult::Skip(message) => ("skipped", message),
        };
        text.push_str(&format!(
            "><{element} message=\"{}\"/></testcase>\n",
            escaped(message)
        ));
    }
    text.push_str("</testsuite>\n");
    text
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // XML does not allow control characters.
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
    }
    escaped
}

//! Instructions that hot paths take, counted by valgrind and held against the baseline in `benches/instructions/baseline.csv`.
//!
//! A clock on a busy machine varies by half; the number of instructions is the same in each run. What a path does is
//! in its file under `paths/`. Each path runs in a process of its own, so that none depends on another.
#![forbid(unsafe_code)]

mod baseline;
mod count;
mod paths;

use std::{collections::BTreeMap, error, fs, path::PathBuf, process::ExitCode};

use clap::Parser;

use baseline::{Baseline, Verdict};
use paths::Path;

/// The compiler that built this program, as `rustc --version` prints it.
const COMPILER: &str = env!("COMPILER");

type Error = Box<dyn error::Error + Send + Sync>;

/// Count the instructions of hot paths, and compare them with the baseline.
///
/// Status 1 if a path takes more than the baseline and its tolerance allow, or if baseline and program have different
/// paths.
#[derive(Parser)]
#[command(name = "instructions", version)]
struct Args {
    /// Which paths; all of them where none is named.
    paths: Vec<String>,
    /// Write what was counted to the baseline. Tolerances stay as they are.
    #[arg(long, conflicts_with = "paths")]
    renew: bool,
    /// The baseline.
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/baseline.csv"))]
    baseline: PathBuf,
    /// Run this path alone, as valgrind's process.
    #[arg(long, value_name = "PATH", hide = true)]
    run: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args.run {
        Some(name) => count::run(name).map(|()| true),
        None => compare(&args),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Counts, prints and judges; whether everything is within the baseline.
fn compare(args: &Args) -> Result<bool, Error> {
    let chosen: Vec<&Path> = if args.paths.is_empty() {
        paths::ALL.iter().copied().flatten().collect()
    } else {
        let find = |name: &String| paths::find(name).ok_or(format!("no path {name}"));
        args.paths.iter().map(find).collect::<Result<_, _>>()?
    };
    let text = fs::read_to_string(&args.baseline);
    let text = match text {
        Err(_) if args.renew => String::new(),
        text => text.map_err(|error| format!("{}: {error}", args.baseline.display()))?,
    };
    let mut baseline: Baseline = text.parse()?;
    let counts = count::all(&chosen)?;
    if args.renew {
        baseline.renew(&counts, COMPILER);
        fs::write(&args.baseline, baseline.to_string())?;
        println!(
            "{} paths written to {}",
            counts.len(),
            args.baseline.display()
        );
        return Ok(true);
    }
    if baseline.compiler != COMPILER {
        // Said, but no excuse: a path that takes more fails with any compiler.
        println!(
            "note: the baseline is of {}, this is {COMPILER}",
            baseline.compiler
        );
    }
    let is_within = print(&baseline, &counts);
    let forgotten: Vec<&str> = match args.paths.is_empty() {
        true => baseline
            .names()
            .filter(|name| !counts.contains_key(name))
            .collect(),
        false => Vec::new(),
    };
    for name in &forgotten {
        println!("{name}: in the baseline, but no path of this program");
    }
    if is_within && forgotten.is_empty() {
        return Ok(true);
    }
    println!(
        "\nIf the change is worth it, renew the baseline, and say why in the commit:\n  {}",
        baseline::RENEW
    );
    Ok(false)
}

/// Prints a row a path; whether none takes too many instructions.
fn print(baseline: &Baseline, counts: &BTreeMap<&str, u64>) -> bool {
    let mut is_within = true;
    println!(
        "{:<28} {:>14} {:>14} {:>9}",
        "path", "baseline", "now", "change"
    );
    for (name, &now) in counts {
        let verdict = baseline.judge(name, now);
        let before = baseline.instructions(name).unwrap_or(0);
        let change = match before {
            0 => String::new(),
            before => format!("{:+.1} %", (now as f64 / before as f64 - 1.0) * 100.0),
        };
        println!("{name:<28} {before:>14} {now:>14} {change:>9}  {verdict}");
        is_within &= verdict.passes();
    }
    let verdicts = counts.iter().map(|(name, &now)| baseline.judge(name, now));
    if verdicts.clone().any(|verdict| verdict == Verdict::Fewer) {
        println!(
            "\nRenew the baseline, so that what was won is not lost unseen:\n  {}",
            baseline::RENEW
        );
    }
    is_within
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without valgrind a test cannot count, but it can hold both lists of names together.
    #[test]
    fn the_baseline_has_every_path_and_no_other() {
        let baseline: Baseline = include_str!("../baseline.csv").parse().unwrap();
        let mut names: Vec<_> = paths::ALL
            .into_iter()
            .flatten()
            .map(|path| path.name)
            .collect();
        names.sort_unstable();
        assert_eq!(baseline.names().collect::<Vec<_>>(), names);
        assert!(
            baseline.compiler.starts_with("rustc 1."),
            "{}",
            baseline.compiler
        );
    }

    #[test]
    fn every_path_does_its_work() {
        for path in paths::ALL.into_iter().flatten() {
            let done = count::run(path.name);
            assert!(done.is_ok(), "{}: {done:?}", path.name);
        }
    }
}

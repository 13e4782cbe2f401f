//! The stored counts: a row a path, and the compiler that they belong to.

use std::{
    collections::BTreeMap,
    fmt::{self, Display},
    str::FromStr,
};

/// The command that renews the baseline.
pub(crate) const RENEW: &str = "RENEW=1 .ci/run instructions";

/// Percent that a path may exceed its count by, where its row says nothing else.
const TOLERANCE: u32 = 5;

const COMPILER: &str = "# compiler: ";
const HEAD: &str = "path,instructions,tolerance_percent";

/// The stored counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    /// The compiler, as `rustc --version` prints it.
    pub(crate) compiler: String,
    rows: BTreeMap<String, Row>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    instructions: u64,
    /// Percent that the path may take more.
    tolerance: u32,
}

/// The comparison of a count with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Not further from the baseline than the tolerance.
    Within,
    /// Better by more than the tolerance.
    Fewer,
    /// Worse by more than the tolerance.
    More,
    /// The baseline has no such path.
    Unknown,
}

impl Verdict {
    pub(crate) fn passes(self) -> bool {
        matches!(self, Self::Within | Self::Fewer)
    }
}

impl Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Within => "",
            Self::Fewer => "fewer",
            Self::More => "TOO MANY",
            Self::Unknown => "NOT IN THE BASELINE",
        })
    }
}

impl Baseline {
    /// The paths.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.keys().map(String::as_str)
    }

    /// The stored count of a path.
    pub(crate) fn instructions(&self, name: &str) -> Option<u64> {
        self.rows.get(name).map(|row| row.instructions)
    }

    /// Compares a count with that of the baseline.
    pub(crate) fn judge(&self, name: &str, now: u64) -> Verdict {
        let Some(row) = self.rows.get(name) else {
            return Verdict::Unknown;
        };
        let margin = u128::from(row.instructions) * u128::from(row.tolerance) / 100;
        let (now, before) = (u128::from(now), u128::from(row.instructions));
        if now > before + margin {
            Verdict::More
        } else if now + margin < before {
            Verdict::Fewer
        } else {
            Verdict::Within
        }
    }

    /// Takes these counts, and no others, as the baseline.
    pub(crate) fn renew(&mut self, counts: &BTreeMap<&str, u64>, compiler: &str) {
        let row = |(&name, &instructions): (&&str, &u64)| {
            let tolerance = self.rows.get(name).map_or(TOLERANCE, |row| row.tolerance);
            let row = Row {
                instructions,
                tolerance,
            };
            (name.to_owned(), row)
        };
        self.rows = counts.iter().map(row).collect();
        self.compiler = compiler.to_owned();
    }
}

impl Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# Instructions of hot paths, counted by valgrind. `.ci/run instructions` fails if a path takes more."
        )?;
        writeln!(f, "# Renew: {RENEW}")?;
        writeln!(f, "{COMPILER}{}", self.compiler)?;
        writeln!(f, "{HEAD}")?;
        for (name, row) in &self.rows {
            writeln!(f, "{name},{},{}", row.instructions, row.tolerance)?;
        }
        Ok(())
    }
}

impl FromStr for Baseline {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut baseline = Self::default();
        for (index, line) in text.lines().enumerate() {
            if let Some(compiler) = line.strip_prefix(COMPILER) {
                baseline.compiler = compiler.to_owned();
            }
            if line.starts_with('#') || line == HEAD || line.is_empty() {
                continue;
            }
            let wrong = || {
                format!(
                    "line {} of the baseline: `{line}`, expected {HEAD}",
                    index + 1
                )
            };
            let [name, instructions, tolerance] = *line.split(',').collect::<Vec<_>>() else {
                return Err(wrong());
            };
            let row = Row {
                instructions: instructions.parse().map_err(|_| wrong())?,
                tolerance: tolerance.parse().map_err(|_| wrong())?,
            };
            if baseline.rows.insert(name.to_owned(), row).is_some() {
                return Err(wrong() + ", and each path once");
            }
        }
        Ok(baseline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# compiler: rustc 1.0.0\npath,instructions,tolerance_percent\na,1000,5\nb,10,50\n";

    #[test]
    fn a_count_above_the_tolerance_fails_and_one_below_is_named() {
        let baseline: Baseline = TEXT.parse().unwrap();
        for (name, now, verdict) in [
            ("a", 1000, Verdict::Within),
            ("a", 1050, Verdict::Within),
            ("a", 1051, Verdict::More),
            ("a", 950, Verdict::Within),
            ("a", 949, Verdict::Fewer),
            ("b", 15, Verdict::Within),
            ("b", 16, Verdict::More),
            ("b", u64::MAX, Verdict::More),
            ("c", 1, Verdict::Unknown),
        ] {
            assert_eq!(baseline.judge(name, now), verdict, "{name} {now}");
        }
        let passing = [Verdict::Within, Verdict::Fewer].map(Verdict::passes);
        let failing = [Verdict::More, Verdict::Unknown].map(Verdict::passes);
        assert_eq!((passing, failing), ([true; 2], [false; 2]));
    }

    #[test]
    fn a_renewed_baseline_keeps_tolerances_and_reads_back() {
        let mut baseline: Baseline = TEXT.parse().unwrap();
        let counts = BTreeMap::from([("b", 20), ("c", 30)]);
        baseline.renew(&counts, "rustc 2.0.0");
        let names: Vec<_> = baseline.names().collect();
        assert_eq!(names, ["b", "c"]);
        assert_eq!(baseline.judge("b", 30), Verdict::Within);
        assert_eq!(baseline.judge("c", 32), Verdict::More);
        assert_eq!(baseline.compiler, "rustc 2.0.0");
        assert_eq!(baseline.to_string().parse(), Ok(baseline));
    }

    #[test]
    fn a_row_that_is_none_is_refused_with_its_line() {
        for text in ["a,1", "a,x,5", "a,1,5,6", "a,1,5\na,2,5"] {
            let error = text.parse::<Baseline>().unwrap_err();
            let line = text.lines().count();
            assert!(error.starts_with(&format!("line {line} ")), "{error}");
        }
    }
}

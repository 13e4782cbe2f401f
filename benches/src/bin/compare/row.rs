//! One line of the comparison.

use serde::Serialize;

use crate::{measure::Sample, quality::Qualities};

/// One case: our figure beside a peer's.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Subject of the measurement (`crc`).
    pub(crate) subject: &'static str,
    /// Which case of it (`icrc-256`).
    pub(crate) case: String,
    /// Our figure; `None` where it could not be measured.
    pub(crate) ours: Option<f64>,
    /// Name of the peer; where it is missing, the command that installs it.
    pub(crate) peer_name: String,
    /// The peer's figure; `None` where the peer is not installed.
    pub(crate) peer: Option<f64>,
    /// Unit of both figures (`ns`).
    pub(crate) unit: &'static str,
    /// Above 1: we are ahead.
    pub(crate) ratio: Option<f64>,
    /// Half the distance of the quartiles over the median, the larger of the two sides'.
    pub(crate) spread: Option<f64>,
    /// Quality of the results, where time alone is too little.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) quality: Option<Qualities>,
}

impl Row {
    /// A row of two times: the ratio is the peer's over ours.
    pub(crate) fn times(
        subject: &'static str,
        case: impl Into<String>,
        peer_name: impl Into<String>,
        unit: &'static str,
        ours: &Sample,
        peer: &Sample,
    ) -> Self {
        Self {
            subject,
            case: case.into(),
            ours: Some(ours.median()),
            peer_name: peer_name.into(),
            peer: Some(peer.median()),
            unit,
            ratio: Some(peer.median() / ours.median()),
            spread: Some(ours.spread().max(peer.spread())),
            quality: None,
        }
    }

    /// A row of two rates or qualities, where more is better: the ratio is ours over the peer's.
    pub(crate) fn rates(
        subject: &'static str,
        case: impl Into<String>,
        peer_name: impl Into<String>,
        unit: &'static str,
        ours: &Sample,
        peer: &Sample,
    ) -> Self {
        Self {
            ratio: Some(ours.median() / peer.median()),
            ..Self::times(subject, case, peer_name, unit, ours, peer)
        }
    }

    /// A row whose peer is not here: `install` is the command that would bring it.
    pub(crate) fn without_peer(
        subject: &'static str,
        case: impl Into<String>,
        install: impl Into<String>,
        unit: &'static str,
        ours: Option<&Sample>,
    ) -> Self {
        Self {
            subject,
            case: case.into(),
            ours: ours.map(Sample::median),
            peer_name: install.into(),
            peer: None,
            unit,
            ratio: None,
            spread: ours.map(Sample::spread),
            quality: None,
        }
    }
}

/// Prints rows as a table: text left, numbers right.
pub(crate) fn print(rows: &[Row]) {
    let header = [
        "subject",
        "case",
        "ours",
        "peer",
        "unit",
        "ratio",
        "spread",
        "peer name",
    ];
    let number = |value: Option<f64>| match value {
        Some(value) if value >= 1000.0 => format!("{value:.0}"),
        Some(value) => format!("{value:.2}"),
        None => "-".to_owned(),
    };
    let percent = |value: Option<f64>| match value {
        Some(value) => format!("{:.0}%", value * 100.0),
        None => "-".to_owned(),
    };
    let mut table = vec![header.map(str::to_owned)];
    table.extend(rows.iter().map(|row| {
        [
            row.subject.to_owned(),
            row.case.clone(),
            number(row.ours),
            number(row.peer),
            row.unit.to_owned(),
            number(row.ratio),
            percent(row.spread),
            row.peer_name.clone(),
        ]
    }));
    let width = |column: usize| {
        table
            .iter()
            .map(|line| line[column].len())
            .max()
            .unwrap_or(0)
    };
    let widths: [usize; 8] = std::array::from_fn(width);
    for line in &table {
        let cells: Vec<String> = line
            .iter()
            .enumerate()
            .map(|(column, cell)| match column {
                2 | 3 | 5 | 6 => format!("{cell:>width$}", width = widths[column]),
                7 => cell.clone(),
                _ => format!("{cell:<width$}", width = widths[column]),
            })
            .collect();
        println!("{}", cells.join("  ").trim_end());
    }
    for row in rows {
        if let Some(quality) = &row.quality {
            println!("{} {}: {quality}", row.subject, row.case);
        }
    }
}

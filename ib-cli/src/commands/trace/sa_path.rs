//! The path record of subnet administration for a path.

use std::io::{self, Write};

use ib_diag::Snapshot;
use ib_mad::{Mad, MadAddress, Request as _};
use ib_routing::PortRef;
use ib_sa::{PathComponents, PathRecord, RecordCall, SaMad};
use ib_wire::{Lid, Sl};
use serde_json::{Value, json};

use crate::{error::CliError, source::Source};

/// The answer of the SA about a path.
pub enum SaPath {
    /// A snapshot has no SA to ask.
    NotAsked,
    /// Why there is no record.
    None(String),
    /// The record.
    Record(Box<PathRecord>),
}

/// Asks the SA for the paths from ports to LIDs, many at a time. The answers come in the order of the questions.
pub fn ask(
    source: &Source,
    snapshot: &Snapshot,
    paths: &[(PortRef, Lid)],
) -> Result<Vec<SaPath>, CliError> {
    if !source.is_live() {
        return Ok(paths.iter().map(|_| SaPath::NotAsked).collect());
    }
    let lid_of = |at: PortRef| {
        let node = snapshot.node(at.node)?;
        Some(node.port(node.managing_port(at.port))?.lid())
    };
    let own = snapshot.own_port.and_then(|own| snapshot.port(own)?.info);
    let manager = own.map(|info| info.master_sm_lid());
    let Some(manager) = manager.filter(|lid| lid.is_unicast()) else {
        let none = || SaPath::None("the own port knows no subnet manager".to_owned());
        return Ok(paths.iter().map(|_| none()).collect());
    };
    let components = PathComponents::SLID | PathComponents::DLID | PathComponents::NUMB_PATH;
    let address = MadAddress::gsi(manager, Sl::ZERO);
    let requests = paths.iter().map(|&(from, dlid)| {
        let mut record = PathRecord::default();
        record
            .set_slid(lid_of(from).unwrap_or_default())
            .set_dlid(dlid)
            .set_numb_path(1);
        RecordCall::get(address, &record, components).mad()
    });
    let outcomes = source.live("the SA")?.send(requests.collect())?;
    let answers = outcomes.into_iter().map(|outcome| match outcome {
        Ok(mad) => read(&mad),
        Err(reason) => SaPath::None(reason.to_string()),
    });
    Ok(answers.collect())
}

fn read(mad: &Mad) -> SaPath {
    let status = mad.header().status();
    if !status.is_ok() {
        return SaPath::None(format!("the SA answers with status {status}"));
    }
    let Ok((mad, _)) = SaMad::parse(&mad.bytes, 0) else {
        return SaPath::None("the response is no SA datagram".to_owned());
    };
    match mad.single::<PathRecord>() {
        Ok(record) => SaPath::Record(Box::new(*record)),
        Err(error) => SaPath::None(error.to_string()),
    }
}

impl SaPath {
    /// The record as a document, or why there is none.
    pub fn document(&self) -> Value {
        match self {
            Self::NotAsked => Value::Null,
            Self::None(reason) => json!({ "error": reason }),
            Self::Record(record) => json!({
                "slid": record.slid().0,
                "dlid": record.dlid().0,
                "sl": record.sl().bits(),
                "mtu": record.mtu().to_string(),
                "rate": record.rate().to_string(),
                "p_key": record.p_key().to_string(),
                "packet_life_time": record.packet_life_time(),
            }),
        }
    }

    /// The record in a line, or why there is none.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::NotAsked => Ok(()),
            Self::None(reason) => writeln!(out, "SA: no path: {reason}"),
            Self::Record(record) => writeln!(
                out,
                "SA: LID {} to {}, SL {}, MTU {}, rate {}, P_Key {}",
                record.slid(),
                record.dlid(),
                record.sl(),
                record.mtu(),
                record.rate(),
                record.p_key()
            ),
        }
    }
}

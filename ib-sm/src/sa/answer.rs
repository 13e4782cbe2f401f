//! The answer to a request: one record, a table, or a status (IBA vol. 1, 15.4.4).

use ib_mad::{Mad, MadAddress, MadStatus, Method, SaStatus};
use ib_sa::{Record, RecordTable, SaMad, pack_table};
use ib_wire::QKey;

/// The answer to a valid request.
#[allow(
    clippy::large_enum_variant,
    reason = "an answer lives until it is sent; a box would cost an allocation for each"
)]
pub(super) enum SaResponse {
    /// One record, in one datagram.
    Single(SaMad),
    /// Any number of records, sent in segments.
    Table(RecordTable),
    /// A table that is made in parts, each with the records of this many nodes.
    InParts(usize),
}

/// An answer, or the status that refuses it.
pub(super) type Answered = Result<SaResponse, MadStatus>;

impl SaResponse {
    pub(super) fn table<R: Record>(records: &[R]) -> Self {
        Self::Table(pack_table(records.iter().copied()))
    }
}

/// The records that match the template of the request.
pub(super) fn select<R: Record>(request: &SaMad, all: impl IntoIterator<Item = R>) -> Answered {
    chosen(request, all, |record, template| {
        record.matches(template, request.component_mask())
    })
}

/// The records that `matches` selects, in the form that the method requires.
pub(super) fn chosen<R: Record>(
    request: &SaMad,
    all: impl IntoIterator<Item = R>,
    matches: impl Fn(&R, &R) -> bool,
) -> Answered {
    let template = request
        .template::<R>()
        .map_err(|_| MadStatus::from_sa(SaStatus::REQ_INVALID))?;
    if !matches!(request.method(), Method::GET | Method::GET_TABLE) {
        return Err(MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE);
    }
    let mut fitting = all.into_iter().filter(|record| matches(record, template));
    if request.method() == Method::GET_TABLE {
        return Ok(SaResponse::Table(pack_table(fitting)));
    }
    match (fitting.next(), fitting.next()) {
        (None, _) => Err(MadStatus::from_sa(SaStatus::NO_RECORDS)),
        (Some(record), None) => Ok(SaResponse::Single(request.answer(&record))),
        (Some(_), Some(_)) => Err(MadStatus::from_sa(SaStatus::TOO_MANY_RECORDS)),
    }
}

/// A response, addressed to the requester.
pub(super) fn reply(request: &Mad, response: &SaMad) -> Mad {
    Mad {
        address: MadAddress {
            qkey: QKey::GSI,
            ..request.address
        },
        bytes: *response.as_bytes(),
    }
}

//! Records of subnet administration, chosen by what some of their fields hold.

use ib_mad::{
    Attribute as _, CallError, ClassPortInfo, FailureReason, Mad, MadAddress, Method, Response,
    SmKey,
};
use ib_sa::{Component, ComponentMask, RECORDS, RecordInfo, SaMad};
use ib_wire::{Gid, Guid, Lid, table::store_bits};

use super::{Asker, QueryResult, number, structure::Structure};
use ib_text::plain;

use crate::{error::CliError, nearest, output::stderr};

/// Capabilities of the administrator: not a record, but requested as one.
const CLASS_PORT_INFO: RecordInfo = RecordInfo {
    id: ClassPortInfo::ID,
    layout: ClassPortInfo::LAYOUT,
    components: &[],
    methods: &[Method::GET, Method::GET_RESP],
};

/// Fields that a template may name.
fn kinds() -> impl Iterator<Item = &'static RecordInfo> {
    let tables = RECORDS
        .iter()
        .filter(|kind| kind.methods.contains(&Method::GET_TABLE));
    tables.chain([&CLASS_PORT_INFO])
}

/// The method by which all records are asked for, as far as there are several.
fn method_of(kind: &RecordInfo) -> Method {
    match kind.methods.contains(&Method::GET_TABLE) {
        true => Method::GET_TABLE,
        false => Method::GET,
    }
}

/// A query for all records that match `FIELD=VALUE`s.
pub(super) struct RecordQuery {
    kind: &'static RecordInfo,
    /// The record to compare with.
    template: Vec<u8>,
    /// The components that the query compares.
    mask: ComponentMask,
}

impl RecordQuery {
    /// The words of the query: a record, then fields.
    pub(super) fn parse(words: &[String]) -> Result<Self, CliError> {
        let Some((name, fields)) = words.split_first() else {
            return Err(CliError::input(format!("sa: no record, {}", expected())));
        };
        let kind = find(name)?;
        let (template, mask) = template(kind, fields)?;
        Ok(Self {
            kind,
            template,
            mask,
        })
    }

    /// Asks the administrator that the own port knows.
    pub(super) fn ask(
        &self,
        asker: &mut Asker,
        sm_key: SmKey,
    ) -> Result<QueryResult<Vec<Structure>>, CliError> {
        let own = match asker.own_port()? {
            Ok(own) => own,
            Err(reason) => return Ok(Err(reason)),
        };
        let (lid, sl) = (own.master_sm_lid(), own.master_sm_sl());
        if lid == Lid::NONE {
            return Ok(Err(
                "no subnet manager has configured the own port: is one running?".to_owned(),
            ));
        }
        let mut request = SaMad::new(method_of(self.kind), self.kind.id);
        request.set_component_mask(self.mask).set_sm_key(sm_key);
        let mut data = *request.data();
        for (to, from) in data.iter_mut().zip(&self.template) {
            *to = *from;
        }
        request.set_data(&data);
        let mut mad = Mad::new(MadAddress::gsi(lid, sl));
        mad.bytes = *request.as_bytes();
        Ok(match asker.request(mad)? {
            Ok(answer) => Ok(records_of(self.kind, &answer)),
            Err(CallError::Unanswered(FailureReason::TimedOut)) => Err(format!(
                "no subnet administrator answers at LID {lid}: is a subnet manager running?"
            )),
            Err(reason) => Err(reason.to_string()),
        })
    }
}

/// The records of an answer.
fn records_of(record: &RecordInfo, answer: &Response) -> Vec<Structure> {
    let layout = record.layout;
    let first = SaMad::parse(&answer.first().bytes, 0);
    let distance = first.map_or(0, |(mad, _)| mad.attribute_offset());
    let distance = usize::from(distance).saturating_mul(8);
    let is_table = answer.header().method() == Method::GET_TABLE_RESP;
    if !is_table {
        return Structure::whole(layout, answer.data());
    }
    if matches!(answer, Response::Single(_)) {
        if distance == 0 {
            return Vec::new();
        }
        stderr::warn(format_args!(
            "what carried the answer has no RMPP: only the first {} bytes of the table have come, and \
             records behind the table's end may be rubbish",
            answer.data().len()
        ));
    }
    let records = answer.data().chunks(distance.max(layout.len));
    records
        .flat_map(|bytes| Structure::whole(layout, bytes))
        .collect()
}

/// By its name in the specification; the ending `Record`, capitals and underscores do not count.
fn find(name: &str) -> Result<&'static RecordInfo, CliError> {
    let wanted = plain(name);
    let is_it = |known: &str| {
        let known = plain(known);
        known == wanted || known.strip_suffix("record") == Some(wanted.as_str())
    };
    let mut kinds = kinds();
    kinds
        .find(|record| is_it(record.layout.name))
        .ok_or_else(|| {
            let hint = nearest::hint(name, self::kinds().map(|kind| kind.layout.name));
            CliError::input(format!("sa: no record {name:?}, {}{hint}", expected()))
        })
}

fn expected() -> String {
    let names: Vec<&str> = kinds().map(|record| record.layout.name).collect();
    format!("expected one of {}", names.join(", "))
}

/// The record to compare with, and which of its components count.
fn template(record: &RecordInfo, fields: &[String]) -> Result<(Vec<u8>, ComponentMask), CliError> {
    let mut bytes = vec![0; record.layout.len];
    let mut mask = ComponentMask(0);
    for field in fields {
        let bad = |expected: String| CliError::input(format!("sa: {field:?}, expected {expected}"));
        let Some((name, value)) = field.split_once('=') else {
            return Err(bad("FIELD=VALUE".to_owned()));
        };
        let Some(component) = record.components.iter().find(|known| known.name == name) else {
            let names: Vec<&str> = record.components.iter().map(|known| known.name).collect();
            return Err(bad(format!(
                "a field of {}: {}{}",
                record.layout.name,
                names.join(", "),
                nearest::hint(name, names.iter().copied())
            )));
        };
        let written = write_value(&mut bytes, component, value);
        written.ok_or_else(|| bad(format!("a value of {} bits", component.bits)))?;
        mask.0 |= 1 << component.bit;
    }
    Ok((bytes, mask))
}

/// Puts a number, a GID or text into its place; `None` if it is neither, or too long.
fn write_value(bytes: &mut [u8], component: &Component, value: &str) -> Option<()> {
    if component.bits <= 64 {
        let value = number(value)
            .ok()
            .or_else(|| value.parse().ok().map(|Guid(guid)| guid))?;
        let fits = component.bits == 64 || value >> component.bits == 0;
        return store_bits(bytes, component.bit_offset, component.bits, value).filter(|()| fits);
    }
    let start = component.bit_offset / 8;
    let room = bytes.get_mut(start..start.checked_add(component.bits / 8)?)?;
    let gid = value.parse::<Gid>().ok().filter(|_| room.len() == 16);
    let from = gid.as_ref().map_or(value.as_bytes(), |gid| &gid.0[..]);
    room.get_mut(..from.len())?.copy_from_slice(from);
    Some(())
}

//! Tables: the records of a response to GetTable, as RMPP carries them (IBA vol. 1, 15.3.3).
//!
//! Records have a distance of AttributeOffset * 8 bytes, their size rounded up. A peer of a later version
//! may have longer records: the fields known here are at their front, so a larger offset is fine. An empty
//! table may have the offset 0.

use core::{fmt, marker::PhantomData};

use bytes::{BufMut, Bytes, BytesMut};
use ib_mad::Attribute;
use ib_wire::{At, Gid, ParseError, table::DebugSecret};

use crate::{MultiPathRecord, QueryError, Record};

/// The data of a table and the AttributeOffset that goes with it: what RMPP sends.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RecordTable {
    /// Distance of the records in units of 8 bytes.
    pub attribute_offset: u16,
    /// The records, each filled up with zeros.
    pub data: Bytes,
}

impl fmt::Debug for RecordTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordTable")
            .field("attribute_offset", &self.attribute_offset)
            .field("data", &DebugSecret(&self.data))
            .finish()
    }
}

/// Packs records into the table of a response.
///
/// ```
/// use ib_sa::{LinkRecord, Records, pack_table};
/// use ib_wire::Lid;
///
/// let mut link = LinkRecord::default();
/// link.set_from_lid(Lid(3));
/// let table = pack_table([link, LinkRecord::default()]);
/// assert_eq!((table.attribute_offset, table.data.len()), (1, 16));
/// let records = Records::<LinkRecord>::new(&table.data, table.attribute_offset)?;
/// assert_eq!(records.map(|record| record.from_lid().0).collect::<Vec<_>>(), [3, 0]);
/// # Ok::<(), ib_sa::QueryError>(())
/// ```
#[must_use]
pub fn pack_table<R: Record>(records: impl IntoIterator<Item = R>) -> RecordTable {
    let stride = size_of::<R>().next_multiple_of(8);
    let records = records.into_iter();
    let mut data = BytesMut::with_capacity(records.size_hint().0.saturating_mul(stride));
    for record in records {
        data.put_slice(record.as_bytes());
        data.put_bytes(0, stride.saturating_sub(size_of::<R>()));
    }
    RecordTable {
        // Records have at most 200 bytes.
        attribute_offset: (stride / 8) as u16,
        data: data.freeze(),
    }
}

/// The records of a table, whatever their distance.
#[derive(Clone)]
pub struct Records<'a, R> {
    rest: &'a [u8],
    stride: usize,
    record: PhantomData<&'a R>,
}

impl<'a, R: Record> Records<'a, R> {
    /// Opens the data of a table.
    ///
    /// A last record that is not filled up is taken as well; bytes after the last whole record are padding.
    ///
    /// # Errors
    /// [`QueryError::AttributeOffset`] if there is data and the records would overlap.
    pub fn new(data: &'a [u8], attribute_offset: u16) -> Result<Self, QueryError> {
        let stride = usize::from(attribute_offset).saturating_mul(8);
        if stride < size_of::<R>() && !data.is_empty() {
            return Err(QueryError::AttributeOffset {
                record: <R as Attribute>::LAYOUT.name,
                found: stride,
                needed: size_of::<R>(),
            });
        }
        Ok(Self {
            rest: data,
            stride,
            record: PhantomData,
        })
    }
}

impl<'a, R: Record + 'a> Iterator for Records<'a, R> {
    type Item = &'a R;

    fn next(&mut self) -> Option<&'a R> {
        let (record, _) = R::ref_from_prefix(self.rest).ok()?;
        self.rest = self.rest.get(self.stride..).unwrap_or_default();
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let whole = self.rest.len().checked_div(self.stride).unwrap_or(0);
        (whole, Some(whole.saturating_add(1)))
    }
}

impl<R> fmt::Debug for Records<'_, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records")
            .field("bytes", &self.rest.len())
            .field("stride", &self.stride)
            .finish()
    }
}

/// A request for paths between sets of ports: the record and all its GIDs.
#[derive(Clone, Copy, Debug)]
pub struct MultiPathQuery<'a> {
    /// The record; `sgid_count` and `dgid_count` say how many GIDs there are.
    pub record: &'a MultiPathRecord,
    gids: &'a [[u8; 16]],
}

impl<'a> MultiPathQuery<'a> {
    /// Bytes of the record before its GIDs.
    const FIXED: usize = 24;

    /// Opens the data of a GetMulti.
    ///
    /// # Errors
    /// [`ParseError::Truncated`] if there are fewer GIDs than the counts say, or not one.
    pub fn parse(data: &'a [u8]) -> Result<Self, ParseError> {
        let (record, _) = MultiPathRecord::parse(data, 0)?;
        let count = usize::from(record.sgid_count()).saturating_add(record.dgid_count().into());
        let (gids, _) = data.get(Self::FIXED..).unwrap_or_default().as_chunks();
        match gids.get(..count) {
            Some(gids) => Ok(Self { record, gids }),
            None => Err(ParseError::Truncated {
                at: At::new("MultiPathRecord", 0),
                needed: count.saturating_mul(16).saturating_add(Self::FIXED),
                left: data.len(),
            }),
        }
    }

    /// GIDs that paths may start at.
    pub fn sources(&self) -> impl Iterator<Item = Gid> + 'a {
        let count = usize::from(self.record.sgid_count());
        self.gids.iter().take(count).copied().map(Gid)
    }

    /// GIDs that paths may lead to.
    pub fn destinations(&self) -> impl Iterator<Item = Gid> + 'a {
        let count = usize::from(self.record.sgid_count());
        self.gids.iter().skip(count).copied().map(Gid)
    }
}

/// The data of a GetMulti: `record` with these GIDs and their counts.
///
/// # Errors
/// [`QueryError::TooMany`] for more than 255 GIDs on a side.
pub fn pack_multi_path(
    record: &MultiPathRecord,
    sources: &[Gid],
    destinations: &[Gid],
) -> Result<Bytes, QueryError> {
    let mut record = *record;
    record
        .set_sgid_count(count("source GIDs", sources)?)
        .set_dgid_count(count("destination GIDs", destinations)?);
    let mut data = BytesMut::new();
    data.put_slice(
        record
            .as_bytes()
            .get(..MultiPathQuery::FIXED)
            .unwrap_or_default(),
    );
    for gid in sources.iter().chain(destinations) {
        data.put_slice(&gid.0);
    }
    Ok(data.freeze())
}

fn count(what: &'static str, gids: &[Gid]) -> Result<u8, QueryError> {
    u8::try_from(gids.len()).map_err(|_| QueryError::TooMany {
        what,
        found: gids.len(),
        most: 255,
    })
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;
    use crate::{NodeRecord, QueryError};

    #[test]
    fn debug_of_a_table_never_prints_the_keys_in_it() {
        let mut record = crate::ServiceRecord::default();
        record.set_service_key(&[0xa7; 16]);
        let table = pack_table([record]);
        let text = std::format!("{record:?} {table:?}");
        assert!(text.contains("service_key: (16 bytes)"), "{text}");
        assert!(text.contains("data: (176 bytes)"), "{text}");
        assert!(!text.contains("167"), "{text}");
    }

    #[test]
    fn records_of_108_bytes_stand_112_bytes_apart() {
        let table = pack_table([NodeRecord::from_bytes([0xa5; 108]); 3]);
        assert_eq!((table.attribute_offset, table.data.len()), (14, 336));
        assert_eq!(table.data[108..112], [0; 4]);
        let records = Records::<NodeRecord>::new(&table.data, 14).unwrap();
        assert_eq!(records.size_hint(), (3, Some(4)));
        assert_eq!(records.count(), 3);
        // The last one may leave out its padding.
        let records = Records::<NodeRecord>::new(&table.data[..332], 14).unwrap();
        assert_eq!(records.count(), 3);
        let records = Records::<NodeRecord>::new(&table.data[..331], 14).unwrap();
        assert_eq!(records.count(), 2);
    }

    #[test]
    fn a_later_version_may_have_longer_records() {
        let mut data = Vec::new();
        for byte in [1u8, 2, 3] {
            data.extend([byte; 108]);
            data.extend([0xee; 20]);
        }
        let records = Records::<NodeRecord>::new(&data, 16).unwrap();
        let first: Vec<u8> = records.map(|record| record.as_bytes()[0]).collect();
        assert_eq!(first, [1, 2, 3]);
    }

    #[test]
    fn an_empty_table_may_have_no_offset_and_overlapping_records_are_an_error() {
        assert_eq!(Records::<NodeRecord>::new(&[], 0).unwrap().count(), 0);
        for offset in [0, 1, 13] {
            let error = QueryError::AttributeOffset {
                record: "NodeRecord",
                found: usize::from(offset) * 8,
                needed: 108,
            };
            assert_eq!(
                Records::<NodeRecord>::new(&[0; 200], offset).err(),
                Some(error)
            );
        }
    }

    #[test]
    fn a_multi_path_request_has_as_many_gids_as_its_counts() {
        let gids = [1u8, 2, 3].map(|byte| Gid([byte; 16]));
        let data = pack_multi_path(&MultiPathRecord::default(), &gids[..1], &gids[1..]).unwrap();
        assert_eq!(data.len(), 24 + 48);
        let query = MultiPathQuery::parse(&data).unwrap();
        assert_eq!(query.sources().collect::<Vec<_>>(), gids[..1]);
        assert_eq!(query.destinations().collect::<Vec<_>>(), gids[1..]);
        assert!(MultiPathQuery::parse(&data[..71]).is_err());
        let many = [gids[0]; 256];
        assert!(pack_multi_path(&MultiPathRecord::default(), &many, &[]).is_err());
    }
}

//! Tables of records that were requested whole, so that the next request for the same table does not make it again.
//!
//! A table is kept for the requesters that may access the same ports. Any change of the observed subnet makes all
//! tables obsolete.

use alloc::{collections::VecDeque, vec::Vec};

use ib_mad::{Attribute as _, AttributeId, Method};
use ib_sa::{
    LinearForwardingTableRecord, LinkRecord, MulticastForwardingTableRecord, NodeRecord,
    PKeyTableRecord, PortInfoRecord, RecordTable, SlToVlMappingTableRecord, SwitchInfoRecord,
    VlArbitrationTableRecord,
};
use ib_subnet::PortId;
use ib_wire::PKey;

use super::{RequestContext, Requester, View};

/// Maximum number of tables.
const MAX_TABLES: usize = 64;
/// Maximum number of bytes of all tables together.
const MAX_BYTES: usize = 16 << 20;

/// Records that are made from the observed subnet alone.
const KEPT: [AttributeId; 9] = [
    NodeRecord::ID,
    PortInfoRecord::ID,
    SwitchInfoRecord::ID,
    LinkRecord::ID,
    LinearForwardingTableRecord::ID,
    MulticastForwardingTableRecord::ID,
    SlToVlMappingTableRecord::ID,
    VlArbitrationTableRecord::ID,
    PKeyTableRecord::ID,
];

/// The ports whose records a requester may access.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Access {
    /// All ports.
    All,
    /// The ports that share one of these keys.
    Partitions(Vec<PKey>),
    /// Those of this requester alone: it may access itself, and shares no key with itself.
    Port(PortId),
}

/// The inputs of a table: it is valid as long as they do not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableKey {
    /// Version of the observed subnet.
    version: u64,
    attribute_id: AttributeId,
    access: Access,
}

impl TableKey {
    /// The key of the table that a request asks for. `None` if the table is not kept.
    pub(super) fn of(context: RequestContext<'_>) -> Option<Self> {
        let RequestContext { request, view, .. } = context;
        let is_whole = request.method() == Method::GET_TABLE
            && request.component_mask().0 == 0
            && request.attribute_modifier() == 0;
        let attribute_id = request.attribute_id();
        if !is_whole || !KEPT.contains(&attribute_id) {
            return None;
        }
        Some(Self {
            version: view.subnet.version(),
            attribute_id,
            access: Access::of(view)?,
        })
    }
}

impl Access {
    fn of(view: View<'_>) -> Option<Self> {
        match view.requester {
            Requester::Trusted(_) => Some(Self::All),
            Requester::Unknown => None,
            Requester::Port(at) => {
                let port = view.subnet.port(at)?;
                Some(match port.shared_p_key(port, None) {
                    Some(_) => Self::Partitions(port.p_keys().collect()),
                    None => Self::Port(at),
                })
            }
        }
    }
}

/// The tables that are kept, oldest first.
#[derive(Debug, Default)]
pub(super) struct TableCache {
    tables: VecDeque<(TableKey, RecordTable)>,
    /// Bytes of all tables together.
    bytes: usize,
}

impl TableCache {
    /// The table with this key.
    pub(super) fn get(&self, key: &TableKey) -> Option<RecordTable> {
        let mut tables = self.tables.iter();
        let found = tables.find(|(kept, _)| kept == key);
        found.map(|(_, table)| table.clone())
    }

    /// Keeps a table. Tables of other versions of the subnet, and the oldest ones where room is short, are dropped.
    pub(super) fn insert(&mut self, key: TableKey, table: RecordTable) {
        let obsolete = |kept: &TableKey| kept.version != key.version || *kept == key;
        self.tables.retain(|(kept, _)| !obsolete(kept));
        self.bytes = self.tables.iter().map(|(_, table)| table.data.len()).sum();
        let len = table.data.len();
        if len > MAX_BYTES {
            return;
        }
        while self.tables.len() >= MAX_TABLES || self.bytes.saturating_add(len) > MAX_BYTES {
            let Some((_, oldest)) = self.tables.pop_front() else {
                break;
            };
            self.bytes = self.bytes.saturating_sub(oldest.data.len());
        }
        self.bytes = self.bytes.saturating_add(len);
        self.tables.push_back((key, table));
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn key(version: u64, p_key: u16) -> TableKey {
        TableKey {
            version,
            attribute_id: NodeRecord::ID,
            access: Access::Partitions(vec![PKey(p_key)]),
        }
    }

    fn table(len: usize) -> RecordTable {
        RecordTable {
            attribute_offset: 14,
            data: vec![0; len].into(),
        }
    }

    #[test]
    fn a_table_is_found_by_requesters_with_the_same_access() {
        let mut cache = TableCache::default();
        cache.insert(key(1, 0xffff), table(112));
        assert_eq!(cache.get(&key(1, 0xffff)), Some(table(112)));
        assert_eq!(cache.get(&key(1, 0x8001)), None);
        let all = TableKey {
            access: Access::All,
            ..key(1, 0xffff)
        };
        assert_eq!(cache.get(&all), None);
    }

    #[test]
    fn a_change_of_the_subnet_makes_all_tables_obsolete() {
        let mut cache = TableCache::default();
        cache.insert(key(1, 0xffff), table(112));
        assert_eq!(cache.get(&key(2, 0xffff)), None);
        cache.insert(key(2, 0x8001), table(224));
        assert_eq!((cache.tables.len(), cache.bytes), (1, 224));
    }

    #[test]
    fn tables_are_bounded_in_number_and_bytes() {
        let mut cache = TableCache::default();
        for p_key in 0..1000 {
            cache.insert(key(1, p_key), table(100));
        }
        assert_eq!((cache.tables.len(), cache.bytes), (MAX_TABLES, 6400));
        assert!(cache.get(&key(1, 999)).is_some());
        cache.insert(key(1, 1), table(MAX_BYTES));
        assert_eq!((cache.tables.len(), cache.bytes), (1, MAX_BYTES));
        cache.insert(key(1, 2), table(MAX_BYTES + 1));
        assert!(cache.get(&key(1, 1)).is_some());
        assert!(cache.get(&key(1, 2)).is_none());
    }

    #[test]
    fn tables_that_fill_the_room_exactly_are_kept_together() {
        let mut cache = TableCache::default();
        cache.insert(key(1, 1), table(MAX_BYTES / 2));
        cache.insert(key(1, 2), table(MAX_BYTES / 2));
        assert!(cache.get(&key(1, 1)).is_some() && cache.get(&key(1, 2)).is_some());
        cache.insert(key(1, 3), table(1));
        assert!(cache.get(&key(1, 1)).is_none(), "the oldest gives its room");
        assert!(cache.get(&key(1, 2)).is_some() && cache.get(&key(1, 3)).is_some());
    }
}

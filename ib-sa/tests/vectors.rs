//! Datagrams that other programs sent, and whole packets of a reference model.

use ib_mad::{Attribute, Method, MgmtClass};
use ib_sa::*;

use ib_testkit::vectors::mad::{all_read_and_write, bytes, cases};

fn is_ours(class: MgmtClass) -> bool {
    class == MgmtClass::SUBN_ADM
}

#[test]
fn datagrams_read_as_the_tools_and_the_model_read_them() {
    assert_eq!(all_read_and_write(CLASSES, is_ours), (184, 137));
}

/// Unpacks a table and packs it again.
fn repack<R: Record>(data: &[u8], attribute_offset: u16) -> (usize, RecordTable) {
    let records: Vec<R> = Records::<R>::new(data, attribute_offset)
        .unwrap()
        .copied()
        .collect();
    (records.len(), pack_table(records.iter().copied()))
}

#[test]
fn recorded_tables_unpack_and_pack_to_the_same_bytes() {
    let (mut tables, mut records) = (0, 0);
    for case in cases("mads") {
        let mad = bytes(&case["hex"]);
        let mut front = mad.clone();
        front.resize(256, 0);
        let (sa, _) = SaMad::parse(&front, 0).unwrap();
        // A datagram of 256 bytes is a first segment, not a whole table.
        let whole = sa.method() == Method::GET_TABLE_RESP && mad.len() != 256;
        if !is_ours(sa.mgmt_class()) || !whole {
            continue;
        }
        let data = &mad[SaMad::DATA_OFFSET..];
        macro_rules! repack {
            ($($record:ident)*) => {
                match sa.attribute_id() {
                    $($record::ID => repack::<$record>(data, sa.attribute_offset()),)*
                    id => panic!("{}: {id}", case["id"]),
                }
            };
        }
        let (count, table) = repack!(
            NodeRecord PortInfoRecord SwitchInfoRecord LinearForwardingTableRecord
            MulticastForwardingTableRecord SmInfoRecord LinkRecord GuidInfoRecord ServiceRecord
            PKeyTableRecord PathRecord VlArbitrationTableRecord McMemberRecord InformInfoRecord
            SlToVlMappingTableRecord
        );
        assert_eq!(table.data, data, "{}", case["id"]);
        if count > 0 {
            assert_eq!(
                table.attribute_offset,
                sa.attribute_offset(),
                "{}",
                case["id"]
            );
        }
        tables += 1;
        records += count;
    }
    assert_eq!((tables, records), (51, 419));
}

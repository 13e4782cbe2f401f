//! The snapshot file: the round trip, and files that are refused.

use ib_sa::McMemberRecord;
use ib_wire::{Lid, QKey};

use super::{HEAD, Snapshot, SnapshotError, VERSION};
use crate::testing::brought_up;

fn example() -> Snapshot {
    let mut snapshot = brought_up("gen-ring-5");
    snapshot.taken_at = 1_700_000_000_123;
    snapshot.tools = vec![("ib".into(), "0.1.0".into())];
    let mut record = McMemberRecord::default();
    record.set_mlid(Lid::MULTICAST_MIN).set_q_key(QKey(0x0b1b));
    snapshot.set_groups(vec![record]);
    snapshot
}

#[test]
fn a_snapshot_reads_back_as_itself() {
    for name in [
        "gen-ring-5",
        "real-fdr10-152",
        "gen-single",
        "gen-pgft-6x6-par3",
    ] {
        let snapshot = brought_up(name);
        let file = snapshot.to_bytes();
        assert_eq!(Snapshot::from_bytes(&file), Ok(snapshot), "{name}");
    }
    let empty = Snapshot::default();
    assert_eq!(Snapshot::from_bytes(&empty.to_bytes()), Ok(empty));
}

#[test]
fn a_file_that_was_cut_is_refused_with_the_place() {
    let file = example().to_bytes();
    for len in (1..HEAD).chain((HEAD..file.len()).step_by(61)) {
        let error = Snapshot::from_bytes(&file[..len]).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Cut { .. }),
            "{len}: {error:?}"
        );
        assert!(
            error.to_string().starts_with(&format!("byte {len}:")),
            "{error}"
        );
    }
    assert_eq!(Snapshot::from_bytes(&[]), Err(SnapshotError::NotASnapshot));
}

#[test]
fn every_changed_byte_is_noticed() {
    let file = example().to_bytes();
    for at in (0..HEAD)
        .chain((HEAD..file.len()).step_by(37))
        .chain(file.len() - 4..file.len())
    {
        let mut changed = file.clone();
        changed[at] ^= 0x10;
        assert!(Snapshot::from_bytes(&changed).is_err(), "byte {at}");
    }
    let mut longer = file.clone();
    longer.push(0);
    let error = Snapshot::from_bytes(&longer).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLong { .. }), "{error:?}");
}

#[test]
fn a_newer_version_and_another_file_are_refused() {
    let mut newer = example().to_bytes();
    newer[11] = 4;
    let error = Snapshot::from_bytes(&newer).unwrap_err();
    assert_eq!(error, SnapshotError::Newer { found: 4 });
    assert!(error.to_string().starts_with("byte 8:"), "{error}");
    assert_eq!(
        Snapshot::from_bytes(b"# ibnetdiscover\n"),
        Err(SnapshotError::NotASnapshot)
    );
}

#[test]
fn a_file_of_version_1_is_read_without_the_groups_that_it_has_not() {
    let mut snapshot = example();
    snapshot.groups = None;
    // Version 1 ended before the byte that says whether there are groups.
    let mut body = snapshot.body();
    assert_eq!(body.pop(), Some(0));
    assert_eq!(Snapshot::from_bytes(&file_of(1, &body)), Ok(snapshot));
    // In version 2 this byte is missing.
    let error = Snapshot::from_bytes(&file_of(2, &body)).unwrap_err();
    let place = format!("byte {} of the decompressed body", body.len());
    assert!(error.to_string().starts_with(&place), "{error}");
}

#[test]
fn groups_are_kept_without_their_q_keys() {
    let snapshot = Snapshot::from_bytes(&example().to_bytes()).unwrap();
    let groups = snapshot.groups.unwrap();
    let [group] = groups.as_slice() else {
        panic!("one group: {groups:?}")
    };
    assert_eq!(group.mlid(), Lid::MULTICAST_MIN);
    assert_eq!(group.q_key(), QKey(0));
}

/// A file of this version with this body, with the correct checksum and lengths.
fn file_of(version: u32, body: &[u8]) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec(body, 6);
    let mut file = Vec::from(*super::MAGIC);
    file.extend(version.to_be_bytes());
    file.extend((body.len() as u64).to_be_bytes());
    file.extend((packed.len() as u64).to_be_bytes());
    file.extend(packed);
    let checksum = crc32fast::hash(&file);
    file.extend(checksum.to_be_bytes());
    file
}

#[test]
fn a_body_that_does_not_fit_together_is_refused_without_a_panic() {
    let body = example().body();
    assert!(Snapshot::from_bytes(&file_of(VERSION, &body)).is_ok());
    for len in (0..400).chain((400..body.len()).step_by(977)) {
        let error = Snapshot::from_bytes(&file_of(VERSION, &body[..len])).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Body { .. }),
            "{len}: {error:?}"
        );
    }
    // Any bytes yield an error or a snapshot, never a panic.
    for at in (0..body.len()).step_by(487) {
        let mut changed = body.clone();
        changed[at] = !changed[at];
        let _ = Snapshot::from_bytes(&file_of(VERSION, &changed));
    }
    assert_eq!(HEAD, 28);
}

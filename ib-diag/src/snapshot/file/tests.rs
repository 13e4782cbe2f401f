//! The snapshot file: the round trip, and files that are refused.

use super::{HEAD, Snapshot, SnapshotError};
use crate::testing::brought_up;

fn example() -> Snapshot {
    let mut snapshot = brought_up("gen-ring-5");
    snapshot.taken_at = 1_700_000_000_123;
    snapshot.tools = vec![("ib".into(), "0.1.0".into())];
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
    newer[11] = 2;
    assert_eq!(
        Snapshot::from_bytes(&newer),
        Err(SnapshotError::Newer { found: 2 })
    );
    assert_eq!(
        Snapshot::from_bytes(b"# ibnetdiscover\n"),
        Err(SnapshotError::NotASnapshot)
    );
}

/// A file with this body, with the correct checksum and lengths.
fn file_of(body: &[u8]) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec(body, 6);
    let mut file = Vec::from(*super::MAGIC);
    file.extend(1u32.to_be_bytes());
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
    assert!(Snapshot::from_bytes(&file_of(&body)).is_ok());
    for len in (0..400).chain((400..body.len()).step_by(977)) {
        let error = Snapshot::from_bytes(&file_of(&body[..len])).unwrap_err();
        assert!(
            matches!(error, SnapshotError::Body { .. }),
            "{len}: {error:?}"
        );
    }
    // Any bytes yield an error or a snapshot, never a panic.
    for at in (0..body.len()).step_by(487) {
        let mut changed = body.clone();
        changed[at] = !changed[at];
        let _ = Snapshot::from_bytes(&file_of(&changed));
    }
    assert_eq!(HEAD, 28);
}

//! The file of a snapshot.
//!
//! All numbers are in network byte order. A file is
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `IBSNAP\r\n`: a transfer that changes line ends destroys it |
//! | 4 | version of the format: 3; versions 1 and 2 are read too |
//! | 8 | length of the body after decompression |
//! | 8 | length of the compressed body |
//! | n | the body, compressed as a raw DEFLATE stream (RFC 1951) |
//! | 4 | CRC-32 (as in gzip) of everything before it |
//!
//! The body is the time (8 bytes, milliseconds since 1970), the tools (a list of two texts each), the contents
//! (2 bytes), the own port (optional), the nodes, the silent devices, the devices with the GUID of another, and from
//! version 2 on the multicast groups (an optional list of MCMemberRecords, 52 bytes each). A list
//! has a count of 4 bytes before it, a text is a list of UTF-8 bytes, an optional value has a byte 0 or 1 before it, a
//! directed route is its number of hops and their ports, a port is the number of its node (4 bytes, from 0) and its
//! own (1 byte).
//!
//! A node is its route, NodeInfo (40 bytes), its ports from number 0 on and its blocks. A port is its GUID, a byte 1 for
//! FDR10, optionally its peer, and optionally the reason why its counters were not read (1 byte). A block is one
//! attribute of a port: port (1), management class (1), attribute (2), modifier (4), and the bytes of the attribute as
//! a list. MlnxExtPortInfo is an attribute of blocks from version 3 on.

mod blocks;

use alloc::{string::String, vec::Vec};

use ib_routing::index::IdxVec;
use ib_sa::McMemberRecord;
use ib_smp::NodeInfo;
use ib_wire::PortNum;
use thiserror::Error;

use self::blocks::{blocks, read_block, write_block};
use super::{
    Contents, DuplicateGuid, SilentDevice, Snapshot, SnapshotNode,
    binary::{Reader, Writer},
};
use crate::counters::UnreadReason;

/// The first bytes of every snapshot file.
const MAGIC: &[u8; 8] = b"IBSNAP\r\n";
/// Those of them that a transfer as text leaves as they are.
const NAME: &[u8; 6] = b"IBSNAP";
/// The version that this library writes, and the highest that it reads.
pub(crate) const VERSION: u32 = 3;
/// The first version whose body has the multicast groups.
const WITH_GROUPS: u32 = 2;
/// Bytes before the body.
const HEAD: usize = 28;
/// Bytes after the body.
const TAIL: usize = 4;
/// Largest body length in bytes. A body that claims more is refused before memory is allocated for it.
const MAX_BODY: u64 = 1 << 32;

/// The reason why bytes are not a snapshot that this version can read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The first bytes are not those of a snapshot.
    #[error("byte 0: not a snapshot, expected a file that begins with IBSNAP")]
    NotASnapshot,
    /// The file was written by a newer version of the tools.
    #[error(
        "byte 8: format version {found}, expected at most {VERSION}: read it with the version of ib that wrote it"
    )]
    Newer {
        /// The version of the format in the file.
        found: u32,
    },
    /// The file ends early.
    #[error("byte {len}: the file ends, expected {expected} bytes: it was cut short")]
    Cut {
        /// Number of bytes in the file.
        len: u64,
        /// Number of bytes that the head announces.
        expected: u64,
    },
    /// There are bytes after the end of the snapshot.
    #[error("byte {at}: {extra} bytes after the end of the snapshot, expected none")]
    TooLong {
        /// Offset of the first extra byte.
        at: u64,
        /// Number of extra bytes.
        extra: u64,
    },
    /// The checksum does not match the bytes before it.
    #[error(
        "byte {at}: checksum {found:#010x}, expected {computed:#010x}: the file was changed after it was written"
    )]
    Checksum {
        /// Offset of the checksum in the file.
        at: u64,
        /// The checksum in the file.
        found: u32,
        /// The checksum computed from the bytes before it.
        computed: u32,
    },
    /// The body cannot be decompressed to the length that the head announces.
    #[error("byte {HEAD}: the body does not decompress to {expected} bytes")]
    Compression {
        /// The length that the head announces, in bytes.
        expected: u64,
    },
    /// The decompressed body is malformed.
    #[error("byte {at} of the decompressed body: {what}")]
    Body {
        /// Offset of the error in the decompressed body.
        at: usize,
        /// Description of the error.
        what: &'static str,
    },
}

impl Snapshot {
    /// The snapshot as the bytes of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = self.body();
        let packed = miniz_oxide::deflate::compress_to_vec(&body, 6);
        let mut file = Writer::default();
        file.0.extend(MAGIC);
        file.u32(VERSION);
        file.u64(body.len() as u64);
        file.u64(packed.len() as u64);
        file.0.extend(packed);
        let checksum = crc32fast::hash(&file.0);
        file.u32(checksum);
        file.0
    }

    /// Returns true if a file begins as a snapshot does, which it still does after a transfer that changed its line ends.
    #[must_use]
    pub fn is_begun_by(file: &[u8]) -> bool {
        file.starts_with(NAME)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Refuses a file that is not a snapshot, has a newer version, or was cut, changed or extended, and a body that
    /// contradicts itself. Each error gives the position.
    pub fn from_bytes(file: &[u8]) -> Result<Self, SnapshotError> {
        let mut head = Reader::new(file);
        let len = file.len() as u64;
        // A file that ends within the magic bytes was cut; a file that differs there is not a snapshot.
        let start = file.get(..file.len().min(MAGIC.len())).unwrap_or_default();
        if !MAGIC.starts_with(start) || start.is_empty() {
            return Err(SnapshotError::NotASnapshot);
        }
        let cut = |_| SnapshotError::Cut {
            len,
            expected: (HEAD + TAIL) as u64,
        };
        head.take(MAGIC.len(), "the first bytes").map_err(cut)?;
        let version = head.u32("the version").map_err(cut)?;
        if version > VERSION {
            return Err(SnapshotError::Newer { found: version });
        }
        let unpacked = head.u64("the length").map_err(cut)?;
        let packed = head.u64("the length").map_err(cut)?;
        let expected = packed.saturating_add((HEAD + TAIL) as u64);
        if len < expected {
            return Err(SnapshotError::Cut { len, expected });
        }
        if len > expected {
            let extra = len.saturating_sub(expected);
            return Err(SnapshotError::TooLong {
                at: expected,
                extra,
            });
        }
        let body = head
            .take(file.len().saturating_sub(HEAD + TAIL), "the body")
            .map_err(cut)?;
        let at = head.at();
        let found = head.u32("the checksum").map_err(cut)?;
        let computed = crc32fast::hash(file.get(..at).unwrap_or_default());
        if found != computed {
            let at = at as u64;
            return Err(SnapshotError::Checksum {
                at,
                found,
                computed,
            });
        }
        let bad = SnapshotError::Compression { expected: unpacked };
        let size = usize::try_from(unpacked)
            .ok()
            .filter(|_| unpacked <= MAX_BODY);
        let size = size.ok_or_else(|| bad.clone())?;
        let body = miniz_oxide::inflate::decompress_to_vec_with_limit(body, size);
        let body = body.ok().filter(|body| body.len() == size).ok_or(bad)?;
        Self::from_body(&body, version)
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u64(self.taken_at);
        out.list(self.tools.iter(), |out, (name, version)| {
            out.text(name);
            out.text(version);
        });
        out.u16(self.contents.bits());
        out.option(self.own_port, Writer::port);
        out.list(self.nodes.iter(), |out, node| {
            out.path(&node.path);
            out.0.extend(node.info.as_bytes());
            out.list(node.ports.iter(), |out, port| {
                out.u64(port.guid.0);
                out.u8(u8::from(port.is_fdr10));
                out.option(port.peer, Writer::port);
                out.option(port.counters.unread, |out, reason| out.u8(reason.code()));
            });
            out.list(blocks(node).into_iter(), write_block);
        });
        out.list(self.silent.iter(), |out, silent| {
            out.path(&silent.path);
            out.option(silent.node_guid, |out, guid| out.u64(guid.0));
        });
        out.list(self.duplicates.iter(), |out, duplicate| {
            out.u64(duplicate.node_guid.0);
            out.path(&duplicate.path);
            out.option(duplicate.behind, Writer::port);
            out.option(duplicate.before, |out, guid| out.u64(guid.0));
        });
        out.option(self.groups.as_ref(), |out, groups| {
            out.list(groups.iter(), |out, record| out.0.extend(record.as_bytes()));
        });
        out.0
    }

    pub(crate) fn from_body(body: &[u8], version: u32) -> Result<Self, SnapshotError> {
        let mut from = Reader::new(body);
        let taken_at = from.u64("the time is cut")?;
        let tools = from.list("the tools are cut", |from| {
            let name: String = from.text("the name of a tool is cut or no UTF-8")?;
            Ok((name, from.text("the version of a tool is cut or no UTF-8")?))
        })?;
        let contents = Contents::from_bits_retain(from.u16("the contents are cut")?);
        let own_port = from.option("the own port is cut", |from| {
            from.port("the own port is cut")
        })?;
        let nodes = from.list("the nodes are cut", read_node)?;
        let silent = from.list("the silent devices are cut", |from| {
            Ok(SilentDevice {
                path: from.path("the route to a silent device is cut or too long")?,
                node_guid: from.option("a GUID is cut", |from| from.guid("a GUID is cut"))?,
            })
        })?;
        let duplicates = from.list("the duplicate GUIDs are cut", |from| {
            Ok(DuplicateGuid {
                node_guid: from.guid("a GUID is cut")?,
                path: from.path("the route to a device is cut or too long")?,
                behind: from.option("a port is cut", |from| from.port("a port is cut"))?,
                before: from.option("a GUID is cut", |from| from.guid("a GUID is cut"))?,
            })
        })?;
        let groups = match version >= WITH_GROUPS {
            true => from.option("the multicast groups are cut", |from| {
                from.list("the multicast groups are cut", |from| {
                    let record: [u8; McMemberRecord::LEN] =
                        from.array("a multicast group is cut")?;
                    Ok(McMemberRecord::from_bytes(record))
                })
            })?,
            false => None,
        };
        if !from.is_at_end() {
            return Err(from.bad("bytes behind the end, expected none"));
        }
        let snapshot = Self {
            taken_at,
            tools,
            contents,
            own_port,
            nodes: IdxVec::from(nodes),
            silent,
            duplicates,
            groups,
        };
        match snapshot.is_consistent() {
            true => Ok(snapshot),
            false => Err(from.bad(
                "nodes out of the order of their GUIDs, or a cable to a port that is not there",
            )),
        }
    }

    /// Returns true if the nodes are in order and every port that is named exists.
    fn is_consistent(&self) -> bool {
        let is_sorted = self
            .nodes
            .as_slice()
            .is_sorted_by(|a, b| a.guid() < b.guid());
        let mut peers = self.ports().filter_map(|(_, _, port)| port.peer);
        is_sorted
            && peers.all(|peer| self.port(peer).is_some())
            && self.own_port.is_none_or(|own| self.port(own).is_some())
    }
}

fn read_node(from: &mut Reader<'_>) -> Result<SnapshotNode, SnapshotError> {
    let path = from.path("the route to a node is cut or too long")?;
    let bytes: [u8; NodeInfo::LEN] = from.array("NodeInfo is cut")?;
    let Ok((info, _)) = NodeInfo::parse(&bytes, 0) else {
        return Err(from.bad("NodeInfo is cut"));
    };
    let mut node = SnapshotNode::new(*info, path);
    let mut number = PortNum(0);
    let ports = from.list("the ports of a node are cut", |from| {
        let port = node.ports.get_mut(usize::from(number.0));
        let port = port.ok_or_else(|| from.bad("more ports than NodeInfo names"))?;
        port.guid = from.guid("the GUID of a port is cut")?;
        port.is_fdr10 = from.u8("a port is cut")? != 0;
        port.peer = from.option("the peer of a port is cut", |from| {
            from.port("the peer of a port is cut")
        })?;
        port.counters.unread = from.option("a port is cut", |from| {
            let code = from.u8("a port is cut")?;
            UnreadReason::from_code(code)
                .ok_or_else(|| from.bad("a reason why counters were not read that there is not"))
        })?;
        number.0 = number.0.saturating_add(1);
        Ok(())
    })?;
    if ports.len() != node.ports.len() {
        return Err(from.bad("fewer ports than NodeInfo names"));
    }
    from.list("the blocks of a node are cut", |from| {
        read_block(from, &mut node)
    })?;
    Ok(node)
}

#[cfg(test)]
mod tests;

//! Numbers, texts and routes as bytes: the elements of the body of a snapshot file.

use alloc::{string::String, vec::Vec};

use ib_routing::{NodeIdx, PortRef};
use ib_smp::DrPath;
use ib_wire::{Guid, PortNum};

use super::SnapshotError;

/// Appends values, in network byte order.
#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub(super) fn u16(&mut self, value: u16) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn u32(&mut self, value: u32) {
        self.0.extend(value.to_be_bytes());
    }

    pub(super) fn u64(&mut self, value: u64) {
        self.0.extend(value.to_be_bytes());
    }

    /// Appends a count, then calls `write` for each of the items.
    pub(super) fn list<T>(
        &mut self,
        items: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        self.u32(u32::try_from(items.len()).unwrap_or(u32::MAX));
        for item in items {
            write(self, item);
        }
    }

    /// Appends a flag, and after it the value if there is one.
    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(super) fn text(&mut self, text: &str) {
        self.list(text.bytes(), Self::u8);
    }

    pub(super) fn path(&mut self, path: &DrPath) {
        self.u8(path.hop_count());
        for port in path.ports() {
            self.u8(port.0);
        }
    }

    pub(super) fn port(&mut self, port: PortRef) {
        self.u32(port.node.0);
        self.u8(port.port.0);
    }
}

/// Reads values; every error gives its offset in the body.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Offset in the body of the byte that is read next.
    pub(super) const fn at(&self) -> usize {
        self.at
    }

    pub(super) const fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    pub(super) fn bad(&self, what: &'static str) -> SnapshotError {
        SnapshotError::Body { at: self.at, what }
    }

    pub(super) fn take(
        &mut self,
        len: usize,
        what: &'static str,
    ) -> Result<&'a [u8], SnapshotError> {
        let end = self.at.checked_add(len);
        let taken = end.and_then(|end| self.bytes.get(self.at..end));
        let taken = taken.ok_or_else(|| self.bad(what))?;
        self.at = self.at.saturating_add(len);
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], SnapshotError> {
        let taken = self.take(N, what)?;
        taken.try_into().map_err(|_| self.bad(what))
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8, SnapshotError> {
        Ok(u8::from_be_bytes(self.array(what)?))
    }

    pub(super) fn u16(&mut self, what: &'static str) -> Result<u16, SnapshotError> {
        Ok(u16::from_be_bytes(self.array(what)?))
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, SnapshotError> {
        Ok(u32::from_be_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, SnapshotError> {
        Ok(u64::from_be_bytes(self.array(what)?))
    }

    pub(super) fn guid(&mut self, what: &'static str) -> Result<Guid, SnapshotError> {
        Ok(Guid(self.u64(what)?))
    }

    /// Reads a list. The count before it does not decide how much memory is reserved, because it may be wrong.
    pub(super) fn list<T>(
        &mut self,
        what: &'static str,
        mut read: impl FnMut(&mut Self) -> Result<T, SnapshotError>,
    ) -> Result<Vec<T>, SnapshotError> {
        let count = self.u32(what)?;
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    pub(super) fn option<T>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut Self) -> Result<T, SnapshotError>,
    ) -> Result<Option<T>, SnapshotError> {
        match self.u8(what)? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(self.bad(what)),
        }
    }

    pub(super) fn text(&mut self, what: &'static str) -> Result<String, SnapshotError> {
        let len = self.u32(what)?;
        let len = usize::try_from(len).map_err(|_| self.bad(what))?;
        let bytes = self.take(len, what)?;
        let text = core::str::from_utf8(bytes).map_err(|_| self.bad(what))?;
        Ok(String::from(text))
    }

    pub(super) fn path(&mut self, what: &'static str) -> Result<DrPath, SnapshotError> {
        let hops = self.u8(what)?;
        let ports = self.take(usize::from(hops), what)?;
        let ports: Vec<PortNum> = ports.iter().copied().map(PortNum).collect();
        DrPath::try_new(&ports).ok_or_else(|| self.bad(what))
    }

    pub(super) fn port(&mut self, what: &'static str) -> Result<PortRef, SnapshotError> {
        Ok(PortRef {
            node: NodeIdx(self.u32(what)?),
            port: PortNum(self.u8(what)?),
        })
    }
}

//! Typed questions to the subnet administrator, for a [`Client`](ib_mad::Client) (IBA vol. 1, 15.4).
//!
//! Get, Set and Delete carry one record there and back; GetTable is answered by a message of many
//! segments; GetMulti is such a message itself.

use alloc::vec::Vec;
use core::{fmt, marker::PhantomData};

use bytes::Bytes;
use ib_mad::{Attribute, AttributeId, CallError, Mad, MadAddress, Method, Request, Response};
use ib_wire::Gid;

use crate::{
    ComponentMask, MultiPathRecord, PathRecord, QueryError, Record, Records, SaMad, TraceRecord,
    pack_multi_path,
};

/// Asks for one record: Get, Set or Delete.
pub struct RecordCall<R> {
    address: MadAddress,
    /// The request, for what is to be said beside the template: the SM_Key.
    pub request: SaMad,
    record: PhantomData<fn() -> R>,
}

/// Asks for every record that matches: GetTable or GetTraceTable.
///
/// ```
/// use ib_mad::{Client, ClientConfig, Engine, Instant, MadAddress};
/// use ib_sa::{NodeRecord, NodeComponents, TableCall};
/// use ib_wire::{Lid, Sl};
///
/// // Where the administrator is: PortInfo of the own port says so.
/// let administrator = MadAddress::gsi(Lid(1), Sl::ZERO);
/// let mut client = Client::new(ClientConfig::default());
/// let all = NodeComponents::empty();
/// client.ask(TableCall::<NodeRecord>::get(administrator, &NodeRecord::default(), all))?;
/// assert!(client.poll_transmit(Instant::ZERO).is_some());
/// // Its event brings a `Vec<NodeRecord>`, or says why there is none.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TableCall<R> {
    address: MadAddress,
    /// The request, for what is to be said beside the template: the SM_Key.
    pub request: SaMad,
    record: PhantomData<fn() -> R>,
}

/// Asks for paths between sets of ports: GetMulti, whose answer is a table of PathRecords.
#[derive(Clone, Debug)]
pub struct MultiPathCall {
    address: MadAddress,
    /// The headers of the request, for what is to be said beside the record: the SM_Key.
    pub request: SaMad,
    data: Bytes,
}

impl<R: Record> RecordCall<R> {
    /// Asks for the one record that matches.
    #[must_use]
    pub fn get(address: MadAddress, template: &R, components: impl Into<ComponentMask>) -> Self {
        Self::new(address, Method::GET, template, components)
    }

    /// Registers a record, or joins a group.
    #[must_use]
    pub fn set(address: MadAddress, record: &R, components: impl Into<ComponentMask>) -> Self {
        Self::new(address, Method::SET, record, components)
    }

    /// Takes a record back, or leaves a group.
    #[must_use]
    pub fn delete(address: MadAddress, record: &R, components: impl Into<ComponentMask>) -> Self {
        Self::new(address, Method::DELETE, record, components)
    }

    fn new(
        address: MadAddress,
        method: Method,
        record: &R,
        components: impl Into<ComponentMask>,
    ) -> Self {
        Self {
            address,
            request: SaMad::query(method, record, components),
            record: PhantomData,
        }
    }
}

impl<R: Record> TableCall<R> {
    /// Asks for all records that match; without components for all there are.
    #[must_use]
    pub fn get(address: MadAddress, template: &R, components: impl Into<ComponentMask>) -> Self {
        Self {
            address,
            request: SaMad::query(Method::GET_TABLE, template, components),
            record: PhantomData,
        }
    }
}

impl TableCall<TraceRecord> {
    /// Asks for the ports on the path that a PathRecord describes.
    #[must_use]
    pub fn trace(
        address: MadAddress,
        template: &TraceRecord,
        components: impl Into<ComponentMask>,
    ) -> Self {
        Self {
            address,
            request: SaMad::query(Method::GET_TRACE_TABLE, template, components),
            record: PhantomData,
        }
    }
}

impl MultiPathCall {
    /// Asks for paths from any of `sources` to any of `destinations`.
    ///
    /// # Errors
    /// [`QueryError::TooMany`] for more than 255 GIDs on a side.
    pub fn get(
        address: MadAddress,
        record: &MultiPathRecord,
        components: impl Into<ComponentMask>,
        sources: &[Gid],
        destinations: &[Gid],
    ) -> Result<Self, QueryError> {
        let mut request = SaMad::new(Method::GET_MULTI, MultiPathRecord::ID);
        request.set_component_mask(components.into());
        Ok(Self {
            address,
            request,
            data: pack_multi_path(record, sources, destinations)?,
        })
    }
}

impl<R: Record> Request for RecordCall<R> {
    type Output = R;
    type Error = QueryError;

    fn mad(&self) -> Mad {
        self.request.to(self.address)
    }

    fn read(&self, response: Response) -> Result<R, QueryError> {
        let headers = check_status(&self.request, &response)?;
        headers.single().copied()
    }
}

impl<R: Record> Request for TableCall<R> {
    type Output = Vec<R>;
    type Error = QueryError;

    fn mad(&self) -> Mad {
        self.request.to(self.address)
    }

    fn read(&self, response: Response) -> Result<Vec<R>, QueryError> {
        read_table(&self.request, &response)
    }
}

impl Request for MultiPathCall {
    type Output = Vec<PathRecord>;
    type Error = QueryError;

    fn mad(&self) -> Mad {
        self.request.to(self.address)
    }

    fn data(&self) -> Option<Bytes> {
        Some(self.data.clone())
    }

    fn read(&self, response: Response) -> Result<Vec<PathRecord>, QueryError> {
        read_table(&self.request, &response)
    }
}

/// The headers of a good answer to this request.
fn check_status(request: &SaMad, response: &Response) -> Result<SaMad, QueryError> {
    let headers = SaMad::from_bytes(response.first().bytes);
    response.check_status().map_err(|error| match error {
        CallError::Refused { status } => QueryError::of(status).unwrap_or(error.into()),
        other => other.into(),
    })?;
    if headers.method() != request.refuse(headers.status()).method() {
        return Err(QueryError::Call(CallError::NotTheAnswer {
            class: headers.mgmt_class(),
            method: headers.method(),
            attribute: headers.attribute_id(),
        }));
    }
    expect(headers.attribute_id(), request.attribute_id())?;
    Ok(headers)
}

fn expect(found: AttributeId, expected: AttributeId) -> Result<(), QueryError> {
    if found == expected {
        Ok(())
    } else {
        Err(QueryError::OtherAttribute { found, expected })
    }
}

/// The records of a table. One that did not come by RMPP is one record, or none where it gives no distance of
/// records, as managers write that they found nothing.
fn read_table<R: Record>(request: &SaMad, response: &Response) -> Result<Vec<R>, QueryError> {
    let headers = check_status(request, response)?;
    let offset = headers.attribute_offset();
    let data = match response {
        Response::Multi(message) => &message.data[..],
        Response::Single(_) if offset == 0 => &[],
        Response::Single(_) => response.data().get(..size_of::<R>()).unwrap_or_default(),
    };
    Ok(Records::<R>::new(data, offset)?.copied().collect())
}

impl<R> Clone for RecordCall<R> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<R> Clone for TableCall<R> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<R> fmt::Debug for RecordCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_call(f, &self.address, &self.request)
    }
}

impl<R> fmt::Debug for TableCall<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_call(f, &self.address, &self.request)
    }
}

fn write_call(f: &mut fmt::Formatter<'_>, address: &MadAddress, request: &SaMad) -> fmt::Result {
    let (method, id, mask) = (
        request.method(),
        request.attribute_id(),
        request.component_mask(),
    );
    write!(f, "{method}({id}, {:#x}) to LID {}", mask.0, address.lid)
}

#[cfg(test)]
mod tests;

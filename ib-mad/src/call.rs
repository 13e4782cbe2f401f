//! Typed calls: a request that knows the type of its answer.

use core::{fmt, marker::PhantomData};

use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Attribute, AttributeId, Mad, MadAddress, MadStatus, Method, MgmtClass};

/// A Get or Set of the attribute `T`: builds the request, and opens the answer as a `T`.
///
/// As the context of a request in a [`TransactionWindow`](crate::TransactionWindow) it comes back
/// with the answer, which it then reads.
///
/// ```
/// use ib_mad::{Call, MadAddress, Method, MgmtClass, PortCounters};
/// use ib_wire::{Lid, Sl};
///
/// let call = Call::<PortCounters>::get(MgmtClass::PERF, 0);
/// let request = call.request(MadAddress::gsi(Lid(7), Sl::ZERO));
/// // The answer comes from a transport; here the request itself plays it.
/// let mut answer = request;
/// answer.header_mut().set_method(Method::GET_RESP);
/// let counters: &PortCounters = call.answer(&answer)?;
/// assert_eq!(counters.port_rcv_errors(), 0);
/// # Ok::<(), ib_mad::CallError>(())
/// ```
pub struct Call<T> {
    class: MgmtClass,
    method: Method,
    modifier: u32,
    attribute: PhantomData<fn() -> T>,
}

/// Why an answer has no attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The responder refused.
    #[error("refused with status {status}")]
    Refused {
        /// Its status.
        status: MadStatus,
    },
    /// It is no answer to this call.
    #[error("class {class}, method {method}, attribute {attribute} does not answer the call")]
    NotTheAnswer {
        /// Class of the datagram.
        class: MgmtClass,
        /// Method of the datagram.
        method: Method,
        /// Attribute of the datagram.
        attribute: AttributeId,
    },
}

impl<T> Call<T>
where
    T: Attribute + FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned,
{
    /// A Get; the attribute says what `modifier` means.
    #[must_use]
    pub const fn get(class: MgmtClass, modifier: u32) -> Self {
        Self::new(class, Method::GET, modifier)
    }

    /// A Set; the attribute says what `modifier` means. The values come with
    /// [`request_with`](Self::request_with).
    #[must_use]
    pub const fn set(class: MgmtClass, modifier: u32) -> Self {
        Self::new(class, Method::SET, modifier)
    }

    /// The request, with an attribute of zeros.
    ///
    /// The class header stays zero too: keys and routes are the caller's to fill in.
    #[must_use]
    pub fn request(&self, address: MadAddress) -> Mad {
        let mut mad = Mad::new(address);
        mad.header_mut()
            .set_base_version(1)
            .set_mgmt_class(self.class)
            .set_class_version(self.class.version())
            .set_method(self.method)
            .set_attribute_id(T::ID)
            .set_attribute_modifier(self.modifier);
        mad
    }

    /// The request, with this attribute.
    #[must_use]
    pub fn request_with(&self, address: MadAddress, attribute: &T) -> Mad {
        let mut mad = self.request(address);
        let room = mad.bytes.get_mut(self.class.data_offset()..);
        for (to, from) in room
            .unwrap_or_default()
            .iter_mut()
            .zip(attribute.as_bytes())
        {
            *to = *from;
        }
        mad
    }

    /// The attribute in an answer.
    ///
    /// # Errors
    /// [`Refused`](CallError::Refused) for another status than 0,
    /// [`NotTheAnswer`](CallError::NotTheAnswer) for a datagram of another class, attribute or kind.
    pub fn answer<'a>(&self, mad: &'a Mad) -> Result<&'a T, CallError> {
        let header = mad.header();
        let (class, attribute) = (header.mgmt_class(), header.attribute_id());
        let not_the_answer = CallError::NotTheAnswer {
            class,
            method: header.method(),
            attribute,
        };
        if (class, attribute) != (self.class, T::ID) || !header.method().is_response() {
            return Err(not_the_answer);
        }
        // In a directed route the top bit is the direction.
        let status = match class {
            MgmtClass::SUBN_DIRECTED => MadStatus(header.status().0 & 0x7fff),
            _ => header.status(),
        };
        if !status.is_ok() {
            return Err(CallError::Refused { status });
        }
        let data = mad.bytes.get(class.data_offset()..).unwrap_or_default();
        match T::ref_from_prefix(data) {
            Ok((attribute, _)) => Ok(attribute),
            Err(_) => Err(not_the_answer),
        }
    }

    const fn new(class: MgmtClass, method: Method, modifier: u32) -> Self {
        Self {
            class,
            method,
            modifier,
            attribute: PhantomData,
        }
    }
}

impl<T> Clone for Call<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Call<T> {}

impl<T: Attribute> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, method, name) = (self.class, self.method, T::LAYOUT.name);
        write!(f, "{class} {method}({name}, {:#x})", self.modifier)
    }
}

#[cfg(test)]
mod tests {
    use ib_wire::{Lid, Sl};

    use super::*;
    use crate::{ClassPortInfo, PortCounters};

    const ADDRESS: MadAddress = MadAddress::gsi(Lid(7), Sl::ZERO);

    #[test]
    fn a_set_carries_its_attribute_at_the_place_of_the_class() {
        let mut counters = PortCounters::default();
        counters.set_port_select(3);
        let call = Call::set(MgmtClass::PERF, 0);
        let mut mad = call.request_with(ADDRESS, &counters);
        assert_eq!(mad.bytes[64..108], counters.as_bytes()[..]);
        assert_eq!(mad.header().method(), Method::SET);
        mad.header_mut().set_method(Method::GET_RESP);
        assert_eq!(call.answer(&mad), Ok(&counters));
    }

    #[test]
    fn a_status_is_a_refusal() {
        let call = Call::<ClassPortInfo>::get(MgmtClass::SUBN_ADM, 0);
        let mut mad = call.request(ADDRESS);
        assert_eq!(mad.header().class_version(), 2);
        let status = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
        mad.header_mut()
            .set_method(Method::GET_RESP)
            .set_status(status);
        assert_eq!(call.answer(&mad), Err(CallError::Refused { status }));
    }

    #[test]
    fn another_attribute_or_a_request_is_not_the_answer() {
        let call = Call::<ClassPortInfo>::get(MgmtClass::PERF, 0);
        let request = call.request(ADDRESS);
        assert!(matches!(
            call.answer(&request),
            Err(CallError::NotTheAnswer { .. })
        ));
        let mut other = Call::<PortCounters>::get(MgmtClass::PERF, 0).request(ADDRESS);
        other.header_mut().set_method(Method::GET_RESP);
        assert!(matches!(
            call.answer(&other),
            Err(CallError::NotTheAnswer { .. })
        ));
    }
}

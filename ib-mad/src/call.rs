//! Typed calls: a request that knows the type of its answer.

use core::{fmt, marker::PhantomData};

use ib_wire::Gid;
use thiserror::Error;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::{Attribute, AttributeId, ClassPortInfo, Mad, MadAddress, MadStatus, Method, MgmtClass};
#[cfg(feature = "alloc")]
use crate::{FailureReason, Request, Response, RmppError};

/// A Get, Set or Send of the structure `T`: builds the request, and opens the answer as a `T`.
///
/// [`to`](Self::to) makes a [`Request`](crate::Request) of it, for a [`Client`](crate::Client). It may
/// also be the context of a request in a [`TransactionWindow`](crate::TransactionWindow): it comes back
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
    id: AttributeId,
    modifier: u32,
    /// First byte of the structure in the datagram.
    offset: usize,
    is_plausible: fn(&T) -> bool,
    structure: PhantomData<fn() -> T>,
}

/// Why a call has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CallError {
    /// The responder refused.
    #[error("refused with status {status}")]
    Refused {
        /// Status of the response.
        status: MadStatus,
    },
    /// The responder sends the asker to a port that only a path query can find the LID of.
    #[error("the responder redirects to {gid} and does not give its LID")]
    Redirected {
        /// Whom to ask.
        gid: Gid,
    },
    /// It is no answer to this call.
    #[error(
        "the response has class {class}, method {method} and attribute {attribute}, which does not answer the call"
    )]
    NotTheAnswer {
        /// Class of the datagram.
        class: MgmtClass,
        /// Method of the datagram.
        method: Method,
        /// Attribute of the datagram.
        attribute: AttributeId,
    },
    /// The class does not know this method for this attribute: nothing was sent.
    #[error("class {class} has no {method} of attribute {attribute}")]
    NotInClass {
        /// Class of the request.
        class: MgmtClass,
        /// Method of the request.
        method: Method,
        /// Attribute of the request.
        attribute: AttributeId,
    },
    /// Too many requests are open: nothing was sent.
    #[error("too many requests are open")]
    TooManyOpen,
    /// No attempt was answered.
    #[cfg(feature = "alloc")]
    #[error("{0}")]
    Unanswered(FailureReason),
    /// The transfer of a message of many segments broke off: by STOP, ABORT or a time-out.
    #[cfg(feature = "alloc")]
    #[error(transparent)]
    BrokenOff(#[from] RmppError),
}

impl<T: Attribute> Call<T> {
    /// A Get; the attribute says what `modifier` means.
    #[must_use]
    pub fn get(class: MgmtClass, modifier: u32) -> Self {
        Self::of_attribute(class, Method::GET, modifier)
    }

    /// A Set; the attribute says what `modifier` means. The values come with
    /// [`request_with`](Self::request_with).
    #[must_use]
    pub fn set(class: MgmtClass, modifier: u32) -> Self {
        Self::of_attribute(class, Method::SET, modifier)
    }

    fn of_attribute(class: MgmtClass, method: Method, modifier: u32) -> Self {
        Self {
            class,
            method,
            id: T::ID,
            modifier,
            offset: T::offset(class),
            is_plausible: T::is_plausible,
            structure: PhantomData,
        }
    }
}

impl<T> Call<T> {
    /// A Send that the responder answers with a Send, as baseboard management has it: attribute `id`
    /// is the command, one of many with the same structure.
    #[must_use]
    pub fn command(class: MgmtClass, id: AttributeId) -> Self {
        Self {
            class,
            method: Method::SEND,
            id,
            modifier: 0,
            offset: class.data_offset(),
            is_plausible: |_| true,
            structure: PhantomData,
        }
    }
}

impl<T> Call<T>
where
    T: FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned,
{
    /// The call to a port, with a structure of zeros.
    #[must_use]
    pub fn to(self, address: MadAddress) -> CallTo<T> {
        let mad = self.request(address);
        CallTo { call: self, mad }
    }

    /// The call to a port, with this structure.
    #[must_use]
    pub fn to_with(self, address: MadAddress, structure: &T) -> CallTo<T> {
        let mad = self.request_with(address, structure);
        CallTo { call: self, mad }
    }

    /// The request, with a structure of zeros.
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
            .set_attribute_id(self.id)
            .set_attribute_modifier(self.modifier);
        mad
    }

    /// The request, with this structure.
    #[must_use]
    pub fn request_with(&self, address: MadAddress, structure: &T) -> Mad {
        let mut mad = self.request(address);
        let room = mad.bytes.get_mut(self.offset..).unwrap_or_default();
        for (to, from) in room.iter_mut().zip(structure.as_bytes()) {
            *to = *from;
        }
        mad
    }

    /// The structure in an answer.
    ///
    /// # Errors
    /// [`Refused`](CallError::Refused) for another status than 0,
    /// [`Redirected`](CallError::Redirected) for the redirection that no LID comes with,
    /// [`NotTheAnswer`](CallError::NotTheAnswer) for a datagram of another class, attribute or kind.
    pub fn answer<'a>(&self, mad: &'a Mad) -> Result<&'a T, CallError> {
        let header = mad.header();
        let not_the_answer = CallError::NotTheAnswer {
            class: header.mgmt_class(),
            method: header.method(),
            attribute: header.attribute_id(),
        };
        let answers = match self.method {
            Method::SEND => header.method() == Method::SEND && header.attribute_modifier() == 1,
            _ => header.method().is_response(),
        };
        if !answers || (header.mgmt_class(), header.attribute_id()) != (self.class, self.id) {
            return Err(not_the_answer);
        }
        check_status(mad)?;
        let data = mad.bytes.get(self.offset..).unwrap_or_default();
        match T::ref_from_prefix(data) {
            Ok((structure, _)) if (self.is_plausible)(structure) => Ok(structure),
            _ => Err(not_the_answer),
        }
    }
}

/// Turns the status of a response into a result; in a directed route its top bit is the direction.
pub(crate) fn check_status(mad: &Mad) -> Result<(), CallError> {
    let header = mad.header();
    let class = header.mgmt_class();
    let status = match class {
        MgmtClass::SUBN_DIRECTED => MadStatus(header.status().0 & 0x7fff),
        _ => header.status(),
    };
    if status.is_ok() {
        return Ok(());
    }
    let data = mad.bytes.get(class.data_offset()..).unwrap_or_default();
    match ClassPortInfo::parse(data, class.data_offset()) {
        Ok((info, _))
            if status.is_redirect()
                && !info.redirect_lid().is_unicast()
                && info.redirect_gid() != Gid::default() =>
        {
            let gid = info.redirect_gid();
            Err(CallError::Redirected { gid })
        }
        _ => Err(CallError::Refused { status }),
    }
}

/// A [`Call`] and the datagram that carries it to a port.
pub struct CallTo<T> {
    call: Call<T>,
    /// The request, for what the class wants beside the attribute: keys and routes.
    pub mad: Mad,
}

#[cfg(feature = "alloc")]
impl<T> Request for CallTo<T>
where
    T: FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + Copy,
{
    type Output = T;
    type Error = CallError;

    fn mad(&self) -> Mad {
        self.mad
    }

    fn read(&self, response: Response) -> Result<T, CallError> {
        self.call.answer(response.first()).copied()
    }
}

impl<T> Clone for Call<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Call<T> {}

impl<T> Clone for CallTo<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for CallTo<T> {}

impl<T> fmt::Debug for Call<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, method, id) = (self.class, self.method, self.id);
        write!(f, "{class} {method}({id}, {:#x})", self.modifier)
    }
}

impl<T> fmt::Debug for CallTo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} to LID {}", self.call, self.mad.address.lid)
    }
}

#[cfg(test)]
mod tests;

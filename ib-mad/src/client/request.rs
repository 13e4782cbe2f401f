//! A request of a client, and its answer.

use bytes::Bytes;

use crate::{CallError, Mad, MadHeader, RequestOptions, RmppMessage, call::check_status};

/// A request that knows what goes out and how its answer reads.
///
/// [`CallTo`](crate::CallTo) is one of a single structure; a [`Mad`] is one without a type, whose
/// answer is the response as it came.
pub trait Request {
    /// Contents of a good answer.
    type Output;
    /// Error with which a call can end instead.
    type Error: From<CallError>;

    /// The datagram; of a request of many segments the headers. The client gives it a transaction ID.
    fn mad(&self) -> Mad;

    /// The data of a request that is itself a message of many segments, such as GetMulti.
    fn data(&self) -> Option<Bytes> {
        None
    }

    /// Time-out and repetitions, where they differ from the client's.
    fn options(&self) -> RequestOptions {
        RequestOptions::default()
    }

    /// Reads the answer.
    ///
    /// # Errors
    /// A refusal, and what does not answer this request.
    fn read(&self, response: Response) -> Result<Self::Output, Self::Error>;
}

/// An answer as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// One datagram.
    Single(Mad),
    /// A message that was put together from its segments.
    Multi(RmppMessage),
}

impl Response {
    /// The datagram, or the first segment: address, common header and class header.
    #[must_use]
    pub fn first(&self) -> &Mad {
        match self {
            Self::Single(mad) => mad,
            Self::Multi(message) => &message.first,
        }
    }

    /// The common header.
    #[must_use]
    pub fn header(&self) -> MadHeader {
        self.first().header()
    }

    /// The data of the class: of one datagram to its end, of a message all that was sent.
    #[must_use]
    pub fn data(&self) -> &[u8] {
        match self {
            Self::Single(mad) => {
                let at = mad.header().mgmt_class().data_offset();
                mad.bytes.get(at..).unwrap_or_default()
            }
            Self::Multi(message) => &message.data,
        }
    }

    /// The status as a result.
    ///
    /// # Errors
    /// [`Refused`](CallError::Refused) for another status than 0,
    /// [`Redirected`](CallError::Redirected) for the redirection that no LID comes with.
    pub fn check_status(&self) -> Result<(), CallError> {
        check_status(self.first())
    }
}

impl Request for Mad {
    type Output = Response;
    type Error = CallError;

    fn mad(&self) -> Mad {
        *self
    }

    fn read(&self, response: Response) -> Result<Response, CallError> {
        response.check_status()?;
        Ok(response)
    }
}

/// A request with a context that comes back with it.
impl<R: Request, C> Request for (R, C) {
    type Output = R::Output;
    type Error = R::Error;

    fn mad(&self) -> Mad {
        self.0.mad()
    }

    fn data(&self) -> Option<Bytes> {
        self.0.data()
    }

    fn options(&self) -> RequestOptions {
        self.0.options()
    }

    fn read(&self, response: Response) -> Result<R::Output, R::Error> {
        self.0.read(response)
    }
}

//! Queries: one record as a template, and the components of it that count (IBA vol. 1, 15.4).

use ib_mad::{Attribute, CallError, MadStatus, Method, SaStatus};
use ib_wire::ParseError;
use thiserror::Error;
use zerocopy::{Immutable, IntoBytes};

use crate::{ComponentMask, Record, SaMad};

/// Why a query has no good answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// Nothing matches.
    #[error("no record matches")]
    NoRecords,
    /// A Get matches more than one record; ask with GetTable.
    #[error("more than one record matches")]
    TooManyRecords,
    /// The SA refuses, for another reason.
    #[error("the SA answers with status {status}")]
    Refused {
        /// Status of the response.
        status: MadStatus,
    },
    /// The datagram is about another record than the one it is read as.
    #[error("the datagram has attribute {found}, expected {expected}")]
    OtherAttribute {
        /// The attribute found.
        found: ib_mad::AttributeId,
        /// The attribute ID of the record.
        expected: ib_mad::AttributeId,
    },
    /// No answer came, or another than was asked for.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The record does not fit into one datagram.
    #[error(transparent)]
    Parse(#[from] ParseError),
    /// Records of a table are nearer to each other than they are long.
    #[error("records are {found} bytes apart, but a {record} has {needed} bytes")]
    AttributeOffset {
        /// Name of the record.
        record: &'static str,
        /// AttributeOffset in bytes.
        found: usize,
        /// Length of the record.
        needed: usize,
    },
    /// More records, or longer ones, than the fields of a request can count.
    #[error("{found} {what}, expected at most {most}")]
    TooMany {
        /// The item of which there are too many.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Largest number allowed.
        most: usize,
    },
}

impl QueryError {
    /// The error that the status of a response reports; `None` for success.
    #[must_use]
    pub const fn of(status: MadStatus) -> Option<Self> {
        match (status.0, status.sa()) {
            (0, _) => None,
            (_, SaStatus::NO_RECORDS) => Some(Self::NoRecords),
            (_, SaStatus::TOO_MANY_RECORDS) => Some(Self::TooManyRecords),
            _ => Some(Self::Refused { status }),
        }
    }
}

impl SaMad {
    /// A request with a template: Get, GetTable, Set or Delete.
    ///
    /// ```
    /// use ib_mad::Method;
    /// use ib_sa::{PathComponents, PathRecord, SaMad};
    /// use ib_wire::Lid;
    ///
    /// let mut template = PathRecord::default();
    /// template.set_slid(Lid(1)).set_dlid(Lid(9));
    /// let mask = PathComponents::SLID | PathComponents::DLID;
    /// let request = SaMad::query(Method::GET, &template, mask);
    /// assert_eq!(request.component_mask().0, 0x30);
    /// assert_eq!(request.template::<PathRecord>()?.dlid(), Lid(9));
    /// # Ok::<(), ib_sa::QueryError>(())
    /// ```
    #[must_use]
    pub fn query<R: Record>(
        method: Method,
        template: &R,
        components: impl Into<ComponentMask>,
    ) -> Self {
        let mut mad = Self::new(method, R::ID);
        mad.set_component_mask(components.into());
        mad.set_attribute(template);
        mad
    }

    /// The response with one record, or another attribute, to this request: to Get, Set and Delete.
    #[must_use]
    pub fn answer<T>(&self, attribute: &T) -> Self
    where
        T: Attribute + IntoBytes + Immutable,
    {
        let mut response = self.refuse(MadStatus::OK);
        response.set_attribute(attribute);
        response
    }

    /// The response without a record to this request, for the reason of the status.
    #[must_use]
    pub fn refuse(&self, status: MadStatus) -> Self {
        let mut response = Self::new(response_method(self.method()), self.attribute_id());
        response
            .set_status(status)
            .set_transaction_id(self.transaction_id())
            .set_attribute_modifier(self.attribute_modifier())
            .set_component_mask(self.component_mask());
        response
    }

    /// The record of a request: compare with [`Record::matches`] under the datagram's
    /// [`component_mask`](Self::component_mask).
    ///
    /// # Errors
    /// [`QueryError::OtherAttribute`] if the datagram is about another record.
    pub fn template<R: Record>(&self) -> Result<&R, QueryError> {
        if self.attribute_id() != R::ID {
            return Err(QueryError::OtherAttribute {
                found: self.attribute_id(),
                expected: R::ID,
            });
        }
        match R::ref_from_prefix(self.data()) {
            Ok((record, _)) => Ok(record),
            Err(_) => Err(QueryError::Parse(ParseError::Truncated {
                at: ib_wire::At::new(<R as Attribute>::LAYOUT.name, Self::DATA_OFFSET),
                needed: <R as Attribute>::LAYOUT.len,
                left: self.data().len(),
            })),
        }
    }

    /// The record of a response to Get, Set or Delete.
    ///
    /// # Errors
    /// The error of the status, or [`QueryError::OtherAttribute`].
    pub fn single<R: Record>(&self) -> Result<&R, QueryError> {
        match QueryError::of(self.status()) {
            Some(refused) => Err(refused),
            None => self.template(),
        }
    }
}

/// The method that answers another; GetTraceTable shares GetTable's.
const fn response_method(request: Method) -> Method {
    match request {
        Method::GET | Method::SET => Method::GET_RESP,
        Method::GET_TRACE_TABLE => Method::GET_TABLE_RESP,
        Method(method) => Method(method | 0x80),
    }
}

#[cfg(test)]
mod tests {
    use ib_mad::{AttributeId, TransactionId};
    use ib_wire::Lid;

    use super::*;
    use crate::{LinkRecord, NodeComponents, NodeRecord};
    use ib_mad::SmKey;

    #[test]
    fn an_answer_belongs_to_its_request() {
        let mut template = NodeRecord::default();
        template.set_lid(Lid(4));
        let mut request = SaMad::query(Method::GET, &template, NodeComponents::LID);
        request
            .set_transaction_id(TransactionId(77))
            .set_sm_key(SmKey(5));
        let response = request.answer(&template);
        assert_eq!(response.method(), Method::GET_RESP);
        assert_eq!(response.transaction_id(), TransactionId(77));
        assert_eq!(response.sm_key(), SmKey(0), "the key is nobody's business");
        assert_eq!(response.single::<NodeRecord>(), Ok(&template));
        let other = QueryError::OtherAttribute {
            found: AttributeId(0x11),
            expected: AttributeId(0x20),
        };
        assert_eq!(response.single::<LinkRecord>(), Err(other));
    }

    #[test]
    fn the_status_says_why_there_is_no_record() {
        let request = SaMad::query(Method::GET, &NodeRecord::default(), NodeComponents::LID);
        for (status, error) in [
            (0x0300, QueryError::NoRecords),
            (0x0400, QueryError::TooManyRecords),
            (
                0x0600,
                QueryError::Refused {
                    status: MadStatus(0x0600),
                },
            ),
            (
                0x000c,
                QueryError::Refused {
                    status: MadStatus(0x000c),
                },
            ),
            (
                0x0001,
                QueryError::Refused {
                    status: MadStatus(0x0001),
                },
            ),
        ] {
            let response = request.refuse(MadStatus(status));
            assert_eq!(response.single::<NodeRecord>(), Err(error));
        }
    }

    #[test]
    fn each_method_has_its_answer() {
        for (request, response) in [
            (Method::GET, Method::GET_RESP),
            (Method::SET, Method::GET_RESP),
            (Method::DELETE, Method::DELETE_RESP),
            (Method::GET_TABLE, Method::GET_TABLE_RESP),
            (Method::GET_TRACE_TABLE, Method::GET_TABLE_RESP),
            (Method::GET_MULTI, Method::GET_MULTI_RESP),
            (Method::REPORT, Method::REPORT_RESP),
        ] {
            let mad = SaMad::new(request, AttributeId(1));
            assert_eq!(mad.refuse(MadStatus::OK).method(), response);
        }
    }
}

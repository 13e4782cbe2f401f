//! The subnet administrator: answers questions about the subnet (IBA vol. 1, 15.4).
//!
//! A query is one record as a template and a mask of the components that count. Get wants exactly
//! one record, GetTable any number, as one message of many segments. Answers come from what the last
//! sweep found; while none has ended, a requester is told to come again.

mod path;
mod records;

use alloc::{collections::BTreeMap, vec::Vec};

use ib_mad::{
    Attribute, Instant, Mad, MadAddress, MadStatus, Method, RmppConfig, RmppSender, SaStatus,
    TransactionId,
};
use ib_sa::{
    LinearForwardingTableRecord, LinkRecord, NodeRecord, PathRecord, PortInfoRecord, Record, SaMad,
    SmInfoRecord, SwitchInfoRecord, pack_table,
};
use ib_smp::SmInfo;
use ib_wire::{Lid, QKey};

use crate::{
    SmConfig,
    subnet::{PortRef, Subnet},
    sweep::Plan,
};

/// Answers of many segments at once; beyond, requesters are told to come again.
const MAX_TRANSFERS: usize = 64;

/// What the administrator answers from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    pub(crate) config: &'a SmConfig,
    pub(crate) subnet: &'a Subnet,
    pub(crate) plan: &'a Plan,
    pub(crate) own_port: PortRef,
    pub(crate) own: SmInfo,
    pub(crate) others: &'a [(PortRef, SmInfo)],
}

/// The transfers of a subnet administrator.
#[derive(Debug, Default)]
pub(crate) struct SubnetAdministrator {
    transfers: BTreeMap<(Lid, TransactionId), RmppSender>,
}

impl SubnetAdministrator {
    /// Answers a request. `None` if the answer goes out in segments, or there is none.
    pub(crate) fn handle_request(&mut self, view: Option<View<'_>>, mad: &Mad) -> Option<Mad> {
        let (request, _) = SaMad::parse(&mad.bytes, 0).ok()?;
        let Some(view) = view else {
            return Some(reply(mad, &request.refuse(MadStatus::BUSY)));
        };
        match request.attribute_id() {
            NodeRecord::ID => self.records(mad, request, records::nodes(view)),
            PortInfoRecord::ID => {
                let modifier = request.attribute_modifier();
                self.chosen(mad, request, records::ports(view), |record, template| {
                    record.matches_query(template, request.component_mask(), modifier)
                })
            }
            SwitchInfoRecord::ID => self.records(mad, request, records::switches(view)),
            LinkRecord::ID => self.records(mad, request, records::links(view)),
            LinearForwardingTableRecord::ID => {
                self.records(mad, request, records::forwarding_tables(view))
            }
            SmInfoRecord::ID => self.records(mad, request, records::managers(view)),
            PathRecord::ID => match request.template::<PathRecord>() {
                Ok(template) => match path::paths(view, template, request.component_mask()) {
                    Ok(paths) => self.chosen(mad, request, paths, |_, _| true),
                    Err(status) => Some(reply(mad, &request.refuse(MadStatus::from_sa(status)))),
                },
                Err(_) => None,
            },
            _ => {
                let status = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
                Some(reply(mad, &request.refuse(status)))
            }
        }
    }

    /// Takes in an acknowledgement or another message about a transfer. Returns whether it is one.
    pub(crate) fn handle_transfer(&mut self, now: Instant, mad: &Mad) -> bool {
        let key = (mad.address.lid, mad.header().transaction_id());
        let Some(sender) = self.transfers.get_mut(&key) else {
            return false;
        };
        sender.handle_mad(now, mad);
        true
    }

    pub(crate) fn handle_timeout(&mut self, now: Instant) {
        for sender in self.transfers.values_mut() {
            sender.handle_timeout(now);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        let transfers = self.transfers.values();
        transfers.filter_map(RmppSender::poll_timeout).min()
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<Mad> {
        let segments = self.transfers.values_mut();
        let segment = segments
            .filter_map(|sender| sender.poll_transmit(now))
            .next();
        if segment.is_none() {
            self.transfers
                .retain(|_, sender| sender.outcome().is_none());
        }
        segment
    }

    fn records<R: Record>(&mut self, mad: &Mad, request: &SaMad, all: Vec<R>) -> Option<Mad> {
        self.chosen(mad, request, all, |record, template| {
            record.matches(template, request.component_mask())
        })
    }

    fn chosen<R: Record>(
        &mut self,
        mad: &Mad,
        request: &SaMad,
        mut all: Vec<R>,
        matches: impl Fn(&R, &R) -> bool,
    ) -> Option<Mad> {
        let template = *request.template::<R>().ok()?;
        all.retain(|record| matches(record, &template));
        match (request.method(), all.as_slice()) {
            (Method::GET, [record]) => Some(reply(mad, &request.answer(record))),
            (Method::GET, []) => Some(reply(
                mad,
                &request.refuse(MadStatus::from_sa(SaStatus::NO_RECORDS)),
            )),
            (Method::GET, _) => {
                let status = MadStatus::from_sa(SaStatus::TOO_MANY_RECORDS);
                Some(reply(mad, &request.refuse(status)))
            }
            (Method::GET_TABLE, records) => self.send_table(mad, request, records),
            _ => {
                let status = MadStatus::UNSUPPORTED_METHOD_ATTRIBUTE;
                Some(reply(mad, &request.refuse(status)))
            }
        }
    }

    fn send_table<R: Record>(&mut self, mad: &Mad, request: &SaMad, records: &[R]) -> Option<Mad> {
        let key = (mad.address.lid, mad.header().transaction_id());
        if self.transfers.contains_key(&key) {
            // The request was repeated while its answer is on the way.
            return None;
        }
        if self.transfers.len() >= MAX_TRANSFERS {
            return Some(reply(mad, &request.refuse(MadStatus::BUSY)));
        }
        let table = pack_table(records);
        let mut headers = request.refuse(MadStatus::OK);
        headers.set_attribute_offset(table.attribute_offset);
        let template = reply(mad, &headers);
        match RmppSender::new(RmppConfig::default(), &template, table.data) {
            Ok(sender) => {
                self.transfers.insert(key, sender);
                None
            }
            Err(_) => {
                let status = MadStatus::from_sa(SaStatus::NO_RESOURCES);
                Some(reply(mad, &request.refuse(status)))
            }
        }
    }
}

/// A response on its way back to who asked.
fn reply(request: &Mad, response: &SaMad) -> Mad {
    Mad {
        address: MadAddress {
            qkey: QKey::GSI,
            ..request.address
        },
        bytes: *response.as_bytes(),
    }
}

//! Requests to the administrator.

use alloc::{format, vec::Vec};

use ib_mad::{
    Attribute, Client, ClientConfig, ClientEvent, Engine as _, Input, Mad, MadAddress, MadStatus,
    Method,
};
use ib_sa::{ComponentMask, QueryError, Record, SaMad, TableCall};
use ib_smp::PortInfo;
use ib_wire::{Gid, GidPrefix, Guid, Lid};

use super::segments::{NO_SEGMENTS, rmpp};
use crate::conform::bench::{Bench, Stop, ensure, fail, skip};

/// Returns true if a datagram is the beginning of a table, cut after it, without the number of a segment.
fn is_cut(mad: &Mad) -> bool {
    mad.header().method() == Method::GET_TABLE_RESP
        && mad.header().status().is_ok()
        && rmpp(mad).is_ok_and(|header| header.data1() == 0)
}

impl Bench<'_> {
    /// The address of the administrator, from PortInfo of our port.
    pub(super) fn administrator(&mut self) -> Result<MadAddress, Stop> {
        let own = self.own_info()?;
        match own.master_sm_lid() {
            Lid::NONE => skip("our port has no MasterSMLID: bring the subnet up first"),
            lid => Ok(MadAddress::gsi(lid, own.master_sm_sl())),
        }
    }

    /// GID of the port that the case sends from.
    pub(super) fn own_gid(&mut self) -> Result<Gid, Stop> {
        let prefix = self.own_info()?.gid_prefix();
        let own = self.subnet.own_port.and_then(|own| self.subnet.port(own));
        Ok(Gid::new(prefix, own.map_or(Guid::NONE, |port| port.guid)))
    }

    /// LID, PortInfo and GID of the tested channel adapter.
    pub(super) fn other_end(&mut self) -> Result<(Gid, PortInfo), Stop> {
        let edge = self.edge()?;
        let info = self.port_info(edge.ca)?;
        let node: ib_smp::NodeInfo = self.get(&edge.ca.path, 0)?;
        let prefix: GidPrefix = info.gid_prefix();
        Ok((Gid::new(prefix, node.port_guid()), info))
    }

    /// Sends a request and returns its answer.
    pub(super) fn sa_answer(&mut self, request: &SaMad) -> Result<SaMad, Stop> {
        let mad = self.sa_mad(request)?;
        let answer = self.answer(&mad)?;
        match SaMad::parse(&answer.bytes, 0) {
            Ok((answer, _)) => Ok(*answer),
            Err(error) => fail(format!("{error}")),
        }
    }

    pub(super) fn sa_mad(&mut self, request: &SaMad) -> Result<Mad, Stop> {
        Ok(request.to(self.administrator()?))
    }

    /// Requests one record; returns the status if there is none.
    pub(super) fn record<R: Record>(
        &mut self,
        method: Method,
        template: &R,
        mask: impl Into<ComponentMask>,
    ) -> Result<Result<R, MadStatus>, Stop> {
        let request = SaMad::query(method, template, mask.into());
        let answer = self.sa_answer(&request)?;
        let status = answer.status();
        if !status.is_ok() {
            return Ok(Err(status));
        }
        match R::read_from_prefix(answer.data()) {
            Ok((record, _)) => Ok(Ok(record)),
            Err(_) => fail("the answer has no room for the record"),
        }
    }

    /// As [`record`](Self::record), but a refusal violates the rule.
    pub(super) fn good<R: Record>(
        &mut self,
        method: Method,
        template: &R,
        mask: impl Into<ComponentMask>,
    ) -> Result<R, Stop> {
        match self.record(method, template, mask)? {
            Ok(record) => Ok(record),
            Err(status) => fail(format!(
                "{method}({}): status {status}",
                <R as Attribute>::LAYOUT.name
            )),
        }
    }

    /// Requests the table of the records that match.
    pub(super) fn table<R: Record>(
        &mut self,
        template: &R,
        mask: impl Into<ComponentMask>,
    ) -> Result<Vec<R>, Stop> {
        match self.table_or_error(template, mask)? {
            Ok(records) => Ok(records),
            Err(error) => fail(format!(
                "GetTable({}): {error}",
                <R as Attribute>::LAYOUT.name
            )),
        }
    }

    /// Requests the table; returns the status if it is refused. No answer violates the rule.
    pub(super) fn table_or_error<R: Record>(
        &mut self,
        template: &R,
        mask: impl Into<ComponentMask>,
    ) -> Result<Result<Vec<R>, QueryError>, Stop> {
        let address = self.administrator()?;
        let mut config = ClientConfig::default();
        config.window.timeout = self.options.timeout.saturating_mul(2);
        config.window.retries = 0;
        config.window.first_transaction_id = self.transaction();
        let mut client = Client::new(config);
        let asked = client.ask(TableCall::get(address, template, mask.into()));
        ensure!(asked.is_ok(), "the request cannot be sent");
        let deadline = self.after(self.options.patience);
        loop {
            let now = self.now();
            while let Some(mad) = client.poll_transmit(now) {
                self.send(&mad)?;
            }
            if let Some(event) = client.poll_event() {
                if let ClientEvent::Ended { outcome, .. } = event {
                    return match outcome {
                        Err(QueryError::Call(error)) => fail(format!("no table: {error}")),
                        outcome => Ok(outcome),
                    };
                }
                continue;
            }
            ensure!(now < deadline, "the table does not end");
            let wake = client.poll_timeout().unwrap_or(deadline).min(deadline);
            match self.wait(wake, |mad| {
                mad.header().mgmt_class() == ib_mad::MgmtClass::SUBN_ADM
            })? {
                Some(mad) if is_cut(&mad) => return skip(NO_SEGMENTS),
                Some(mad) => client.handle_input(self.now(), Input::Mad(&mad)),
                None => client.handle_timeout(self.now()),
            }
        }
    }

    /// Judges the status with which the administrator refuses a request for one record.
    pub(super) fn refused_with<R: Record>(
        &mut self,
        method: Method,
        template: &R,
        mask: impl Into<ComponentMask>,
        expected: &[u16],
    ) -> Result<(), Stop> {
        match self.record(method, template, mask)? {
            Ok(_) => fail(format!(
                "the request is carried out, expected status {expected:#06x?}"
            )),
            Err(status) => {
                ensure!(
                    expected.contains(&status.0),
                    "status {status}, expected {expected:#06x?}"
                );
                Ok(())
            }
        }
    }
}

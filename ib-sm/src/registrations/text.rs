//! The text form: OpenSM's `opensm-sa.dump`.
//!
//! One thing a line, blank lines between; a line is a kind and `key=value` pairs, 128-bit values as two halves
//! with a colon between. A member belongs to the group above it. A lease is given by when it was taken, in
//! seconds of the Unix epoch, and how long it was then.

use alloc::{format, string::String};
use core::fmt::Write as _;

use ib_mad::{InformInfo, MadAddress, RespTime};
use ib_sa::{GuidInfoRecord, InformInfoRecord, JoinState, McMemberRecord, Selector, ServiceRecord};
use ib_smp::GuidInfo;
use ib_wire::{
    Gid, Guid, Lid, Mtu, MulticastScope, PKey, QKey, Qpn, Rate, Sl, addr, table::Text,
    text::TextError,
};

use super::{GroupRegistration, GuidRegistration, Registrations, SubscriptionRegistration};

/// A lease of so many seconds never ends.
const FOR_EVER: u32 = u32::MAX;

impl Registrations {
    /// The text; `unix_seconds` is the time of day, for leases.
    #[must_use]
    pub fn to_text(&self, unix_seconds: u64) -> String {
        let mut out = String::new();
        for block in &self.guids {
            guid_line(&mut out, block);
        }
        for group in &self.groups {
            group_lines(&mut out, group);
        }
        for subscription in &self.subscriptions {
            inform_line(&mut out, subscription);
        }
        for service in &self.services {
            service_line(&mut out, service, unix_seconds);
        }
        out
    }

    /// Reads the text; `unix_seconds` is the time of day: what has run out is left out.
    ///
    /// Lines of other kinds and keys that are not known are passed over, as OpenSM does.
    ///
    /// # Errors
    /// [`TextError`] at the first line that lacks a key or the number after it, or that is a member without
    /// a group.
    pub fn parse(text: &str, unix_seconds: u64) -> Result<Self, TextError> {
        let mut all = Self::default();
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            let fields = Fields { line, content };
            if content.starts_with("MC Group") {
                all.groups.push(fields.group()?);
            } else if content.starts_with("mcm_port") {
                let group = all.groups.last_mut();
                let group = group.ok_or_else(|| fields.expected("a group above its members"))?;
                let member = fields.member(&group.group)?;
                group.members.push(member);
            } else if content.starts_with("Service Record:") {
                all.services.extend(fields.service(unix_seconds)?);
            } else if content.starts_with("InformInfo Record:") {
                all.subscriptions.push(fields.subscription()?);
            } else if content.starts_with("GUIDInfo Record:") {
                all.guids.push(fields.guids()?);
            }
        }
        Ok(all)
    }
}

fn guid_line(out: &mut String, block: &GuidRegistration) {
    let (Lid(lid), number) = (block.record.lid(), block.record.block_num());
    let _ = write!(
        out,
        "GUIDInfo Record: base_guid={} lid=0x{lid:04x} block_num=0x{number:x}",
        block.port_guid
    );
    for entry in 0..GuidInfo::ENTRIES {
        let guid = block.record.guid_info().guid_block(entry.into());
        let _ = write!(out, " guid{entry}={}", guid.unwrap_or(Guid::NONE));
    }
    out.push_str("\n\n");
}

fn group_lines(out: &mut String, group: &GroupRegistration) {
    let record = &group.group;
    let (Lid(mlid), QKey(q_key), PKey(p_key)) = (record.mlid(), record.q_key(), record.p_key());
    let selected = |selector: Selector, value: u8| (selector.0 & 3) << 6 | value & 0x3f;
    let sl_flow_hop = u32::from(record.sl().bits()) << 28
        | (record.flow_label() & 0xf_ffff) << 8
        | u32::from(record.hop_limit());
    let _ = writeln!(
        out,
        "MC Group 0x{mlid:04x} {}: mgid={} port_gid={} qkey=0x{q_key:08x} mlid=0x{mlid:04x} \
         mtu=0x{:02x} tclass=0x{:02x} pkey=0x{p_key:04x} rate=0x{:02x} pkt_life=0x{:02x} \
         sl_flow_hop=0x{sl_flow_hop:08x} scope_state=0x{:02x} proxy_join=0x{:x}\n",
        if group.well_known {
            " (well known)"
        } else {
            ""
        },
        halves(record.mgid().bits()),
        halves(record.port_gid().bits()),
        selected(record.mtu_selector(), record.mtu().0),
        record.tclass(),
        selected(record.rate_selector(), record.rate().0),
        selected(
            record.packet_life_time_selector(),
            record.packet_life_time()
        ),
        scope_state(record),
        u8::from(record.proxy_join()),
    );
    for member in &group.members {
        let _ = writeln!(
            out,
            "mcm_port: port_gid={} scope_state=0x{:02x} proxy_join=0x{:x}\n",
            halves(member.port_gid().bits()),
            scope_state(member),
            u8::from(member.proxy_join()),
        );
    }
}

fn scope_state(record: &McMemberRecord) -> u8 {
    record.scope().0 << 4 | record.join_state().bits() & 0xf
}

fn inform_line(out: &mut String, subscription: &SubscriptionRegistration) {
    let record = &subscription.record;
    let info = record.inform_info();
    let address = &subscription.address;
    let qpn_resp_time = info.qpn().bits() << 8 | u32::from(info.resp_time_value().bits());
    let (Lid(begin), Lid(end), Lid(lid)) =
        (info.lid_range_begin(), info.lid_range_end(), address.lid);
    let _ = writeln!(
        out,
        "InformInfo Record: subscriber_gid={} subscriber_enum=0x{:x} InformInfo: gid={} \
         lid_range_begin=0x{begin:x} lid_range_end=0x{end:x} is_generic=0x{:x} subscribe=0x{:x} \
         trap_type=0x{:x} trap_num=0x{:x} qpn_resp_time_val=0x{qpn_resp_time:x} \
         node_type=0x{:06x} rep_addr: lid=0x{lid:04x} path_bits=0x{:02x} static_rate=0x00 \
         remote_qp=0x{:08x} remote_qkey=0x{:08x} pkey_ix=0x{:04x} sl=0x{:02x}\n",
        halves(record.subscriber_gid().bits()),
        record.enumeration(),
        halves(info.gid().bits()),
        info.is_generic(),
        info.subscribe(),
        info.type_(),
        info.trap_number(),
        info.producer_type(),
        address.path_bits,
        address.qpn.bits(),
        address.qkey.0,
        address.pkey_index,
        address.sl.bits(),
    );
}

fn service_line(out: &mut String, record: &ServiceRecord, unix_seconds: u64) {
    let PKey(p_key) = record.service_p_key();
    let lease = record.service_lease();
    let data8 = (0..16).fold(0_u128, |all, index| {
        all << 8 | u128::from(record.service_data8(index).unwrap_or(0))
    });
    let data16 = (0..8).fold(0_u128, |all, index| {
        all << 16 | u128::from(record.service_data16(index).unwrap_or(0))
    });
    let data32 = (0..4).fold(0_u128, |all, index| {
        all << 32 | u128::from(record.service_data32(index).unwrap_or(0))
    });
    let data64 = (0..2).fold(0_u128, |all, index| {
        all << 64 | u128::from(record.service_data64(index).unwrap_or(0))
    });
    // A name with an end of line in it would be two lines.
    let name = format!("{}", record.service_name()).replace(char::is_control, " ");
    let _ = writeln!(
        out,
        "Service Record: id=0x{:016x} gid={} pkey=0x{p_key:x} lease=0x{lease:x} key={} \
         name='{name}' data8={} data16={} data32={} data64={} modified_time=0x{:x} \
         lease_period=0x{lease:x}\n",
        record.service_id(),
        halves(record.service_gid().bits()),
        halves(u128::from_be_bytes(*record.service_key())),
        halves(data8),
        halves(data16),
        halves(data32),
        halves(data64),
        unix_seconds as u32,
    );
}

/// A 128-bit value as the file has it.
fn halves(bits: u128) -> String {
    format!("0x{:016x}:0x{:016x}", bits >> 64, bits as u64)
}

/// One line.
#[derive(Clone, Copy)]
struct Fields<'a> {
    line: usize,
    content: &'a str,
}

impl<'a> Fields<'a> {
    fn expected(self, expected: &'static str) -> TextError {
        TextError::new(self.line, self.content, expected)
    }

    /// The text after `key`, which begins with a blank and ends with `=`.
    fn text(self, key: &'static str) -> Result<&'a str, TextError> {
        let at = self.content.split_once(key);
        at.map(|(_, rest)| rest).ok_or_else(|| self.expected(key))
    }

    fn number<T: TryFrom<u64>>(self, key: &'static str) -> Result<T, TextError> {
        let word = self.text(key)?.split_whitespace().next();
        let number = word.and_then(hexadecimal);
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.expected(key))
    }

    fn bits128(self, key: &'static str) -> Result<u128, TextError> {
        let word = self.text(key)?.split_whitespace().next();
        let halves = word.and_then(|word| word.split_once(':'));
        let bits = halves.and_then(|(high, low)| {
            let (high, low) = (hexadecimal(high)?, hexadecimal(low)?);
            Some(u128::from(high) << 64 | u128::from(low))
        });
        bits.ok_or_else(|| self.expected(key))
    }

    fn gid(self, key: &'static str) -> Result<Gid, TextError> {
        self.bits128(key).map(|bits| Gid(bits.to_be_bytes()))
    }

    fn group(self) -> Result<GroupRegistration, TextError> {
        let selector = |byte: u8| Selector(byte >> 6);
        let (mtu, rate, life): (u8, u8, u8) = (
            self.number(" mtu=")?,
            self.number(" rate=")?,
            self.number(" pkt_life=")?,
        );
        let sl_flow_hop: u32 = self.number(" sl_flow_hop=")?;
        let [.., hop_limit] = sl_flow_hop.to_be_bytes();
        let sl = Sl::try_new((sl_flow_hop >> 28) as u8).unwrap_or(Sl::ZERO);
        let mlid = Lid(self.number(" mlid=")?);
        if !mlid.is_multicast() {
            return Err(self.expected("a multicast LID after ` mlid=`"));
        }
        let mut group = McMemberRecord::default();
        group
            .set_mgid(self.gid(" mgid=")?)
            .set_port_gid(self.gid(" port_gid=")?)
            .set_q_key(QKey(self.number(" qkey=")?))
            .set_mlid(mlid)
            .set_mtu_selector(selector(mtu))
            .set_mtu(Mtu(mtu & 0x3f))
            .set_tclass(self.number(" tclass=")?)
            .set_p_key(PKey(self.number(" pkey=")?))
            .set_rate_selector(selector(rate))
            .set_rate(Rate(rate & 0x3f))
            .set_packet_life_time_selector(selector(life))
            .set_packet_life_time(life & 0x3f)
            .set_sl(sl)
            .set_flow_label(sl_flow_hop >> 8 & 0xf_ffff)
            .set_hop_limit(hop_limit);
        self.scope_state(&mut group)?;
        let (head, _) = self.content.split_once(" mgid=").unwrap_or_default();
        Ok(GroupRegistration {
            group,
            well_known: head.contains("(well known)"),
            members: alloc::vec::Vec::new(),
        })
    }

    fn member(self, group: &McMemberRecord) -> Result<McMemberRecord, TextError> {
        let mut member = *group;
        member.set_port_gid(self.gid(" port_gid=")?);
        self.scope_state(&mut member)?;
        Ok(member)
    }

    fn scope_state(self, record: &mut McMemberRecord) -> Result<(), TextError> {
        let scope_state: u8 = self.number(" scope_state=")?;
        let proxy_join: u8 = self.number(" proxy_join=")?;
        record
            .set_scope(MulticastScope(scope_state >> 4))
            .set_join_state(JoinState::from_bits_retain(scope_state & 0xf))
            .set_proxy_join(proxy_join != 0);
        Ok(())
    }

    /// `None` if its lease has run out.
    fn service(self, unix_seconds: u64) -> Result<Option<ServiceRecord>, TextError> {
        let lease: u32 = self.number(" lease_period=")?;
        let taken: u64 = self.number(" modified_time=")?;
        // The clock may have been set back.
        let passed = unix_seconds.saturating_sub(taken);
        let left = match lease {
            FOR_EVER => FOR_EVER,
            lease => u32::try_from(u64::from(lease).saturating_sub(passed)).unwrap_or(0),
        };
        let name = self.text(" name='")?;
        let (name, _) = name
            .rsplit_once("' data8=")
            .ok_or_else(|| self.expected("`'` after the name"))?;
        let [data8, data16, data32, data64] = [
            self.bits128(" data8=")?,
            self.bits128(" data16=")?,
            self.bits128(" data32=")?,
            self.bits128(" data64=")?,
        ];
        let mut record = ServiceRecord::default();
        record
            .set_service_id(self.number(" id=")?)
            .set_service_gid(self.gid(" gid=")?)
            .set_service_p_key(PKey(self.number(" pkey=")?))
            .set_service_lease(left)
            .set_service_key(&self.bits128(" key=")?.to_be_bytes())
            .set_service_name(&Text::new(name));
        for (index, byte) in data8.to_be_bytes().into_iter().enumerate() {
            let _ = record.set_service_data8(index, byte);
        }
        for index in 0..8_usize {
            let shift = 112_u32.saturating_sub(16_u32.saturating_mul(index as u32));
            let _ = record.set_service_data16(index, (data16 >> shift) as u16);
        }
        for index in 0..4_usize {
            let shift = 96_u32.saturating_sub(32_u32.saturating_mul(index as u32));
            let _ = record.set_service_data32(index, (data32 >> shift) as u32);
        }
        let _ = record.set_service_data64(0, (data64 >> 64) as u64);
        let _ = record.set_service_data64(1, data64 as u64);
        Ok((left > 0).then_some(record))
    }

    fn subscription(self) -> Result<SubscriptionRegistration, TextError> {
        let qpn_resp_time: u32 = self.number(" qpn_resp_time_val=")?;
        let qpn = |bits: u32| Qpn::try_new(bits).map_err(|_| self.expected("a queue pair"));
        let mut info = InformInfo::default();
        info.set_gid(self.gid(" gid=")?)
            .set_lid_range_begin(Lid(self.number(" lid_range_begin=")?))
            .set_lid_range_end(Lid(self.number(" lid_range_end=")?))
            .set_is_generic(self.number(" is_generic=")?)
            .set_subscribe(self.number(" subscribe=")?)
            .set_type(self.number(" trap_type=")?)
            .set_trap_number(self.number(" trap_num=")?)
            .set_qpn(qpn(qpn_resp_time >> 8)?)
            .set_resp_time_value(RespTime::from_bits((qpn_resp_time & 0x1f) as u8))
            .set_producer_type(self.number(" node_type=")?);
        let mut record = InformInfoRecord::default();
        record
            .set_subscriber_gid(self.gid(" subscriber_gid=")?)
            .set_enumeration(self.number(" subscriber_enum=")?)
            .set_inform_info(&info);
        let lid = Lid(self.number(" rep_addr: lid=")?);
        let sl = Sl::try_new(self.number(" sl=")?);
        let mut address = MadAddress::gsi(lid, sl.map_err(|_| self.expected("a service level"))?);
        address.path_bits = self.number(" path_bits=")?;
        address.qpn = qpn(self.number(" remote_qp=")?)?;
        address.qkey = QKey(self.number(" remote_qkey=")?);
        address.pkey_index = self.number(" pkey_ix=")?;
        Ok(SubscriptionRegistration { record, address })
    }

    fn guids(self) -> Result<GuidRegistration, TextError> {
        const KEYS: [&str; 8] = [
            " guid0=", " guid1=", " guid2=", " guid3=", " guid4=", " guid5=", " guid6=", " guid7=",
        ];
        let mut guids = GuidInfo::default();
        for (entry, key) in KEYS.into_iter().enumerate() {
            let _ = guids.set_guid_block(entry, Guid(self.number(key)?));
        }
        let mut record = GuidInfoRecord::default();
        record
            .set_lid(Lid(self.number(" lid=")?))
            .set_block_num(self.number(" block_num=")?)
            .set_guid_info(&guids);
        Ok(GuidRegistration {
            port_guid: Guid(self.number(" base_guid=")?),
            record,
        })
    }
}

fn hexadecimal(word: &str) -> Option<u64> {
    let is_hexadecimal = word.starts_with("0x");
    addr::number(word, u64::MAX).filter(|_| is_hexadecimal)
}

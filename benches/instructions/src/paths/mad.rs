//! Management datagrams: fields, transfers of many segments, and transactions.

use std::hint::black_box;

use ib_mad::{
    Attribute, Engine, InFlight, Instant, Mad, MadAddress, MadMatch, Method, MgmtClass, RmppConfig,
    RmppReceiver, RmppSender, TransactionWindow, WindowConfig,
};
use ib_smp::{PortInfo, SmpLidRouted};
use ib_wire::{Lid, Sl, table::FieldValue};

use super::{Error, Path, Work, ensure, work};

pub(super) const PATHS: &[Path] = &[
    Path {
        name: "portinfo-decode",
        prepare: decode_port_info,
    },
    Path {
        name: "portinfo-encode",
        prepare: encode_port_info,
    },
    Path {
        name: "rmpp-64k",
        prepare: rmpp,
    },
    Path {
        name: "transaction-window",
        prepare: transactions,
    },
];

/// Fields of PortInfo that are read and written: aligned ones, parts of bytes, and one across bytes.
macro_rules! fields {
    ($apply:ident) => {
        $apply! {
            m_key set_m_key, gid_prefix set_gid_prefix, lid set_lid, master_sm_lid set_master_sm_lid,
            capability_mask set_capability_mask, link_width_active set_link_width_active,
            port_state set_port_state, port_physical_state set_port_physical_state, lmc set_lmc,
            neighbor_mtu set_neighbor_mtu, master_sm_sl set_master_sm_sl, vl_cap set_vl_cap,
            operational_vls set_operational_vls, subnet_timeout set_subnet_timeout,
            link_round_trip_latency set_link_round_trip_latency
        }
    };
}

/// Reads the fields of 64 attributes out of their datagrams.
fn decode_port_info() -> Result<Work, Error> {
    let mut smp = SmpLidRouted::new(Method::GET_RESP, PortInfo::ID, 1);
    let info = PortInfo::from_bytes(std::array::from_fn(|at| (at * 31) as u8));
    smp.set_attribute(&info);
    let datagrams = vec![*smp.as_bytes(); 64];
    Ok(Box::new(move || {
        for datagram in black_box(&datagrams) {
            let (smp, _) = SmpLidRouted::parse(datagram, 0)?;
            let (info, _) = PortInfo::parse(smp.smp_data(), 0)?;
            macro_rules! read {
                ($($field:ident $set:ident),*) => {
                    $(black_box(info.$field().to_bits());)*
                };
            }
            fields!(read);
        }
        Ok(())
    }))
}

/// Writes the fields of 64 attributes.
fn encode_port_info() -> Result<Work, Error> {
    let given = PortInfo::from_bytes(std::array::from_fn(|at| (at * 31) as u8));
    work(move || {
        for _ in 0..64 {
            let (given, mut info) = (black_box(&given), PortInfo::default());
            macro_rules! write {
                ($($field:ident $set:ident),*) => {
                    $(info.$set(given.$field());)*
                };
            }
            fields!(write);
            black_box(&info);
        }
    })
}

/// Splits a message of 64 KiB into segments, and puts it together again.
fn rmpp() -> Result<Work, Error> {
    let message: Vec<u8> = (0..1 << 16).map(|index| index as u8).collect();
    let mut template = Mad::new(MadAddress::gsi(Lid(1), Sl::ZERO));
    template
        .header_mut()
        .set_base_version(1)
        .set_class_version(2)
        .set_mgmt_class(MgmtClass::SUBN_ADM)
        .set_method(Method::GET_TABLE_RESP);
    Ok(Box::new(move || {
        let (config, now) = (RmppConfig::default(), Instant::ZERO);
        let mut sender = RmppSender::new(config, &template, message.clone().into())?;
        let mut receiver = RmppReceiver::new(config, &template)?;
        let mut received = None;
        while let Some(segment) = sender.poll_transmit(now) {
            received = received.or(receiver.handle_mad(now, &segment));
            if let Some(answer) = receiver.poll_transmit() {
                sender.handle_mad(now, &answer);
            }
        }
        let is_whole = received.is_some_and(|received| received.data == message);
        ensure(is_whole, "the message did not arrive whole")
    }))
}

/// Sends 256 requests to 100 ports, 32 at a time, and takes their answers in.
fn transactions() -> Result<Work, Error> {
    const TRANSACTIONS: u32 = 256;
    let mut window = TransactionWindow::new(WindowConfig {
        in_flight: InFlight::Fixed(32),
        per_destination: 4,
        max_requests: 256,
        ..WindowConfig::default()
    });
    let mut mad = Mad::new(MadAddress::DIRECTED);
    mad.header_mut()
        .set_base_version(1)
        .set_class_version(1)
        .set_mgmt_class(MgmtClass::SUBN_LID)
        .set_method(Method::GET);
    Ok(Box::new(move || {
        for index in 0..TRANSACTIONS {
            mad.address.lid = Lid((index % 100) as u16 + 1);
            window.request(&mad, index)?;
        }
        let (mut answered, now) = (0, Instant::ZERO);
        while let Some(mut sent) = window.poll_transmit(now) {
            sent.header_mut().set_method(Method::GET_RESP);
            if let MadMatch::Answer(answer) = window.handle_mad(now, &sent) {
                black_box(answer.context);
                answered += 1;
            }
        }
        ensure(answered == TRANSACTIONS, "a request has no answer")
    }))
}

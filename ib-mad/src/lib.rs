#![doc = include_str!("../README.md")]
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(feature = "alloc")]
extern crate alloc;

mod attribute;
mod bm;
mod call;
mod cc;
mod class;
mod class_port_info;
#[cfg(feature = "alloc")]
mod client;
mod dev_mgt;
mod engine;
#[cfg(feature = "alloc")]
mod fair_queue;
mod format;
#[cfg(feature = "arbitrary")]
pub mod generate;
mod header;
mod inform_info;
mod key;
mod mad;
mod message;
mod method;
mod mlnx;
mod notice;
mod perf;
#[cfg(feature = "arbitrary")]
#[doc(hidden)]
pub mod properties;
mod redirect;
mod registry;
mod resp_time;
mod rmpp;
mod snmp;
mod status;
#[cfg(feature = "proptest")]
pub mod strategy;
mod time;
#[cfg(feature = "alloc")]
mod transaction;
pub mod transport;
mod vendor;

pub use attribute::{Attribute, AttributeId};
pub use bm::{BKeyInfo, BmCapabilities, BmSend};
pub use call::{Call, CallError, CallTo};
pub use cc::*;
pub use class::MgmtClass;
pub use class_port_info::{ClassCapabilities, ClassPortInfo};
#[cfg(feature = "alloc")]
pub use client::{Client, ClientConfig, ClientEvent, Rejected, Request, Response};
pub use dev_mgt::{
    ControllerOperations, DiagCode, DiagnosticTimeout, IoControllerProfile, IoUnitInfo,
    ServiceEntries, ServiceEntry,
};
#[cfg(feature = "alloc")]
pub use dev_mgt::{IoController, IoTarget, IoUnit, IoUnitWalk, WalkError, WalkReport};
pub use engine::Engine;
#[cfg(feature = "alloc")]
pub use fair_queue::FairQueue;
pub use format::{
    BaseboardMgmtMad, CongestionControlMad, DeviceMgmtMad, Gmp, PerformanceMad, VendorRange1Mad,
    VendorRange2Mad,
};
pub use header::{MadHeader, TransactionId};
pub use inform_info::InformInfo;
pub use key::{BKey, CcKey, SmKey, VsKey};
pub use mad::{GrhAddress, Input, Mad, MadAddress};
pub use message::{
    BmAttribute, CLASSES, CcAttribute, CongestionLog, DevMgtAttribute, LAYOUTS, Message,
    PerfAttribute, SnmpAttribute,
};
pub use method::Method;
pub use mlnx::*;
pub use notice::*;
pub use perf::*;
pub use redirect::redirect_address;
pub use registry::{AttributeEntry, ClassTable, Description, describe, header_fault};
pub use resp_time::RespTime;
#[cfg(feature = "alloc")]
pub use rmpp::{
    Rmpp, RmppConfig, RmppError, RmppEvent, RmppKey, RmppMessage, RmppReceiver, RmppSender,
};
pub use rmpp::{RmppAbort, RmppAck, RmppData, RmppHeader, RmppStatus, RmppStop, RmppType};
pub use snmp::{CommunityInfo, PduInfo, SnmpMad};
#[cfg(feature = "alloc")]
pub use snmp::{SnmpConfig, SnmpError, SnmpMessage, SnmpReassembler, snmp_segments};
pub use status::{MadStatus, SaStatus, StatusCode};
pub use time::Instant;
#[cfg(feature = "alloc")]
pub use transaction::{
    Answer, Backoff, EarlyRepeat, FailureReason, InFlight, MadMatch, Overflow, RequestFailure,
    RequestOptions, TransactionWindow, WindowConfig, WindowCounters, WindowEvent, WindowFull,
};
pub use vendor::{Oui, SysStat};

/// Items of other crates that the exported macros need.
#[doc(hidden)]
pub mod __private {
    pub use crate::attribute::write_attribute;
    pub use crate::registry::{distinct_layouts, layout_room};
    pub use ib_wire::{
        table::{DebugSecret, Layout},
        wire_struct,
    };
    pub use zerocopy;
}

//! The classes of this layer, and the reading of 256 bytes as a typed message.

use zerocopy::transmute_ref;

use crate::{
    BKeyInfo, BaseboardMgmtMad, BmSend, CaCongestionEntry, CaCongestionSetting, ClassPortInfo,
    ClassTable, CommunityInfo, CongestionControlMad, CongestionControlTable,
    CongestionControlTableEntry, CongestionInfo, CongestionKeyInfo, CongestionLogCa,
    CongestionLogEventCa, CongestionLogEventSwitch, CongestionLogSwitch, DeviceMgmtMad, DiagCode,
    DiagnosticTimeout, Gmp, InformInfo, IoControllerProfile, IoUnitInfo, MadHeader, MgmtClass,
    MlnxAttribute, MlnxConfigSpaceRecord, MlnxOperationTlv, MlnxRegisterTlv, MlnxVendorMad, Notice,
    NoticeDetails64, NoticeDetails128, NoticeDetails129, NoticeDetails144, NoticeDetails145,
    NoticeDetails256, NoticeDetails257, NoticeDetails259, NoticeDetailsBm259, NoticeDetailsBm260,
    NoticeDetailsCc0, NoticeSm, PduInfo, PerformanceMad, PortCounters, PortCountersCong,
    PortCountersExtended, PortExtendedSpeedsCounters, PortExtendedSpeedsCountersRsFec,
    PortFlowCtlCounters, PortOpRcvCounters, PortRcvConCtrl, PortRcvDataSl, PortRcvErrorDetails,
    PortSamplesControl, PortSamplesResult, PortSamplesResultExtended, PortSlRcvBecn, PortSlRcvFecn,
    PortVlOpData, PortVlOpPackets, PortVlXmitFlowCtlUpdateErrors, PortVlXmitTimeCong,
    PortVlXmitWaitCounters, PortXmitConCtrl, PortXmitDataSl, PortXmitDiscardDetails, RmppAbort,
    RmppAck, RmppData, RmppHeader, RmppStop, ServiceEntries, ServiceEntry, SwPortVlCongestion,
    SwitchCongestionSetting, SwitchPortCongestionSetting, SwitchPortCongestionSettingElement,
    Timestamp, VendorRange1Mad, VendorRange2Mad, attribute_table, layouts,
};

layouts! {
    /// Every structure of this crate that the specification's tables have.
    pub const LAYOUTS = CLASSES, below &[], and [
        MadHeader,
        RmppHeader,
        RmppData,
        RmppAck,
        RmppStop,
        RmppAbort,
        VendorRange2Mad,
        NoticeSm,
        NoticeDetails64,
        NoticeDetails128,
        NoticeDetails129,
        NoticeDetails144,
        NoticeDetails145,
        NoticeDetails256,
        NoticeDetails257,
        NoticeDetails259,
        InformInfo,
        ServiceEntry,
        PortExtendedSpeedsCountersRsFec,
        CongestionLogEventSwitch,
        CongestionLogEventCa,
        CongestionLogCa,
        SwitchPortCongestionSettingElement,
        CaCongestionEntry,
        CongestionControlTableEntry,
        NoticeDetailsCc0,
        NoticeDetailsBm259,
        NoticeDetailsBm260,
        MlnxConfigSpaceRecord,
        MlnxOperationTlv,
        MlnxRegisterTlv,
    ];
}

/// The classes of this layer, for [`describe`](crate::describe).
pub const CLASSES: &[ClassTable] = &[
    ClassTable::new(
        MgmtClass::PERF,
        PerformanceMad::LAYOUT,
        PerfAttribute::ATTRIBUTES,
    ),
    ClassTable::new(
        MgmtClass::BM,
        BaseboardMgmtMad::LAYOUT,
        BmAttribute::ATTRIBUTES,
    ),
    ClassTable::new(
        MgmtClass::DEV_MGT,
        DeviceMgmtMad::LAYOUT,
        DevMgtAttribute::ATTRIBUTES,
    ),
    ClassTable::new(MgmtClass::SNMP, Gmp::LAYOUT, SnmpAttribute::ATTRIBUTES),
    ClassTable::new(
        MgmtClass::CONGESTION_CONTROL,
        CongestionControlMad::LAYOUT,
        CcAttribute::ATTRIBUTES,
    ),
    ClassTable::new(
        MgmtClass::VENDOR1_0A,
        VendorRange1Mad::LAYOUT,
        MlnxAttribute::ATTRIBUTES,
    ),
];

/// A datagram of a class of this layer: its format and its attribute.
///
/// ```
/// use ib_mad::{Message, MgmtClass, PerfAttribute};
///
/// let mut bytes = [0; 256];
/// bytes[1] = MgmtClass::PERF.bits();
/// bytes[17] = 0x12;
/// let Message::Perf(_, PerfAttribute::PortCounters(counters)) = Message::parse(&bytes) else {
///     panic!("not PortCounters");
/// };
/// assert_eq!(counters.symbol_error_counter(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Message<'a> {
    /// Performance management.
    Perf(&'a PerformanceMad, PerfAttribute<'a>),
    /// Baseboard management.
    Bm(&'a BaseboardMgmtMad, BmAttribute<'a>),
    /// Device management.
    DevMgt(&'a DeviceMgmtMad, DevMgtAttribute<'a>),
    /// SNMP tunnelling.
    Snmp(&'a Gmp, SnmpAttribute<'a>),
    /// Congestion control. A log is a switch's or a CA's: ask
    /// [`log`](CongestionControlMad::log).
    Cc(&'a CongestionControlMad, CcAttribute<'a>),
    /// Mellanox's vendor class.
    Mlnx(&'a MlnxVendorMad, MlnxAttribute<'a>),
    /// Another vendor class without an OUI.
    Vendor1(&'a VendorRange1Mad),
    /// A vendor class with an OUI.
    Vendor2(&'a VendorRange2Mad),
    /// Any other class: subnet management, subnet administration and communication management have crates
    /// of their own.
    Other(&'a Gmp),
}

impl<'a> Message<'a> {
    /// The typed message of a datagram. Every datagram has one.
    #[must_use]
    pub fn parse(bytes: &'a [u8; 256]) -> Self {
        let gmp: &Gmp = transmute_ref!(bytes);
        let id = gmp.attribute_id();
        match gmp.mgmt_class() {
            MgmtClass::PERF => Self::Perf(transmute_ref!(bytes), PerfAttribute::parse(id, bytes)),
            MgmtClass::BM => Self::Bm(transmute_ref!(bytes), BmAttribute::parse(id, bytes)),
            MgmtClass::DEV_MGT => {
                Self::DevMgt(transmute_ref!(bytes), DevMgtAttribute::parse(id, bytes))
            }
            MgmtClass::SNMP => Self::Snmp(gmp, SnmpAttribute::parse(id, bytes)),
            MgmtClass::CONGESTION_CONTROL => {
                Self::Cc(transmute_ref!(bytes), CcAttribute::parse(id, bytes))
            }
            MgmtClass::VENDOR1_0A => {
                Self::Mlnx(transmute_ref!(bytes), MlnxAttribute::parse(id, bytes))
            }
            class if class.is_vendor_range_1() => Self::Vendor1(transmute_ref!(bytes)),
            class if class.is_vendor_range_2() => Self::Vendor2(transmute_ref!(bytes)),
            _ => Self::Other(gmp),
        }
    }

    /// All 256 bytes of the datagram.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8; 256] {
        match *self {
            Self::Perf(mad, _) => mad.as_bytes(),
            Self::Bm(mad, _) => mad.as_bytes(),
            Self::DevMgt(mad, _) => mad.as_bytes(),
            Self::Snmp(mad, _) | Self::Other(mad) => mad.as_bytes(),
            Self::Cc(mad, _) => mad.as_bytes(),
            Self::Mlnx(mad, _) => mad.as_bytes(),
            Self::Vendor1(mad) => mad.as_bytes(),
            Self::Vendor2(mad) => mad.as_bytes(),
        }
    }
}

/// A congestion log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionLog<'a> {
    /// A switch's.
    Switch(&'a CongestionLogSwitch),
    /// A CA's.
    Ca(&'a CongestionLogCa),
}

impl CongestionControlMad {
    /// The congestion log, if the datagram carries one.
    #[must_use]
    pub fn log(&self) -> Option<CongestionLog<'_>> {
        if self.attribute_id().0 != 0x0013 {
            return None;
        }
        let bytes = self.as_bytes().get(32..)?;
        match bytes.first()? {
            1 => Some(CongestionLog::Switch(
                CongestionLogSwitch::parse(bytes, 32).ok()?.0,
            )),
            2 => Some(CongestionLog::Ca(CongestionLogCa::parse(bytes, 32).ok()?.0)),
            _ => None,
        }
    }
}

attribute_table! {
    /// Attributes of performance management.
    ///
    /// Source: `attribute_ids.csv`, class `Perf`.
    pub enum PerfAttribute, data at 64 {
        "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, GET_RESP;
        "PortSamplesControl", 0x0010 => PortSamplesControl(PortSamplesControl): GET, SET, GET_RESP;
        "PortSamplesResult", 0x0011 => PortSamplesResult(PortSamplesResult): GET, GET_RESP;
        "PortCounters", 0x0012 => PortCounters(PortCounters): GET, SET, GET_RESP;
        "PortRcvErrorDetails", 0x0015 => PortRcvErrorDetails(PortRcvErrorDetails): GET, SET, GET_RESP;
        "PortXmitDiscardDetails", 0x0016 => PortXmitDiscardDetails(PortXmitDiscardDetails): GET, SET, GET_RESP;
        "PortOpRcvCounters", 0x0017 => PortOpRcvCounters(PortOpRcvCounters): GET, SET, GET_RESP;
        "PortFlowCtlCounters", 0x0018 => PortFlowCtlCounters(PortFlowCtlCounters): GET, SET, GET_RESP;
        "PortVLOpPackets", 0x0019 => PortVlOpPackets(PortVlOpPackets): GET, SET, GET_RESP;
        "PortVLOpData", 0x001a => PortVlOpData(PortVlOpData): GET, SET, GET_RESP;
        "PortVLXmitFlowCtlUpdateErrors", 0x001b => PortVlXmitFlowCtlUpdateErrors(PortVlXmitFlowCtlUpdateErrors): GET, SET, GET_RESP;
        "PortVLXmitWaitCounters", 0x001c => PortVlXmitWaitCounters(PortVlXmitWaitCounters): GET, SET, GET_RESP;
        "PortCountersExtended", 0x001d => PortCountersExtended(PortCountersExtended): GET, SET, GET_RESP;
        "PortSamplesResultExtended", 0x001e => PortSamplesResultExtended(PortSamplesResultExtended): GET, GET_RESP;
        "PortExtendedSpeedsCounters", 0x001f => PortExtendedSpeedsCounters(PortExtendedSpeedsCounters): GET, SET, GET_RESP;
        "SwPortVLCongestion", 0x0030 => SwPortVlCongestion(SwPortVlCongestion): GET, SET, GET_RESP;
        "PortRcvConCtrl", 0x0031 => PortRcvConCtrl(PortRcvConCtrl): GET, SET, GET_RESP;
        "PortSLRcvFECN", 0x0032 => PortSlRcvFecn(PortSlRcvFecn): GET, SET, GET_RESP;
        "PortSLRcvBECN", 0x0033 => PortSlRcvBecn(PortSlRcvBecn): GET, SET, GET_RESP;
        "PortXmitConCtrl", 0x0034 => PortXmitConCtrl(PortXmitConCtrl): GET, SET, GET_RESP;
        "PortVLXmitTimeCong", 0x0035 => PortVlXmitTimeCong(PortVlXmitTimeCong): GET, SET, GET_RESP;
        "PortXmitDataSL", 0x0036 => PortXmitDataSl(PortXmitDataSl): GET, SET, GET_RESP;
        "PortRcvDataSL", 0x0037 => PortRcvDataSl(PortRcvDataSl): GET, SET, GET_RESP;
        "PortCountersCong", 0xff00 => PortCountersCong(PortCountersCong): GET, SET, GET_RESP;
    }
}

attribute_table! {
    /// Attributes of baseboard management.
    ///
    /// Source: `attribute_ids.csv`, class `BM`.
    pub enum BmAttribute, data at 64 {
        "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, SET, GET_RESP;
        "Notice", 0x0002 => Notice(Notice): GET, SET, GET_RESP, TRAP, TRAP_REPRESS;
        "BKeyInfo", 0x0010 => BKeyInfo(BKeyInfo): GET, SET, GET_RESP;
        "WriteVPD", 0x0020 => WriteVpd(BmSend): SEND;
        "ReadVPD", 0x0021 => ReadVpd(BmSend): SEND;
        "ResetIBML", 0x0022 => ResetIbml(BmSend): SEND;
        "SetModulePMControl", 0x0023 => SetModulePmControl(BmSend): SEND;
        "GetModulePMControl", 0x0024 => GetModulePmControl(BmSend): SEND;
        "SetUnitPMControl", 0x0025 => SetUnitPmControl(BmSend): SEND;
        "GetUnitPMControl", 0x0026 => GetUnitPmControl(BmSend): SEND;
        "SetIOCPMControl", 0x0027 => SetIocPmControl(BmSend): SEND;
        "GetIOCPMControl", 0x0028 => GetIocPmControl(BmSend): SEND;
        "SetModuleState", 0x0029 => SetModuleState(BmSend): SEND;
        "SetModuleAttention", 0x002a => SetModuleAttention(BmSend): SEND;
        "GetModuleStatus", 0x002b => GetModuleStatus(BmSend): SEND;
        "IB2IBML", 0x002c => Ib2Ibml(BmSend): SEND;
        "IB2CME", 0x002d => Ib2Cme(BmSend): SEND;
        "IB2MME", 0x002e => Ib2Mme(BmSend): SEND;
        "OEM", 0x002f => Oem(BmSend): SEND;
    }
}

attribute_table! {
    /// Attributes of device management.
    ///
    /// Source: `attribute_ids.csv`, class `DevMgt`.
    pub enum DevMgtAttribute, data at 64 {
        "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, SET, GET_RESP;
        "Notice", 0x0002 => Notice(Notice): GET, SET, GET_RESP, TRAP, TRAP_REPRESS;
        "IOUnitInfo", 0x0010 => IoUnitInfo(IoUnitInfo): GET, GET_RESP;
        "IOControllerProfile", 0x0011 => IoControllerProfile(IoControllerProfile): GET, GET_RESP;
        "ServiceEntries", 0x0012 => ServiceEntries(ServiceEntries): GET, GET_RESP;
        "DiagnosticTimeout", 0x0020 => DiagnosticTimeout(DiagnosticTimeout): GET, GET_RESP;
        "DiagCode", 0x0024 => DiagCode(DiagCode): GET, GET_RESP;
    }
    untyped {
        "PrepareToTest", 0x0021: GET, SET, GET_RESP;
        "TestDeviceOnce", 0x0022: SET, GET_RESP;
        "TestDeviceLoop", 0x0023: SET, GET_RESP;
    }
}

attribute_table! {
    /// Attributes of SNMP tunnelling.
    ///
    /// Source: `attribute_ids.csv`, class `SNMP`.
    pub enum SnmpAttribute, data at 64 {
        "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, GET_RESP;
        "CommunityInfo", 0x0010 => CommunityInfo(CommunityInfo): SEND;
        "PduInfo", 0x0011 => PduInfo(PduInfo): SEND;
    }
}

attribute_table! {
    /// Attributes of congestion control.
    ///
    /// Source: `attribute_ids.csv`, class `CongestionControl`.
    pub enum CcAttribute, data at 64 {
        "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, SET, GET_RESP;
        "Notice", 0x0002 => Notice(Notice): GET, SET, GET_RESP, TRAP, TRAP_REPRESS;
        "CongestionInfo", 0x0011 => CongestionInfo(CongestionInfo): GET, GET_RESP;
        "CongestionKeyInfo", 0x0012 => CongestionKeyInfo(CongestionKeyInfo): GET, SET, GET_RESP;
        "CongestionLog", 0x0013 at 32 => CongestionLogSwitch(CongestionLogSwitch): GET, GET_RESP;
        "SwitchCongestionSetting", 0x0014 => SwitchCongestionSetting(SwitchCongestionSetting): GET, SET, GET_RESP;
        "SwitchPortCongestionSetting", 0x0015 => SwitchPortCongestionSetting(SwitchPortCongestionSetting): GET, SET, GET_RESP;
        "CACongestionSetting", 0x0016 => CaCongestionSetting(CaCongestionSetting): GET, SET, GET_RESP;
        "CongestionControlTable", 0x0017 => CongestionControlTable(CongestionControlTable): GET, SET, GET_RESP;
        "TimeStamp", 0x0018 => Timestamp(Timestamp): GET, GET_RESP;
    }
}

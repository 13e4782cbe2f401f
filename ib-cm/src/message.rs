//! The class: the format of its datagrams, and its messages by their numbers (IBA vol. 1, 16.7).

use ib_mad::{
    AttributeId, ClassPortInfo, ClassTable, MadStatus, Method, MgmtClass, TransactionId,
    attribute_table, layouts, mad_format,
};

use crate::{Apr, Drep, Dreq, Lap, Mra, Rej, Rep, Req, Rtu, SidrRep, SidrReq};

layouts! {
    /// Every structure of this crate that the specification's tables have.
    pub const LAYOUTS = CLASSES, below ib_mad::LAYOUTS, and [];
}

/// The class of this crate, its format and its messages, for [`describe`](ib_mad::describe).
pub const CLASSES: &[ClassTable] = &[ClassTable::new(
    MgmtClass::COM_MGT,
    CommunicationMgmtMad::LAYOUT,
    CmAttribute::ATTRIBUTES,
)];

mad_format! {
    /// Format of communication management.
    ///
    /// Source: IBA vol. 1, 16.7.1; `headers.csv`, struct `CommunicationMgmtMad`.
    pub struct CommunicationMgmtMad("CommunicationMgmtMad") {
        /// The message of the attribute number, from REQ to SIDR_REP.
        data,               set_data:               [secret; 232] = 192, 1856;
    }
}

attribute_table! {
    /// Attributes of communication management: its messages.
    ///
    /// Source: `attribute_ids.csv`, class `ComMgt`.
    pub enum CmAttribute, data at 24 {
        "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, SET, GET_RESP;
        "REQ", 0x0010 => Req(Req): SEND;
        "MRA", 0x0011 => Mra(Mra): SEND;
        "REJ", 0x0012 => Rej(Rej): SEND;
        "REP", 0x0013 => Rep(Rep): SEND;
        "RTU", 0x0014 => Rtu(Rtu): SEND;
        "DREQ", 0x0015 => Dreq(Dreq): SEND;
        "DREP", 0x0016 => Drep(Drep): SEND;
        "SIDR_REQ", 0x0017 => SidrReq(SidrReq): SEND;
        "SIDR_REP", 0x0018 => SidrRep(SidrRep): SEND;
        "LAP", 0x0019 => Lap(Lap): SEND;
        "APR", 0x001a => Apr(Apr): SEND;
    }
    untyped {
        "SAP", 0x001b: SEND;
        "SPR", 0x001c: SEND;
    }
}

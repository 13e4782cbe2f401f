//! Vendor classes: the messages of OpenIB's diagnostic servers (class range 2, OUI 0x001405).
//!
//! `ibping` and `ibsysstat` ask for text: the request carries nothing that matters, the answer a host
//! name or a list of processors.

use ib_wire::{code_points, table::Text};

use crate::{MgmtClass, VendorRange2Mad};

code_points! {
    /// Organisations that define vendor classes (`VendorRange2Mad.oui`).
    pub struct Oui(u32) {
        /// OpenFabrics, formerly OpenIB.
        OPENIB   = 0x00_1405 => "OpenIB",
        MELLANOX = 0x00_02c9 => "Mellanox",
    }
}

code_points! {
    /// Query of OpenIB's system status server (class 0x33).
    pub struct SysStat(u16) {
        PING         = 0x10 => "Ping",
        /// The answer is the host's name.
        HOST_INFO    = 0x11 => "HostInfo",
        /// The answer is one line of text for each processor.
        CPU_INFO     = 0x12 => "CpuInfo",
    }
}

impl VendorRange2Mad {
    /// Returns true if this is a message of OpenIB's ping.
    #[must_use]
    pub fn is_openib_ping(&self) -> bool {
        self.mgmt_class() == MgmtClass::VENDOR2_32 && self.oui() == Oui::OPENIB
    }

    /// Query of OpenIB's system status server; `None` for messages of other classes.
    #[must_use]
    pub fn openib_sysstat(&self) -> Option<SysStat> {
        (self.mgmt_class() == MgmtClass::VENDOR2_33 && self.oui() == Oui::OPENIB)
            .then_some(SysStat(self.attribute_id().0))
    }

    /// The data as text, as OpenIB's servers send it.
    #[must_use]
    pub fn text(&self) -> Text<216> {
        Text(*self.data())
    }
}

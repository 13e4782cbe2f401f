//! Flow control packets: the credits of a link's virtual lanes (IBA vol. 1, 7.9.4).
//!
//! Both ends of a link send them per virtual lane: how much they have sent, and how much the other
//! may send. They are link packets: no LRH, delimited on their own, ended by a CRC of 16 bits.
//! Pitfall: VL15 has no flow control, so no packet may name it.

use crate::{
    At, CrcCheck, Fault, FaultKind, Faults, Vl, code_points, crc, packet::Expected, wire_struct,
};

code_points! {
    /// Kind of a flow control packet (FlowControlPacket.op). Other values are reserved.
    pub struct FcpOp(u8) {
        /// Periodic update of the credits, while the port is armed or active.
        NORMAL = 0 => "Normal",
        /// Sent while the port is in the state Initialize.
        INIT   = 1 => "Init",
    }
}

wire_struct! {
    /// Flow control packet: credits of one virtual lane.
    ///
    /// Source: IBA vol. 1, 7.9.4; `headers.csv`, struct `FlowControlPacket`.
    pub struct FlowControlPacket("FlowControlPacket", 6 bytes) {
        /// Kind of packet.
        op,    set_op:    FcpOp = 0, 4;
        /// Blocks of 64 bytes sent since the link came up, modulo 4096.
        fctbs, set_fctbs: u16   = 4, 12;
        /// Virtual lane of the credits; 15 is illegal.
        vl,    set_vl:    Vl    = 16, 4;
        /// Blocks of 64 bytes that the receiver may send in all, modulo 4096.
        fccl,  set_fccl:  u16   = 20, 12;
        /// Link packet CRC of the first four bytes.
        lpcrc, set_lpcrc: u16   = 32, 16;
    }
}

impl FlowControlPacket {
    /// A packet with its CRC; counters keep their low 12 bits.
    #[must_use]
    pub fn new(op: FcpOp, vl: Vl, fctbs: u16, fccl: u16) -> Self {
        let mut packet = Self::default();
        packet
            .set_op(op)
            .set_vl(vl)
            .set_fctbs(fctbs)
            .set_fccl(fccl)
            .seal();
        packet
    }

    /// Writes the CRC that the other fields ask for.
    pub fn seal(&mut self) -> &mut Self {
        let computed = self.crc_check().computed;
        self.set_lpcrc(u16::from_be_bytes(computed))
    }

    /// The CRC found and the one computed, both as on the wire.
    #[must_use]
    pub fn crc_check(&self) -> CrcCheck<2> {
        let [a, b, c, d, found @ ..] = *self.as_bytes();
        CrcCheck {
            found,
            computed: crc::lpcrc(&[a, b, c, d]),
        }
    }

    /// Everything that is wrong with the packet.
    #[must_use]
    pub fn validate(&self) -> Faults {
        let mut faults = Faults::default();
        let mut push = |kind, field, found: u16, expected| {
            faults.push(Fault {
                kind,
                at: At::new(Self::LAYOUT.name, 0),
                field,
                found: found.into(),
                expected,
            });
        };
        if self.op().name().is_none() {
            let known = Expected::Words("0 or 1");
            push(
                FaultKind::ReservedLinkOp,
                "op",
                self.op().bits().into(),
                known,
            );
        }
        if self.vl() == Vl::MANAGEMENT {
            let data = Expected::AtMost(14);
            push(FaultKind::BadVl, "vl", self.vl().bits().into(), data);
        }
        let check = self.crc_check();
        if !check.is_ok() {
            let right = Expected::Number(u16::from_be_bytes(check.computed).into());
            push(FaultKind::LpcrcMismatch, "lpcrc", self.lpcrc(), right);
        }
        faults
    }

    /// Everything that is wrong with bytes that should be one packet and nothing else.
    #[must_use]
    pub fn validate_bytes(bytes: &[u8]) -> Faults {
        let (mut faults, rest) = match Self::parse(bytes, 0) {
            Ok((packet, rest)) => (packet.validate(), rest.len()),
            Err(_) => (Faults::default(), 0),
        };
        let kind = match (bytes.len() < Self::LEN, rest) {
            (true, _) => FaultKind::Truncated,
            (false, 0) => return faults,
            _ => FaultKind::LengthMismatch,
        };
        faults.push(Fault {
            kind,
            at: At::new(Self::LAYOUT.name, 0),
            field: "length",
            found: bytes.len() as u64,
            expected: Expected::Number(Self::LEN as u64),
        });
        faults
    }

    /// Number of blocks of 64 bytes that the receiver of this packet may still send, having sent `sent`
    /// blocks in all: the credit limit less what was sent, modulo 4096.
    ///
    /// More than 2048 means that the limit is below `sent`: nothing may be sent.
    #[must_use]
    pub fn credits_left(&self, sent: u16) -> u16 {
        match self.fccl().wrapping_sub(sent) & 0xfff {
            left @ 0..=2048 => left,
            _ => 0,
        }
    }
}

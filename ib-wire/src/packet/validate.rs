//! Judging a packet: everything that is wrong with it.

use super::{
    CrcCheck, Expected, Fault, FaultKind, Faults, Network, Packet, Start,
    shape::{MIN_IBA, MIN_RAW, Shape},
};
use crate::{At, Bth, Grh, GrhNxtHdr, Ipv4, Lrh, Mtu, PayloadRule, Position, ROCE_V2_PORT, Udp};

impl<B: AsRef<[u8]>> Packet<B> {
    /// Everything that is wrong with the packet, CRCs included. Empty for a good one.
    ///
    /// Of a packet that was cut short it judges what is there.
    #[must_use]
    pub fn validate(&self) -> Faults {
        self.validate_with(self.icrc(), self.vcrc())
    }

    /// As [`validate`](Self::validate), with what [`icrc`](Self::icrc) and [`vcrc`](Self::vcrc) of this packet have
    /// returned, so that a caller who needs the CRCs too computes each of them once.
    #[must_use]
    pub fn validate_with(&self, icrc: Option<CrcCheck<4>>, vcrc: Option<CrcCheck<2>>) -> Faults {
        let mut faults = Faults::default();
        self.check(icrc, vcrc, &mut |fault| faults.push(fault));
        faults
    }

    /// The first fault that is not merely a note: [`error`](Faults::error) of what
    /// [`validate_with`](Self::validate_with) returns, without the list, which takes more than a kilobyte.
    #[must_use]
    pub fn error_with(
        &self,
        icrc: Option<CrcCheck<4>>,
        vcrc: Option<CrcCheck<2>>,
    ) -> Option<Fault> {
        let mut error = None;
        self.check(icrc, vcrc, &mut |fault| {
            if error.is_none() && !fault.kind.is_note() {
                error = Some(fault);
            }
        });
        error
    }

    /// All checks; `push` takes what they find.
    fn check(
        &self,
        icrc: Option<CrcCheck<4>>,
        vcrc: Option<CrcCheck<2>>,
        push: &mut dyn FnMut(Fault),
    ) {
        if self.shape.stopped
            && let Some(stop) = Shape::decode(self.shape.start, self.bytes()).stop
        {
            push(stop.fault());
        }
        self.check_lrh(push);
        self.check_length(push);
        self.check_grh(push);
        self.check_ip(push);
        self.check_transport(push);
        self.check_crcs(icrc, vcrc, push);
    }

    fn check_lrh(&self, push: &mut dyn FnMut(Fault)) {
        let Some(lrh) = self.lrh() else { return };
        let at = At::new(Lrh::LAYOUT.name, 0);
        let mut push = |kind, field, found: u16, expected| {
            push(fault(kind, at, field, found, expected));
        };
        if lrh.lver() != 0 {
            let found = lrh.lver().into();
            push(FaultKind::BadLver, "lver", found, Expected::Number(0));
        }
        let minimum = match self.shape.network {
            Network::Raw | Network::RawIpv6 => MIN_RAW / 4,
            _ => MIN_IBA / 4,
        } as u64;
        if u64::from(lrh.pkt_len()) < minimum {
            let expected = Expected::AtLeast(minimum);
            push(FaultKind::BadPktLen, "pkt_len", lrh.pkt_len(), expected);
        }
    }

    /// The packet's end against the bytes' end.
    fn check_length(&self, push: &mut dyn FnMut(Fault)) {
        let (len, end) = (self.bytes.as_ref().len(), self.shape.end);
        // A header that is cut has been named already.
        if end > len && !self.shape.stopped {
            let at = At::new("payload", self.shape.payload);
            let expected = Expected::Number(end as u64);
            push(fault(
                FaultKind::Truncated,
                at,
                "length",
                len as u64,
                expected,
            ));
        }
        // Ethernet fills short frames, and a capture may hold the FCS: nothing to judge there.
        if end < len && self.shape.start == Start::Ib {
            let at = At::new("packet", 0);
            let expected = Expected::Number(end as u64);
            push(fault(
                FaultKind::LengthMismatch,
                at,
                "length",
                len as u64,
                expected,
            ));
        }
    }

    fn check_grh(&self, push: &mut dyn FnMut(Fault)) {
        let Some(grh) = self.grh() else { return };
        let at = At::new(Grh::LAYOUT.name, self.shape.net);
        if grh.ip_ver() != 6 {
            let six = Expected::Number(6);
            push(fault(FaultKind::BadIpVer, at, "ip_ver", grh.ip_ver(), six));
        }
        if grh.nxt_hdr() != GrhNxtHdr::IBA_TRANSPORT {
            let expected = Expected::Number(GrhNxtHdr::IBA_TRANSPORT.bits().into());
            let found = grh.nxt_hdr().bits();
            push(fault(FaultKind::BadNxtHdr, at, "nxt_hdr", found, expected));
        }
        if self.shape.network == Network::Global {
            let headers = Lrh::LEN.saturating_add(Grh::LEN).saturating_add(2);
            let right = self.shape.end.saturating_sub(headers) as u64;
            if u64::from(grh.pay_len()) != right {
                let expected = Expected::Number(right);
                let found = grh.pay_len();
                push(fault(FaultKind::BadPayLen, at, "pay_len", found, expected));
            }
        }
    }

    fn check_ip(&self, push: &mut dyn FnMut(Fault)) {
        if let Some(ip) = self.ipv4() {
            let at = At::new(Ipv4::LAYOUT.name, self.shape.net);
            let options = self.ipv4_options();
            // The checksum of a header that is cut, or shorter than it can be, cannot be computed.
            let whole = usize::from(ip.ihl()).saturating_mul(4);
            let is_whole = Ipv4::LEN.saturating_add(options.len()) == whole;
            let right = Ipv4::from_bytes(*ip.as_bytes()).seal(options).checksum();
            if is_whole && ip.checksum() != right {
                let expected = Expected::Number(right.into());
                let found = ip.checksum();
                push(fault(
                    FaultKind::BadChecksum,
                    at,
                    "checksum",
                    found,
                    expected,
                ));
            }
        }
        let Some(udp) = self.udp() else { return };
        let start = self.shape.bth().saturating_sub(Udp::LEN);
        let at = At::new(Udp::LAYOUT.name, start);
        if udp.dst_port() != ROCE_V2_PORT {
            let expected = Expected::Number(ROCE_V2_PORT.into());
            let found = udp.dst_port();
            push(fault(FaultKind::NotRoce, at, "dst_port", found, expected));
        }
        let right = self.shape.end.saturating_sub(start) as u64;
        if u64::from(udp.length()) != right {
            let expected = Expected::Number(right);
            push(fault(
                FaultKind::BadPayLen,
                at,
                "length",
                udp.length(),
                expected,
            ));
        }
    }

    fn check_transport(&self, push: &mut dyn FnMut(Fault)) {
        let Some(bth) = self.bth() else { return };
        let at = At::new(Bth::LAYOUT.name, self.shape.bth());
        if bth.t_ver() != 0 {
            let zero = Expected::Number(0);
            push(fault(FaultKind::BadTver, at, "t_ver", bth.t_ver(), zero));
        }
        let operation = bth.op_code().operation();
        if operation.is_none() {
            let (kind, expected) = if bth.op_code().is_manufacturer() {
                let known = Expected::Words("an operation of the specification");
                (FaultKind::ManufacturerOpCode, known)
            } else {
                let named = Expected::Words("an operation with a name");
                (FaultKind::ReservedOpCode, named)
            };
            push(fault(kind, at, "op_code", bth.op_code().bits(), expected));
        }
        // Missing bytes cannot be checked.
        if self.shape.stopped || self.is_truncated() {
            return;
        }
        let filled = self.shape.limit.saturating_sub(self.shape.payload) as u64;
        let found = bth.pad_cnt();
        let Some(payload) = filled.checked_sub(found.into()) else {
            let expected = Expected::AtMost(filled);
            push(fault(FaultKind::BadPadCnt, at, "pad_cnt", found, expected));
            return;
        };
        // A link counts in words; GRH, IP and UDP count bytes.
        if !filled.is_multiple_of(4) {
            let expected = Expected::Words("as many bytes as fill the payload to a multiple of 4");
            push(fault(FaultKind::BadPadCnt, at, "pad_cnt", found, expected));
        }
        let Some(operation) = operation else { return };
        let at = At::new("payload", self.shape.payload);
        let longest = u64::from(Mtu::MTU_4096.bytes().unwrap_or(0));
        let mut bad_length = |kind, expected| push(fault(kind, at, "length", payload, expected));
        match operation.payload {
            PayloadRule::None if payload != 0 => {
                bad_length(FaultKind::UnexpectedPayload, Expected::Number(0));
            }
            PayloadRule::PathMtu
                if u16::try_from(payload)
                    .ok()
                    .and_then(Mtu::from_bytes)
                    .is_none() =>
            {
                bad_length(
                    FaultKind::BadPayloadLength,
                    Expected::Words("256, 512, 1024, 2048 or 4096"),
                );
            }
            PayloadRule::UpToPathMtu if payload == 0 => {
                bad_length(FaultKind::BadPayloadLength, Expected::AtLeast(1));
            }
            _ if payload > longest => {
                bad_length(FaultKind::BadPayloadLength, Expected::AtMost(longest));
            }
            _ => {}
        }
        // First and middle packets are a whole MTU: nothing is left to fill.
        if matches!(operation.position, Position::First | Position::Middle) && bth.pad_cnt() != 0 {
            let at = At::new(Bth::LAYOUT.name, self.shape.bth());
            let zero = Expected::Number(0);
            push(fault(
                FaultKind::BadPadCnt,
                at,
                "pad_cnt",
                bth.pad_cnt(),
                zero,
            ));
        }
    }

    fn check_crcs(
        &self,
        icrc: Option<CrcCheck<4>>,
        vcrc: Option<CrcCheck<2>>,
        push: &mut dyn FnMut(Fault),
    ) {
        if let Some(icrc) = icrc.filter(|icrc| !icrc.is_ok()) {
            let at = At::new("ICRC", self.shape.limit);
            let [found, right] = [icrc.found, icrc.computed].map(u32::from_be_bytes);
            let expected = Expected::Number(right.into());
            push(fault(FaultKind::IcrcMismatch, at, "icrc", found, expected));
        }
        if let Some(vcrc) = vcrc.filter(|vcrc| !vcrc.is_ok()) {
            let at = At::new("VCRC", self.shape.end.saturating_sub(2));
            let [found, right] = [vcrc.found, vcrc.computed].map(u16::from_be_bytes);
            let expected = Expected::Number(right.into());
            push(fault(FaultKind::VcrcMismatch, at, "vcrc", found, expected));
        }
    }
}

fn fault(
    kind: FaultKind,
    at: At,
    field: &'static str,
    found: impl Into<u64>,
    expected: Expected,
) -> Fault {
    Fault {
        kind,
        at,
        field,
        found: found.into(),
        expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_crcs_are_judged_in_place_of_those_that_the_bytes_ask_for() {
        // LRH, BTH of RC SEND Only without payload, and both CRCs.
        let mut bytes = [0; 26];
        bytes[1] = 2;
        bytes[5] = 6;
        bytes[8] = 4;
        crate::packet::seal(Start::Ib, &mut bytes).unwrap();
        let packet = Packet::parse(&bytes[..]);
        let (mut icrc, vcrc) = (packet.icrc(), packet.vcrc());
        assert!(icrc.is_some() && vcrc.is_some());
        assert!(packet.validate_with(icrc, vcrc).is_empty());
        icrc.iter_mut().for_each(|icrc| icrc.computed[0] ^= 1);
        let faults = packet.validate_with(icrc, vcrc);
        let kinds: Vec<_> = faults.iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, [FaultKind::IcrcMismatch]);
    }
}

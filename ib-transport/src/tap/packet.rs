//! A recorded datagram as the whole packet that it is on the wire, and back.
//!
//! A management datagram is one unreliable-datagram packet: LRH, GRH where there is one, BTH, DETH, 256
//! bytes, both CRCs. Fields that a packet does not hold (the index of a P_Key or a GID, the path bits of a
//! LID that is not known) come back as zero.

use std::io::{Read, Write};
use std::time::Duration;

use ib_mad::{GrhAddress, Instant, Mad, MadAddress};
use ib_wire::{
    Bth, Deth, Gid, Grh, GrhNxtHdr, Lid, Lnh, Lrh, OpCode, PKey, Packet, Psn, Qpn, Vl,
    crc::{Coverage, icrc, vcrc},
};

use super::{Direction, RecordedMad};
use crate::capture::{CaptureError, CaptureReader, CaptureWriter, Content, LinkType};

impl RecordedMad {
    /// The packet of this datagram; `own` is the LID of our port, or [`Lid::NONE`].
    #[must_use]
    pub fn to_packet(&self, own: Lid) -> Vec<u8> {
        let address = &self.mad.address;
        let to_fabric = self.direction != Direction::Received;
        let own = if address.lid.is_permissive() {
            Lid::PERMISSIVE
        } else {
            Lid(own.0 | u16::from(address.path_bits))
        };
        let (slid, dlid) = if to_fabric {
            (own, address.lid)
        } else {
            (address.lid, own)
        };
        let is_smp = address.qpn == Qpn::SMI;

        let headers = if address.grh.is_some() {
            Lrh::LEN + Grh::LEN
        } else {
            Lrh::LEN
        };
        // The length in the GRH: everything after it but the VCRC.
        let behind = Bth::LEN + Deth::LEN + Mad::LEN + 4;
        let mut lrh = Lrh::default();
        lrh.set_vl(if is_smp { Vl::MANAGEMENT } else { Vl::ZERO })
            .set_sl(address.sl)
            .set_lnh(if address.grh.is_some() {
                Lnh::IBA_GLOBAL
            } else {
                Lnh::IBA_LOCAL
            })
            .set_dlid(dlid)
            .set_slid(slid)
            .set_pkt_len(((headers + behind) / 4) as u16);
        let mut bth = Bth::default();
        bth.set_op_code(OpCode::UD_SEND_ONLY)
            .set_p_key(PKey::DEFAULT_FULL)
            .set_dest_qp(address.qpn)
            .set_psn(Psn::new(0));
        let mut deth = Deth::default();
        deth.set_q_key(address.qkey).set_src_qp(address.qpn);

        let mut packet = Vec::with_capacity(headers + behind + 2);
        packet.extend_from_slice(lrh.as_bytes());
        if let Some(grh) = address.grh {
            let (sgid, dgid) = if to_fabric {
                (Gid::default(), grh.gid)
            } else {
                (grh.gid, Gid::default())
            };
            let mut header = Grh::default();
            header
                .set_ip_ver(6)
                .set_t_class(grh.traffic_class)
                .set_flow_label(grh.flow_label)
                .set_pay_len(behind as u16)
                .set_nxt_hdr(GrhNxtHdr::IBA_TRANSPORT)
                .set_hop_lmt(grh.hop_limit)
                .set_sgid(sgid)
                .set_dgid(dgid);
            packet.extend_from_slice(header.as_bytes());
        }
        packet.extend_from_slice(bth.as_bytes());
        packet.extend_from_slice(deth.as_bytes());
        packet.extend_from_slice(&self.mad.bytes);
        let coverage = if address.grh.is_some() {
            Coverage::IbaGlobal
        } else {
            Coverage::IbaLocal
        };
        let icrc = icrc(coverage, &packet);
        packet.extend_from_slice(&icrc);
        let vcrc = vcrc(&packet);
        packet.extend_from_slice(&vcrc);
        packet
    }

    /// The datagram that `packet` carries; `None` if it carries none.
    #[must_use]
    pub fn from_packet(at: Instant, direction: Direction, packet: &[u8]) -> Option<Self> {
        let packet = Packet::parse(packet);
        let (lrh, bth, deth) = (packet.lrh()?, packet.bth()?, packet.deth()?);
        let from_fabric = direction == Direction::Received;
        let grh = packet.grh().map(|grh| GrhAddress {
            gid: if from_fabric { grh.sgid() } else { grh.dgid() },
            gid_index: 0,
            hop_limit: grh.hop_lmt(),
            traffic_class: grh.t_class(),
            flow_label: grh.flow_label(),
        });
        let address = MadAddress {
            lid: if from_fabric { lrh.slid() } else { lrh.dlid() },
            qpn: if from_fabric {
                deth.src_qp()
            } else {
                bth.dest_qp()
            },
            qkey: deth.q_key(),
            sl: lrh.sl(),
            grh,
            ..MadAddress::smi(Lid::NONE)
        };
        let bytes = *packet.payload().first_chunk()?;
        Some(Self {
            at,
            direction,
            mad: Mad { address, bytes },
        })
    }
}

/// Writes records to a pcapng file, each as a whole packet with its direction.
#[derive(Debug)]
pub struct RecordWriter<W: Write> {
    writer: CaptureWriter<W>,
    own: Lid,
    /// The clock's epoch, as time since 1970.
    epoch: Duration,
}

impl<W: Write> RecordWriter<W> {
    /// A file of the datagrams of a port with LID `own`, or [`Lid::NONE`]. The engine's clock began
    /// `epoch` after 1970; zero for virtual time.
    ///
    /// # Errors
    /// The writer's.
    pub fn new(writer: W, own: Lid, epoch: Duration) -> Result<Self, CaptureError> {
        let writer = CaptureWriter::pcapng(writer, LinkType::ERF)?;
        Ok(Self { writer, own, epoch })
    }

    /// Writes one record.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&mut self, record: &RecordedMad) -> Result<(), CaptureError> {
        let timestamp = self
            .epoch
            .saturating_add(Duration::from_nanos(record.at.as_nanos()));
        let packet = record.to_packet(self.own);
        self.writer
            .write_directed(timestamp, record.direction, &packet)
    }

    /// The writer underneath.
    pub fn into_inner(self) -> W {
        self.writer.into_inner()
    }
}

/// Contents of a file of records.
#[derive(Debug, Default)]
pub struct Recording {
    /// The datagrams, in the order in which they passed: what [`Replay`](crate::Replay) plays.
    pub records: Vec<RecordedMad>,
    /// Number of frames that carry no management datagram, or have no direction.
    pub passed_over: usize,
    /// The place where the file ends inside a frame, as that of a program that was killed does; all frames before it
    /// are there.
    pub cut: Option<CaptureError>,
}

/// Reads the records of a file that [`RecordWriter`] wrote.
///
/// # Errors
/// Of the capture's format, or the reader's.
pub fn read_records<R: Read>(reader: R) -> Result<Recording, CaptureError> {
    let mut reader = CaptureReader::new(reader)?;
    let mut recording = Recording::default();
    loop {
        let frame = match reader.next_frame() {
            Ok(Some(frame)) => frame,
            Ok(None) => break,
            Err(cut @ CaptureError::CutShort { .. }) => {
                recording.cut = Some(cut);
                break;
            }
            Err(error) => return Err(error),
        };
        let nanos = u64::try_from(frame.timestamp.as_nanos()).unwrap_or(u64::MAX);
        let record = match (frame.content(), frame.direction) {
            (Some(Content::InfiniBand(packet)), Some(direction)) => {
                RecordedMad::from_packet(Instant::from_nanos(nanos), direction, packet)
            }
            _ => None,
        };
        match record {
            Some(record) => recording.records.push(record),
            None => recording.passed_over += 1,
        }
    }
    Ok(recording)
}

#[cfg(test)]
mod tests {
    use ib_wire::Sl;

    use super::*;

    fn record(direction: Direction, address: MadAddress) -> RecordedMad {
        let mut mad = Mad::new(address);
        for (index, byte) in mad.bytes.iter_mut().enumerate() {
            *byte = (index * 7) as u8;
        }
        RecordedMad {
            at: Instant::from_nanos(1_234_567),
            direction,
            mad,
        }
    }

    fn records() -> Vec<RecordedMad> {
        let global = MadAddress {
            grh: Some(GrhAddress {
                gid: "fe80::2:c903:a1:b2c3".parse().unwrap(),
                gid_index: 0,
                hop_limit: 3,
                traffic_class: 9,
                flow_label: 0x12345,
            }),
            ..MadAddress::gsi(Lid(5), Sl::from_low_bits(2))
        };
        [MadAddress::DIRECTED, MadAddress::smi(Lid(7)), global]
            .into_iter()
            .flat_map(|address| {
                [
                    Direction::Sent,
                    Direction::Received,
                    Direction::Returned,
                    Direction::Refused,
                ]
                .map(|direction| record(direction, address))
            })
            .collect()
    }

    #[test]
    fn a_record_is_a_valid_packet_and_comes_back() {
        for record in records() {
            let bytes = record.to_packet(Lid(17));
            let packet = Packet::parse(&bytes[..]);
            assert_eq!(packet.validate().into_iter().count(), 0, "{record:?}");
            assert!(packet.icrc().unwrap().is_ok() && packet.vcrc().unwrap().is_ok());
            assert_eq!(
                RecordedMad::from_packet(record.at, record.direction, &bytes),
                Some(record)
            );
        }
    }

    #[test]
    fn a_file_of_records_reads_back_in_order() {
        let mut writer = RecordWriter::new(Vec::new(), Lid(17), Duration::ZERO).unwrap();
        let records = records();
        for record in &records {
            writer.write(record).unwrap();
        }
        let file = writer.into_inner();
        let recording = read_records(&file[..]).unwrap();
        assert_eq!((recording.records, recording.passed_over), (records, 0));
        assert!(recording.cut.is_none());
    }

    #[test]
    fn a_file_that_was_cut_anywhere_gives_all_that_is_whole() {
        let records = records();
        let file_of = |records: &[RecordedMad]| {
            let mut writer = RecordWriter::new(Vec::new(), Lid(17), Duration::ZERO).unwrap();
            for record in records {
                writer.write(record).unwrap();
            }
            writer.into_inner()
        };
        let file = file_of(&records);
        let end = |whole| file_of(&records[..whole]).len();
        let ends: Vec<usize> = (0..=records.len()).map(end).collect();
        for length in ends[0]..file.len() {
            let recording = read_records(&file[..length]).unwrap();
            let whole = ends.iter().filter(|&&end| end <= length).count() - 1;
            assert_eq!(recording.records, records[..whole], "{length} bytes");
            let frame = whole as u64 + 1;
            match recording.cut {
                None => assert_eq!(ends[whole], length),
                Some(CaptureError::CutShort { frame: cut, .. }) => assert_eq!(cut, frame),
                other => panic!("{length} bytes: {other:?}"),
            }
        }
    }
}

//! Packet captures: pcap and pcapng files, read and written.
//!
//! A capture names the link of each interface's frames. InfiniBand packets are in frames of link type 247
//! as they are, and in ERF (197, of Endace cards and of ibdump) after a header with extensions; RoCE is in
//! Ethernet, Linux "cooked" or bare IP frames. [`Frame::content`] finds where the packet starts. Pitfall: a
//! capture's last frames may be cut short, and a frame may carry another protocol.

use std::{
    borrow::Cow,
    fmt,
    io::{self, Cursor, Read, Write},
    time::Duration,
};

use ib_wire::Packet;
use pcap_file::{
    DataLink, PcapError, TsResolution,
    pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter},
    pcapng::{
        Block, PcapNgBlock, PcapNgReader, PcapNgWriter,
        blocks::{
            enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption},
            interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption},
        },
    },
};
use thiserror::Error;

mod content;

use crate::tap::Direction;
use content::check_sequence_len;
pub use content::{Content, ErfHeader, ErfType, Frame, LinkType};

/// First bytes of every pcapng section.
const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Longest frame that is written: more than any packet of the architecture.
const SNAP_LEN: u32 = 65_535;

/// Why a capture cannot be read or written further.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The system could not read or write.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// There is nothing in the file.
    #[error("the file is empty, expected a pcap or pcapng file")]
    Empty,
    /// The file ends inside its own header.
    #[error("the file's header is cut short, expected a pcap or pcapng file")]
    HeaderCutShort,
    /// The file ends inside a frame.
    #[error("frame {frame} is cut short, expected {expected}")]
    CutShort {
        /// Number of the frame, from 1.
        frame: u64,
        /// The form that was expected, in words.
        expected: &'static str,
    },
    /// The bytes are no capture.
    #[error("frame {frame}: {reason}, expected a pcap or pcapng file")]
    Format {
        /// Number of the frame that comes next, from 1.
        frame: u64,
        /// The defect.
        reason: String,
    },
}

/// Reads a capture frame by frame; pcap or pcapng, whichever the first bytes say.
///
/// ```
/// use ib_transport::capture::{CaptureReader, CaptureWriter, LinkType};
/// use std::time::Duration;
///
/// let mut writer = CaptureWriter::pcapng(Vec::new(), LinkType::INFINIBAND)?;
/// writer.write(Duration::ZERO, &[0; 30])?;
/// let file = writer.into_inner();
///
/// let mut reader = CaptureReader::new(&file[..])?;
/// while let Some(frame) = reader.next_frame()? {
///     assert_eq!((frame.link, frame.data.len()), (LinkType::INFINIBAND, 30));
/// }
/// # Ok::<(), ib_transport::capture::CaptureError>(())
/// ```
pub struct CaptureReader<R: Read> {
    format: Format<ChunkedReader<io::Chain<Cursor<Vec<u8>>, R>>>,
    frames: u64,
}

/// Reads a little at a time: `pcap-file` has a buffer of 8 MB, of which only as much is touched, and
/// kept in the cache, as one read fills.
struct ChunkedReader<R>(R);

impl<R: Read> Read for ChunkedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const CHUNK: usize = 1 << 16;
        let len = buffer.len().min(CHUNK);
        self.0.read(buffer.get_mut(..len).unwrap_or_default())
    }
}

enum Format<R: Read> {
    Pcap(PcapReader<R>),
    PcapNg(PcapNgReader<R>),
}

impl<R: Read> fmt::Debug for CaptureReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = match self.format {
            Format::Pcap(_) => "pcap",
            Format::PcapNg(_) => "pcapng",
        };
        f.debug_struct("CaptureReader")
            .field("format", &format)
            .field("frames", &self.frames)
            .finish_non_exhaustive()
    }
}

impl<R: Read> CaptureReader<R> {
    /// Opens a capture; reads its header.
    ///
    /// # Errors
    /// [`Format`](CaptureError::Format) if the bytes are neither pcap nor pcapng,
    /// [`Empty`](CaptureError::Empty) and [`HeaderCutShort`](CaptureError::HeaderCutShort) if they
    /// are too few for either, [`Io`](CaptureError::Io) from the reader.
    pub fn new(mut reader: R) -> Result<Self, CaptureError> {
        let mut magic = Vec::new();
        reader.by_ref().take(4).read_to_end(&mut magic)?;
        if magic.is_empty() {
            return Err(CaptureError::Empty);
        }
        let is_pcapng = magic == SECTION_HEADER;
        let reader = ChunkedReader(Cursor::new(magic).chain(reader));
        let format = if is_pcapng {
            PcapNgReader::new(reader).map(Format::PcapNg)
        } else {
            PcapReader::new(reader).map(Format::Pcap)
        };
        match format {
            Ok(format) => Ok(Self { format, frames: 0 }),
            Err(error) => Err(match reason(error, 0) {
                CaptureError::CutShort { .. } => CaptureError::HeaderCutShort,
                error => error,
            }),
        }
    }

    /// The next frame; `None` at the end.
    ///
    /// # Errors
    /// [`CutShort`](CaptureError::CutShort) if the file ends inside a frame,
    /// [`Format`](CaptureError::Format) if a length or a block is wrong, [`Io`](CaptureError::Io) from
    /// the reader.
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let frames = self.frames;
        self.frames = self.frames.saturating_add(1);
        match &mut self.format {
            Format::Pcap(reader) => pcap_frame(reader, frames),
            Format::PcapNg(reader) => pcapng_frame(reader, frames),
        }
    }

    /// The packets of the frames that are left, in a `for` loop; frames of other protocols are skipped.
    ///
    /// Each packet owns its bytes: where that costs too much, use [`next_frame`](Self::next_frame) and
    /// [`Frame::packet`]. The iterator ends after the first error.
    ///
    /// ```
    /// use ib_transport::capture::CaptureReader;
    /// # use ib_transport::capture::{CaptureWriter, LinkType};
    /// # let mut writer = CaptureWriter::pcapng(Vec::new(), LinkType::INFINIBAND)?;
    /// # writer.write(std::time::Duration::ZERO, &[0; 30])?;
    /// # let file = writer.into_inner();
    ///
    /// for packet in CaptureReader::new(&file[..])?.packets() {
    ///     let packet = packet?;
    ///     println!("{} bytes: {:?}", packet.bytes().len(), packet.validate());
    /// }
    /// # Ok::<(), ib_transport::capture::CaptureError>(())
    /// ```
    pub fn packets(self) -> Packets<R> {
        Packets {
            reader: self,
            has_failed: false,
        }
    }

    /// The number of frames that have been read.
    #[must_use]
    pub fn frames(&self) -> u64 {
        self.frames
    }
}

/// The packets of a capture: [`CaptureReader::packets`].
#[derive(Debug)]
pub struct Packets<R: Read> {
    reader: CaptureReader<R>,
    has_failed: bool,
}

impl<R: Read> Iterator for Packets<R> {
    type Item = Result<Packet<Vec<u8>>, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.has_failed {
            match self.reader.next_frame() {
                Ok(frame) => {
                    let frame = frame?;
                    if let Some((start, bytes)) = frame.packet_bytes() {
                        return Some(Ok(Packet::parse_as(start, bytes.to_vec())));
                    }
                }
                Err(error) => {
                    self.has_failed = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

fn pcap_frame<R: Read>(
    reader: &mut PcapReader<R>,
    frames: u64,
) -> Result<Option<Frame<'_>>, CaptureError> {
    let header = reader.header();
    // The raw packet: writers exist whose frames are longer than the snap length they state.
    let Some(packet) = reader.next_raw_packet() else {
        return Ok(None);
    };
    let packet = packet.map_err(|error| reason(error, frames))?;
    let nanos = match header.ts_resolution {
        TsResolution::MicroSecond => u64::from(packet.ts_frac).saturating_mul(1000),
        TsResolution::NanoSecond => packet.ts_frac.into(),
    };
    let mut frame = Frame {
        link: LinkType::from_data_link(header.datalink),
        timestamp: Duration::from_secs(packet.ts_sec.into())
            .saturating_add(Duration::from_nanos(nanos)),
        original_len: packet.orig_len,
        direction: None,
        data: packet.data,
    };
    frame.cut_check_sequence(check_sequence_len(header.datalink));
    Ok(Some(frame))
}

fn pcapng_frame<R: Read>(
    reader: &mut PcapNgReader<R>,
    frames: u64,
) -> Result<Option<Frame<'_>>, CaptureError> {
    // The data is copied: a block that borrows the reader would keep its interfaces out of reach.
    loop {
        let Some(block) = reader.next_block() else {
            return Ok(None);
        };
        let (interface, timestamp, original_len, direction, mut data) =
            match block.map_err(|error| reason(error, frames))? {
                Block::EnhancedPacket(packet) => {
                    let units = packet.timestamp.as_nanos();
                    (
                        Some(packet.interface_id),
                        units,
                        packet.original_len,
                        direction(&packet.options),
                        packet.data.into_owned(),
                    )
                }
                Block::SimplePacket(packet) => {
                    let data = packet.data.into_owned();
                    (None, 0, packet.original_len, None, data)
                }
                Block::Packet(packet) => (
                    Some(packet.interface_id.into()),
                    packet.timestamp.into(),
                    packet.original_len,
                    None,
                    packet.data.into_owned(),
                ),
                _ => continue,
            };
        let number = interface.unwrap_or(0);
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(described) = reader.interfaces().get(index) else {
            return Err(CaptureError::Format {
                frame: frames.saturating_add(1),
                reason: format!("interface {number} was not described before"),
            });
        };
        if interface.is_none() {
            // A simple packet does not say how much of its data is the frame, and how much fills up
            // words.
            let most = match described.snaplen {
                0 => u32::MAX,
                most => most,
            };
            data.truncate(usize::try_from(original_len.min(most)).unwrap_or(usize::MAX));
        }
        let mut frame = Frame {
            link: LinkType::from_data_link(described.linktype),
            timestamp: since_1970(timestamp, described),
            original_len,
            direction,
            data: Cow::Owned(data),
        };
        // In bits.
        let check_sequence = described.options.iter().find_map(|option| match option {
            InterfaceDescriptionOption::IfFcsLen(bits) => Some(u32::from(bits / 8)),
            _ => None,
        });
        frame.cut_check_sequence(check_sequence.unwrap_or(0));
        return Ok(Some(frame));
    }
}

/// Direction bits of a frame's flags: it came in.
const INBOUND: u32 = 1;
/// Direction bits of a frame's flags: it went out.
const OUTBOUND: u32 = 2;
/// Comment on a datagram of ours that the layer below gave back.
const RETURNED: &str = "returned to the sender: no answer";
/// Comment on a datagram of ours that never went out.
const REFUSED: &str = "refused by the layer below: not sent";

fn direction(options: &[EnhancedPacketOption<'_>]) -> Option<Direction> {
    let says = |text: &str| {
        options.iter().any(
            |option| matches!(option, EnhancedPacketOption::Comment(comment) if comment == text),
        )
    };
    let flags = options.iter().find_map(|option| match option {
        EnhancedPacketOption::Flags(flags) => Some(flags & 3),
        _ => None,
    });
    match flags? {
        INBOUND if says(RETURNED) => Some(Direction::Returned),
        INBOUND if says(REFUSED) => Some(Direction::Refused),
        INBOUND => Some(Direction::Received),
        OUTBOUND => Some(Direction::Sent),
        _ => None,
    }
}

/// A time stamp in the interface's units: microseconds unless an option says otherwise. Another option
/// says how many seconds to add, which may be below zero.
fn since_1970(units: u128, interface: &InterfaceDescriptionBlock<'_>) -> Duration {
    let resolution = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    let resolution = resolution.unwrap_or(6);
    let exponent = u32::from(resolution & 0x7f);
    let base: u128 = if resolution & 0x80 == 0 { 10 } else { 2 };
    let per_second = base.checked_pow(exponent).unwrap_or(u128::MAX);
    let nanos = units.saturating_mul(1_000_000_000) / per_second.max(1);
    let offset = interface.options.iter().find_map(|option| match option {
        // The library gives the bits.
        InterfaceDescriptionOption::IfTsOffset(seconds) => Some(seconds.cast_signed()),
        _ => None,
    });
    let since = Duration::from_nanos(nanos.try_into().unwrap_or(u64::MAX));
    let offset = offset.unwrap_or(0);
    let seconds = Duration::from_secs(offset.unsigned_abs());
    if offset < 0 {
        since.saturating_sub(seconds)
    } else {
        since.saturating_add(seconds)
    }
}

fn reason(error: PcapError, frames: u64) -> CaptureError {
    let frame = frames.saturating_add(1);
    match error {
        PcapError::IoError(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            CaptureError::CutShort {
                frame,
                expected: "the whole of it before the end of the file",
            }
        }
        PcapError::IoError(error) => CaptureError::Io(error),
        error => CaptureError::Format {
            frame,
            reason: error.to_string(),
        },
    }
}

/// Writes a capture; frames of one link.
///
/// Frames of [`LinkType::ERF`] are given as InfiniBand packets and get their header here: it is the
/// link type of InfiniBand that all versions of Wireshark read.
pub struct CaptureWriter<W: Write> {
    format: FormatOut<W>,
    link: LinkType,
}

enum FormatOut<W: Write> {
    Pcap(PcapWriter<W>),
    PcapNg(PcapNgWriter<W>),
}

impl<W: Write> fmt::Debug for CaptureWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureWriter").finish_non_exhaustive()
    }
}

impl<W: Write> CaptureWriter<W> {
    /// A pcap file, time stamps in nanoseconds.
    ///
    /// # Errors
    /// The writer's.
    pub fn pcap(writer: W, link: LinkType) -> Result<Self, CaptureError> {
        let header = PcapHeader {
            snaplen: SNAP_LEN,
            datalink: DataLink::from(u32::from(link.0)),
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        match PcapWriter::with_header(writer, header) {
            Ok(writer) => Ok(Self {
                format: FormatOut::Pcap(writer),
                link,
            }),
            Err(error) => Err(reason(error, 0)),
        }
    }

    /// A pcapng file with one interface, time stamps in nanoseconds.
    ///
    /// # Errors
    /// The writer's.
    pub fn pcapng(writer: W, link: LinkType) -> Result<Self, CaptureError> {
        let interface = InterfaceDescriptionBlock {
            linktype: DataLink::from(u32::from(link.0)),
            snaplen: 0,
            options: vec![InterfaceDescriptionOption::IfTsResol(9)],
        };
        let described = PcapNgWriter::new(writer)
            .and_then(|mut writer| writer.write_block(&interface.into_block()).map(|_| writer));
        match described {
            Ok(writer) => Ok(Self {
                format: FormatOut::PcapNg(writer),
                link,
            }),
            Err(error) => Err(reason(error, 0)),
        }
    }

    /// Writes one frame, captured `timestamp` after 1970.
    ///
    /// # Errors
    /// The writer's.
    pub fn write(&mut self, timestamp: Duration, data: &[u8]) -> Result<(), CaptureError> {
        self.write_frame(timestamp, None, data)
    }

    /// As [`write`](Self::write), with the direction of the frame, where the format has one (pcapng).
    ///
    /// # Errors
    /// The writer's.
    pub fn write_directed(
        &mut self,
        timestamp: Duration,
        direction: Direction,
        data: &[u8],
    ) -> Result<(), CaptureError> {
        self.write_frame(timestamp, Some(direction), data)
    }

    fn write_frame(
        &mut self,
        timestamp: Duration,
        direction: Option<Direction>,
        data: &[u8],
    ) -> Result<(), CaptureError> {
        let data = if self.link == LinkType::ERF {
            let header = ErfHeader::infiniband(timestamp, data.len());
            Cow::Owned([header.as_bytes(), data].concat())
        } else {
            Cow::Borrowed(data)
        };
        let original_len = u32::try_from(data.len()).unwrap_or(u32::MAX);
        let written = match &mut self.format {
            FormatOut::Pcap(writer) => {
                writer.write_packet(&PcapPacket::new(timestamp, original_len, &data))
            }
            FormatOut::PcapNg(writer) => {
                let packet = EnhancedPacketBlock {
                    interface_id: 0,
                    timestamp,
                    original_len,
                    data,
                    options: match direction {
                        None => Vec::new(),
                        Some(Direction::Sent) => vec![EnhancedPacketOption::Flags(OUTBOUND)],
                        Some(Direction::Received) => vec![EnhancedPacketOption::Flags(INBOUND)],
                        Some(Direction::Returned) => vec![
                            EnhancedPacketOption::Comment(RETURNED.into()),
                            EnhancedPacketOption::Flags(INBOUND),
                        ],
                        Some(Direction::Refused) => vec![
                            EnhancedPacketOption::Comment(REFUSED.into()),
                            EnhancedPacketOption::Flags(INBOUND),
                        ],
                    },
                };
                writer.write_block(&packet.into_block())
            }
        };
        written.map(|_| ()).map_err(|error| reason(error, 0))
    }

    /// The writer underneath.
    pub fn into_inner(self) -> W {
        match self.format {
            FormatOut::Pcap(writer) => writer.into_writer(),
            FormatOut::PcapNg(writer) => writer.into_inner(),
        }
    }
}

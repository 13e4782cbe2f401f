//! The file of `--pcap`: every management datagram as a whole packet.

use std::{fs::File, io::BufWriter, io::Write as _, path::Path, time::Duration};

use ib_transport::{Record, RecordWriter, capture::CaptureError};
use ib_wire::Lid;

use crate::error::CliError;

/// A recording, or none where nobody asked for one.
pub struct Recording {
    name: String,
    writer: Option<RecordWriter<BufWriter<File>>>,
    /// The first error; nothing is written after it.
    error: Option<CaptureError>,
}

impl Recording {
    /// Creates the file. The engine's clock began `epoch` after 1970; zero for virtual time.
    pub fn create(file: Option<&Path>, epoch: Duration) -> Result<Self, CliError> {
        let mut recording = Self {
            name: String::new(),
            writer: None,
            error: None,
        };
        if let Some(file) = file {
            recording.name = file.display().to_string();
            let created = File::create(file)
                .map_err(|error| CliError::file(&recording.name, "written", &error))?;
            match RecordWriter::new(BufWriter::new(created), Lid::NONE, epoch) {
                Ok(writer) => recording.writer = Some(writer),
                Err(error) => return Err(CliError::at(&recording.name, error)),
            }
        }
        Ok(recording)
    }

    /// Writes one datagram.
    pub fn write(&mut self, record: &Record) {
        if let Some(writer) = &mut self.writer
            && self.error.is_none()
        {
            self.error = writer.write(record).err();
        }
    }

    /// Writes what is left, and says what went wrong on the way.
    pub fn finish(self) -> Result<(), CliError> {
        let flushed = match (self.error, self.writer) {
            (Some(error), _) => Err(error),
            (None, Some(writer)) => writer.into_inner().flush().map_err(CaptureError::Io),
            (None, None) => Ok(()),
        };
        flushed.map_err(|error| CliError::at(self.name, error))
    }
}

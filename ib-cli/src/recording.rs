//! The file of `--pcap`: every management datagram as a whole packet.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ib_transport::{RecordWriter, RecordedMad, capture::CaptureError};
use ib_wire::Lid;

use crate::{error::CliError, interrupt, output::stderr};

/// A recording, or none if no file was named. A signal that ends the process leaves whole packets in the file.
pub struct PcapFile {
    name: String,
    output: Arc<Mutex<Output>>,
    /// Completes the file if a signal ends the process.
    _on_interrupt: Option<interrupt::Guard>,
}

/// The file while it is written.
#[derive(Default)]
struct Output {
    writer: Option<RecordWriter<BufWriter<File>>>,
    /// The first error; nothing is written after it.
    error: Option<CaptureError>,
}

impl PcapFile {
    /// Creates the file. The engine's clock began `epoch` after 1970; zero for virtual time.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(file: Option<&Path>, epoch: Duration) -> Result<Self, CliError> {
        let Some(file) = file else {
            return Ok(Self {
                name: String::new(),
                output: Arc::default(),
                _on_interrupt: None,
            });
        };
        let name = file.display().to_string();
        let created =
            File::create(file).map_err(|error| CliError::file(&name, "written", &error))?;
        let writer = RecordWriter::new(BufWriter::new(created), Lid::NONE, epoch);
        let writer = writer.map_err(|error| CliError::at(&name, error))?;
        let output = Arc::new(Mutex::new(Output {
            writer: Some(writer),
            error: None,
        }));
        let shared = Arc::clone(&output);
        let on_interrupt = interrupt::on_interrupt(move || {
            // After this the other threads find no writer.
            let _ = lock(&shared).close();
        });
        Ok(Self {
            name,
            output,
            _on_interrupt: Some(on_interrupt),
        })
    }

    /// Writes one datagram.
    pub fn write(&mut self, record: &RecordedMad) {
        let mut output = lock(&self.output);
        let Output { writer, error } = &mut *output;
        if let Some(writer) = writer
            && error.is_none()
        {
            *error = writer.write(record).err();
            if let Some(error) = error {
                stderr::warn(format_args!(
                    "{}: {error}; the recording ends here",
                    self.name
                ));
            }
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The first thing that went wrong since the file was created.
    pub fn finish(self) -> Result<(), CliError> {
        let mut output = lock(&self.output);
        let closed = match output.error.take() {
            Some(error) => Err(error),
            None => output.close().map_err(CaptureError::Io),
        };
        closed.map_err(|error| CliError::at(&self.name, error))
    }
}

impl Output {
    /// Writes out the buffer and closes the file.
    fn close(&mut self) -> io::Result<()> {
        match self.writer.take() {
            Some(writer) => writer.into_inner().flush(),
            None => Ok(()),
        }
    }
}

/// The output. A packet is written whole or an error is kept, so a panic elsewhere leaves it in order.
fn lock(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

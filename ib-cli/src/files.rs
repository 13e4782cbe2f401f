//! Files that commands read and write: texts, lists, tables.

mod write;

use std::{
    collections::BTreeMap,
    fmt::Display,
    fs,
    io::{self, Read as _},
    path::Path,
};

use ib_routing::{
    Fabric, LidMap, Routes, TopologyError,
    format::{
        Warning, fdbs, guid2lid, lfts, lid_matrix,
        mcfdbs::{self, MulticastTables},
        sl2vl, sls, subnet_list,
    },
};
use ib_wire::text::TextError;

pub use self::write::{Access, set_aside, write, write_bytes, write_kept};
use crate::{error::CliError, output::stderr};

/// The text of a file, or of stdin for `-`. Bytes that are no UTF-8 become replacement characters:
/// node descriptions carry them.
pub fn read_text(name: &str) -> Result<String, CliError> {
    text_of(name, &read_bytes(name)?)
}

/// The bytes of a file, or of standard input for `-`.
pub fn read_bytes(name: &str) -> Result<Vec<u8>, CliError> {
    let bytes = if name == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        fs::read(name)
    };
    bytes.map_err(|error| CliError::file(name, "read", &error))
}

/// The text of a file with these bytes, without a byte order mark. A compressed file is refused.
pub fn text_of(name: &str, bytes: &[u8]) -> Result<String, CliError> {
    if let Some(tool) = compressed_by(bytes) {
        let what = format!("compressed by {tool}, expected text, as `{tool} -dc` writes it");
        return Err(CliError::at(name, what));
    }
    Ok(String::from_utf8_lossy(without_mark(bytes)).into_owned())
}

/// The program that compressed a file, by the bytes that its files begin with.
fn compressed_by(bytes: &[u8]) -> Option<&'static str> {
    let known: [(&[u8], &str); 4] = [
        (b"\x1f\x8b", "gzip"),
        (b"BZh", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
    ];
    let mut known = known.iter();
    let (_, tool) = known.find(|(start, _)| bytes.starts_with(start))?;
    Some(tool)
}

/// The bytes without the mark that some editors put in front of UTF-8.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Reads a file in a format of the library; an error names the file and the line.
pub fn read<T>(
    file: &Path,
    parse: impl FnOnce(&str) -> Result<T, TopologyError>,
) -> Result<T, CliError> {
    self::parse(file, &read_text(&file.display().to_string())?, parse)
}

/// Parses the text of a file; an error names the file and the line.
pub fn parse<T>(
    file: &Path,
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, TopologyError>,
) -> Result<T, CliError> {
    parse(text).map_err(|error| at_line(&file.display().to_string(), &error))
}

/// Reads a file of one entry a line; an error names the file and the line.
pub fn read_list<T>(
    file: &Path,
    parse: impl FnOnce(&str) -> Result<T, TextError>,
) -> Result<T, CliError> {
    let name = file.display().to_string();
    parse(&read_text(&name)?).map_err(|error| {
        CliError::at(
            format_args!("{name}:{}", error.line),
            format_args!("`{}`, expected {}", error.found, error.expected),
        )
    })
}

/// As [`read`], for formats that list the lines that they passed over: prints these on stderr.
pub fn warned<T>(
    file: &Path,
    parse: impl FnOnce(&str) -> Result<(T, Vec<Warning>), TopologyError>,
) -> Result<T, CliError> {
    let (value, warnings) = read(file, parse)?;
    warn(file.display(), &warnings);
    Ok(value)
}

/// The error of a text format, with file and line.
pub fn at_line(name: &str, error: &TopologyError) -> CliError {
    // A text without anything in it has no other line to blame.
    let line = error.line.unwrap_or(1);
    CliError::at(format_args!("{name}:{line}"), &error.kind)
}

/// Says on stderr which lines were passed over.
pub fn warn(name: impl Display, warnings: &[Warning]) {
    for warning in warnings {
        stderr::warn(format_args!("{name}:{}: {}", warning.line, warning.what));
    }
}

/// Writes tables to a directory under OpenSM's names; makes the directory.
pub fn dump(
    directory: &Path,
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
    groups: &MulticastTables,
) -> Result<(), CliError> {
    fs::create_dir_all(directory)
        .map_err(|error| CliError::file(directory.display(), "made a directory", &error))?;
    let files = [
        ("opensm-lfts.dump", lfts::write(fabric, lids, routes)),
        ("opensm.fdbs", fdbs::write(fabric, lids, routes)),
        ("opensm.mcfdbs", mcfdbs::write(groups)),
        ("opensm-sl2vl.dump", sl2vl::write(fabric, lids, routes)),
        ("opensm-lid-matrix.dump", lid_matrix::write(fabric, lids)),
        ("opensm-subnet.lst", subnet_list::write(fabric, lids)),
        ("guid2lid", guid2lid::write(lids, &BTreeMap::new())),
        ("sls", sls::write(lids, routes)),
    ];
    for (name, text) in files {
        write(&directory.join(name), &text)?;
    }
    Ok(())
}

//! Files that commands read and write: texts, lists, tables.

use std::{
    collections::BTreeMap,
    fmt::Display,
    fs,
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use ib_routing::{
    Fabric, LidMap, Routes, TopologyError,
    format::{
        Warning, fdbs, guid2lid, lfts, lid_matrix,
        mcfdbs::{self, Groups},
        sl2vl, sls, subnet_list,
    },
};

use crate::{error::CliError, output::stderr};

/// The text of a file, or of stdin for `-`. Bytes that are no UTF-8 become replacement characters:
/// node descriptions carry them.
pub fn read_text(name: &str) -> Result<String, CliError> {
    let bytes = if name == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        fs::read(name)
    };
    match bytes {
        Ok(bytes) => {
            let bytes = without_mark(&bytes);
            Ok(String::from_utf8_lossy(bytes).into_owned())
        }
        Err(error) => Err(CliError::file(name, "read", &error)),
    }
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
    let name = file.display().to_string();
    parse(&read_text(&name)?).map_err(|error| at_line(&name, &error))
}

/// The same for formats that tell which lines they passed over: says so on stderr.
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

/// Writes a whole file, or stdout for `-`.
pub fn write(file: &Path, text: &str) -> Result<(), CliError> {
    if file.as_os_str() == "-" {
        return Ok(io::stdout().lock().write_all(text.as_bytes())?);
    }
    fs::write(file, text).map_err(|error| CliError::file(file.display(), "written", &error))
}

/// Writes a whole file in place of an older one: whoever reads it, and whatever happens meanwhile, there is
/// the old text or the new one.
pub fn replace(file: &Path, text: &str) -> Result<(), CliError> {
    replace_with_mode(file, text, 0o666)
}

/// The same for a text with keys in it, which nobody but the user may read.
pub fn replace_secret(file: &Path, text: &str) -> Result<(), CliError> {
    replace_with_mode(file, text, 0o600)
}

fn replace_with_mode(file: &Path, text: &str, mode: u32) -> Result<(), CliError> {
    let mut name = file.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    // What an earlier run left there half written keeps its own mode: it is not written into.
    let _ = fs::remove_file(new);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(new)
        .and_then(|mut to| {
            to.write_all(text.as_bytes())?;
            to.sync_all()
        })
        .and_then(|()| fs::rename(new, file));
    written.map_err(|error| CliError::file(file.display(), "written", &error))
}

/// Writes tables to a directory under OpenSM's names; makes the directory.
pub fn dump(
    directory: &Path,
    fabric: &Fabric,
    lids: &LidMap,
    routes: &Routes,
    groups: &Groups,
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_file_with_keys_is_its_users_alone_whatever_was_there() {
        let directory = std::env::temp_dir().join(format!("ib-files-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let file = directory.join("opensm-sa.dump");
        // An older file that all may read, and the rest of a run that ended while it wrote.
        fs::write(&file, "old").unwrap();
        fs::write(directory.join("opensm-sa.dump.new"), "half").unwrap();
        for text in ["key 0x1\n", "key 0x2\n"] {
            replace_secret(&file, text).unwrap();
            let mode = fs::metadata(&file).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        assert!(replace_secret(&directory.join("none/file"), "").is_err());
        fs::remove_dir_all(&directory).unwrap();
    }
}

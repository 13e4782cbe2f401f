//! Fixtures of `compare`, of the measurements with criterion, and of the programs that measure one thing.

use std::error::Error;

use ib_routing::{
    Fabric,
    format::ibnetdiscover,
    generate::FabricSpec,
    whatif::{self, Loss},
};

/// The fabric that a specification generates, or that a file in the format of ibnetdiscover describes.
///
/// # Errors
/// The specification is not possible, or the file cannot be read.
pub fn fabric(spec_or_file: &str) -> Result<Fabric, Box<dyn Error>> {
    if FabricSpec::is_spec(spec_or_file) {
        return Ok(spec_or_file.parse::<FabricSpec>()?.build()?);
    }
    let text = std::fs::read_to_string(spec_or_file)?;
    Ok(ibnetdiscover::read(&text)?.fabric)
}

/// All failures of one kind: `cables` between switches, `hosts` (the cables of CAs) or `switches`; `None` for other names.
#[must_use]
pub fn losses(fabric: &Fabric, kind: &str) -> Option<Vec<Loss>> {
    let is_of_host = |loss: &Loss| match *loss {
        Loss::Link(one, other) => [one, other]
            .iter()
            .any(|end| fabric.switch_of(end.node).is_none()),
        Loss::Switch(_) => false,
    };
    match kind {
        "cables" => Some(whatif::links(fabric, false).collect()),
        "hosts" => Some(whatif::links(fabric, true).filter(is_of_host).collect()),
        "switches" => Some(whatif::switches(fabric).collect()),
        _ => None,
    }
}

/// The VCRC in the notation of CRC catalogues.
pub const VCRC: crc::Algorithm<u16> = crc::Algorithm {
    width: 16,
    poly: 0x100b,
    init: 0xffff,
    refin: true,
    refout: true,
    xorout: 0xffff,
    check: 0x0a3d,
    residue: 0,
};

/// The VCRC by a table, sixteen bytes at a time.
pub static SLICE16: crc::Crc<u16, crc::Table<16>> = crc::Crc::<u16, crc::Table<16>>::new(&VCRC);

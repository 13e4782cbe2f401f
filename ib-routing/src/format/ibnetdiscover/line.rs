//! One line of a topology file: what it is, and its fields.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::{borrow::ToOwned, format, string::String};

use ib_wire::{Guid, Lid, Lmc, text::shorten};

use crate::{
    error::TopologyErrorKind as Kind,
    fabric::{Enabled, LinkSpeed, LinkWidth, NodeType},
};

/// The kinds of lines.
#[derive(Debug)]
pub(super) enum Line {
    Blank,
    Comment,
    /// `Chassis 1 (guid ...)`, `Non-Chassis Nodes` and the like, which ibnetdiscover prints between blocks.
    Heading,
    Setting(Setting),
    Node(NodeLine),
    /// Looks like a node's line, but of a kind that there is not.
    UnknownNode {
        kind: String,
        text: String,
    },
    Port(PortLine),
    /// `@[3] "name"`: the port's other name, for links from other modules.
    Alias {
        port: u32,
        name: String,
    },
    Unknown(String),
}

/// `name=value` before a node's line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Setting {
    Vendor(u32),
    Device(u16),
    SystemImage(Guid),
    Guid(Guid),
    /// `switchguid+2`: so much above the last one of the kind.
    GuidAfterLast {
        switch: bool,
        offset: u64,
    },
    /// `module="name"`: what the nodes that follow belong to.
    Module(String),
    /// A setting of ibsim that a topology does not need.
    Other,
}

/// `Switch 24 "S-..." # "description" base port 0 lid 6 lmc 0`.
#[derive(Debug)]
pub(super) struct NodeLine {
    pub(super) type_: NodeType,
    pub(super) num_ports: u8,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) enhanced_port_0: bool,
    pub(super) lid: Option<(Lid, Lmc)>,
}

/// `[1](2c903000a1b2d) "S-..."[19] # lid 2 lmc 0 "description" lid 9 4xQDR`.
#[derive(Debug)]
pub(super) struct PortLine {
    pub(super) port: u32,
    pub(super) guid: Option<Guid>,
    pub(super) peer: String,
    pub(super) peer_port: u32,
    pub(super) peer_guid: Option<Guid>,
    pub(super) own_lid: Option<(Lid, Lmc)>,
    pub(super) peer_lid: Lid,
    pub(super) width: Option<LinkWidth>,
    pub(super) speed: Option<LinkSpeed>,
    pub(super) enabled: Enabled,
    /// The reason for a warning about the line.
    pub(super) odd: Option<String>,
}

impl Line {
    /// Reads a line. Fields that cannot be right are errors; what the line is not, is not.
    pub(super) fn parse(text: &str) -> Result<Self, Kind> {
        let text = text.trim_end();
        let start = text.trim_start();
        if start.is_empty() {
            return Ok(Self::Blank);
        }
        if start.starts_with('#') {
            return Ok(Self::Comment);
        }
        if let Some(alias) = start.strip_prefix('@').and_then(bracketed) {
            return Self::alias(alias);
        }
        if let Some(line) = PortLine::parse(start)? {
            return Ok(Self::Port(line));
        }
        if let Some(setting) = Setting::parse(start)? {
            return Ok(Self::Setting(setting));
        }
        if let Some((kind, rest)) = node_like(start) {
            let type_ = match kind {
                "Switch" => NodeType::SWITCH,
                "Ca" | "Hca" => NodeType::CA,
                "Rt" | "Router" => NodeType::ROUTER,
                _ => {
                    return Ok(Self::UnknownNode {
                        kind: kind.to_owned(),
                        text: shorten(start),
                    });
                }
            };
            return NodeLine::parse(type_, rest).map(Self::Node);
        }
        let heading = ["Chassis ", "Non-Chassis Nodes", "Spine ", "Line "];
        if heading.iter().any(|word| start.starts_with(word)) {
            return Ok(Self::Heading);
        }
        Ok(Self::Unknown(shorten(start)))
    }
}

impl Line {
    fn alias((port, rest): (&str, &str)) -> Result<Self, Kind> {
        let port = number("port", port, 255)? as u32;
        let name = extras(rest).1;
        let name = quoted(name).map(|(name, _)| name);
        let fit = name.filter(|name| !name.is_empty() && !name.contains(['#', '@']));
        let name = fit.ok_or_else(|| Kind::BadValue {
            field: "port's name",
            found: shorten(rest),
            expected: "a name in double quotes without # and @",
        })?;
        Ok(Self::Alias {
            port,
            name: name.to_owned(),
        })
    }
}

impl Setting {
    fn parse(text: &str) -> Result<Option<Self>, Kind> {
        let Some(end) = text.find(['=', '+']) else {
            return Ok(None);
        };
        let (Some(name), Some(rest)) = (text.get(..end), text.get(end..)) else {
            return Ok(None);
        };
        let add = rest.starts_with('+');
        let value = rest.trim_start_matches(['=', '+']);
        let read = |field, max| number(field, value, max);
        let setting = match name {
            "vendid" => Self::Vendor(read("vendid", u64::from(u32::MAX))? as u32),
            "devid" => Self::Device(read("devid", u64::from(u16::MAX))? as u16),
            "sysimgguid" => Self::SystemImage(Guid(read("sysimgguid", u64::MAX)?)),
            "switchguid" | "caguid" | "hcaguid" | "hcaguids" | "rtguid" | "routerguid" => {
                let guid = read("node GUID", u64::MAX)?;
                let switch = name == "switchguid";
                if add {
                    Self::GuidAfterLast {
                        switch,
                        offset: guid,
                    }
                } else {
                    Self::Guid(Guid(guid))
                }
            }
            "module" => {
                let name = quoted(value).map(|(name, _)| name);
                Self::Module(name.map(ToOwned::to_owned).ok_or_else(|| Kind::BadValue {
                    field: "module",
                    found: shorten(value),
                    expected: "a name in double quotes",
                })?)
            }
            "width" | "speed" | "extspeed" | "pdebug" => Self::Other,
            _ => return Ok(None),
        };
        Ok(Some(setting))
    }
}

impl NodeLine {
    /// `rest` begins at the number of ports.
    fn parse(type_: NodeType, rest: &str) -> Result<Self, Kind> {
        let (ports, rest) = split_digits(rest);
        let num_ports = number("number of ports", ports, 254)? as u8;
        let (name, rest) = quoted(rest).ok_or_else(|| Kind::BadValue {
            field: "node name",
            found: shorten(rest),
            expected: "a name in double quotes",
        })?;
        let (description, tail) = description(rest);
        let mut line = Self {
            type_,
            num_ports,
            name: name.to_owned(),
            description: description.map_or_else(|| name.to_owned(), ToOwned::to_owned),
            enhanced_port_0: tail.contains("enhanced port 0"),
            lid: None,
        };
        if let Some(lid) = word_after(tail, "lid") {
            let lid = number("lid", lid, 0xffff)? as u16;
            line.lid = Some((Lid(lid), lmc(tail)?));
        }
        Ok(line)
    }
}

impl PortLine {
    /// `None` if the line does not begin with a port in brackets and go on with a name in quotes.
    fn parse(text: &str) -> Result<Option<Self>, Kind> {
        let Some((port, rest)) = bracketed(text) else {
            return Ok(None);
        };
        let (guid, rest) = extras(rest);
        let Some((peer, rest)) = quoted(rest) else {
            return Ok(None);
        };
        let peer = peer.to_owned();
        let port = number("port", port, 255)? as u32;
        let (peer_port, rest) = match bracketed(rest) {
            Some((peer_port, rest)) => (number("peer's port", peer_port, 255)? as u32, rest),
            None => (1, rest),
        };
        let (peer_guid, rest) = extras(rest);
        let guid = guid.map(|guid| hex_guid("port GUID", guid)).transpose()?;
        let peer_guid = peer_guid
            .map(|guid| hex_guid("peer's port GUID", guid))
            .transpose()?;
        let mut line = Self {
            port,
            guid,
            peer,
            peer_port,
            peer_guid,
            own_lid: None,
            peer_lid: Lid::NONE,
            width: None,
            speed: None,
            enabled: Enabled::default(),
            odd: None,
        };
        let (head, tail) = match (rest.find('"'), rest.rfind('"')) {
            (Some(first), Some(last)) => (
                rest.get(..first).unwrap_or_default(),
                rest.get(last..).unwrap_or_default(),
            ),
            _ => ("", rest),
        };
        if let Some(lid) = word_after(head, "lid") {
            line.own_lid = Some((Lid(number("lid", lid, 0xffff)? as u16), lmc(head)?));
        }
        line.link(tail)?;
        Ok(Some(line))
    }

    /// Reads `lid 9 4xQDR s=4 w=2 v=4`.
    fn link(&mut self, tail: &str) -> Result<(), Kind> {
        if let Some(lid) = word_after(tail, "lid") {
            self.peer_lid = Lid(number("lid", lid, 0xffff)? as u16);
        }
        for word in tail.split_whitespace() {
            if let Some((letter, value)) = word.split_once('=') {
                let value = number("mask after the link", value, 255)
                    .ok()
                    .map(|value| value as u8);
                match letter {
                    "s" => self.enabled.speed = value,
                    "w" => self.enabled.width = value,
                    "v" => self.enabled.vls = value,
                    "e" => self.enabled.ext_speed = value,
                    _ => {}
                }
            } else if let Some((width, speed)) = word.split_once('x')
                && let Some(lanes) = crate::format::small(width)
            {
                self.width = LinkWidth::from_lanes(lanes);
                self.speed = speed.parse().ok();
                if self.width.is_none() || self.speed.is_none() {
                    self.odd = Some(format!(
                        "unknown width or speed {word:?}, expected for example 4xEDR"
                    ));
                }
            }
        }
        Ok(())
    }
}

/// The kind and what follows, if the line reads `word number "..."`.
fn node_like(text: &str) -> Option<(&str, &str)> {
    let (kind, rest) = text.split_once(char::is_whitespace)?;
    let word = kind
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let rest = rest.trim_start();
    let (digits, after) = split_digits(rest);
    let like = word && !digits.is_empty() && after.trim_start().starts_with('"');
    (like || matches!(kind, "Switch" | "Ca" | "Hca" | "Rt" | "Router")).then_some((kind, rest))
}

/// The description after `#`, in quotes or not, and what follows it.
fn description(rest: &str) -> (Option<&str>, &str) {
    let Some((_, comment)) = rest.split_once('#') else {
        return (None, rest);
    };
    let comment = comment.trim_start();
    if let Some(inner) = comment.strip_prefix('"')
        && let Some((text, tail)) = inner.rsplit_once('"')
    {
        return (Some(text), tail);
    }
    let ends = [" enhanced port ", " base port ", " lid ", " lmc "];
    let end = ends
        .iter()
        .filter_map(|word| comment.find(word))
        .min()
        .unwrap_or(comment.len());
    (
        comment.get(..end).map(str::trim),
        comment.get(end..).unwrap_or_default(),
    )
}

/// `[12]` at the start: the digits, and what follows.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let (inner, rest) = text.trim_start().strip_prefix('[')?.split_once(']')?;
    let digits = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
    digits.then_some((inner, rest))
}

/// `[ext 5]` and `(guid)` in any order: the GUID, and what follows.
fn extras(mut rest: &str) -> (Option<&str>, &str) {
    let mut guid = None;
    loop {
        rest = rest.trim_start();
        if let Some((inner, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            (guid, rest) = (Some(inner), after);
        } else if let Some((_, after)) = rest
            .strip_prefix("[ext")
            .and_then(|rest| rest.split_once(']'))
        {
            rest = after;
        } else {
            return (guid, rest);
        }
    }
}

/// A string in double quotes at the start, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    text.trim_start().strip_prefix('"')?.split_once('"')
}

/// The word after the word `name`.
fn word_after<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut words = text.split_whitespace();
    words.find(|&word| word == name)?;
    words.next()
}

fn lmc(text: &str) -> Result<Lmc, Kind> {
    let Some(word) = word_after(text, "lmc") else {
        return Ok(Lmc::ZERO);
    };
    let bits = number("lmc", word, 7)?;
    Ok(Lmc::try_new(bits as u8).unwrap_or_default())
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

/// A number in C's notation, up to the first character that does not belong to it.
fn number(field: &'static str, text: &str, max: u64) -> Result<u64, Kind> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    let end = digits
        .find(|c: char| !c.is_digit(radix))
        .unwrap_or(digits.len());
    let value = digits
        .get(..end)
        .and_then(|digits| u64::from_str_radix(digits, radix).ok());
    value
        .filter(|&value| value <= max)
        .ok_or_else(|| Kind::BadValue {
            field,
            found: shorten(text),
            expected: match max {
                7 => "a number from 0 to 7",
                254 => "a number from 0 to 254",
                255 => "a number from 0 to 255",
                0xffff => "a number from 0 to 65535",
                _ => "a number, hexadecimal ones with 0x",
            },
        })
}

fn hex_guid(field: &'static str, digits: &str) -> Result<Guid, Kind> {
    let digits = digits.trim();
    crate::format::hexadecimal(digits)
        .map(Guid)
        .ok_or_else(|| Kind::BadValue {
            field,
            found: shorten(digits),
            expected: "up to 16 hexadecimal digits",
        })
}

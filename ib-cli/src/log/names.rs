//! Names of nodes by GUID: the file of `node_name_map_name`, in the format of infiniband-diags.

use std::collections::BTreeMap;

use ib_wire::Guid;

use crate::{error::CliError, files::read_text};

/// Names by the GUID's text, as events print it.
#[derive(Debug, Default)]
pub struct NodeNames(BTreeMap<String, String>);

impl NodeNames {
    /// Reads the file, if one is named: `GUID "NAME"` a line, `#` begins a comment.
    ///
    /// # Errors
    /// The file cannot be read, or a line is something else.
    pub fn open(file: Option<&str>) -> Result<Self, CliError> {
        match file {
            Some(file) => Self::parse(file, &read_text(file)?),
            None => Ok(Self::default()),
        }
    }

    fn parse(file: &str, text: &str) -> Result<Self, CliError> {
        let mut names = BTreeMap::new();
        for (line, content) in (1..).zip(text.lines().map(str::trim)) {
            if content.is_empty() || content.starts_with('#') {
                continue;
            }
            let entry = content
                .split_once(char::is_whitespace)
                .and_then(|(guid, name)| {
                    let guid: Guid = guid.parse().ok()?;
                    Some((guid.to_string(), name.trim().trim_matches('"').to_owned()))
                });
            let Some((guid, name)) = entry else {
                let place = format_args!("{file}:{line}").to_string();
                return Err(CliError::at(place, "expected a GUID and a name in quotes"));
            };
            names.insert(guid, name);
        }
        Ok(Self(names))
    }

    /// The text with the name of each GUID after it.
    pub fn annotate(&self, text: &str) -> String {
        /// Length of a GUID as it is printed.
        const LEN: usize = 18;
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("0x").filter(|_| !self.0.is_empty()) {
            let (before, from) = rest.split_at(at);
            let (guid, behind) = from.split_at_checked(LEN).unwrap_or((from, ""));
            out.push_str(before);
            match self.0.get(guid) {
                Some(name) => {
                    out.push_str(&format!("{guid} \"{name}\""));
                    rest = behind;
                }
                None => {
                    let (digits, behind) = from.split_at(2);
                    out.push_str(digits);
                    rest = behind;
                }
            }
        }
        out.push_str(rest);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_get_their_names_and_lines_without_one_are_refused() {
        let text = "# map\n0x0000000000000011 \"leaf 1\"\n";
        let names = NodeNames::parse("map", text).unwrap();
        assert_eq!(
            names.annotate("node 0x0000000000000011[3] and 0x0000000000000012, status 0x1"),
            "node 0x0000000000000011 \"leaf 1\"[3] and 0x0000000000000012, status 0x1"
        );
        let error = NodeNames::parse("map", "\nnonsense\n").unwrap_err();
        assert!(error.to_string().starts_with("map:2: "), "{error}");
    }
}

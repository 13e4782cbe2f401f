//! Names of fields as a person types them: `BTH.dest_qp`, or `dest_qp` where only one structure has it.
//!
//! Capitals and underscores do not count, so that `BTH.DestQP`, the printed form, is the same field.

use std::fmt;

use ib_wire::table::{Field, Layout};

/// A field of a structure.
#[derive(Clone, Copy, Debug)]
pub struct FieldName {
    /// Structure that has the field.
    pub layout: &'static Layout,
    /// Field of that structure.
    pub field: &'static Field,
}

impl fmt::Display for FieldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.layout.name, self.field.name)
    }
}

/// Why a name does not say which field is meant.
#[derive(Debug)]
pub enum FieldNameError {
    /// No structure has such a field.
    Unknown {
        /// The name as it was typed.
        name: String,
        /// Fields with a similar name, the nearest first.
        near: Vec<FieldName>,
    },
    /// Several structures have one.
    Ambiguous {
        /// The name as it was typed.
        name: String,
        /// All fields that the name fits.
        candidates: Vec<FieldName>,
    },
}

/// Number of names that an error lists.
const LISTED: usize = 5;

impl fmt::Display for FieldNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verdict, names) = match self {
            Self::Unknown { name, near } => (format!("no field `{name}`"), near),
            Self::Ambiguous { name, candidates } => {
                let count = candidates.len();
                (
                    format!("{count} structures have a field `{name}`"),
                    candidates,
                )
            }
        };
        write!(
            f,
            "{verdict}, expected STRUCT.FIELD of the specification's tables"
        )?;
        for (index, name) in names.iter().take(LISTED).enumerate() {
            let before = if index == 0 { ", as" } else { "," };
            write!(f, "{before} {name}")?;
        }
        Ok(())
    }
}

impl FieldName {
    /// The field that `name` means. A name without a structure is looked for in one scope after the
    /// other, and must be the only one in its scope.
    pub fn find(name: &str, scopes: &[&[&'static Layout]]) -> Result<Self, FieldNameError> {
        let wanted = plain(name);
        for scope in scopes {
            let mut found: Vec<Self> = all(scope).filter(|field| field.is_named(&wanted)).collect();
            match found.pop() {
                None => {}
                Some(only) if found.is_empty() => return Ok(only),
                Some(last) => {
                    found.push(last);
                    return Err(FieldNameError::Ambiguous {
                        name: name.to_owned(),
                        candidates: found,
                    });
                }
            }
        }
        Err(FieldNameError::Unknown {
            name: name.to_owned(),
            near: near(&wanted, scopes),
        })
    }

    /// Returns true if `wanted`, a plain name, is this field with or without its structure.
    fn is_named(&self, wanted: &str) -> bool {
        match wanted.split_once('.') {
            Some((layout, field)) => {
                plain(self.layout.name) == layout && plain(self.field.name) == field
            }
            None => plain(self.field.name) == wanted,
        }
    }
}

/// The fields of the structures, in their order.
fn all(scope: &[&'static Layout]) -> impl Iterator<Item = FieldName> {
    scope.iter().flat_map(|&layout| {
        let fields = layout.fields.iter();
        fields.map(move |field| FieldName { layout, field })
    })
}

/// Fields whose names are not far from `wanted`, the nearest first.
fn near(wanted: &str, scopes: &[&[&'static Layout]]) -> Vec<FieldName> {
    if wanted.is_empty() {
        return Vec::new();
    }
    // A name as long as this one may differ in every third character.
    let farthest = (wanted.len() / 3).max(1);
    let distance = |name: &FieldName| {
        let field = plain(name.field.name);
        if wanted.contains('.') {
            let whole = format!("{}.{field}", plain(name.layout.name));
            strsim::osa_distance(wanted, &whole)
        } else {
            strsim::osa_distance(wanted, &field)
        }
    };
    let mut near: Vec<(usize, FieldName)> = scopes
        .iter()
        .flat_map(|scope| all(scope))
        .filter(|name| !name.field.is_reserved())
        .map(|name| (distance(&name), name))
        .filter(|(distance, _)| *distance <= farthest)
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.truncate(LISTED);
    near.into_iter().map(|(_, name)| name).collect()
}

/// The name without what does not count.
pub fn plain(name: &str) -> String {
    let counts = name.chars().filter(|character| *character != '_');
    counts
        .map(|character| character.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use ib_smp::{NodeInfo, PortInfo};
    use ib_wire::{Bth, Lrh};

    use super::*;

    const SCOPES: &[&[&Layout]] = &[
        &[Lrh::LAYOUT, Bth::LAYOUT],
        &[PortInfo::LAYOUT, NodeInfo::LAYOUT],
    ];

    fn find(name: &str) -> Result<String, String> {
        let found = FieldName::find(name, SCOPES);
        found
            .map(|name| name.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_form_of_a_name_does_not_count() {
        for name in [
            "BTH.dest_qp",
            "BTH.DestQP",
            "bth.destqp",
            "dest_qp",
            "DestQP",
        ] {
            assert_eq!(find(name).as_deref(), Ok("BTH.dest_qp"), "{name}");
        }
    }

    #[test]
    fn a_nearer_scope_wins_and_one_scope_must_be_clear() {
        // Both PortInfo and NodeInfo have a local port number, and PortInfo a `vl_cap`.
        assert_eq!(find("vl").as_deref(), Ok("LRH.vl"));
        assert_eq!(
            find("NodeInfo.local_port_num").as_deref(),
            Ok("NodeInfo.local_port_num")
        );
        let error = find("local_port_num").unwrap_err();
        assert!(error.contains("2 structures"), "{error}");
        assert!(
            error.contains("PortInfo.local_port_num, NodeInfo.local_port_num"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_name_lists_its_neighbours() {
        let error = find("BTH.dst_qp").unwrap_err();
        assert!(
            error.starts_with("no field `BTH.dst_qp`, expected STRUCT.FIELD"),
            "{error}"
        );
        assert!(error.contains(", as BTH.dest_qp"), "{error}");
        let error = find("node_giud").unwrap_err();
        assert!(error.ends_with("as NodeInfo.node_guid"), "{error}");
        assert!(!find("zzzzzzzz").unwrap_err().contains(" as "));
    }
}

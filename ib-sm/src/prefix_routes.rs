//! Routers by the subnet that they lead to: OpenSM's `prefix-routes.conf`.
//!
//! A line is a subnet prefix and the GUID of a router's port, both in hexadecimal; `*` in place of the prefix is any
//! subnet, in place of the GUID any router. The first line that fits and names a router of the fabric counts.

use alloc::vec::Vec;

use ib_wire::{
    GidPrefix, Guid, addr,
    text::{self, TextError},
};

/// The lines of the file, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixRoutes(pub Vec<PrefixRoute>);

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixRoute {
    /// The subnet; `None` is any.
    pub prefix: Option<GidPrefix>,
    /// A port of the router; `None` is any router.
    pub guid: Option<Guid>,
}

impl PrefixRoutes {
    /// Reads the file; `#` begins a comment.
    ///
    /// # Errors
    /// [`TextError`] at the first line that is something else.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        let mut routes = Vec::new();
        for (line, content) in text::lines(text) {
            let route = line_of(content).ok_or_else(|| {
                let expected = "a subnet prefix and the GUID of a router's port, or `*`";
                TextError::new(line, content, expected)
            })?;
            routes.push(route);
        }
        Ok(Self(routes))
    }

    /// The lines about a subnet.
    pub(crate) fn to(&self, prefix: GidPrefix) -> impl Iterator<Item = &PrefixRoute> {
        let fits = move |route: &&PrefixRoute| route.prefix.is_none_or(|own| own == prefix);
        self.0.iter().filter(fits)
    }
}

fn line_of(content: &str) -> Option<PrefixRoute> {
    let mut words = content.split_whitespace();
    let route = PrefixRoute {
        prefix: number(words.next()?)?.map(GidPrefix),
        guid: number(words.next()?)?.map(Guid),
    };
    words.next().is_none().then_some(route)
}

/// A number in hexadecimal, or `*`; `None` if it is neither.
fn number(word: &str) -> Option<Option<u64>> {
    if word == "*" {
        return Some(None);
    }
    addr::hexadecimal(word, u64::MAX).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_in_their_order_and_a_bad_one_is_named() {
        let text = "# routers\n0xfec0000000000001 0x0002c90300000001\n\n* * # any\n";
        let routes = PrefixRoutes::parse(text).unwrap();
        let prefix = GidPrefix(0xfec0_0000_0000_0001);
        assert_eq!(routes.to(prefix).count(), 2);
        assert_eq!(routes.to(GidPrefix(5)).count(), 1);
        for bad in ["0x1", "0x1 0x2 0x3", "subnet 0x1", "+1 0x2", "0x1 0x+2"] {
            let text = alloc::format!("* *\n{bad}\n");
            assert_eq!(PrefixRoutes::parse(&text).unwrap_err().line, 2);
        }
    }
}

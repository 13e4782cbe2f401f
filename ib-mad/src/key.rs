//! Keys that guard agents and managers. `Debug` does not print them.

use core::fmt;

use ib_wire::table::FieldValue;

macro_rules! secret_key {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        pub struct $name(pub u64);

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(if self.0 == 0 {
                    concat!(stringify!($name), "(none)")
                } else {
                    concat!(stringify!($name), "(..)")
                })
            }
        }

        impl FieldValue for $name {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                Self(bits)
            }

            #[inline(always)]
            fn to_bits(self) -> u64 {
                self.0
            }
        }
    };
}

secret_key! {
    /// Key that guards the congestion settings of a port; 0: none.
    CcKey
}

secret_key! {
    /// Key by which subnet managers and administrators trust each other and who asks them; 0: none.
    SmKey
}

secret_key! {
    /// Key that guards the baseboard of a module; 0: none.
    BKey
}

secret_key! {
    /// Key that guards a device in its vendor's class; 0: none.
    VsKey
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{format, string::String};

    use crate::{AttributeId, Message, MgmtClass};

    /// Every number of the text, in decimal as in hexadecimal.
    fn numbers(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c: char| !c.is_ascii_alphanumeric())
    }

    #[test]
    fn debug_of_a_message_never_prints_its_keys() {
        // The class's own key is at byte 24, an attribute's at 64, a notice's in its details.
        let keys: [(MgmtClass, &[usize]); 5] = [
            (MgmtClass::BM, &[24, 64, 78]),
            (MgmtClass::CONGESTION_CONTROL, &[24, 64, 78]),
            (MgmtClass::VENDOR2_32, &[40, 64]),
            (MgmtClass(0x0a), &[24, 64]),
            (MgmtClass(0x13), &[24, 64]),
        ];
        for (class, places) in keys {
            for attribute in [0x0002, 0x0010, 0x0012, 0x0030, 0xff00] {
                let mut bytes = [0; 256];
                bytes[1] = class.bits();
                bytes[16..18].copy_from_slice(&AttributeId(attribute).0.to_be_bytes());
                for &at in places {
                    bytes[at..at + 8].fill(0xa7);
                }
                let text: String = format!("{:?}", Message::parse(&bytes));
                let shown = numbers(&text)
                    .any(|number| matches!(number, "167" | "0xa7" | "0xa7a7a7a7a7a7a7a7"));
                assert!(!shown, "{text}");
                assert!(!text.contains("12080808363958804391"), "{text}");
            }
        }
    }
}

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

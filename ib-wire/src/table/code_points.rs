//! Open sets of values.

/// Declares code points: a newtype with named constants that keeps every other value as well.
///
/// ```
/// ib_wire::code_points! {
///     /// Logical state of a port.
///     pub struct PortState(u8) {
///         DOWN   = 1 => "Down",
///         /// All packets pass.
///         ACTIVE = 4 => "Active",
///     }
/// }
/// assert_eq!(PortState::ACTIVE.to_string(), "Active");
/// assert_eq!(PortState(9).to_string(), "PortState(0x9)");
/// assert_eq!("Down".parse(), Ok(PortState::DOWN));
/// ```
#[macro_export]
macro_rules! code_points {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($int:ident) {
            $( $(#[$row_meta:meta])* $constant:ident = $value:literal => $text:literal ),* $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $int);

        impl $name {
            $(
                $(#[$row_meta])*
                #[doc = concat!("`", stringify!($value), "`: ", $text, ".")]
                pub const $constant: Self = Self($value);
            )*

            /// The values that have a name, with their names.
            pub const NAMED: &'static [(Self, &'static str)] = &[$((Self($value), $text)),*];

            /// The value of the field's bits.
            #[inline]
            #[must_use]
            pub const fn from_bits(bits: $int) -> Self {
                Self(bits)
            }

            /// The bits on the wire.
            #[inline]
            #[must_use]
            pub const fn bits(self) -> $int {
                self.0
            }

            /// The specification's name of the value, if it has one.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($value => Some($text),)*
                    _ => None,
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self.name() {
                    Some(name) => f.pad(name),
                    None => write!(f, concat!(stringify!($name), "({:#x})"), self.0),
                }
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }

        impl core::str::FromStr for $name {
            type Err = $crate::table::UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                let mut named = Self::NAMED.iter();
                match named.find(|(_, text)| text.eq_ignore_ascii_case(name)) {
                    Some(&(value, _)) => Ok(value),
                    None => Err($crate::table::UnknownName(stringify!($name))),
                }
            }
        }

        impl $crate::table::FieldValue for $name {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                Self(bits as $int)
            }

            #[inline(always)]
            fn to_bits(self) -> u64 {
                self.0.into()
            }
        }

        $crate::__if_serde! {
            impl $crate::__private::serde::Serialize for $name {
                fn serialize<S: $crate::__private::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> Result<S::Ok, S::Error> {
                    $crate::__private::serde::Serialize::serialize(&self.0, serializer)
                }
            }

            impl<'de> $crate::__private::serde::Deserialize<'de> for $name {
                fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Self, D::Error> {
                    $crate::__private::serde::Deserialize::deserialize(deserializer).map(Self)
                }
            }
        }

        $crate::__if_arbitrary! {
            impl<'a> $crate::__private::arbitrary::Arbitrary<'a> for $name {
                fn arbitrary(
                    u: &mut $crate::__private::arbitrary::Unstructured<'a>,
                ) -> $crate::__private::arbitrary::Result<Self> {
                    Ok(Self(u.arbitrary()?))
                }
            }
        }
    };
}

/// No value of the named set has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {0} has this name")]
pub struct UnknownName(pub &'static str);

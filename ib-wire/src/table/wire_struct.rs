//! The macro that turns a layout table into a view over bytes.

use core::fmt;

/// Declares a structure of the wire as its table: one row a field, reserved bits too.
///
/// A row is `getter, setter: Type = bit offset, bits;`. The type is one of
/// - a number with a type: `u8`..`u64`, `bool`, code points, flags, [`Lid`](crate::Lid) and its like
///   ([`FieldValue`](crate::table::FieldValue)); a plain integer keeps the low bits when set;
/// - [`Gid`](crate::Gid), or a structure declared by this macro (its getter returns a reference);
/// - `[bytes; N]`: raw bytes; `[text; N]`: [`Text`](crate::table::Text);
/// - `[secret; N]`: raw bytes that are a key or may hold one: as `[bytes; N]`, but `Debug` says only
///   how many there are; `[secret_text; N]`: the same of text;
/// - `[T; N]`: an array, read and written element by element, `None` past its end.
///
/// A field that is a Rust keyword gets an underscore (`type_`), in Rust only.
///
/// ```
/// ib_wire::wire_struct! {
///     /// Flow control packet, without its CRC.
///     pub struct Credits("Credits", 4 bytes) {
///         op,    set_op:    u8  = 0, 4;
///         fctbs, set_fctbs: u16 = 4, 12;
///         vl,    set_vl:    u8  = 16, 4;
///         fccl,  set_fccl:  u16 = 20, 12;
///     }
/// }
/// let (credits, rest) = Credits::parse(&[0x01, 0x23, 0x24, 0x56], 0)?;
/// assert_eq!((credits.fctbs(), credits.vl(), credits.fccl()), (0x123, 2, 0x456));
/// assert!(rest.is_empty());
/// # Ok::<(), ib_wire::ParseError>(())
/// ```
#[macro_export]
macro_rules! wire_struct {
    (
        $(#[$meta:meta])*
        pub struct $name:ident($spec:literal, $len:literal bytes) {
            $(
                $(#[$row_meta:meta])*
                $getter:ident, $setter:ident: $type:tt = $offset:literal, $bits:literal;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        #[derive(
            $crate::__private::zerocopy::FromBytes,
            $crate::__private::zerocopy::IntoBytes,
            $crate::__private::zerocopy::Unaligned,
            $crate::__private::zerocopy::Immutable,
            $crate::__private::zerocopy::KnownLayout,
        )]
        #[repr(transparent)]
        pub struct $name([u8; $len]);

        impl $name {
            /// Length in bytes.
            pub const LEN: usize = $len;

            /// Every field in wire order.
            pub const FIELDS: &'static [$crate::table::Field] = &[$(
                $crate::table::Field {
                    name: $crate::table::spec_name(stringify!($getter)),
                    bit_offset: $offset,
                    bits: $bits,
                    kind: $crate::wire_struct!(@kind $type, $bits),
                },
            )*];

            /// Name, length and fields.
            pub const LAYOUT: &'static $crate::table::Layout = &$crate::table::Layout {
                name: $spec,
                len: $len,
                fields: Self::FIELDS,
            };

            /// The structure of these bytes.
            #[inline]
            #[must_use]
            pub const fn from_bytes(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }

            /// The bytes on the wire.
            #[inline]
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }

            /// Opens the structure on the first bytes of `bytes`, and returns what follows it.
            ///
            /// `at` is the offset of `bytes` in the packet, for the error.
            ///
            /// # Errors
            /// [`Truncated`]($crate::ParseError::Truncated) if there are fewer bytes than the structure has.
            #[inline]
            pub fn parse(bytes: &[u8], at: usize) -> Result<(&Self, &[u8]), $crate::ParseError> {
                match <Self as $crate::__private::zerocopy::FromBytes>::ref_from_prefix(bytes) {
                    Ok(opened) => Ok(opened),
                    Err(_) => Err($crate::ParseError::Truncated {
                        at: $crate::At::new($spec, at),
                        needed: $len,
                        left: bytes.len(),
                    }),
                }
            }

            /// As [`parse`](Self::parse), for writing in place.
            ///
            /// # Errors
            /// [`Truncated`]($crate::ParseError::Truncated) if there are fewer bytes than the structure has.
            #[inline]
            pub fn parse_mut(
                bytes: &mut [u8],
                at: usize,
            ) -> Result<(&mut Self, &mut [u8]), $crate::ParseError> {
                let left = bytes.len();
                match <Self as $crate::__private::zerocopy::FromBytes>::mut_from_prefix(bytes) {
                    Ok(opened) => Ok(opened),
                    Err(_) => Err($crate::ParseError::Truncated {
                        at: $crate::At::new($spec, at),
                        needed: $len,
                        left,
                    }),
                }
            }

            $(
                $crate::wire_struct!(
                    @row ($(#[$row_meta])*) $getter, $setter, $type, $len, $offset, $bits
                );
            )*
        }

        impl Default for $name {
            /// All bits zero.
            fn default() -> Self {
                Self([0; $len])
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                let mut fields = f.debug_struct(stringify!($name));
                $($crate::wire_struct!(@debug self, fields, $getter, $type);)*
                fields.finish()
            }
        }

        impl $crate::table::Row for $name {
            type View<'a> = &'a Self;
            type Input<'a> = &'a Self;
            const KIND: $crate::table::FieldKind = $crate::table::FieldKind::Struct(Self::LAYOUT);

            #[inline(always)]
            fn get<const LEN: usize, const OFFSET: usize, const BITS: usize>(
                raw: &[u8; LEN],
            ) -> &Self {
                const { assert!(BITS == $len * 8) };
                $crate::__private::zerocopy::transmute_ref!(
                    $crate::table::bytes_row::<LEN, OFFSET, $len>(raw)
                )
            }

            #[inline(always)]
            fn set<const LEN: usize, const OFFSET: usize, const BITS: usize>(
                raw: &mut [u8; LEN],
                value: &Self,
            ) {
                const { assert!(BITS == $len * 8) };
                $crate::table::set_bytes_row::<LEN, OFFSET, $len>(raw, &value.0);
            }

            #[inline]
            fn element(raw: &[u8], bit_offset: usize, _bits: usize) -> Option<&Self> {
                Self::parse(raw.get(bit_offset / 8..)?, 0).ok().map(|(view, _)| view)
            }

            #[inline]
            fn set_element(
                raw: &mut [u8],
                bit_offset: usize,
                _bits: usize,
                value: &Self,
            ) -> Option<()> {
                *Self::parse_mut(raw.get_mut(bit_offset / 8..)?, 0).ok()?.0 = *value;
                Some(())
            }
        }

        $crate::__if_serde! {
            impl $crate::__private::serde::Serialize for $name {
                fn serialize<S: $crate::__private::serde::Serializer>(
                    &self,
                    serializer: S,
                ) -> Result<S::Ok, S::Error> {
                    $crate::table::serialize_fields(Self::LAYOUT, &self.0, serializer)
                }
            }

            /// Reads a map of fields; those that it does not name are zero.
            impl<'de> $crate::__private::serde::Deserialize<'de> for $name {
                fn deserialize<D: $crate::__private::serde::Deserializer<'de>>(
                    deserializer: D,
                ) -> Result<Self, D::Error> {
                    let mut bytes = [0; $len];
                    let fields = $crate::table::FieldsMut {
                        layout: Self::LAYOUT,
                        bytes: &mut bytes,
                    };
                    $crate::__private::serde::de::DeserializeSeed::deserialize(fields, deserializer)?;
                    Ok(Self(bytes))
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

                fn size_hint(_depth: usize) -> (usize, Option<usize>) {
                    ($len, Some($len))
                }
            }
        }
    };

    (@kind [bytes; $n:literal], $bits:literal) => { $crate::table::FieldKind::Bytes };
    (@kind [secret; $n:literal], $bits:literal) => { $crate::table::FieldKind::Bytes };
    (@kind [text; $n:literal], $bits:literal) => { $crate::table::FieldKind::Text };
    (@kind [secret_text; $n:literal], $bits:literal) => { $crate::table::FieldKind::Text };
    (@kind [$type:ident; $n:literal], $bits:literal) => {
        $crate::table::FieldKind::Array {
            element_bits: $bits / $n,
            element: &<$type as $crate::table::Row>::KIND,
        }
    };
    (@kind $type:ident, $bits:literal) => { <$type as $crate::table::Row>::KIND };

    (@row ($($doc:tt)*) $getter:ident, $setter:ident, [bytes; $n:literal], $len:literal, $offset:literal, $bits:literal) => {
        $($doc)*
        #[doc = concat!("\n\n", $n, " bytes at bit ", $offset, ".")]
        #[inline]
        #[must_use]
        pub fn $getter(&self) -> &[u8; $n] {
            const { assert!($bits == $n * 8) };
            $crate::table::bytes_row::<$len, $offset, $n>(&self.0)
        }

        #[doc = concat!("Sets `", stringify!($getter), "`.\n\n")]
        $($doc)*
        #[inline]
        pub fn $setter(&mut self, bytes: &[u8; $n]) -> &mut Self {
            $crate::table::set_bytes_row::<$len, $offset, $n>(&mut self.0, bytes);
            self
        }
    };
    (@row ($($doc:tt)*) $getter:ident, $setter:ident, [secret; $n:literal], $len:literal, $offset:literal, $bits:literal) => {
        $crate::wire_struct!(
            @row ($($doc)*) $getter, $setter, [bytes; $n], $len, $offset, $bits
        );
    };
    (@row ($($doc:tt)*) $getter:ident, $setter:ident, [secret_text; $n:literal], $len:literal, $offset:literal, $bits:literal) => {
        $crate::wire_struct!(@row ($($doc)*) $getter, $setter, [text; $n], $len, $offset, $bits);
    };
    (@row ($($doc:tt)*) $getter:ident, $setter:ident, [text; $n:literal], $len:literal, $offset:literal, $bits:literal) => {
        $($doc)*
        #[doc = concat!("\n\n", $n, " bytes of text at bit ", $offset, ".")]
        #[inline]
        #[must_use]
        pub fn $getter(&self) -> &$crate::table::Text<$n> {
            const { assert!($bits == $n * 8) };
            $crate::__private::zerocopy::transmute_ref!(
                $crate::table::bytes_row::<$len, $offset, $n>(&self.0)
            )
        }

        #[doc = concat!("Sets `", stringify!($getter), "`.\n\n")]
        $($doc)*
        #[inline]
        pub fn $setter(&mut self, text: &$crate::table::Text<$n>) -> &mut Self {
            $crate::table::set_bytes_row::<$len, $offset, $n>(&mut self.0, &text.0);
            self
        }
    };
    (@row ($($doc:tt)*) $getter:ident, $setter:ident, [$type:ident; $n:literal], $len:literal, $offset:literal, $bits:literal) => {
        $($doc)*
        #[doc = concat!("\n\n", $n, " elements, ", $bits, " bits in all, from bit ", $offset, "; `None` past the last one.")]
        #[inline]
        #[must_use]
        pub fn $getter(&self, index: usize) -> Option<<$type as $crate::table::Row>::View<'_>> {
            const { assert!($offset + $bits <= $len * 8 && ($bits as usize).is_multiple_of($n)) };
            if index >= $n {
                return None;
            }
            let at = index.checked_mul($bits / $n)?.checked_add($offset)?;
            <$type as $crate::table::Row>::element(&self.0, at, $bits / $n)
        }

        #[doc = concat!("Sets an element of `", stringify!($getter), "`; `None`, and nothing written, past the last one.\n\n")]
        $($doc)*
        #[inline]
        pub fn $setter(
            &mut self,
            index: usize,
            value: <$type as $crate::table::Row>::Input<'_>,
        ) -> Option<&mut Self> {
            if index >= $n {
                return None;
            }
            let at = index.checked_mul($bits / $n)?.checked_add($offset)?;
            <$type as $crate::table::Row>::set_element(&mut self.0, at, $bits / $n, value)?;
            Some(self)
        }
    };
    (@row ($($doc:tt)*) $getter:ident, $setter:ident, $type:ident, $len:literal, $offset:literal, $bits:literal) => {
        $($doc)*
        #[doc = concat!("\n\n", $bits, " bits at bit ", $offset, ".")]
        #[inline]
        #[must_use]
        pub fn $getter(&self) -> <$type as $crate::table::Row>::View<'_> {
            <$type as $crate::table::Row>::get::<$len, $offset, $bits>(&self.0)
        }

        #[doc = concat!("Sets `", stringify!($getter), "`.\n\n")]
        $($doc)*
        #[inline]
        pub fn $setter(&mut self, value: <$type as $crate::table::Row>::Input<'_>) -> &mut Self {
            <$type as $crate::table::Row>::set::<$len, $offset, $bits>(&mut self.0, value);
            self
        }
    };

    (@debug $self:ident, $fields:ident, $getter:ident, [bytes; $n:literal]) => {
        $fields.field(stringify!($getter), $self.$getter());
    };
    (@debug $self:ident, $fields:ident, $getter:ident, [secret; $n:literal]) => {
        $fields.field(stringify!($getter), &$crate::table::DebugSecret($self.$getter()));
    };
    (@debug $self:ident, $fields:ident, $getter:ident, [secret_text; $n:literal]) => {
        let text = $crate::__private::zerocopy::IntoBytes::as_bytes($self.$getter());
        $fields.field(stringify!($getter), &$crate::table::DebugSecret(text));
    };
    (@debug $self:ident, $fields:ident, $getter:ident, [text; $n:literal]) => {
        $fields.field(stringify!($getter), $self.$getter());
    };
    (@debug $self:ident, $fields:ident, $getter:ident, [$type:ident; $n:literal]) => {
        $fields.field(
            stringify!($getter),
            &$crate::table::DebugList(|| (0..$n).map_while(|index| $self.$getter(index))),
        );
    };
    (@debug $self:ident, $fields:ident, $getter:ident, $type:ident) => {
        $fields.field(stringify!($getter), &$self.$getter());
    };
}

/// Prints the items that the function's iterator yields as a list.
#[doc(hidden)]
pub struct DebugList<F>(pub F);

impl<F, I> fmt::Debug for DebugList<F>
where
    F: Fn() -> I,
    I: Iterator<Item: fmt::Debug>,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries((self.0)()).finish()
    }
}

/// Prints how many bytes there are, and whether any of them is set, as they may hold a key.
#[derive(Clone, Copy)]
pub struct DebugSecret<'a>(pub &'a [u8]);

impl fmt::Debug for DebugSecret<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_set = self.0.iter().any(|&byte| byte != 0);
        let what = if is_set { "bytes" } else { "zeros" };
        write!(f, "({} {what})", self.0.len())
    }
}

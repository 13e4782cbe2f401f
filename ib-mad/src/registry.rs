//! The attributes of each class: the tables from which datagrams are decoded without knowing their types.
//!
//! Each layer declares the classes that it knows with [`attribute_table!`](crate::attribute_table);
//! [`describe`] looks a datagram up in the tables of all layers that the caller has.

use ib_wire::{const_str, table::Layout};

use crate::{
    AttributeId, CongestionLogCa, CongestionLogSwitch, Gmp, MadHeader, Method, MgmtClass,
    StatusCode, VendorRange1Mad, VendorRange2Mad,
};

/// A class: its format and its attributes.
#[derive(Clone, Copy, Debug)]
pub struct ClassTable {
    /// Number of the class.
    pub class: MgmtClass,
    /// The whole datagram.
    pub format: &'static Layout,
    /// The attributes, each number once.
    pub attributes: &'static [AttributeEntry],
    /// By the low byte of a number: the index of the first attribute with this byte; behind the last one if there is none.
    first: [u8; 256],
}

/// An attribute of a class.
#[derive(Clone, Copy, Debug)]
pub struct AttributeEntry {
    /// The attribute's number.
    pub id: AttributeId,
    /// The attribute's name, which may differ from its structure's.
    pub name: &'static str,
    /// The structure; `None` if no source gives one, or if there is no data.
    pub layout: Option<&'static Layout>,
    /// First byte of the structure in the datagram.
    pub offset: usize,
    /// The methods that it may be used with.
    pub methods: &'static [Method],
}

impl ClassTable {
    /// The table of `class`, whose datagrams have this format and these attributes: 255 at most, each number once.
    #[allow(
        clippy::indexing_slicing,
        reason = "evaluated at compile time, where an index past the end is an error"
    )]
    #[must_use]
    pub const fn new(
        class: MgmtClass,
        format: &'static Layout,
        attributes: &'static [AttributeEntry],
    ) -> Self {
        let len = attributes.len() as u8;
        assert!(len as usize == attributes.len(), "255 attributes at most");
        let mut first = [len; 256];
        let mut index = len;
        while let Some(before) = index.checked_sub(1) {
            index = before;
            first[low_byte(attributes[index as usize].id)] = index;
        }
        Self {
            class,
            format,
            attributes,
            first,
        }
    }

    /// The attribute with this number.
    #[must_use]
    pub fn attribute(&self, id: AttributeId) -> Option<&'static AttributeEntry> {
        let first = self.first.get(low_byte(id)).copied()?;
        let attributes = self.attributes.get(usize::from(first)..)?;
        attributes.iter().find(|entry| entry.id == id)
    }

    /// The format of a datagram of this class, which begins with `header`; `bytes` is the whole datagram.
    #[must_use]
    pub fn describe(&self, header: &MadHeader, bytes: &[u8]) -> Description {
        let attribute = self.attribute(header.attribute_id()).and_then(|entry| {
            let layout = match entry.layout {
                // Its first byte says whose log it is; a request has no log yet.
                Some(log)
                    if self.class == MgmtClass::CONGESTION_CONTROL
                        && log == CongestionLogSwitch::LAYOUT =>
                {
                    match bytes.get(entry.offset) {
                        Some(1) => CongestionLogSwitch::LAYOUT,
                        Some(2) => CongestionLogCa::LAYOUT,
                        _ => return None,
                    }
                }
                other => other?,
            };
            Some((layout, entry.offset))
        });
        Description {
            format: self.format,
            attribute,
        }
    }

    /// Returns true if the class knows this method for this attribute.
    #[must_use]
    pub fn allows(&self, method: Method, id: AttributeId) -> bool {
        self.attribute(id)
            .is_some_and(|entry| entry.methods.contains(&method))
    }
}

/// The low byte of the number, as an index.
const fn low_byte(id: AttributeId) -> usize {
    (id.0 & 0xff) as usize
}

/// The format of a datagram's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// The whole datagram.
    pub format: &'static Layout,
    /// The attribute and its first byte; `None` if it is not known.
    pub attribute: Option<(&'static Layout, usize)>,
}

impl Description {
    /// The format of a datagram of a class that no table has.
    #[must_use]
    pub fn of_unknown_class(class: MgmtClass) -> Self {
        let format = match class {
            _ if class.is_vendor_range_1() => VendorRange1Mad::LAYOUT,
            _ if class.is_vendor_range_2() => VendorRange2Mad::LAYOUT,
            _ => Gmp::LAYOUT,
        };
        Self {
            format,
            attribute: None,
        }
    }
}

/// The format of the datagram that begins with `header`, by the first of these tables that has its class.
///
/// `bytes` is the whole datagram; a congestion log is read further to learn which of two it is.
#[must_use]
pub fn describe(tables: &[&[ClassTable]], header: &MadHeader, bytes: &[u8]) -> Description {
    let class = header.mgmt_class();
    let mut all = tables.iter().copied().flatten();
    match all.find(|table| table.class == class) {
        Some(table) => table.describe(header, bytes),
        None => Description::of_unknown_class(class),
    }
}

/// The fault of a header by these tables, as a responder has to answer it: the versions, then the
/// method, then the method with the attribute. [`StatusCode::OK`] if nothing is.
///
/// A class that no table has counts as a bad version, since its version is not supported either.
/// Source: IBA vol. 1, 13.4.7.
#[must_use]
pub fn header_fault(tables: &[&[ClassTable]], header: &MadHeader) -> StatusCode {
    let class = header.mgmt_class();
    let all = tables.iter().copied().flatten();
    let mut tables = all.filter(|table| table.class == class).peekable();
    let versions = (header.base_version(), header.class_version());
    if tables.peek().is_none() || versions != (1, class.version()) {
        return StatusCode::BAD_VERSION;
    }
    let method = header.method();
    let is_allowed = |table: &ClassTable| table.allows(method, header.attribute_id());
    let knows = |table: &ClassTable| {
        let mut attributes = table.attributes.iter();
        attributes.any(|entry| entry.methods.contains(&method))
    };
    let mut is_known = class.methods().is_some_and(|all| all.contains(&method));
    for table in tables {
        if is_allowed(table) {
            return StatusCode::OK;
        }
        is_known |= knows(table);
    }
    match is_known {
        true => StatusCode::UNSUPPORTED_METHOD_ATTRIBUTE,
        false => StatusCode::UNSUPPORTED_METHOD,
    }
}

/// Room for every structure that [`distinct_layouts`] may list.
#[doc(hidden)]
#[must_use]
pub const fn layout_room(classes: &[ClassTable], others: &[&Layout]) -> usize {
    let mut room = others.len();
    let mut rest = classes;
    while let [class, after @ ..] = rest {
        room = room
            .saturating_add(class.attributes.len())
            .saturating_add(1);
        rest = after;
    }
    room
}

/// The formats and attributes of `classes`, then `others`, each once and none of those `below`; and how many they
/// are. The rest of the array is filled with the common header.
#[doc(hidden)]
#[must_use]
pub const fn distinct_layouts<const ROOM: usize>(
    mut classes: &[ClassTable],
    mut others: &[&'static Layout],
    below: &[&Layout],
) -> ([&'static Layout; ROOM], usize) {
    let mut listed = ([MadHeader::LAYOUT; ROOM], 0);
    while let [class, after @ ..] = classes {
        listed = with_layout(listed, class.format, below);
        let mut attributes = class.attributes;
        while let [attribute, after @ ..] = attributes {
            if let Some(layout) = attribute.layout {
                listed = with_layout(listed, layout, below);
            }
            attributes = after;
        }
        classes = after;
    }
    while let [layout, after @ ..] = others {
        listed = with_layout(listed, layout, below);
        others = after;
    }
    listed
}

const fn with_layout<const ROOM: usize>(
    (mut all, count): ([&'static Layout; ROOM], usize),
    layout: &'static Layout,
    below: &[&Layout],
) -> ([&'static Layout; ROOM], usize) {
    let (listed, free) = all.split_at_mut(count);
    if is_among(listed, layout) || is_among(below, layout) {
        return (all, count);
    }
    if let [next, ..] = free {
        *next = layout;
        return (all, count.saturating_add(1));
    }
    (all, count)
}

const fn is_among(mut layouts: &[&Layout], wanted: &Layout) -> bool {
    while let [layout, after @ ..] = layouts {
        if const_str::is_equal(layout.name, wanted.name) {
            return true;
        }
        layouts = after;
    }
    false
}

/// Lists every structure of a crate: the formats and attributes of its classes, which their tables name, and those that
/// no table names. A structure of a crate below, such as ClassPortInfo, is left out.
///
/// ```
/// use ib_mad::{LAYOUTS as BELOW, ClassTable, Gmp, MgmtClass, layouts};
/// use ib_wire::table::Layout;
///
/// const CLASSES: &[ClassTable] = &[];
/// layouts! {
///     /// The structures of this crate.
///     pub const LAYOUTS = CLASSES, below BELOW, and [];
/// }
/// assert!(LAYOUTS.is_empty());
/// ```
#[macro_export]
macro_rules! layouts {
    ($(#[$meta:meta])* pub const $name:ident = $classes:expr, below $below:expr, and [$($other:ident),* $(,)?];) => {
        $(#[$meta])*
        pub const $name: &[&$crate::__private::Layout] = {
            const OTHERS: &[&$crate::__private::Layout] = &[$($other::LAYOUT),*];
            const LISTED: &([&$crate::__private::Layout; $crate::__private::layout_room($classes, OTHERS)], usize) =
                &$crate::__private::distinct_layouts($classes, OTHERS, $below);
            LISTED.0.split_at(LISTED.1).0
        };
    };
}

/// Declares the attributes of a class: a table of [`AttributeEntry`] and an enum with a typed view for
/// each attribute.
///
/// A row is the attribute's name in the specification, its number, the variant with its structure and the
/// methods; `at` after the number gives a place of its own in the datagram; the rows after `untyped` have
/// no structure.
///
/// ```
/// use ib_mad::{AttributeId, ClassPortInfo, Method, attribute_table};
///
/// attribute_table! {
///     /// What a class carries.
///     pub enum Payload, data at 64 {
///         "ClassPortInfo", 0x0001 => ClassPortInfo(ClassPortInfo): GET, GET_RESP;
///     }
///     untyped {
///         "Reset", 0x0002: SET;
///     }
/// }
/// let mad = [0; 256];
/// assert!(matches!(
///     Payload::parse(AttributeId(1), &mad),
///     Payload::ClassPortInfo(_)
/// ));
/// assert_eq!(Payload::ATTRIBUTES[1].methods, [Method::SET]);
/// ```
#[macro_export]
macro_rules! attribute_table {
    (
        $(#[$meta:meta])*
        pub enum $name:ident, data at $offset:literal {
            $($text:literal, $id:literal $(at $own:literal)? => $variant:ident($type:ident): $($method:ident),+;)*
        }
        $(untyped {
            $($untyped:literal, $untyped_id:literal: $($untyped_method:ident),+;)*
        })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $name<'a> {
            $(
                #[doc = concat!("Attribute ", stringify!($id), ", `", $text, "`.")]
                $variant(&'a $type),
            )*
            /// An attribute without a structure here; its data.
            Other($crate::AttributeId, &'a [u8]),
        }

        impl core::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(Self::$variant(view) => {
                        f.debug_tuple(stringify!($variant)).field(view).finish()
                    })*
                    // Data without a structure may be or hold a key.
                    Self::Other(id, data) => f
                        .debug_tuple("Other")
                        .field(id)
                        .field(&$crate::__private::DebugSecret(data))
                        .finish(),
                }
            }
        }

        impl<'a> $name<'a> {
            /// Every attribute of the class.
            pub const ATTRIBUTES: &'static [$crate::AttributeEntry] = &[
                $($crate::AttributeEntry {
                    id: $crate::AttributeId($id),
                    name: $text,
                    layout: Some($type::LAYOUT),
                    offset: $crate::attribute_table!(@offset $offset $($own)?),
                    methods: &[$($crate::Method::$method),+],
                },)*
                $($($crate::AttributeEntry {
                    id: $crate::AttributeId($untyped_id),
                    name: $untyped,
                    layout: None,
                    offset: $offset,
                    methods: &[$($crate::Method::$untyped_method),+],
                },)*)?
            ];

            /// The attribute `id` of the datagram `mad`; what is too short for it stays bytes.
            #[must_use]
            pub fn parse(id: $crate::AttributeId, mad: &'a [u8]) -> Self {
                let other = || Self::Other(id, mad.get($offset..).unwrap_or_default());
                match id.0 {
                    $($id => {
                        let at: usize = $crate::attribute_table!(@offset $offset $($own)?);
                        match $type::parse(mad.get(at..).unwrap_or_default(), at) {
                            Ok((view, _)) => Self::$variant(view),
                            Err(_) => other(),
                        }
                    })*
                    _ => other(),
                }
            }
        }
    };
    (@offset $class:literal) => { $class };
    (@offset $class:literal $own:literal) => { $own };
}

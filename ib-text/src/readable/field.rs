//! One field for a person: its name, its value, and what the value means.

use ib_wire::table::{Field, FieldKind, Layout};

use super::{
    Context,
    form::{Form, is_hexadecimal},
    label::Label,
};
use crate::{
    Constant, Cursor, Line,
    meaning::{self, Meaning},
    value::Value,
};

/// A field, ready to be printed.
#[derive(Debug)]
pub(super) struct ReadableField {
    /// The name with those of the structures around it, as `port_info.lid`.
    name: String,
    label: Label,
    /// The field, its offset counted from the outermost structure.
    field: Field,
    /// True if it is shown only if it is not zero.
    is_reserved: bool,
    content: Content,
}

/// The parts of a field that are printed.
#[derive(Debug)]
enum Content {
    /// A number, and what it means.
    Number(Value, Meanings),
    /// A number of few bits with a meaning.
    Kept(KeptTexts),
    /// Anything else.
    Other(Form),
}

/// The meaning of a number.
#[derive(Clone, Copy, Debug)]
enum Meanings {
    None,
    /// Names of attributes, which depend on the class.
    OfAttribute,
    Of(Meaning),
}

/// The texts of a number's values with what they mean, each kept once it was asked for: text with a unit takes longer
/// to write than all else.
#[derive(Debug)]
struct KeptTexts {
    number: Value,
    meaning: Meaning,
    /// By value.
    texts: Vec<Option<Box<str>>>,
}

/// Most bits of numbers whose texts are kept.
const FEW_BITS: usize = 8;

/// The offset of the structure, on which no number depends.
const NO_OFFSET: usize = 0;

/// The fields of a structure, those of structures in it with their paths.
pub(super) fn fields(layout: &'static Layout) -> Vec<ReadableField> {
    let mut fields = Vec::new();
    add_fields(&mut fields, layout, (layout, 0), "");
    fields
}

/// Adds the fields of the structure `inner`, which is at bit `at` of `outer`.
fn add_fields(
    to: &mut Vec<ReadableField>,
    outer: &Layout,
    (inner, at): (&'static Layout, usize),
    prefix: &str,
) {
    for field in inner.fields {
        let name = format!("{prefix}{}", field.name);
        let at = at + field.bit_offset;
        match field.kind {
            FieldKind::Struct(layout) => {
                add_fields(to, outer, (layout, at), &format!("{name}."));
            }
            FieldKind::Array {
                element_bits,
                element: &FieldKind::Struct(layout),
            } => {
                for index in 0..field.bits.checked_div(element_bits).unwrap_or(0) {
                    let at = at + index * element_bits;
                    add_fields(to, outer, (layout, at), &format!("{name}[{index}]."));
                }
            }
            _ => {
                let field = Field {
                    bit_offset: at,
                    ..*field
                };
                to.push(ReadableField::new(outer, inner.name, field, name));
            }
        }
    }
}

impl Content {
    /// The content of a field of the structure `structure`, its offset counted from the start of `outer`.
    fn of(outer: &Layout, structure: &str, field: &Field) -> Self {
        if field.kind != FieldKind::Uint {
            return Self::Other(Form::of(field));
        }
        let number = if is_hexadecimal(field.name, field.bits) {
            Value::hexadecimal(field)
        } else {
            Value::of_number(field, outer.len)
        };
        if field.name == "attribute_id" {
            return Self::Number(number, Meanings::OfAttribute);
        }
        match meaning::of(structure, field.name) {
            Some(meaning) if field.bits <= FEW_BITS => Self::Kept(KeptTexts {
                number,
                meaning,
                texts: vec![None; 1 << field.bits],
            }),
            Some(meaning) => Self::Number(number, Meanings::Of(meaning)),
            None => Self::Number(number, Meanings::None),
        }
    }
}

impl Meanings {
    /// Appends what the number means, if it means anything.
    #[inline]
    fn print(self, line: &mut Line, number: Value, bytes: &[u8], context: Context) {
        let value = || number.number(bytes).unwrap_or(0);
        match self {
            Self::None => {}
            Self::OfAttribute => {
                let class = context.class;
                let name = class.and_then(|class| meaning::of_attribute(class, value()));
                in_parentheses(line, name);
            }
            Self::Of(meaning) => in_parentheses(line, meaning(value()).as_deref()),
        }
    }
}

fn in_parentheses(line: &mut Line, text: Option<&str>) {
    if let Some(text) = text {
        line.text(b" (");
        line.text(text.as_bytes());
        line.byte(b')');
    }
}

impl KeptTexts {
    /// Appends the number and its meaning.
    #[inline]
    fn print(&mut self, line: &mut Line, bytes: &[u8]) {
        let value = self.number.number(bytes).unwrap_or(0);
        let text = usize::try_from(value).ok();
        let Some(text) = text.and_then(|value| self.texts.get_mut(value)) else {
            return;
        };
        let text = text.get_or_insert_with(|| match (self.meaning)(value) {
            Some(text) => format!("{value} ({text})").into(),
            None => value.to_string().into(),
        });
        line.text(text.as_bytes());
    }
}

impl ReadableField {
    /// The field `field` of the structure `structure`, its offset counted from the start of `outer`.
    fn new(outer: &Layout, structure: &str, field: Field, name: String) -> Self {
        let has_prefix = field.kind == FieldKind::Uint && is_hexadecimal(field.name, field.bits);
        Self {
            label: Label::new(&name, if has_prefix { "0x" } else { "" }),
            name,
            is_reserved: field.name.contains("reserved") || field.is_reserved(),
            content: Content::of(outer, structure, &field),
            field,
        }
    }

    /// The name with those of the structures around it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The bytes of a field that begins and ends with one.
    fn octets<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.field.bit_offset / 8;
        let end = start + self.field.bits / 8;
        bytes.get(start..end).unwrap_or_default()
    }

    /// Returns true if the field is printed.
    #[inline]
    pub(super) fn is_shown(&self, bytes: &[u8], context: Context) -> bool {
        if self.is_reserved {
            return match &self.content {
                Content::Number(number, _) => number.number(bytes) != Some(0),
                _ => self.octets(bytes).iter().any(|&byte| byte != 0),
            };
        }
        let Some(at) = context.followed_at else {
            return true;
        };
        let start = self.field.bit_offset / 8;
        let is_data = matches!(self.field.kind, FieldKind::Bytes);
        !(is_data && (start..start + self.field.bits / 8).contains(&at))
    }

    /// Appends separator, name and value.
    #[inline]
    pub(super) fn print(
        &mut self,
        line: &mut Line,
        bytes: &[u8],
        context: Context,
        is_first: bool,
    ) {
        let mut cursor = line.room(self.label.room());
        let before = self.label.begin(&mut cursor, is_first);
        match &self.content {
            Content::Number(number, _) => number.print(&mut cursor, before, NO_OFFSET, bytes),
            Content::Kept(_) | Content::Other(_) => cursor.constant(before),
        }
        let len = cursor.len();
        line.advance(len);
        self.print_rest(line, bytes, context);
    }

    /// Appends the value and its meaning.
    pub(super) fn value(&mut self, line: &mut Line, bytes: &[u8], context: Context) {
        line.text(self.label.prefix().as_bytes());
        if let Content::Number(number, _) = &self.content {
            let mut cursor = line.room(Cursor::STEP);
            number.print(&mut cursor, &Constant::EMPTY, NO_OFFSET, bytes);
            let len = cursor.len();
            line.advance(len);
        }
        self.print_rest(line, bytes, context);
    }

    /// Appends the meaning of a number, or a value that is no number or kept with its meaning.
    #[inline(always)]
    fn print_rest(&mut self, line: &mut Line, bytes: &[u8], context: Context) {
        match &mut self.content {
            Content::Number(number, meanings) => meanings.print(line, *number, bytes, context),
            Content::Kept(texts) => texts.print(line, bytes),
            Content::Other(form) => {
                let form = *form;
                form.print(line, self.octets(bytes));
            }
        }
    }
}

//! Facts that hold for every input: called by the property tests and the fuzz targets alike.
#![allow(
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a property that does not hold panics: that is how tests and fuzzers learn of it"
)]

use crate::{Encoder, FieldPrinter, Line, Style, dissect};

/// Any document is encoded or refused. The bytes of a structure that was printed print as the same text again, and a
/// document in which a byte has changed is encoded or refused.
pub fn any_document_is_encoded_or_refused(bytes: &[u8]) {
    let encoders = [true, false].map(Encoder::new);
    let text = String::from_utf8_lossy(bytes);
    for encoder in &encoders {
        let _ = encoder.encode(&text);
    }
    let Some(([high, low, at, changed], data)) = bytes.split_first_chunk::<4>() else {
        return;
    };
    let layouts: Vec<_> = dissect::layouts().collect();
    let layout = layouts[usize::from(u16::from_be_bytes([*high, *low])) % layouts.len()];
    let printed = |content: &[u8]| {
        let mut line = Line::default();
        FieldPrinter::new(Style::Json).header(&mut line, layout, 0, content);
        let header = String::from_utf8_lossy(line.as_bytes());
        format!("{{\"headers\":[{header}]}}")
    };
    let mut content = vec![0; layout.len];
    for (to, from) in content.iter_mut().zip(data) {
        *to = *from;
    }
    let document = printed(&content);
    // A text does not show what follows its NUL.
    let encoded = encoders[0].encode(&document).expect("a printed document");
    assert_eq!(encoded.len(), layout.len, "{}", layout.name);
    assert_eq!(printed(&encoded), document);
    let mut damaged = document.into_bytes();
    let place = usize::from(*at) * damaged.len() / 256;
    damaged[place] = *changed;
    for encoder in &encoders {
        let _ = encoder.encode(&String::from_utf8_lossy(&damaged));
    }
}

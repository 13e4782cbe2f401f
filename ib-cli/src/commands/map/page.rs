//! The page: frame, style and script are files of their own, and the document is inserted between them.

use super::document::Document;
use crate::error::CliError;

const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
const LIVE: &str = include_str!("live.js");

/// The page as one text. Names from the fabric occur only in the document.
pub fn write(document: &Document) -> Result<String, CliError> {
    let data = serde_json::to_string(document).map_err(CliError::input)?;
    let mut page = String::with_capacity(FRAME.len() + STYLE.len() + SCRIPT.len() + data.len());
    for part in FRAME.split_inclusive('\n') {
        match part.trim() {
            "<!-- style -->" => page.push_str(STYLE),
            "<!-- data -->" => page.push_str(&inert(&data)),
            "<!-- script -->" => page.push_str(SCRIPT),
            _ => page.push_str(part),
        }
    }
    Ok(page)
}

/// The page of a running manager, without a document: its script asks for one.
pub fn live() -> String {
    let mut page = String::with_capacity(FRAME.len() + STYLE.len() + LIVE.len());
    for part in FRAME.split_inclusive('\n') {
        match part.trim() {
            "<!-- style -->" => page.push_str(STYLE),
            "<!-- data -->" => page.push_str("null\n"),
            "<!-- script -->" => page.push_str(LIVE),
            _ => page.push_str(part),
        }
    }
    page
}

/// The script that draws a document.
pub const fn script() -> &'static str {
    SCRIPT
}

/// The document without characters that could begin or end an element: a node description may contain `</script>`. JSON
/// reads `\u003c` as the character `<`.
fn inert(json: &str) -> String {
    let json = json.replace('<', "\\u003c").replace('>', "\\u003e");
    json.replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_document_is_markup() {
        let text = serde_json::to_string("a</script><script>alert(1)</script><!-- &amp;").unwrap();
        let inert = inert(&text);
        assert!(!inert.contains(['<', '>', '&']), "{inert}");
        let back: String = serde_json::from_str(&inert).unwrap();
        assert_eq!(back, "a</script><script>alert(1)</script><!-- &amp;");
    }

    #[test]
    fn the_frame_has_each_place_once() {
        for place in ["<!-- style -->", "<!-- data -->", "<!-- script -->"] {
            assert_eq!(FRAME.matches(place).count(), 1, "{place}");
        }
        // The page must not load anything, because it has to work without a network.
        for part in [FRAME, STYLE, SCRIPT, LIVE] {
            assert!(!part.contains("http"), "{part}");
        }
    }
}

//! Comparisons of texts for constants, which cannot call the methods of [`str`].

/// Returns true if two texts are equal.
#[must_use]
pub const fn is_equal(one: &str, other: &str) -> bool {
    one.len() == other.len() && starts_with(one, other)
}

/// Returns true if a text begins with `start`.
#[must_use]
pub const fn starts_with(text: &str, start: &str) -> bool {
    let (mut text, mut start) = (text.as_bytes(), start.as_bytes());
    while let [wanted, others @ ..] = start {
        match text {
            [first, rest @ ..] if *first == *wanted => (text, start) = (rest, others),
            _ => return false,
        }
    }
    true
}

/// Returns true if a text ends with `end`.
#[must_use]
pub const fn ends_with(text: &str, end: &str) -> bool {
    let (mut text, mut end) = (text.as_bytes(), end.as_bytes());
    while let [others @ .., wanted] = end {
        match text {
            [rest @ .., last] if *last == *wanted => (text, end) = (rest, others),
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_compare_as_the_standard_library_compares_them() {
        let texts = ["", "a", "b", "ab", "ba", "aab", "aba", "größe", "größer"];
        for one in texts {
            for other in texts {
                assert_eq!(is_equal(one, other), one == other, "{one} {other}");
                assert_eq!(
                    starts_with(one, other),
                    one.starts_with(other),
                    "{one} {other}"
                );
                assert_eq!(ends_with(one, other), one.ends_with(other), "{one} {other}");
            }
        }
    }
}

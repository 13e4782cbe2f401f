//! The name that was meant: the nearest one to a word that no name is.

use ib_text::plain;

/// The name that differs least from `word`, if no more than every third character differs. Capitals, hyphens and
/// underscores do not count.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = comparable(word);
    let farthest = (wanted.len() / 3).max(1);
    let distances = names
        .into_iter()
        .map(|name| (strsim::osa_distance(&wanted, &comparable(name)), name));
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= farthest && !wanted.is_empty()).then_some(name)
}

fn comparable(name: &str) -> String {
    plain(name).replace('-', "")
}

/// ` (the nearest is NAME)`, or nothing.
pub fn hint<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, names).map_or_else(String::new, |name| format!(" (the nearest is {name})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        let names = ["fat-tree", "torus", "ring"];
        assert_eq!(nearest("fat_tree", names), Some("fat-tree"));
        assert_eq!(nearest("Torsu", names), Some("torus"));
        assert_eq!(nearest("dragonfly", names), None);
        assert_eq!(nearest("", names), None);
    }
}

//! Fat trees: folded Clos networks as parallel-port generalised fat trees (Zahavi, "D-Mod-K routing
//! providing non-blocking traffic for shift permutations on real life fat trees", 2010).

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::Wiring;

pub(super) fn wire(
    radix: u32,
    levels: u32,
    oversub: u32,
    parallel: u32,
    pods: u32,
) -> Result<Wiring, String> {
    if !(2..=254).contains(&radix) || levels == 0 || levels > 8 || oversub == 0 || parallel == 0 {
        return Err(
            "expected radix 2..=254, levels 1..=8, oversub and parallel at least 1".to_string(),
        );
    }
    // Cables towards the roots, at a leaf and at a switch in the middle.
    let leaf_up = if levels == 1 {
        0
    } else {
        radix / oversub.saturating_add(1)
    };
    let middle_up = radix / 2;
    let uneven = !leaf_up.is_multiple_of(parallel)
        || (levels > 2 && !middle_up.is_multiple_of(parallel))
        || (levels > 1 && (!radix.is_multiple_of(parallel) || leaf_up == 0))
        || (levels > 2 && middle_up == 0);
    if uneven {
        return Err(format!(
            "{radix} ports do not divide into {levels} levels, oversubscription {oversub} and {parallel} parallel cables"
        ));
    }
    // down[l], up[l]: neighbours below and above a switch of level l.
    let mut down: Vec<u64> = Vec::new();
    let mut up: Vec<u64> = Vec::new();
    for level in 0..levels {
        let top = level + 1 == levels;
        let below = match (level, top) {
            (0, _) => radix - leaf_up,
            (_, true) => radix / parallel,
            (_, false) => (radix - middle_up) / parallel,
        };
        let above = match (level, top) {
            (_, true) => 0,
            (0, _) => leaf_up / parallel,
            _ => middle_up / parallel,
        };
        down.push(u64::from(below));
        up.push(u64::from(above));
    }
    if let Some(top) = down.last_mut().filter(|_| pods > 0 && levels > 1) {
        if u64::from(pods) > *top {
            return Err(format!("{pods} pods, expected at most {top}"));
        }
        *top = u64::from(pods);
    }
    // A level has `inner` switches with the same place below each of its `outer` subtrees.
    let inner = |level: usize| up.iter().take(level).product::<u64>();
    let outer = |level: usize| down.iter().skip(level + 1).product::<u64>();
    let counts: Vec<u64> = (0..down.len())
        .map(|level| inner(level).saturating_mul(outer(level)))
        .collect();
    let hosts = down.first().copied().unwrap_or(0);
    let switches = counts
        .iter()
        .fold(0u64, |sum, &count| sum.saturating_add(count));
    Wiring::check(switches.saturating_add(hosts.saturating_mul(outer(0))), 0)?;

    let mut wiring = Wiring::default();
    let mut first = Vec::new();
    for (level, &count) in counts.iter().enumerate() {
        let hosts = if level == 0 { hosts as u32 } else { 0 };
        first.push(0);
        for at in 0..count {
            let name = format!("L{}-{}.{}", level + 1, at / inner(level), at % inner(level));
            let switch = wiring.switch(name, hosts);
            if let Some(first) = first.last_mut().filter(|_| at == 0) {
                *first = switch;
            }
        }
    }
    for (level, pair) in first.windows(2).enumerate() {
        let &[low, high] = pair else { continue };
        let (Some(&above), Some(&below)) = (up.get(level), down.get(level + 1)) else {
            continue;
        };
        let (inner_low, inner_high) = (inner(level), inner(level + 1));
        for at in 0..counts.get(level).copied().unwrap_or(0) {
            let (tree, place) = (at / inner_low, at % inner_low);
            for _ in 0..parallel {
                for parent in 0..above {
                    let parent = (tree / below) * inner_high + parent * inner_low + place;
                    wiring.cable(low + at as u32, high + parent as u32);
                }
            }
        }
    }
    Ok(wiring)
}

//! Dragonflies: groups of switches that are all joined in the group, and groups joined to each other
//! (Kim, Dally, Scott and Abts, "Technology-driven, highly-scalable dragonfly topology", 2008).

use alloc::{
    format,
    string::{String, ToString},
};

use super::Wiring;

pub(super) fn wire(a: u32, p: u32, h: u32, g: u32) -> Result<Wiring, String> {
    if a == 0 || a > 254 || h > 254 {
        return Err("expected a 1..=254 and h at most 254".to_string());
    }
    let most = a.saturating_mul(h).saturating_add(1);
    let groups = if g == 0 { most } else { g };
    if groups > most {
        return Err(format!(
            "{groups} groups, expected at most a * h + 1 = {most}"
        ));
    }
    Wiring::check(u64::from(groups) * u64::from(a), u64::from(p))?;
    let mut wiring = Wiring::default();
    for group in 0..groups {
        for switch in 0..a {
            wiring.switch(format!("g{group}.r{switch}"), p);
        }
    }
    for group in 0..groups {
        for one in 0..a {
            for other in one + 1..a {
                wiring.cable(group * a + one, group * a + other);
            }
        }
    }
    // Cable k of a group leads to the group k + 1 further on; fewer groups leave more cables a pair.
    let cables = a * h;
    let span = groups.saturating_sub(1);
    for group in 0..groups {
        for cable in (0..cables).filter(|_| span > 0) {
            let (distance, round) = (cable % span + 1, cable / span);
            let other = (group + distance) % groups;
            let back = round * span + (groups - distance) - 1;
            if group < other && back < cables {
                wiring.cable(group * a + cable / h, other * a + back / h);
            }
        }
    }
    Ok(wiring)
}

//! Grids: meshes, tori, rings, hypercubes. Dimension d leaves by port 2d + 1 upward and 2d + 2 downward.

use alloc::{
    format,
    string::{String, ToString},
    vec::Vec,
};

use super::Wiring;

pub(super) fn wire(dims: &[u32], hosts: u32, closed: bool) -> Result<Wiring, String> {
    if dims.is_empty() || dims.len() > 16 || dims.contains(&0) {
        return Err("expected 1 to 16 dimensions of at least one switch".to_string());
    }
    let count = dims
        .iter()
        .fold(1u64, |count, &dim| count.saturating_mul(u64::from(dim)));
    Wiring::check(count, u64::from(hosts))?;
    let mut wiring = Wiring::default();
    for at in 0..count as u32 {
        let place: Vec<String> = place(dims, at).iter().map(ToString::to_string).collect();
        wiring.switch(format!("t{}", place.join(".")), hosts);
    }
    let mut stride = count as u32;
    for (number, &dim) in dims.iter().enumerate() {
        stride /= dim;
        let port = (number as u8) * 2 + 1;
        for at in 0..count as u32 {
            let here = at / stride % dim;
            // Two switches in a ring are joined once, as are the ends of a line of one.
            let last = here + 1 == dim;
            if last && (!closed || dim <= 2) {
                continue;
            }
            let next = if last {
                at - here * stride
            } else {
                at + stride
            };
            wiring.cable_at((at, port), (next, port + 1));
        }
    }
    Ok(wiring)
}

/// Switches whose numbers differ in bit d are joined by port d + 1 of both.
pub(super) fn hypercube(dim: u32, hosts: u32) -> Result<Wiring, String> {
    if dim > 16 {
        return Err(format!("{dim} dimensions, expected at most 16"));
    }
    let count = 1u32 << dim;
    Wiring::check(u64::from(count), u64::from(hosts))?;
    let mut wiring = Wiring::default();
    for at in 0..count {
        wiring.switch(format!("sw{at:05}"), hosts);
    }
    for bit in 0..dim {
        for at in (0..count).filter(|at| at >> bit & 1 == 0) {
            let port = bit as u8 + 1;
            wiring.cable_at((at, port), (at | 1 << bit, port));
        }
    }
    Ok(wiring)
}

/// Coordinates of switch `at`, the first dimension the slowest.
fn place(dims: &[u32], at: u32) -> Vec<u32> {
    let mut rest = at;
    let mut place: Vec<u32> = dims
        .iter()
        .rev()
        .map(|&dim| {
            let here = rest % dim;
            rest /= dim;
            here
        })
        .collect();
    place.reverse();
    place
}

//! Prints every header of a packet given in hex, and everything that is wrong with it.
//!
//! `cargo run -p ib-wire --example decode -- 7012375c000e17d2...`

use std::error::Error;

use ib_wire::{Packet, table::load_bits};

fn main() -> Result<(), Box<dyn Error>> {
    let hex = std::env::args()
        .nth(1)
        .ok_or("a packet in hex, from the LRH on")?;
    let digits: Vec<u8> = hex
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .map(|digit| digit as u8)
        .collect();
    let bytes: Vec<u8> = digits
        .chunks_exact(2)
        .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
        .collect();
    let packet = Packet::parse(bytes.as_slice());
    for header in packet.headers() {
        println!("{} at byte {}", header.layout.name, header.offset);
        for field in header.layout.fields {
            if let Some(value) = load_bits(header.bytes, field.bit_offset, field.bits) {
                println!("  {:12} {value:#x}", field.name);
            }
        }
    }
    println!("payload: {} bytes", packet.payload().len());
    for fault in packet.validate() {
        println!("{}: {fault}", fault.kind);
    }
    Ok(())
}

//! Hexadecimal text into bytes, at the speed of the input.

/// Appends the bytes of `digits` to `to`; blanks between bytes are left out.
///
/// Says what is wrong, and leaves `to` as it was, if a character is no digit or a digit has no
/// partner.
pub fn decode_into(to: &mut Vec<u8>, digits: &[u8]) -> Result<(), String> {
    let start = to.len();
    let digits = digits.strip_prefix(b"0x").unwrap_or(digits);
    if !append(to, digits) {
        to.truncate(start);
        // Dumps of other tools put blanks, colons or commas between the bytes.
        let plain: Vec<u8> = digits
            .iter()
            .copied()
            .filter(|byte| !matches!(byte, b' ' | b'\t' | b':' | b','))
            .collect();
        if !append(to, &plain) {
            to.truncate(start);
            return Err(complaint(&plain));
        }
    }
    Ok(())
}

fn append(to: &mut Vec<u8>, digits: &[u8]) -> bool {
    let start = to.len();
    let (pairs, rest) = digits.as_chunks::<2>();
    if !rest.is_empty() {
        return false;
    }
    to.resize(start + pairs.len(), 0);
    let mut good = true;
    // Blocks of a fixed size become vector instructions.
    const BLOCK: usize = 16;
    let (blocks, tail) = pairs.as_chunks::<BLOCK>();
    let Some(out) = to.get_mut(start..) else {
        return false;
    };
    let (out_blocks, out_tail) = out.as_chunks_mut::<BLOCK>();
    for (out, block) in out_blocks.iter_mut().zip(blocks) {
        good &= decode_pairs(out, block);
    }
    good & decode_pairs(out_tail, tail)
}

#[inline(always)]
fn decode_pairs(out: &mut [u8], pairs: &[[u8; 2]]) -> bool {
    let mut good = true;
    for (byte, &[high, low]) in out.iter_mut().zip(pairs) {
        good &= is_digit(high) & is_digit(low);
        *byte = nibble(high) << 4 | nibble(low);
    }
    good
}

#[inline(always)]
fn is_digit(character: u8) -> bool {
    (character.wrapping_sub(b'0') < 10) | ((character | 0x20).wrapping_sub(b'a') < 6)
}

/// The value of a digit; anything for other characters.
#[inline(always)]
fn nibble(digit: u8) -> u8 {
    (digit & 15).wrapping_add((digit >> 6).wrapping_mul(9))
}

fn complaint(digits: &[u8]) -> String {
    match digits.iter().find(|&&byte| !is_digit(byte)) {
        Some(&byte) => format!(
            "`{}` is no hexadecimal digit, expected two digits a byte",
            char::from(byte).escape_default()
        ),
        None => format!("{} hexadecimal digits, expected two a byte", digits.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str) -> Result<Vec<u8>, String> {
        let mut bytes = vec![0xa5];
        decode_into(&mut bytes, text.as_bytes())?;
        Ok(bytes.split_off(1))
    }

    #[test]
    fn digits_of_either_case_and_any_length_are_read() {
        let bytes: Vec<u8> = (0..=255).collect();
        for len in [0, 1, 15, 16, 17, 255, 256] {
            let lower: String = bytes[..len]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            assert_eq!(decode(&lower).as_deref(), Ok(&bytes[..len]));
            assert_eq!(decode(&lower.to_uppercase()).as_deref(), Ok(&bytes[..len]));
        }
        assert_eq!(decode("0x01 02:ff,0a"), Ok(vec![1, 2, 0xff, 10]));
    }

    #[test]
    fn anything_else_is_named() {
        for byte in (0..=255u8).filter(|byte| !byte.is_ascii_hexdigit()) {
            assert!(!is_digit(byte), "{byte}");
        }
        assert_eq!(
            decode("0g").unwrap_err(),
            "`g` is no hexadecimal digit, expected two digits a byte"
        );
        assert_eq!(
            decode("012").unwrap_err(),
            "3 hexadecimal digits, expected two a byte"
        );
    }
}

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
    let (pairs, rest) = digits.as_chunks::<2>();
    let start = to.len();
    to.resize(start + pairs.len(), 0);
    // Two loops over flat memory: each becomes vector instructions.
    let out = to.get_mut(start..).unwrap_or_default();
    for (byte, &pair) in out.iter_mut().zip(pairs) {
        *byte = value(pair);
    }
    let good = digits
        .iter()
        .fold(true, |good, &digit| good & is_digit(digit));
    good && rest.is_empty()
}

/// The byte of two digits, both taken at once as the lanes of a 16-bit number; anything for other
/// characters.
#[inline(always)]
fn value(pair: [u8; 2]) -> u8 {
    let digits = u16::from_le_bytes(pair);
    // The low four bits of a digit, and nine more where it is a letter.
    let nibbles = (digits & 0x0f0f) + (digits >> 6 & 0x0101) * 9;
    (nibbles << 4 | nibbles >> 8) as u8
}

#[inline(always)]
fn is_digit(character: u8) -> bool {
    (character.wrapping_sub(b'0') < 10) | ((character | 0x20).wrapping_sub(b'a') < 6)
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

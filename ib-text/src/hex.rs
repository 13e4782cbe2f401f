//! Hexadecimal text into bytes, at the speed of the input.

/// Appends the bytes of `digits` to `to`.
///
/// Says what is wrong as [`decode_to`] does, and leaves `to` as it was.
pub fn decode_into(to: &mut Vec<u8>, digits: &[u8]) -> Result<(), String> {
    let start = to.len();
    to.resize(start + room_for(digits), 0);
    let decoded = decode_to(to.get_mut(start..).unwrap_or_default(), digits);
    to.truncate(start + decoded.as_ref().map_or(0, |len| *len));
    decoded.map(drop)
}

/// Room that the bytes of `digits` need.
pub fn room_for(digits: &[u8]) -> usize {
    digits.len() / 2
}

/// Writes the bytes of `digits` to the start of `room`, and says how many they are; blanks between
/// bytes are left out.
///
/// Says what is wrong if a character is no digit, a digit has no partner, or the room does not do.
#[inline]
pub fn decode_to(room: &mut [u8], digits: &[u8]) -> Result<usize, String> {
    match decode_plain_to(room, digits) {
        Some(len) => Ok(len),
        None => decode_dump(room, without_prefix(digits)),
    }
}

/// As [`decode_to`]; `None` if there is anything but digits, or too little room.
#[inline]
pub fn decode_plain_to(room: &mut [u8], digits: &[u8]) -> Option<usize> {
    let digits = without_prefix(digits);
    write(room, digits).then_some(digits.len() / 2)
}

fn without_prefix(digits: &[u8]) -> &[u8] {
    digits.strip_prefix(b"0x").unwrap_or(digits)
}

/// As [`decode_to`]: dumps of other tools put blanks, colons or commas between the bytes.
#[cold]
fn decode_dump(room: &mut [u8], digits: &[u8]) -> Result<usize, String> {
    let plain: Vec<u8> = digits
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b' ' | b'\t' | b':' | b','))
        .collect();
    if write(room, &plain) {
        Ok(plain.len() / 2)
    } else {
        Err(complaint(&plain))
    }
}

#[inline]
fn write(room: &mut [u8], digits: &[u8]) -> bool {
    let room = room.get_mut(..digits.len() / 2);
    // The crate takes a prefix off as well: a second one leaves fewer digits than there is room.
    room.is_some_and(|room| const_hex::decode_to_slice(digits, room).is_ok())
}

fn complaint(digits: &[u8]) -> String {
    match digits.iter().find(|byte| !byte.is_ascii_hexdigit()) {
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
            for at in 2..40 {
                let mut digits = [b'0'; 40];
                digits[at] = byte;
                let mut bytes = vec![0xa5];
                let blank = matches!(byte, b' ' | b'\t' | b':' | b',');
                let what = decode_into(&mut bytes, &digits).unwrap_err();
                assert_eq!(what.starts_with("39 hexadecimal digits"), blank, "{what}");
                assert_eq!(bytes, [0xa5]);
            }
        }
        assert_eq!(
            decode("0g").unwrap_err(),
            "`g` is no hexadecimal digit, expected two digits a byte"
        );
        assert_eq!(decode("0x0x01").unwrap_err(), decode("x1").unwrap_err());
        assert_eq!(
            decode("012").unwrap_err(),
            "3 hexadecimal digits, expected two a byte"
        );
    }
}

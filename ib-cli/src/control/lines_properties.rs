//! Facts about the lines of the control socket that hold for every input: called by the property tests and the fuzz target.

use super::lines::{MAX_LINE, Request, json_answer, read_answer, serve, text_answer};

/// The lines that a manager receives when a client sends these bytes, and what the client receives.
fn exchange(sent: &[u8]) -> (Vec<String>, Vec<u8>) {
    let (mut lines, mut received) = (Vec::new(), Vec::new());
    serve(sent, &mut received, |line| {
        lines.push(line.to_owned());
        let request = Request::of_line(line);
        Some(match request.json {
            true => json_answer(line.len()),
            // Text of any shape: empty lines at its begin, in it and at its end.
            false => text_answer(&request.command.replace(' ', "\n\n")),
        })
    })
    .unwrap();
    (lines, received)
}

/// Every line of a client that is not too long reaches the manager, trimmed and in order, and each has one answer; so has a line
/// that is too long, after which nothing is read.
pub fn any_lines_are_answered(sent: &[u8]) {
    let most = MAX_LINE as usize;
    let (mut whole, mut is_too_long) = (Vec::new(), false);
    for line in sent.split_inclusive(|&byte| byte == b'\n') {
        is_too_long = line.len() > most || (line.len() == most && !line.ends_with(b"\n"));
        if is_too_long || !line.ends_with(b"\n") {
            break;
        }
        whole.push(String::from_utf8_lossy(line).trim().to_owned());
    }
    let (lines, received) = exchange(sent);
    assert_eq!(lines, whole);
    let mut left = received.as_slice();
    for line in &lines {
        let request = Request::of_line(line);
        let answer = read_answer(&mut left, request.json).unwrap().unwrap();
        let expected = match request.json {
            true => line.len().to_string(),
            false => request.command.trim_end().replace(' ', "\n"),
        };
        let lines = |text: &str| -> Vec<String> {
            let lines = text.split('\n').filter(|line| !line.is_empty());
            lines.map(str::to_owned).collect()
        };
        assert_eq!(lines(&answer), lines(&expected), "{line:?}");
    }
    if is_too_long {
        let text = String::from_utf8_lossy(left);
        assert!(text.contains("at most 4096 bytes"), "{text}");
    } else {
        assert_eq!(left, b"");
    }
}

/// The manager reads exactly what `ib ctl` sends; a command that cannot be sent is refused before.
pub fn any_command_arrives_as_it_was_given(bytes: &[u8]) {
    let (json, bytes) = bytes.split_first().map_or((false, bytes), |(first, rest)| {
        (first.is_multiple_of(2), rest)
    });
    let text = String::from_utf8_lossy(bytes);
    let command = text.trim();
    // `json` is no command of `ib ctl`, which has an option for it.
    if command.starts_with("json ") {
        return;
    }
    let request = Request { command, json };
    match request.to_line() {
        Ok(line) => {
            let (lines, _) = exchange(line.as_bytes());
            let [line] = lines.as_slice() else {
                panic!("{} lines", lines.len());
            };
            // Nothing after `json` is the command `json` without its value.
            let expected = match (json, command) {
                (true, "") => Request {
                    command: "json",
                    json: false,
                },
                _ => request,
            };
            assert_eq!(Request::of_line(line), expected);
        }
        Err(_) => assert!(command.contains('\n') || command.len() + 6 > MAX_LINE as usize),
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    fn part() -> impl Strategy<Value = Vec<u8>> {
        prop_oneof![
            vec(any::<u8>(), 0..8),
            "[ a-z\n\r]{0,12}".prop_map(String::into_bytes),
            Just(b"json ".to_vec()),
            Just(b"status\n".to_vec()),
            // Around the longest line.
            (4085..4100_usize).prop_map(|len| vec![b'x'; len]),
        ]
    }

    proptest! {
        #[test]
        fn any_lines_are_answered(parts in vec(part(), 0..12)) {
            super::any_lines_are_answered(&parts.concat());
        }

        #[test]
        fn any_command_arrives_as_it_was_given(parts in vec(part(), 0..4)) {
            super::any_command_arrives_as_it_was_given(&parts.concat());
        }
    }

    #[test]
    fn the_longest_line_is_answered_and_one_byte_more_is_refused() {
        for len in 4090..4100_usize {
            let mut sent = vec![b'x'; len];
            sent.extend(b"\nstatus\n");
            super::any_lines_are_answered(&sent);
            let (lines, _) = super::exchange(&sent);
            assert_eq!(lines.len(), if len < 4096 { 2 } else { 0 }, "{len} bytes");
        }
    }
}

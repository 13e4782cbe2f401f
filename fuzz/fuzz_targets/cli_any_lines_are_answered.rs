#![no_main]

// The program has no library: its file of the control socket's lines stands for itself.
#[path = "../../ib-cli/src/control/lines.rs"]
mod lines;
#[path = "../../ib-cli/src/control/lines_properties.rs"]
mod lines_properties;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    lines_properties::any_lines_are_answered(bytes);
    lines_properties::any_command_arrives_as_it_was_given(bytes);
});

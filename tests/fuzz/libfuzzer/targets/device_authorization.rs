#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::check("device_authorization", input));

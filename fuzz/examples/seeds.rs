//! Writes the seeds of the target `frame`: each captured frame of zk-jute's tests as a file, and
//! all of them in a row as one more. Run it in the folder `fuzz`.

#![forbid(unsafe_code)]

use std::path::Path;
use std::{error, fs, io};

const FRAMES: &str = "../jute/tests/golden/frames.txt";
const SEEDS: &str = "corpus/frame";

fn main() -> Result<(), Box<dyn error::Error>> {
    let mut all = Vec::new();
    let frames = fs::read_to_string(FRAMES)?;
    for line in frames.lines().filter(|line| !line.starts_with('#')) {
        let (name, hex) = line.split_once(' ').ok_or("a line without bytes")?;
        let frame = unhex(hex)?;
        write(name, &frame)?;
        all.extend(frame);
    }
    write("all.frames", &all)?;
    Ok(())
}

fn write(name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::write(Path::new(SEEDS).join(name), bytes)
}

fn unhex(hex: &str) -> Result<Vec<u8>, Box<dyn error::Error>> {
    hex.as_bytes()
        .chunks(2)
        .map(|digits| Ok(u8::from_str_radix(str::from_utf8(digits)?, 16)?))
        .collect()
}

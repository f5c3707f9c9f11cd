//! Writes the seeds that are made from the captured frames of zk-jute's tests. Run it in the folder
//! `fuzz`.
//!
//! For the target `frame`, each frame as a file, and all of them in a row as one more. For the
//! target `server`, the messages of a client: the requests up to each one, and all of them.

#![forbid(unsafe_code)]

use std::path::Path;
use std::{error, fs, io};

use script::Script;

mod script;

const FRAMES: &str = "../jute/tests/codec/golden/frames.txt";

fn main() -> Result<(), Box<dyn error::Error>> {
    let text = fs::read_to_string(FRAMES)?;
    let mut frames = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, hex) = line.split_once(' ').ok_or("a line without bytes")?;
        frames.push((name, unhex(hex)?));
    }
    let all: Vec<u8> = frames.iter().flat_map(|(_, frame)| frame).copied().collect();
    write("frame", "all.frames", &all)?;
    for (name, frame) in &frames {
        write("frame", name, frame)?;
    }
    write_scripts(&frames)?;
    Ok(())
}

/// Writes a script for each frame. The first captured request begins a session, the second makes a
/// znode.
fn write_scripts(frames: &[(&str, Vec<u8>)]) -> io::Result<()> {
    let is_request = |(name, _): &&(&str, Vec<u8>)| name.ends_with(".request");
    let requests: Vec<_> = frames.iter().filter(is_request).collect();
    let mut all = Script::default();
    for (name, frame) in &requests {
        let mut one = Script::default();
        let begin = requests.iter().filter(|(name, _)| BEGIN.contains(name));
        for (_, frame) in begin {
            one.receive(frame);
        }
        one.receive(frame);
        write("server", name, one.bytes())?;
        all.receive(frame);
    }
    write("server", "all.requests", all.bytes())
}

/// The frames that come before a request.
const BEGIN: [&str; 2] = ["connect-new.request", "create2.request"];

fn write(target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::write(Path::new("corpus").join(target).join(name), bytes)
}

fn unhex(hex: &str) -> Result<Vec<u8>, Box<dyn error::Error>> {
    hex.as_bytes()
        .chunks(2)
        .map(|digits| Ok(u8::from_str_radix(str::from_utf8(digits)?, 16)?))
        .collect()
}

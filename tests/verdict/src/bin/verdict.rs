//! Judges histories: `verdict FILE...`. The exit code is 1 if one object is not linearizable, or undecided.

use core::error::Error;
use std::env;
use std::fs;
use std::process::ExitCode;

use zk_verdict::{History, Verdict, judge};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut code = ExitCode::SUCCESS;
    for file in env::args().skip(1) {
        let history: History = fs::read_to_string(&file)?.parse()?;
        for (key, [operations, unknown], verdict) in judge(&history)? {
            println!("{file}: {key}: {operations} operations, {unknown} unknown: {verdict}");
            if verdict != Verdict::Linearizable {
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

//! Counts the writes that are lost, by the kind of guard, while leaders that are real processes write
//! to registers, and a real ensemble, the leaders and the network between them fail.
//!
//! `checker [--minutes 10] [--writers 5] [--timeout-ms 3000] [--seed N] [--svg FILE] [--history
//! FILE] [--operations FILE]`. The exit code is 1
//! if what is promised was not kept. Servers: those of `ZOOKEEPER_CLASSPATH`, or of Debian's package. With
//! Debian's package `libfaketime`, the writers' clocks run at different rates.

use core::error::Error;
use core::time::Duration;
use std::env;
use std::process::ExitCode;

use zk_endurance::checker::{Settings, check, picture, write};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.split_first() {
        Some((word, rest)) if word == "writer" => be_a_writer(rest),
        _ => run(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("checker: {error}");
        let mut source = error.source();
        while let Some(cause) = source {
            eprintln!("  {cause}");
            source = cause.source();
        }
        ExitCode::from(2)
    })
}

fn run(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let mut settings = Settings {
        span: Duration::from_secs(600),
        writers: 5,
        timeout: Duration::from_secs(3),
        seed: fastrand::u64(..),
        program: env::current_exe()?,
    };
    let (mut svg, mut history, mut operations) = (None, None, None);
    let mut given = arguments.iter();
    while let Some(option) = given.next() {
        let value = given.next().ok_or_else(|| format!("{option} needs a value"))?;
        match option.as_str() {
            "--minutes" => settings.span = Duration::from_secs_f64(value.parse::<f64>()? * 60.0),
            "--writers" => settings.writers = value.parse()?,
            "--timeout-ms" => settings.timeout = Duration::from_millis(value.parse()?),
            "--seed" => settings.seed = value.parse()?,
            "--svg" => svg = Some(value),
            "--history" => history = Some(value),
            "--operations" => operations = Some(value),
            other => return Err(format!("there is no option {other}").into()),
        }
    }
    println!("faults drawn from seed {}", settings.seed);
    let verdict = check(&settings)?;
    println!("{verdict}");
    if let Some(file) = svg {
        std::fs::write(file, picture(&verdict))?;
    }
    if let Some(file) = history {
        std::fs::write(file, verdict.history())?;
    }
    if let Some(file) = operations {
        std::fs::write(file, verdict.operations())?;
    }
    Ok(if verdict.is_kept() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Dies with the checker, also while it is stopped.
fn be_a_writer(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(write(arguments))?;
    Ok(ExitCode::SUCCESS)
}

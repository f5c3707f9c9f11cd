//! Instructions that the client takes, counted by callgrind, and how many it may take.
//!
//! ```text
//! zk-budgets                      measures all, and fails where a figure has left its budget
//! zk-budgets renew                measures all, and writes the budgets anew
//! zk-budgets run FIGURE COUNT     does what a figure is of, so many times: for callgrind
//! ```
#![forbid(unsafe_code)]

mod budgets;
mod callgrind;
mod canned;
mod election;
mod figure;
mod requests;

use std::error::Error;
use std::process::ExitCode;

use budgets::{Budgets, Verdict};
use figure::Figure;

type Outcome<T> = Result<T, Box<dyn Error>>;

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() -> Outcome<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => check(),
        ["renew"] => {
            Budgets::measure()?.write()?;
            println!("written");
            Ok(ExitCode::SUCCESS)
        }
        ["run", name, count] => {
            let figure = Figure::named(name).ok_or("no such figure")?;
            figure.run(count.parse()?)?;
            Ok(ExitCode::SUCCESS)
        }
        _ => Err("see the head of src/main.rs".into()),
    }
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn check() -> Outcome<ExitCode> {
    let budgets = Budgets::read()?;
    let verdicts = budgets.compare(&Budgets::measure()?);
    for verdict in &verdicts {
        println!("{verdict}");
    }
    if verdicts.iter().all(Verdict::is_kept) {
        return Ok(ExitCode::SUCCESS);
    }
    println!(
        "\nA figure has left its budget. Where that is meant, and also where it takes less:\n    \
         CARGO_TARGET_DIR=target/msrv cargo +{} run --locked --release -p zk-budgets -- renew\n\
         and commit tests/budgets/budgets.txt, with the reason.",
        env!("CARGO_PKG_RUST_VERSION")
    );
    Ok(ExitCode::FAILURE)
}

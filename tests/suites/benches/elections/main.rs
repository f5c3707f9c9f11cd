//! The costs of the size of an election, and of the number of elections, on Apache ZooKeeper: `README.md` beside this
//! folder says how to run it.
#![forbid(unsafe_code)]

mod bring_up;
mod many;
mod raw;
mod take_over;
mod times;

use core::time::Duration;

use tokio::runtime::Builder;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::zookeeper::{Options, Server};

const USAGE: &str = "\
bring-up [NUMBER...]             nominees on one session, until each has its place
take-over [NUMBER...]            from a resignation to the next leader: one session, and own ones
many [NUMBER...]                 elections with three clients each, and the loss of one client";

fn main() -> TestResult {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        // `cargo test --benches` says so: do they still run?
        ["--test", ..] => runtime.block_on(smoke()),
        ["bring-up", sizes @ ..] => runtime.block_on(bring_up::table(
            &server()?,
            &numbers(sizes, &[1000, 3000, 10_000])?,
            5,
        )),
        ["take-over", sizes @ ..] => {
            let sizes = numbers(sizes, &[2, 100, 1000, 10_000])?;
            runtime.block_on(take_over::table(&server()?, &sizes, 15))
        }
        ["many", sizes @ ..] => {
            runtime.block_on(many::table(&server()?, &numbers(sizes, &[1000, 3000, 10_000])?))
        }
        _ => {
            println!("{USAGE}");
            Ok(())
        }
    }
}

async fn smoke() -> TestResult {
    let server = server()?;
    bring_up::table(&server, &[10], 1).await?;
    take_over::table(&server, &[3], 1).await?;
    many::table(&server, &[10]).await
}

/// Thousands connect at once.
fn server() -> Result<Server, TestFailure> {
    let options = Options::new().config_line("clientPortListenBacklog=4096");
    Ok(options.tick_time(Duration::from_secs(2)).start_server()?)
}

fn numbers(given: &[&str], default: &[usize]) -> Result<Vec<usize>, TestFailure> {
    if given.is_empty() {
        return Ok(default.to_vec());
    }
    Ok(given.iter().map(|number| number.parse()).collect::<Result<_, _>>()?)
}

//! Benchmarks of the client: `README.md` beside this folder says how to run them.
#![forbid(unsafe_code)]

mod get_data;
mod load;
mod measure;
mod memory;
mod responder;
mod take_over;
mod tokio_socket;

use get_data::Outcome;

const TAKE_OVERS: usize = 200;
const USAGE: &str = "\
get-data                     a table: getData through the client and by a bare socket
take-over SERVERS [ROUNDS]   from a resignation to the next leader, on a real server
memory                       KiB a client
memory SERVERS               KiB a nomination, on a real server
serve                        the responder alone; prints its port
pipelined PORT COUNT         getData, 256 in flight, and nothing else: for callgrind
unordered PORT COUNT         the same, by one task with a `FuturesUnordered`
one PORT COUNT               the same, one at a time, in a task
one-in-main PORT COUNT       the same, one at a time, in `block_on`
socket PORT COUNT            the same by a bare socket of tokio's, one at a time, in a task
socket-behind-task PORT COUNT  the same, in a task beside the one that has the socket";

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => Ok(responder::run()?),
        [] | ["get-data"] => runtime.block_on(get_data::table()),
        // `cargo test --benches` says so.
        ["--test", ..] => runtime.block_on(get_data::smoke()),
        [load @ ("socket" | "socket-behind-task"), port, count] => {
            let (raw, count) = (load::Raw::connect(port.parse()?)?, count.parse()?);
            runtime.block_on(async {
                match *load {
                    "socket" => tokio_socket::in_its_task(raw, count).await,
                    _ => tokio_socket::behind_a_task(raw, count).await,
                }
            })?;
            Ok(())
        }
        [load @ ("pipelined" | "unordered" | "one" | "one-in-main"), port, count] => {
            let (port, count) = (port.parse()?, count.parse()?);
            runtime.block_on(async {
                match *load {
                    "pipelined" => get_data::pipelined(port, count).await,
                    "unordered" => get_data::unordered(port, count).await,
                    "one" => get_data::one_at_a_time(port, count).await,
                    _ => get_data::one_in_main(port, count).await,
                }
            })
        }
        ["take-over", servers] => runtime.block_on(take_over::table(servers, TAKE_OVERS)),
        ["take-over", servers, rounds] => {
            runtime.block_on(take_over::table(servers, rounds.parse()?))
        }
        ["memory"] => runtime.block_on(memory::of_clients()),
        ["memory", servers] => runtime.block_on(memory::of_nominations(servers)),
        _ => {
            println!("{USAGE}");
            Ok(())
        }
    }
}

//! The client's costs: `getData` against a responder that costs next to nothing.

use core::error::Error;
use core::time::Duration;

use election_tokio::{
    Client,
    source::ServerAddress,
    transport::{Connecting, Connector, Transport},
};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

use crate::load::{self, Cost, Raw, WINDOW};
use crate::measure::{micros, quantile};
use crate::responder::{Conversation, Responder};
use crate::tokio_socket;

const ROUNDS: usize = 5;
const PIPELINED: usize = 2000 * WINDOW;
const ONE_AT_A_TIME: usize = 20_000;
const PATH: &str = "/election";

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Makes requests, [`WINDOW`] in flight, and nothing else.
pub(crate) async fn pipelined(port: u16, requests: usize) -> Outcome<()> {
    client_pipelined(&connect(port).await?, requests).await.map(|_| ())
}

/// Makes the same requests by one task, with a `FuturesUnordered`.
pub(crate) async fn unordered(port: u16, requests: usize) -> Outcome<()> {
    let client = connect(port).await?;
    let work = async move {
        let mut in_flight: FuturesUnordered<_> =
            (0..WINDOW).map(|_| client.get_data(PATH)).collect();
        for _ in WINDOW..requests {
            if let Some(answer) = in_flight.next().await {
                answer?;
            }
            in_flight.push(client.get_data(PATH));
        }
        while let Some(answer) = in_flight.next().await {
            answer?;
        }
        Ok::<_, election_tokio::Error>(())
    };
    tokio::spawn(work).await??;
    Ok(())
}

/// Makes requests one at a time, and nothing else; in a task, as servers do.
pub(crate) async fn one_at_a_time(port: u16, requests: usize) -> Outcome<()> {
    let client = connect(port).await?;
    let work = async move {
        for _ in 0..requests {
            client.get_data(PATH).await?;
        }
        Ok::<_, election_tokio::Error>(())
    };
    tokio::spawn(work).await??;
    Ok(())
}

/// Makes the same requests in `block_on`, as a `main` does.
pub(crate) async fn one_in_main(port: u16, requests: usize) -> Outcome<()> {
    client_one_at_a_time(&connect(port).await?, requests).await;
    Ok(())
}

/// Runs each load once: do they still run?
pub(crate) async fn smoke() -> Outcome<()> {
    table_of(1, WINDOW, 10).await
}

/// Prints the table, in turns, so that a slow spell of the machine hits all alike; medians.
pub(crate) async fn table() -> Outcome<()> {
    table_of(ROUNDS, PIPELINED, ONE_AT_A_TIME).await
}

async fn connect(port: u16) -> Outcome<Client> {
    Ok(Client::builder(&format!("127.0.0.1:{port}")).connect().await?)
}

async fn client_pipelined(client: &Client, requests: usize) -> Outcome<Cost> {
    let cost = load::pipelined(client, requests, |client| async move {
        for _ in 0..requests / WINDOW {
            client.get_data(PATH).await.expect("the responder answers");
        }
    });
    Ok(cost.await?)
}

async fn client_one_at_a_time(client: &Client, requests: usize) -> Duration {
    let get = async || {
        client.get_data(PATH).await.expect("the responder answers");
    };
    load::one_at_a_time(requests, get).await
}

/// The same responder, in this process and on this thread.
#[derive(Clone, Copy, Debug)]
struct InMemory;

impl Connector for InMemory {
    fn connect<'a>(&'a self, _: &'a ServerAddress) -> Connecting<'a> {
        Box::pin(async {
            let (client, server) = tokio::io::duplex(1 << 17);
            tokio::spawn(converse(server));
            Ok(Box::new(client) as Box<dyn Transport>)
        })
    }
}

async fn converse(mut stream: DuplexStream) {
    let mut conversation = Conversation::default();
    let (mut input, mut output) = (vec![0; 1 << 16], Vec::new());
    while let Ok(read @ 1..) = stream.read(&mut input).await {
        output.clear();
        conversation.answer(input.get(..read).unwrap_or_default(), &mut output);
        if stream.write_all(&output).await.is_err() {
            return;
        }
    }
}

#[derive(Default)]
struct Row {
    pipelined: Vec<Duration>,
    cpu: Vec<Duration>,
    one_at_a_time: Vec<Duration>,
}

impl Row {
    fn add(&mut self, cost: Cost, one_at_a_time: Duration) {
        self.pipelined.push(cost.wall);
        self.cpu.push(cost.cpu);
        self.one_at_a_time.push(one_at_a_time);
    }

    #[expect(clippy::print_stdout, reason = "it is what the program is for")]
    fn print(&mut self, name: &str) {
        if self.pipelined.is_empty() {
            let p50 = micros(quantile(&mut self.one_at_a_time, 0.5));
            println!("{name:24} {:>12} {:>12} {p50:>16.2}", "–", "–");
            return;
        }
        // `Cost` is per thousand requests.
        let wall = micros(quantile(&mut self.pipelined, 0.5)) / 1000.0;
        let cpu = micros(quantile(&mut self.cpu, 0.5)) / 1000.0;
        let p50 = micros(quantile(&mut self.one_at_a_time, 0.5));
        let rate = 1e6 / wall;
        println!("{name:24} {rate:>12.0} {cpu:>12.3} {p50:>16.2}");
    }
}

#[expect(clippy::print_stdout, reason = "it is what the program is for")]
async fn table_of(rounds: usize, pipelined: usize, one_at_a_time: usize) -> Outcome<()> {
    let responder = Responder::start()?;
    let mut raw = Raw::connect(responder.port)?;
    let tcp = connect(responder.port).await?;
    let memory = Client::builder("in-memory").connector(InMemory).connect().await?;
    let [mut raw_row, mut socket_row, mut behind_row] = <[Row; 3]>::default();
    let [mut tcp_row, mut memory_row] = <[Row; 2]>::default();
    for _ in 0..rounds {
        raw_row.add(raw.pipelined(pipelined)?, raw.one_at_a_time(one_at_a_time)?);
        let socket = Raw::connect(responder.port)?;
        socket_row.one_at_a_time.push(tokio_socket::in_its_task(socket, one_at_a_time).await?);
        let socket = Raw::connect(responder.port)?;
        behind_row.one_at_a_time.push(tokio_socket::behind_a_task(socket, one_at_a_time).await?);
        for (client, row) in [(&tcp, &mut tcp_row), (&memory, &mut memory_row)] {
            let cost = client_pipelined(client, pipelined).await?;
            row.add(cost, client_one_at_a_time(client, one_at_a_time).await);
        }
    }
    println!(
        "{:24} {:>12} {:>12} {:>16}",
        "getData, 100 bytes", "256 ops/s", "cpu µs/op", "one, p50 µs"
    );
    raw_row.print("raw socket");
    socket_row.print("tokio's socket");
    behind_row.print("– behind a task");
    tcp_row.print("Client, TCP");
    memory_row.print("Client, in memory (1)");
    println!("(1) with the cost of the responder, which runs on the same thread");
    Ok(())
}

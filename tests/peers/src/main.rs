//! Other Rust clients beside ours: the same responder, the same loads, in turns.
//!
//! ```text
//! zk-peers                            a table
//! zk-peers serve                      the responder alone; prints its port
//! zk-peers CLIENT-LOAD PORT COUNT     one client alone, for callgrind: CLIENT one of `ours`,
//!                                     `zookeeper-client`, `tokio-zookeeper`; LOAD one of
//!                                     `pipelined`, `one`
//! ```
#![forbid(unsafe_code)]

#[path = "../../../election-tokio/benches/client/load.rs"]
mod load;
#[allow(dead_code)]
#[path = "../../../election-tokio/benches/client/measure.rs"]
mod measure;
#[allow(dead_code)]
#[path = "../../../election-tokio/benches/client/responder.rs"]
mod responder;

use std::error::Error;
use std::time::Duration;

use load::{Cost, Raw, WINDOW};
use measure::{micros, quantile};
use responder::Responder;

const ROUNDS: usize = 5;
const PIPELINED: usize = 1000 * WINDOW;
const ONE_AT_A_TIME: usize = 10_000;
const PATH: &str = "/election";

type Outcome<T> = Result<T, Box<dyn Error>>;

#[derive(Clone)]
enum Contender {
    Ours(election_tokio::Client),
    ZookeeperClient(zookeeper_client::Client),
    TokioZookeeper(tokio_zookeeper::ZooKeeper),
}

const NAMES: [&str; 3] = ["ours", "zookeeper-client", "tokio-zookeeper"];

impl Contender {
    async fn connect(name: &str, port: u16) -> Outcome<Self> {
        let servers = format!("127.0.0.1:{port}");
        Ok(match name {
            "ours" => Self::Ours(election_tokio::Client::builder(&servers).connect().await?),
            "zookeeper-client" => {
                Self::ZookeeperClient(zookeeper_client::Client::connect(&servers).await?)
            }
            _ => {
                let connected = tokio_zookeeper::ZooKeeper::connect(&servers.parse()?).await?;
                // Its events have to be taken by somebody, or it stops.
                tokio::spawn(async move {
                    let mut events = Box::pin(connected.1);
                    while futures_util::StreamExt::next(&mut events).await.is_some() {}
                });
                Self::TokioZookeeper(connected.0)
            }
        })
    }

    async fn pipelined(&self, requests: usize) -> Outcome<Cost> {
        let each = requests / WINDOW;
        let cost = match self {
            Self::Ours(client) => {
                load::pipelined(client, requests, |client| async move {
                    for _ in 0..each {
                        assert_eq!(client.get_data(PATH).await.expect("an answer").0.len(), 100);
                    }
                })
                .await
            }
            Self::ZookeeperClient(client) => {
                load::pipelined(client, requests, |client| async move {
                    for _ in 0..each {
                        assert_eq!(client.get_data(PATH).await.expect("an answer").0.len(), 100);
                    }
                })
                .await
            }
            Self::TokioZookeeper(client) => {
                load::pipelined(client, requests, |client| async move {
                    for _ in 0..each {
                        let answer = client.get_data(PATH).await.expect("an answer");
                        assert_eq!(answer.expect("a znode").0.len(), 100);
                    }
                })
                .await
            }
        };
        Ok(cost?)
    }

    async fn one_at_a_time(&self, requests: usize) -> Duration {
        load::one_at_a_time(requests, async || match self {
            Self::Ours(client) => {
                client.get_data(PATH).await.expect("an answer");
            }
            Self::ZookeeperClient(client) => {
                client.get_data(PATH).await.expect("an answer");
            }
            Self::TokioZookeeper(client) => {
                client.get_data(PATH).await.expect("an answer");
            }
        })
        .await
    }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["serve"] => Ok(responder::run()?),
        [alone, port, count] => runtime.block_on(async {
            let (name, load) = alone.rsplit_once('-').ok_or("CLIENT-LOAD")?;
            let client = Contender::connect(name, port.parse()?).await?;
            match load {
                "pipelined" => client.pipelined(count.parse()?).await.map(|_| ()),
                _ => {
                    client.one_at_a_time(count.parse()?).await;
                    Ok(())
                }
            }
        }),
        _ => runtime.block_on(table()),
    }
}

async fn table() -> Outcome<()> {
    let responder = Responder::start()?;
    let mut raw = Raw::connect(responder.port)?;
    let mut clients = Vec::new();
    for name in NAMES {
        clients.push(Contender::connect(name, responder.port).await?);
    }
    let mut columns: Vec<[Vec<Duration>; 3]> = vec![Default::default(); 1 + NAMES.len()];
    for _ in 0..ROUNDS {
        for (number, column) in columns.iter_mut().enumerate() {
            let (cost, one) = match number.checked_sub(1).and_then(|index| clients.get(index)) {
                Some(client) => {
                    let cost = client.pipelined(PIPELINED).await?;
                    (cost, client.one_at_a_time(ONE_AT_A_TIME).await)
                }
                None => (raw.pipelined(PIPELINED)?, raw.one_at_a_time(ONE_AT_A_TIME)?),
            };
            for (values, value) in column.iter_mut().zip([cost.wall, cost.cpu, one]) {
                values.push(value);
            }
        }
    }
    println!("{:18} {:>12} {:>10} {:>12}", "getData", "256 ops/s", "cpu µs/op", "one, p50 µs");
    for (name, column) in ["raw socket"].iter().chain(&NAMES).zip(&mut columns) {
        let [wall, cpu, one] = column.each_mut().map(|values| micros(quantile(values, 0.5)));
        // The first two are for a thousand requests.
        println!("{name:18} {:>12.0} {:>10.3} {one:>12.2}", 1e9 / wall, cpu / 1000.0);
    }
    Ok(())
}

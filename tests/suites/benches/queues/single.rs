//! One item, one change: one after another by one client, in turns with the others.

use core::time::Duration;
use std::io::{self, Write as _};
use std::time::Instant;

use election_tokio::{Client, CreateMode};
use tokio::runtime::Runtime;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::server::TestServer;

use crate::raw::{DELETE, GET_CHILDREN, Raw, buffer, children, create, read_frame, request};
use crate::{Extent, Peers};

const GET_DATA: i32 = 4;
const SET_DATA: i32 = 5;

/// The operations, and the sides that do each.
const ROWS: [(&str, &[&str]); 4] = [
    ("put", &["raw", "ours", "kazoo", "Curator"]),
    ("take", &["raw", "ours", "kazoo", "Curator"]),
    ("claim and done, beside a raw take", &["raw", "ours"]),
    ("add", &["raw", "ours", "kazoo", "Curator"]),
];

/// All that takes part.
struct Field<'a> {
    raw: Raw,
    client: Client,
    peers: &'a mut Peers,
    runtime: &'a Runtime,
}

pub(crate) fn measure(
    runtime: &Runtime,
    server: &TestServer,
    peers: &mut Peers,
    extent: Extent,
) -> TestResult {
    let servers = server.connect_string();
    let client = runtime.block_on(Client::builder(&servers).connect())?;
    let mut field = Field { raw: Raw::connect(server.addr())?, client, peers, runtime };
    field.prepare()?;
    let Extent { rounds, turns, .. } = extent;
    println!("| one after another | median of {rounds} × {turns} | ÷ raw |\n|---|---|---|");
    for (what, sides) in ROWS {
        let mut times: Vec<Vec<Duration>> = sides.iter().map(|_| Vec::new()).collect();
        for round in 0..=rounds {
            for (side, times) in sides.iter().zip(&mut times) {
                let took = field.time(what, side, turns)?;
                // The first one warms up.
                if round > 0 {
                    times.push(took / turns);
                }
            }
        }
        let medians = times.into_iter().map(|mut times| {
            times.sort_unstable();
            times.get(times.len() / 2).copied().unwrap_or_default()
        });
        let mut floor = None;
        for (side, median) in sides.iter().zip(medians) {
            let floor = *floor.get_or_insert(median);
            let ratio = median.div_duration_f64(floor);
            println!("| {what}: {side} | {median:.0?} | {ratio:.2} |");
        }
    }
    Ok(())
}

impl Field<'_> {
    fn prepare(&mut self) -> TestResult {
        for node in ["/raw", "/ours", "/simple", "/raw_count"] {
            self.runtime.block_on(self.client.create(node, "", CreateMode::Persistent))?;
        }
        Ok(())
    }

    /// Returns how long so many turns take. Items to take are put before; items that were put are
    /// taken afterwards.
    fn time(&mut self, what: &str, side: &str, turns: u32) -> Result<Duration, TestFailure> {
        match side {
            "raw" => Ok(self.time_raw(what, turns)?),
            "ours" => self.time_ours(what, turns),
            side => self.time_peer(what, side, turns),
        }
    }

    fn time_raw(&mut self, what: &str, turns: u32) -> io::Result<Duration> {
        if what == "add" {
            let began = Instant::now();
            for _ in 0..turns {
                let node = buffer("/raw_count");
                self.raw.exchange(&request(GET_DATA, &[&node, &[0]]))?;
                let write = [&node[..], &buffer("17"), &(-1_i32).to_be_bytes()];
                self.raw.exchange(&request(SET_DATA, &write))?;
            }
            return Ok(began.elapsed());
        }
        let began = Instant::now();
        for _ in 0..turns {
            self.raw.exchange(&create("/raw/queue-", 2))?;
        }
        let put = began.elapsed();
        let list = self.raw.exchange(&request(GET_CHILDREN, &[&buffer("/raw"), &[0]]))?;
        let names = children(&list);
        let began = Instant::now();
        for name in names {
            let path = buffer(&format!("/raw/{name}"));
            self.raw.exchange(&request(GET_DATA, &[&path, &[0]]))?;
            self.raw.exchange(&request(DELETE, &[&path, &(-1_i32).to_be_bytes()]))?;
        }
        Ok(if what == "put" { put } else { began.elapsed() })
    }

    fn time_ours(&self, what: &str, turns: u32) -> Result<Duration, TestFailure> {
        let queue = self.client.queue("/ours");
        let counter = self.client.counter("/ours_count");
        self.runtime.block_on(async {
            if what == "add" {
                let began = Instant::now();
                for _ in 0..turns {
                    counter.add(1).await?;
                }
                return Ok(began.elapsed());
            }
            let began = Instant::now();
            for _ in 0..turns {
                queue.put("item").await?;
            }
            let put = began.elapsed();
            let began = Instant::now();
            for _ in 0..turns {
                if what.starts_with("claim") {
                    queue.claim().await?.done().await?;
                } else {
                    queue.take().await?;
                }
            }
            Ok(if what == "put" { put } else { began.elapsed() })
        })
    }

    fn time_peer(&mut self, what: &str, side: &str, turns: u32) -> Result<Duration, TestFailure> {
        let (peer, queue, counter) = match side {
            "kazoo" => (&mut self.peers.kazoo, "queue", "counter"),
            _ => (&mut self.peers.curator, "simple", "curator_counter"),
        };
        let nanoseconds = |text: String| text.parse().map(Duration::from_nanos);
        if what == "add" {
            let took = peer.run(&format!("{counter} time /{counter} {turns}"))?;
            return Ok(nanoseconds(took)?);
        }
        let put = peer.run(&format!("{queue} time /{queue} {turns}"))?;
        let began = Instant::now();
        peer.run(&format!("{queue} discard /{queue}"))?;
        Ok(if what == "put" { nanoseconds(put)? } else { began.elapsed() })
    }
}

impl Raw {
    fn exchange(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        self.output.write_all(request)?;
        read_frame(&mut self.input)
    }
}

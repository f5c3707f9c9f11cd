//! Requests through the client, and a client without any.

use core::time::Duration;

use election_tokio::Client;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::runtime::{Builder, Runtime};

use crate::Outcome;
use crate::canned::{CHILDREN, Canned};

/// Requests in flight.
pub(crate) const WINDOW: u32 = 256;
const PATH: &str = "/election";
/// The bytes of a child's name.
const NAME: usize = 56;

/// Makes so many requests, [`WINDOW`] at a time.
pub(crate) fn pipelined(count: u32) -> Outcome<()> {
    runtime(Time::Real)?.block_on(async {
        let client = connect().await?;
        let tasks = (0..WINDOW).map(|_| tokio::spawn(get(client.clone(), count / WINDOW)));
        for task in tasks.collect::<Vec<_>>() {
            task.await??;
        }
        Ok(())
    })
}

/// Makes so many requests, [`WINDOW`] at a time, by one task.
pub(crate) fn unordered(count: u32) -> Outcome<()> {
    runtime(Time::Real)?.block_on(async {
        let client = connect().await?;
        let work = async move {
            let mut in_flight: FuturesUnordered<_> =
                (0..WINDOW).map(|_| client.get_data(PATH)).collect();
            for _ in WINDOW..count {
                if let Some(answer) = in_flight.next().await {
                    assert_eq!(answer?.0.len(), 100);
                }
                in_flight.push(client.get_data(PATH));
            }
            while let Some(answer) = in_flight.next().await {
                answer?;
            }
            Ok::<_, election_tokio::Error>(())
        };
        Ok(tokio::spawn(work).await??)
    })
}

/// Makes so many requests, one after the other, by one task.
pub(crate) fn one_at_a_time(count: u32) -> Outcome<()> {
    runtime(Time::Real)?.block_on(async {
        let client = connect().await?;
        Ok(tokio::spawn(get(client, count)).await??)
    })
}

/// Reads so many long lists, one after the other.
pub(crate) fn lists(count: u32) -> Outcome<()> {
    runtime(Time::Real)?.block_on(async {
        let client = connect().await?;
        let work = async move {
            for _ in 0..count {
                let children = client.get_children(PATH).await?;
                let bytes: usize = children.iter().map(str::len).sum();
                assert_eq!(bytes, CHILDREN * NAME);
            }
            Ok::<_, election_tokio::Error>(())
        };
        Ok(tokio::spawn(work).await??)
    })
}

/// Runs so many minutes of a connected client without requests.
pub(crate) fn idle_minutes(count: u32) -> Outcome<()> {
    runtime(Time::Virtual)?.block_on(async {
        let client = connect().await?;
        tokio::time::sleep(Duration::from_secs(60) * count).await;
        // Its connection has lasted.
        get(client, 1).await?;
        Ok(())
    })
}

async fn connect() -> Result<Client, election_tokio::ConnectError> {
    Client::builder("canned")
        .connector(Canned)
        .session_timeout(Duration::from_secs(10))
        .connect()
        .await
}

async fn get(client: Client, count: u32) -> Result<(), election_tokio::Error> {
    for _ in 0..count {
        let (data, _) = client.get_data(PATH).await?;
        assert_eq!(data.len(), 100);
    }
    Ok(())
}

/// The time that the runtime's clock shows.
#[derive(Clone, Copy)]
enum Time {
    Real,
    /// It goes on to the next timer once all tasks wait.
    Virtual,
}

fn runtime(time: Time) -> std::io::Result<Runtime> {
    let mut builder = Builder::new_current_thread();
    builder.enable_time();
    match time {
        Time::Real => builder.build(),
        Time::Virtual => builder.start_paused(true).build(),
    }
}

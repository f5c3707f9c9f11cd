//! A socket of tokio's without a library: the least that a client on tokio can cost for each request,
//! if it makes one at a time. Requests were encoded before, answers are not decoded.

use core::time::Duration;
use std::io;
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use crate::get_data::Outcome;
use crate::load::Raw;
use crate::measure::quantile;
use crate::responder::ANSWER;

/// Makes requests in the task that has the socket. Returns the median time.
pub(crate) async fn in_its_task(raw: Raw, requests: usize) -> Outcome<Duration> {
    let (mut stream, request) = taken_over(raw)?;
    let work = async move {
        let mut times = Vec::with_capacity(requests);
        for _ in 0..requests {
            let started = Instant::now();
            round_trip(&mut stream, &request).await.expect("the responder answers");
            times.push(started.elapsed());
        }
        quantile(&mut times, 0.5)
    };
    Ok(tokio::spawn(work).await?)
}

/// Makes requests in a task beside the one that has the socket, as callers of a client do. Returns
/// the median time.
pub(crate) async fn behind_a_task(raw: Raw, requests: usize) -> Outcome<Duration> {
    let (mut stream, request) = taken_over(raw)?;
    let (submit, mut submitted) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
    tokio::spawn(async move {
        while let Some(answered) = submitted.recv().await {
            round_trip(&mut stream, &request).await.expect("the responder answers");
            // The caller waits.
            let _ = answered.send(());
        }
    });
    let work = async move {
        let mut times = Vec::with_capacity(requests);
        for _ in 0..requests {
            let started = Instant::now();
            let (answered, answer) = oneshot::channel();
            submit.send(answered).expect("the task of the socket runs");
            answer.await.expect("the task of the socket answers");
            times.push(started.elapsed());
        }
        quantile(&mut times, 0.5)
    };
    Ok(tokio::spawn(work).await?)
}

/// The socket, and a request for it.
fn taken_over(raw: Raw) -> io::Result<(TcpStream, Vec<u8>)> {
    let (stream, request) = raw.into_parts();
    stream.set_nonblocking(true)?;
    Ok((TcpStream::from_std(stream)?, request))
}

/// One write, and one read if the answer comes whole.
async fn round_trip(stream: &mut TcpStream, request: &[u8]) -> io::Result<()> {
    stream.write_all(request).await?;
    // More room than the answer takes, or tokio would look for more of it.
    let mut answer = [0; 2 * ANSWER];
    let mut read = 0;
    while read < ANSWER {
        read += match stream.read(answer.get_mut(read..).unwrap_or_default()).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            some => some,
        };
    }
    Ok(())
}

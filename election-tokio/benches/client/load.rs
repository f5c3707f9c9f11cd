//! The two loads: 256 requests in flight, and one at a time.

use core::future::Future;
use core::time::Duration;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use crate::measure::{cpu_time, quantile};
use crate::responder::ANSWER;

/// Requests in flight.
pub(crate) const WINDOW: usize = 256;

/// The costs of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Of a request in flight with others: time passed.
    pub(crate) wall: Duration,
    /// The same: time on the processor.
    pub(crate) cpu: Duration,
}

/// Runs tasks that together make `requests`, [`WINDOW`] at a time.
pub(crate) async fn pipelined<C, F>(
    client: &C,
    requests: usize,
    get: impl Fn(C) -> F,
) -> io::Result<Cost>
where
    C: Clone,
    F: Future<Output = ()> + Send + 'static,
{
    let (started, cpu) = (Instant::now(), cpu_time()?);
    let tasks: Vec<_> = (0..WINDOW).map(|_| tokio::spawn(get(client.clone()))).collect();
    for task in tasks {
        task.await?;
    }
    per_request(started, cpu, requests)
}

/// Returns the median time of requests made one after the other.
pub(crate) async fn one_at_a_time(requests: usize, mut get: impl AsyncFnMut()) -> Duration {
    let mut times = Vec::with_capacity(requests);
    for _ in 0..requests {
        let started = Instant::now();
        get().await;
        times.push(started.elapsed());
    }
    quantile(&mut times, 0.5)
}

/// A connection without a library: requests that were encoded before, answers that are not
/// decoded.
#[derive(Debug)]
pub(crate) struct Raw {
    stream: TcpStream,
    window: Vec<u8>,
    answers: Vec<u8>,
}

impl Raw {
    /// Connects and shakes hands.
    pub(crate) fn connect(port: u16) -> io::Result<Self> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        let mut handshake = [0; 48];
        handshake[3] = 44;
        handshake[18] = 0x75;
        handshake[31] = 16;
        stream.write_all(&handshake)?;
        stream.read_exact(&mut [0; 41])?;
        let mut request = vec![0, 0, 0, 22, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 9];
        request.extend_from_slice(b"/election\0");
        Ok(Self { stream, window: request.repeat(WINDOW), answers: vec![0; ANSWER * WINDOW] })
    }

    /// Returns the connection, and a request.
    pub(crate) fn into_parts(mut self) -> (TcpStream, Vec<u8>) {
        self.window.truncate(self.window.len() / WINDOW);
        (self.stream, self.window)
    }

    /// [`WINDOW`] requests in one write, and so on.
    pub(crate) fn pipelined(&mut self, requests: usize) -> io::Result<Cost> {
        let (started, cpu) = (Instant::now(), cpu_time()?);
        for _ in 0..requests / WINDOW {
            self.stream.write_all(&self.window)?;
            self.stream.read_exact(&mut self.answers)?;
        }
        per_request(started, cpu, requests)
    }

    /// Returns the median time of requests made one after the other.
    pub(crate) fn one_at_a_time(&mut self, requests: usize) -> io::Result<Duration> {
        let mut times = Vec::with_capacity(requests);
        let (request, _) = self.window.split_at(self.window.len() / WINDOW);
        let (answer, _) = self.answers.split_at_mut(ANSWER);
        for _ in 0..requests {
            let started = Instant::now();
            self.stream.write_all(request)?;
            self.stream.read_exact(answer)?;
            times.push(started.elapsed());
        }
        Ok(quantile(&mut times, 0.5))
    }
}

fn per_request(started: Instant, cpu: Duration, requests: usize) -> io::Result<Cost> {
    let requests = u32::try_from(requests).map_err(io::Error::other)?;
    let wall = started.elapsed();
    Ok(Cost {
        // Of many, so that nothing is lost in the division.
        wall: wall * 1000 / requests,
        cpu: cpu_time()?.saturating_sub(cpu) * 1000 / requests,
    })
}

//! Connections: few at a time, and none for long.

use core::convert::Infallible;
use core::time::Duration;
use std::collections::VecDeque;
use std::io;
use std::net::TcpListener as Listener;
use std::sync::Arc;
use std::thread;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::AbortHandle;
use tokio::time::{interval, sleep, timeout};

use super::pages::Pages;

/// The bounds on connections.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// The most connections at a time. Where there is one more, the oldest is closed: it belongs to a
    /// client that does not finish its request, or does not read the answer. A probe has to be answered
    /// whatever such clients do.
    connections: usize,
    /// The longest time until the head of the request has come.
    head: Duration,
    /// The longest time of a connection, which has one request.
    whole: Duration,
}

const BOUNDS: Bounds =
    Bounds { connections: 32, head: Duration::from_secs(2), whole: Duration::from_secs(5) };

/// How often measurements are summed up if no request asks for them.
const UPKEEP: Duration = Duration::from_secs(5);

/// How long to pause after a connection could not be accepted: descriptors may be short.
const PAUSE: Duration = Duration::from_millis(100);

const LARGEST_HEAD: usize = 16 * 1024;

/// Serves on a thread of its own.
pub(super) fn start(listener: Listener, pages: Pages) -> io::Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _entered = runtime.enter();
        TcpListener::from_std(listener)?
    };
    let serve = move || runtime.block_on(serve(listener, Arc::new(pages), BOUNDS));
    thread::Builder::new().name("http".to_owned()).spawn(serve).map(drop)
}

async fn serve(listener: TcpListener, pages: Arc<Pages>, bounds: Bounds) {
    let mut under_way = UnderWay::default();
    let mut upkeep = interval(UPKEEP);
    loop {
        tokio::select! {
            _ = upkeep.tick() => pages.sum_up(),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    under_way.make_room(bounds.connections);
                    let answering = tokio::spawn(answer(stream, Arc::clone(&pages), bounds));
                    under_way.0.push_back(answering.abort_handle());
                }
                Err(_) => sleep(PAUSE).await,
            },
        }
    }
}

/// The connections that may be under way, the oldest first.
#[derive(Default)]
struct UnderWay(VecDeque<AbortHandle>);

impl UnderWay {
    /// Closes the oldest ones, until there is room for another one among `most`.
    fn make_room(&mut self, most: usize) {
        self.0.retain(|connection| !connection.is_finished());
        while self.0.len() >= most
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.abort();
        }
    }
}

/// Answers a request. An error concerns only the client of the connection, so it is ignored.
async fn answer(stream: TcpStream, pages: Arc<Pages>, bounds: Bounds) {
    let service = service_fn(|request: Request<Incoming>| {
        let response: Response<Full<Bytes>> = pages.answer(request.method(), request.uri().path());
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let _ = timeout(bounds.whole, connection).await;
}

#[cfg(test)]
mod tests {
    use core::net::SocketAddr;

    use election_tokio::Client;
    use metrics_exporter_prometheus::PrometheusBuilder;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::run::board::Board;

    const HALF: &[u8] = b"GET /healthz HTTP/1.1\r\n";
    const REST: &[u8] = b"Host: zkelect\r\n\r\n";

    /// Long enough for any machine.
    const EVER: Duration = Duration::from_secs(3600);

    async fn serving(bounds: Bounds) -> SocketAddr {
        let client = Client::builder("127.0.0.1:1").start().expect("a client");
        let board = Arc::new(Board::new("/e".to_owned(), client));
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let pages = Arc::new(Pages::new(board, metrics));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a socket");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(serve(listener, pages, bounds));
        address
    }

    async fn half_open(address: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        stream.write_all(HALF).await.expect("it is taken");
        stream
    }

    /// Returns what is answered to the rest of the request, until the server closes the connection.
    async fn answer_to_the_rest(mut stream: TcpStream) -> String {
        // A connection that was closed takes nothing more.
        let _ = stream.write_all(REST).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).expect("text")
    }

    #[tokio::test]
    async fn clients_that_do_not_finish_their_requests_keep_no_probe_waiting() {
        let address = serving(Bounds { connections: 3, head: EVER, whole: EVER }).await;
        let mut halves = Vec::new();
        for _ in 0..9 {
            halves.push(half_open(address).await);
        }
        let probe = half_open(address).await;
        assert!(answer_to_the_rest(probe).await.starts_with("HTTP/1.1 200 "));
        // Those that came last are still under way.
        let last = halves.pop().expect("the last");
        assert!(answer_to_the_rest(last).await.starts_with("HTTP/1.1 200 "));
        let oldest = halves.swap_remove(0);
        assert_eq!(answer_to_the_rest(oldest).await, "");
    }

    #[tokio::test]
    async fn a_head_that_does_not_come_ends_the_connection() {
        let head = Duration::from_millis(50);
        let address = serving(Bounds { connections: 3, head, whole: EVER }).await;
        let mut half = half_open(address).await;
        let mut answer = Vec::new();
        let closed = timeout(Duration::from_secs(30), half.read_to_end(&mut answer)).await;
        assert!(closed.is_ok(), "it is open");
        assert!(!answer.starts_with(b"HTTP/1.1 200 "), "{answer:?}");
    }
}

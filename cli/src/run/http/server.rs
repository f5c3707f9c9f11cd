//! Connections: few at a time, and none for long.

use core::convert::Infallible;
use core::time::Duration;
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
use tokio::sync::Semaphore;
use tokio::time::{interval, sleep, timeout};

use super::pages::Pages;

/// The most connections at a time; further ones wait.
const CONNECTIONS: usize = 32;

/// The longest time of a connection, which has one request.
const LONGEST: Duration = Duration::from_secs(5);

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
    let serve = move || runtime.block_on(serve(listener, Arc::new(pages)));
    thread::Builder::new().name("http".to_owned()).spawn(serve).map(drop)
}

async fn serve(listener: TcpListener, pages: Arc<Pages>) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut upkeep = interval(UPKEEP);
    loop {
        tokio::select! {
            _ = upkeep.tick() => pages.sum_up(),
            (Ok(permit), accepted) = async {
                let permit = Arc::clone(&room).acquire_owned().await;
                (permit, listener.accept().await)
            } => match accepted {
                Ok((stream, _)) => {
                    let pages = Arc::clone(&pages);
                    tokio::spawn(async move {
                        answer(stream, pages).await;
                        drop(permit);
                    });
                }
                Err(_) => sleep(PAUSE).await,
            },
            else => return,
        }
    }
}

/// Answers a request. An error concerns only the client of the connection, so it is ignored.
async fn answer(stream: TcpStream, pages: Arc<Pages>) {
    let service = service_fn(|request: Request<Incoming>| {
        let response: Response<Full<Bytes>> = pages.answer(request.method(), request.uri().path());
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .keep_alive(false)
        .timer(TokioTimer::new())
        .header_read_timeout(LONGEST)
        .max_buf_size(LARGEST_HEAD)
        .serve_connection(TokioIo::new(stream), service);
    let _ = timeout(LONGEST, connection).await;
}

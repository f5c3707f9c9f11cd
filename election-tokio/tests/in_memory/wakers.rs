//! A waker may do anything, also call the client that wakes it: the client holds no lock meanwhile.

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::{Context, Waker};
use core::time::Duration;
use std::sync::{Arc, Mutex, mpsc};
use std::task::Wake;

use election_tokio::election::{Leadership, LostReason, Nomination, OnLoss, Role, Status};
use election_tokio::{Client, Updates};
use futures_util::StreamExt as _;

use crate::server::{Server, settle, wait};

/// Longer than any of this takes: a lock that is never released shows by it.
const BOUND: Duration = Duration::from_secs(30);
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs a scene on a thread of its own, in virtual time, and fails if it hangs.
pub(crate) fn comes_to_an_end(scene: impl AsyncFnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = std::thread::spawn(move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build();
        runtime.expect("a runtime").block_on(scene());
        done.send(()).expect("the test waits");
    });
    match ended.recv_timeout(BOUND) {
        Ok(()) => {}
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the client hangs"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().expect_err("it ended without a word"))
        }
    }
}

/// Drops a nomination, reads and calls when it is woken.
struct Meddler {
    client: Client,
    status: Updates<Status>,
    victim: Mutex<Option<Nomination>>,
    woken: AtomicUsize,
}

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {
        self.woken.fetch_add(1, Ordering::Relaxed);
        drop(self.victim.lock().unwrap().take());
        self.status.latest();
        self.client.connection_updates().latest();
        let call = pin!(self.client.exists("/"));
        let _ = call.poll(&mut Context::from_waker(Waker::noop()));
    }
}

/// A leader, and a meddler that waits with it.
struct Scene {
    server: Server,
    client: Client,
    leader: Nomination,
    leadership: Leadership,
    meddler: Arc<Meddler>,
}

impl Scene {
    async fn new() -> Self {
        let server = Server::new();
        let client = server.builder().session_timeout(TIMEOUT).connect().await.unwrap();
        let mut leader = client.election("/election").on_loss(OnLoss::End).nominate().unwrap();
        let leadership = leader.elected().await.unwrap();
        let victim = client.election("/elsewhere").nominate().unwrap();
        settle().await;
        let meddler = Arc::new(Meddler {
            client: client.clone(),
            status: victim.updates(),
            victim: Mutex::new(Some(victim)),
            woken: AtomicUsize::new(0),
        });
        Self { server, client, leader, leadership, meddler }
    }

    fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.meddler))
    }

    /// Asserts, after the connection was lost, that the meddler was woken, that the things it dropped have left, and
    /// that the client works.
    async fn goes_on(&self) {
        self.server.accept();
        wait(60).await;
        assert_ne!(self.meddler.woken.load(Ordering::Relaxed), 0, "it was not woken");
        assert!(self.meddler.victim.lock().unwrap().is_none());
        assert!(matches!(self.meddler.status.latest().role, Role::Ended(_)));
        assert!(self.server.children("/elsewhere").is_empty());
        self.client.exists("/").await.unwrap();
    }

    /// Loses the connection for longer than the lease lasts.
    async fn lose_the_connection(&self) {
        self.server.refuse();
        self.server.cut();
        tokio::time::sleep(TIMEOUT * 9 / 10).await;
    }
}

#[test]
fn a_change_of_the_connection_wakes_what_calls_the_client() {
    comes_to_an_end(async || {
        let scene = Scene::new().await;
        let waker = scene.waker();
        let mut connection = scene.client.connection_updates();
        {
            let next = pin!(connection.next());
            assert!(next.poll(&mut Context::from_waker(&waker)).is_pending());
            scene.lose_the_connection().await;
        }
        scene.goes_on().await;
    });
}

#[test]
fn a_change_of_the_status_wakes_what_calls_the_client() {
    comes_to_an_end(async || {
        let scene = Scene::new().await;
        let waker = scene.waker();
        let mut status = scene.leader.updates();
        assert!(status.poll_next_unpin(&mut Context::from_waker(&waker)).is_pending());
        scene.lose_the_connection().await;
        scene.goes_on().await;
    });
}

#[test]
fn the_end_of_a_leadership_wakes_what_calls_the_client() {
    comes_to_an_end(async || {
        let scene = Scene::new().await;
        let waker = scene.waker();
        {
            let lost = pin!(scene.leadership.lost());
            assert!(lost.poll(&mut Context::from_waker(&waker)).is_pending());
            scene.lose_the_connection().await;
        }
        assert_eq!(scene.leadership.lost().await, LostReason::LeaseLapsed);
        scene.goes_on().await;
    });
}

/// The end of a client, and of everything that comes from it, wakes, too.
#[test]
fn the_end_of_a_client_wakes_what_calls_the_client() {
    comes_to_an_end(async || {
        let scene = Scene::new().await;
        let waker = scene.waker();
        let (mut status, mut connection) =
            (scene.leader.updates(), scene.client.connection_updates());
        let mut cx = Context::from_waker(&waker);
        assert!(status.poll_next_unpin(&mut cx).is_pending());
        assert!(connection.poll_next_unpin(&mut cx).is_pending());
        scene.client.clone().close().await.unwrap();
        assert_ne!(scene.meddler.woken.load(Ordering::Relaxed), 0, "it was not woken");
        assert!(matches!(scene.leader.status().role, Role::Ended(_)));
    });
}

//! A subscriber to spans and events may do anything, also call the client that it hears of: the
//! client holds no lock meanwhile.

use core::future::Future;
use core::pin::pin;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::task::{Context as TaskContext, Waker};
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use election_tokio::Client;
use election_tokio::election::{Nomination, OnLoss};
use tracing::{Event, Subscriber, span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::server::{Server, settle, wait};
use crate::wakers::comes_to_an_end;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Calls the client whenever it is told something, and counts by the target of what it was told.
#[derive(Clone, Default)]
struct Caller(Arc<State>);

#[derive(Default)]
struct State {
    client: OnceLock<Client>,
    nomination: OnceLock<Nomination>,
    told: Mutex<BTreeMap<&'static str, usize>>,
    closed_spans: AtomicUsize,
    /// Its own calls tell it of more.
    calls: AtomicBool,
}

impl Caller {
    fn call(&self) {
        let Some(client) = self.0.client.get() else {
            return;
        };
        if self.0.calls.swap(true, Ordering::Relaxed) {
            return;
        }
        client.session_id();
        client.connection_updates().latest();
        if let Some(nomination) = self.0.nomination.get() {
            nomination.status();
        }
        {
            let call = pin!(client.exists("/"));
            let _ = call.poll(&mut TaskContext::from_waker(Waker::noop()));
        }
        self.0.calls.store(false, Ordering::Relaxed);
    }

    fn told(&self, target: &str) -> usize {
        self.0.told.lock().expect("it does not panic").get(target).copied().unwrap_or(0)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Caller {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("election_tokio") {
            *self
                .0
                .told
                .lock()
                .expect("it does not panic")
                .entry(event.metadata().target())
                .or_default() += 1;
            self.call();
        }
    }

    fn on_record(&self, _: &span::Id, _: &span::Record<'_>, _: Context<'_, S>) {
        self.call();
    }

    fn on_close(&self, _: span::Id, _: Context<'_, S>) {
        self.0.closed_spans.fetch_add(1, Ordering::Relaxed);
        self.call();
    }
}

#[test]
fn a_subscriber_may_call_the_client() {
    comes_to_an_end(async || {
        let caller = Caller::default();
        let subscriber = tracing_subscriber::registry().with(caller.clone());
        let _listens = tracing::subscriber::set_default(subscriber);
        let server = Server::new();
        let client = server.builder().session_timeout(TIMEOUT).connect().await.unwrap();
        caller.0.client.set(client.clone()).ok();
        let mut nominee = client.election("/election").on_loss(OnLoss::End).nominate().unwrap();
        let leadership = nominee.elected().await.unwrap();
        assert!(caller.0.nomination.set(nominee).is_ok());
        client.exists("/").await.unwrap();
        server.expire();
        wait(120).await;
        settle().await;
        assert!(!leadership.is_valid());
        client.exists("/").await.expect("it goes on");
        for target in ["connection", "election", "request"] {
            let target = format!("election_tokio::{target}");
            assert_ne!(caller.told(&target), 0, "it was told nothing of {target}");
        }
        assert_ne!(caller.0.closed_spans.load(Ordering::Relaxed), 0);
    });
}

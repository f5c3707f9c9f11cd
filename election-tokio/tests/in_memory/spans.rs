//! Spans and events of `tracing`, as a subscriber sees them and docs/telemetry.md has them.

use core::fmt::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_tokio::{Client, CreateMode, Version};
use tokio::task::yield_now;
use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber, info_span, span};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;

use crate::server::{Server, wait};

const DATA: &[u8] = b"data-of-the-znode";
const CREDENTIAL: &[u8] = b"bob:password-of-bob";
const PAGE: &str = include_str!("../../../docs/telemetry.md");

/// Lines such as `span zk_request operation=create2 path=/a in caller`, by what brought them.
#[derive(Clone, Default)]
pub(crate) struct Journal(Arc<Mutex<Vec<Line>>>);

#[derive(Clone, Debug)]
struct Line {
    target: &'static str,
    level: Level,
    text: String,
}

impl Journal {
    /// Begins to record, for this thread, until the guard is dropped.
    pub(crate) fn begin() -> (Self, DefaultGuard) {
        let journal = Self::default();
        let subscriber = tracing_subscriber::registry().with(journal.clone());
        (journal, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self) -> MutexGuard<'_, Vec<Line>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, metadata: &Metadata<'static>, text: String) {
        // The runtime has spans of its own.
        if metadata.target().starts_with("election_tokio") {
            let (target, level) = (metadata.target(), *metadata.level());
            self.lines().push(Line { target, level, text });
        }
    }

    /// Returns the lines that begin like this.
    pub(crate) fn of(&self, beginning: &str) -> Vec<String> {
        let lines = self.lines();
        let found = lines.iter().filter(|line| line.text.starts_with(beginning));
        found.map(|line| line.text.clone()).collect()
    }

    /// Returns the last line about the fields of this kind of span, or of this kind of event.
    fn last(&self, beginning: &str) -> String {
        self.of(beginning).pop().unwrap_or_default()
    }
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        written.expect("a string takes everything");
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Journal {
    fn on_new_span(&self, span: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        let mut text = Text(format!("span {}", span.metadata().name()));
        span.record(&mut text);
        let parent = context.span(id).and_then(|span| Some(span.parent()?.name()));
        let parent = parent.map(|parent| format!(" in {parent}")).unwrap_or_default();
        self.add(span.metadata(), text.0 + &parent);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        let metadata = context.metadata(id).expect("the span is open");
        let mut text = Text(format!("record {}", metadata.name()));
        values.record(&mut text);
        self.add(metadata, text.0);
    }

    fn on_follows_from(&self, id: &span::Id, of: &span::Id, context: Context<'_, S>) {
        let metadata = context.metadata(id).expect("the span is open");
        let of = context.metadata(of).expect("the span is open");
        self.add(metadata, format!("follows {} {}", metadata.name(), of.name()));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut text = Text("event".to_owned());
        event.record(&mut text);
        let span = context.event_span(event).map(|span| format!(" in {}", span.name()));
        self.add(event.metadata(), text.0 + &span.unwrap_or_default());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_has_a_span_and_each_request_another_one() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let caller = info_span!(target: "election_tokio::test", "caller");
    let client = {
        let _entered = caller.enter();
        server.builder().start().unwrap()
    };
    client
        .connection_updates()
        .wait_for(|state| format!("{state:?}").starts_with("Connected"))
        .await
        .unwrap();
    assert_eq!(journal.of("span zk_client"), ["span zk_client"], "it has no parent");
    assert_eq!(journal.of("record zk_client").len(), 1);
    assert!(journal.last("record zk_client").starts_with("record zk_client session=0x"));
    assert!(journal.last("event connected session=0x").ends_with(" in zk_client"));

    tracing::Instrument::instrument(
        async { client.create("/a", DATA, CreateMode::Persistent).await.unwrap() },
        caller,
    )
    .await;
    assert_eq!(
        journal.last("span zk_request"),
        "span zk_request operation=create2 path=/a in caller"
    );
    assert_eq!(journal.last("follows"), "follows zk_request zk_client");
    assert!(journal.last("record zk_request").starts_with("record zk_request zxid=0x"));
    assert!(journal.last("event answered zxid=0x").ends_with(" in zk_request"));

    client.get_data("/none").await.unwrap_err();
    assert_eq!(journal.last("span zk_request"), "span zk_request operation=getData path=/none");
    assert!(journal.last("record zk_request").contains("error="));
    assert!(journal.last("event failed error=").ends_with(" in zk_request"));
}

#[tokio::test(start_paused = true)]
async fn requests_that_are_given_up_or_not_sent_say_so() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let client = server.client().await;
    server.read_only_next(0);
    tokio::select! {
        biased;
        _ = client.exists("/a") => panic!("nobody answers"),
        () = yield_now() => {}
    }
    assert_eq!(journal.last("event given up"), "event given up in zk_request");

    server.refuse();
    server.cut();
    wait(1).await;
    client.exists("/a").await.unwrap_err();
    assert!(journal.last("event not sent error=").ends_with(" in zk_request"));
    assert!(journal.last("event connection lost").ends_with(" in zk_client"));
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_client_names_each_of_its_sessions_once() {
    let (journal, _guard) = Journal::begin();
    let server = Server::new();
    let client = server.client().await;
    server.cut();
    wait(1).await;
    client.sync("/").await.unwrap();
    assert_eq!(journal.of("record zk_client").len(), 1, "it is the same session");
    server.expire();
    wait(1).await;
    client.sync("/").await.unwrap();
    assert_eq!(journal.of("record zk_client").len(), 2);
    assert!(journal.last("event session ended").ends_with(" in zk_client"));
}

/// The client does not warn of the end of a session that its caller has asked for.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_session_is_a_warning_unless_it_was_asked_for() {
    for (how, expected) in
        [("close", Level::INFO), ("detach", Level::INFO), ("expire", Level::WARN)]
    {
        let (journal, _guard) = Journal::begin();
        let server = Server::new();
        let client = server.client().await;
        match how {
            "close" => client.close().await.unwrap(),
            "detach" => drop(client.detach().unwrap()),
            _ => {
                server.expire();
                wait(1).await;
            }
        }
        let lines = journal.lines();
        let ends = lines.iter().filter(|line| line.text.starts_with("event session ended"));
        assert_eq!(ends.map(|line| line.level).collect::<Vec<_>>(), [expected], "{how}");
    }
}

/// A call of a recipe has a span of its own, and so has each request that it makes.
#[tokio::test]
async fn barriers_queues_and_counters_have_a_span_for_each_operation() {
    let (journal, _guard) = Journal::begin();
    let server = zk_embedded::Server::bind("127.0.0.1:0").await.unwrap();
    let client = Client::builder(&server.addr().to_string()).connect().await.unwrap();
    let caller = info_span!(target: "election_tokio::test", "caller");
    let work = async {
        client.barrier("/gate").set().await.unwrap();
        client.barrier("/gate").lift().await.unwrap();
        client.double_barrier("/step", 1).enter().await.unwrap().leave().await.unwrap();
        client.queue("/jobs").put(DATA).await.unwrap();
        client.queue("/jobs").take().await.unwrap();
        client.queue("/jobs").try_claim().await.unwrap();
        client.counter("/done").add(1).await.unwrap();
        client.counter("/done").compare_and_set(7, 8).await.unwrap();
    };
    tracing::Instrument::instrument(work, caller).await;
    assert_eq!(
        journal.of("span zk_barrier"),
        [
            "span zk_barrier operation=set path=/gate in caller",
            "span zk_barrier operation=lift path=/gate in caller",
            "span zk_barrier operation=enter path=/step in caller",
            "span zk_barrier operation=leave path=/step in caller",
        ]
    );
    let outcomes = |span| journal.of(&format!("record {span} outcome="));
    assert_eq!(outcomes("zk_barrier"), ["record zk_barrier outcome=done"; 4]);
    assert_eq!(
        journal.of("span zk_queue"),
        [
            "span zk_queue operation=put path=/jobs in caller",
            "span zk_queue operation=take path=/jobs in caller",
            "span zk_queue operation=claim path=/jobs in caller",
        ]
    );
    assert_eq!(
        outcomes("zk_queue"),
        ["put", "got", "empty"].map(|outcome| format!("record zk_queue outcome={outcome}"))
    );
    assert_eq!(
        outcomes("zk_counter"),
        ["changed", "differs"].map(|outcome| format!("record zk_counter outcome={outcome}"))
    );
    let puts = journal.of("span zk_request operation=create2 path=/jobs/queue-");
    assert!(puts.first().is_some_and(|put| put.ends_with(" in zk_queue")), "{puts:?}");
    assert!(journal.of("follows zk_counter zk_client").len() == 2);

    // One that is dropped.
    client.barrier("/gate").set().await.unwrap();
    let barrier = client.barrier("/gate");
    tokio::select! {
        biased;
        _ = barrier.wait() => panic!("it is set"),
        () = yield_now() => {}
    }
    assert_eq!(outcomes("zk_barrier").pop().unwrap(), "record zk_barrier outcome=given_up");
    assert_eq!(journal.last("event ended"), "event ended outcome=given_up in zk_barrier");
}

/// Whatever a program logs, its znodes and credentials are not part of it.
#[tokio::test]
async fn no_field_holds_data_or_a_credential_and_every_target_is_documented() {
    let (journal, _guard) = Journal::begin();
    // One that knows identities.
    let server = zk_embedded::Server::bind("127.0.0.1:0").await.unwrap();
    let builder = Client::builder(&server.addr().to_string());
    let client = builder.auth("digest", CREDENTIAL).connect().await.unwrap();
    client.create("/a", DATA, CreateMode::Persistent).await.unwrap();
    client.set_data("/a", DATA, Version::ANY).await.unwrap();
    client.get_data("/a").await.unwrap();
    client.transaction().set_data("/a", DATA, Version::ANY).commit().await.unwrap();
    let mut nomination = client.election("/election").data(DATA).nominate().unwrap();
    let leadership = nomination.elected().await.unwrap();
    leadership.transaction().set_data("/a", DATA, Version::ANY).commit().await.unwrap();
    leadership.resign().await.unwrap();
    client.close().await.unwrap();

    assert!(journal.last("event elected").contains("election=/election"));
    for Line { target, level, text } in journal.lines().iter() {
        for secret in ["data-of", "password-of"] {
            assert!(!text.contains(secret), "{text}");
        }
        // Bytes are shown as numbers.
        assert!(!text.contains("100, 97, 116, 97"), "{text}");
        assert!(PAGE.contains(&format!("`{target}`")), "{target} {level}: {text}");
    }
}

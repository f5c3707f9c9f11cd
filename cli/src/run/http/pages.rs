//! The answers to requests.

use core::fmt::Display;
use core::time::Duration;
use std::sync::Arc;
use std::time::SystemTime;

use election_tokio::election::{Acknowledgement, Observation, ObservedLeader};
use election_tokio::health::ClientHealth;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Response, StatusCode};
use metrics_exporter_prometheus::PrometheusHandle;
use serde::Serialize;

use crate::run::board::{Board, BoardState};
use crate::run::part::Part;

const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json";
const METRICS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How many bytes of a text by another client a page shows.
const LONGEST: usize = 4096;

const PATHS: &str = "\
/leader   who leads, as JSON; code 503 if none is known
/leading  code 200 if this one leads and its COMMAND has taken over, otherwise 503
/healthz  code 200 if zkelect works, otherwise 503: for liveness probes
/readyz   code 200 if it stands for election, or leads and COMMAND has taken over, otherwise 503
/metrics  measurements, for Prometheus
";

pub(super) struct Pages {
    board: Arc<Board>,
    metrics: PrometheusHandle,
}

struct Page {
    status: StatusCode,
    kind: &'static str,
    body: String,
}

/// The leader, as an observer sees it.
#[derive(Serialize)]
struct LeaderPage<'a> {
    election: &'a str,
    /// The data of its candidate.
    id: String,
    candidate: String,
    token: i64,
    /// When this process first saw it.
    since: String,
    /// Whether it is this zkelect.
    me: bool,
    /// Whether its COMMAND has said that it has taken over.
    acknowledged: bool,
    /// The text that COMMAND has reported.
    says: Option<String>,
    /// Whether this is up to date. Without a connection, it is the last observation.
    connected: bool,
}

#[derive(Serialize)]
struct NoLeaderPage<'a> {
    election: &'a str,
    reason: String,
    connected: bool,
}

impl Pages {
    pub(super) const fn new(board: Arc<Board>, metrics: PrometheusHandle) -> Self {
        Self { board, metrics }
    }

    pub(super) fn sum_up(&self) {
        self.metrics.run_upkeep();
    }

    pub(super) fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let is_read = matches!(*method, Method::GET | Method::HEAD);
        let page = if is_read { self.page(path) } else { not_allowed() };
        let mut response = Response::new(Full::from(page.body));
        *response.status_mut() = page.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if !is_read {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }

    fn page(&self, path: &str) -> Page {
        match path {
            "/" => text(StatusCode::OK, PATHS),
            "/leader" => self.leader(),
            "/leading" => self.part_is(Part::is_active),
            "/healthz" => self.health(),
            "/readyz" => self.part_is(Part::is_ready),
            "/metrics" => {
                Page { status: StatusCode::OK, kind: METRICS, body: self.metrics.render() }
            }
            _ => text(StatusCode::NOT_FOUND, format!("there is no {path:?} here, but\n{PATHS}")),
        }
    }

    fn leader(&self) -> Page {
        let BoardState { part, seen } = self.board.latest();
        let (election, connected) = (&*self.board.election, self.is_connected());
        match seen {
            // A leader knows better than its observer whether it led before the other came.
            Observation::Blocked { first, .. }
                if part.term().is_some_and(|term| term.token == first.token.get()) =>
            {
                json(StatusCode::OK, &leader_page(election, &first, true, connected))
            }
            Observation::Led(leader) => {
                let me = part.term().is_some_and(|term| term.token == leader.token.get());
                json(StatusCode::OK, &leader_page(election, &leader, me, connected))
            }
            other => {
                let reason = why_none(&other);
                json(StatusCode::SERVICE_UNAVAILABLE, &NoLeaderPage { election, reason, connected })
            }
        }
    }

    /// Answers whether the nominee's part is such; no if its client hangs or is cut off, because the
    /// part may then be out of date.
    fn part_is(&self, such: fn(&Part) -> bool) -> Page {
        let part = self.board.latest().part;
        match self.board.client().health() {
            ClientHealth::Connected { lease_remaining: Duration::ZERO }
                if part.term().is_some() =>
            {
                said(false, &"the lease is over")
            }
            ClientHealth::Connected { .. } => said(such(&part), &part),
            health => said(false, &format_args!("there is no connection that serves: {health}")),
        }
    }

    /// Takes no lock, so it answers whatever hangs.
    fn health(&self) -> Page {
        let health = self.board.client().health();
        said(health.is_live(), &health)
    }

    fn is_connected(&self) -> bool {
        self.board.client().health().is_ready()
    }
}

fn leader_page<'a>(
    election: &'a str,
    leader: &ObservedLeader,
    me: bool,
    connected: bool,
) -> LeaderPage<'a> {
    let since = SystemTime::now().checked_sub(leader.since.elapsed());
    let says = match &leader.acknowledgement {
        Acknowledgement::Given(line) => Some(shortened(line)),
        _ => None,
    };
    LeaderPage {
        election,
        id: shortened(&leader.data),
        candidate: leader.candidate.to_string(),
        token: leader.token.get(),
        since: since
            .map_or_else(String::new, |at| humantime::format_rfc3339_millis(at).to_string()),
        me,
        acknowledged: says.is_some(),
        says,
        connected,
    }
}

fn why_none(seen: &Observation) -> String {
    match seen {
        Observation::Unknown => "no server has answered yet".to_owned(),
        Observation::Vacant => "no candidate stands".to_owned(),
        Observation::Blocked { first, by } => {
            format!("{} is the first candidate, and blocked by {by}", first.candidate)
        }
        Observation::Hidden => "the first candidate may not be read".to_owned(),
        Observation::Failed(failure) => format!("it cannot be observed: {failure}"),
        _ => "it is not known".to_owned(),
    }
}

fn shortened(data: &[u8]) -> String {
    String::from_utf8_lossy(data.get(..LONGEST).unwrap_or(data)).into_owned()
}

fn said(is_so: bool, words: &impl Display) -> Page {
    let status = if is_so { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    text(status, format!("{words}\n"))
}

fn not_allowed() -> Page {
    text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are answered\n")
}

fn text(status: StatusCode, body: impl Into<String>) -> Page {
    Page { status, kind: TEXT, body: body.into() }
}

fn json(status: StatusCode, page: &impl Serialize) -> Page {
    match serde_json::to_string(page) {
        Ok(body) => Page { status, kind: JSON, body: body + "\n" },
        Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Instant;

    use election_tokio::Client;
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    #[tokio::test]
    async fn a_nominee_that_stands_still_is_told_of_until_it_goes_on() {
        let client = Client::builder("127.0.0.1:1").start().expect("a client");
        let board = Arc::new(Board::new("/e".to_owned(), client));
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let pages = Pages::new(board, metrics);
        let code = |path| pages.answer(&Method::GET, path).status().as_u16();
        assert_eq!(code("/healthz"), 200);
        let start = Instant::now();
        // This blocks the runtime, as a bug would.
        while code("/healthz") == 200 {
            assert!(start.elapsed() < Duration::from_secs(60));
            thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(["/healthz", "/readyz", "/leading"].map(code), [503; 3]);
        while code("/healthz") == 503 {
            assert!(start.elapsed() < Duration::from_secs(60));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

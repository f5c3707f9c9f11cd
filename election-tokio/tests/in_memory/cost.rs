//! The costs of a lease while nothing happens: requests and bytes of an hour, as docs/lease.md has
//! them.

use core::time::Duration;

use election_tokio::Client;
use election_tokio::election::{Nomination, Role};
use election_tokio::lease::LeaseGrade;

use crate::server::Server;
use crate::state::Traffic;

/// With the name of a candidate, 70 bytes.
const ELECTION: &str = "/app/election";
const PATH: u64 = 70;
const HOUR: Duration = Duration::from_secs(60 * 60);

const PAGE: &str = include_str!("../../../docs/lease.md");

/// A kind of request, and the answer to it: bytes of whole frames.
#[derive(Clone, Copy)]
struct Exchange {
    sent: u64,
    received: u64,
}

const PING: Exchange = Exchange { sent: 12, received: 20 };
/// The path, and it back.
const SYNC: Exchange = Exchange { sent: 16 + PATH, received: 24 + PATH };
/// The check of a path between the headers of a transaction, and its result.
const CHECK: Exchange = Exchange { sent: 38 + PATH, received: 38 };

/// A path of one byte.
const SYNC_OF_THE_ROOT: Exchange = Exchange { sent: 16 + 1, received: 24 + 1 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The leader, or one that knows itself to be next.
    Proving,
    /// Any other nominee.
    Waiting,
    /// A client without nominees.
    Idle,
}

/// Returns the exchanges of a client in each third of the session timeout.
fn exchanges(grade: LeaseGrade, part: Part) -> &'static [Exchange] {
    match (grade, part) {
        (LeaseGrade::Quorum, Part::Proving) => &[CHECK, SYNC],
        (LeaseGrade::Sync, Part::Proving) => &[SYNC, SYNC],
        (LeaseGrade::Quorum | LeaseGrade::Sync, Part::Waiting) => &[SYNC_OF_THE_ROOT; 2],
        _ => &[PING],
    }
}

fn cost_of(exchanges: &[Exchange], times: u64) -> Traffic {
    let total = |bytes: fn(&Exchange) -> u64| times * exchanges.iter().map(bytes).sum::<u64>();
    Traffic {
        requests: times * u64::try_from(exchanges.len()).expect("few"),
        bytes_received: total(|exchange| exchange.sent),
        bytes_sent: total(|exchange| exchange.received),
    }
}

fn hourly(grade: LeaseGrade, part: Part, timeout: Duration) -> Traffic {
    cost_of(exchanges(grade, part), 3 * HOUR.as_secs() / timeout.as_secs())
}

/// Returns a number as the page writes it.
fn grouped(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

fn row(grade: LeaseGrade, part: Part) -> String {
    let [ten, four] = [10, 4].map(|seconds| {
        let Traffic { requests, bytes_received, bytes_sent } =
            hourly(grade, part, Duration::from_secs(seconds));
        let numbers = [requests, bytes_received, bytes_sent].map(grouped);
        numbers.join(" | ")
    });
    let who = match part {
        Part::Proving => format!("leader and the next one, `{grade:?}`"),
        Part::Waiting => "every other nominee".to_owned(),
        Part::Idle => "no nominee so far, and all under `Contact`".to_owned(),
    };
    format!("| {who} | {ten} | {four} |")
}

#[test]
fn the_readme_has_these_numbers() {
    for row in [
        row(LeaseGrade::Quorum, Part::Proving),
        row(LeaseGrade::Sync, Part::Proving),
        row(LeaseGrade::Quorum, Part::Waiting),
        row(LeaseGrade::Quorum, Part::Idle),
    ] {
        assert!(PAGE.contains(&row), "not in docs/lease.md:\n{row}");
    }
    for part in [Part::Proving, Part::Waiting] {
        let timeout = Duration::from_secs(10);
        let of_any = hourly(LeaseGrade::Contact, part, timeout);
        assert_eq!(of_any, hourly(LeaseGrade::Contact, Part::Idle, timeout));
    }
    assert_eq!(row(LeaseGrade::Sync, Part::Waiting), row(LeaseGrade::Quorum, Part::Waiting));
}

/// In the order of the queue; then a client that has nominated nothing.
const PARTS: [Part; 5] = [Part::Proving, Part::Proving, Part::Waiting, Part::Waiting, Part::Idle];

/// Nominees in their order.
struct Queue {
    server: Server,
    _clients: Vec<Client>,
    _nominations: Vec<Nomination>,
}

impl Queue {
    async fn new(grade: LeaseGrade, timeout: Duration) -> Self {
        let server = Server::new();
        let (mut clients, mut nominations) = (Vec::new(), Vec::new());
        for part in PARTS {
            let builder = server.builder().session_timeout(timeout).lease_grade(grade);
            // Looks are counted by themselves.
            let builder = builder.look_interval(HOUR * 100);
            let client = builder.connect().await.expect("a session");
            if part == Part::Idle {
                clients.push(client);
                continue;
            }
            let nomination = client.election(ELECTION).nominate().expect("a nomination");
            let mut status = nomination.updates();
            let in_place =
                |role: &Role| matches!(role, Role::Leading { .. } | Role::Following { .. });
            status.wait_for(|status| in_place(&status.role)).await.expect("a place");
            let candidate = status.latest().candidate.expect("a candidate");
            let path = format!("{ELECTION}/{candidate}");
            assert_eq!(u64::try_from(path.len()), Ok(PATH));
            clients.push(client);
            nominations.push(nomination);
        }
        // Until the client without nominees has not needed its lease for long.
        tokio::time::sleep(timeout.max(Duration::from_secs(6)) * 11).await;
        Self { server, _clients: clients, _nominations: nominations }
    }

    /// Returns the traffic of each client during an hour, in the order of the queue.
    async fn hour(&self) -> Vec<Traffic> {
        let before = self.server.traffic();
        tokio::time::sleep(HOUR).await;
        let pairs = before.into_iter().zip(self.server.traffic());
        pairs.map(|(before, after)| after.since(before)).collect()
    }
}

/// Timers are good to a millisecond, so that an hour may be some exchanges short.
fn assert_costs(measured: Traffic, grade: LeaseGrade, part: Part, timeout: Duration) {
    let exchanges = exchanges(grade, part);
    let times = measured.requests / u64::try_from(exchanges.len()).expect("few");
    let most = 3 * HOUR.as_secs() / timeout.as_secs();
    assert!((most - most / 500..=most).contains(&times), "{times} of {most}: {measured:?}");
    assert_eq!(measured, cost_of(exchanges, times), "{grade:?}, {part:?}");
}

#[tokio::test(start_paused = true)]
async fn an_hour_costs_what_the_readme_says() {
    for grade in [LeaseGrade::Quorum, LeaseGrade::Sync, LeaseGrade::Contact] {
        for timeout in [10, 4].map(Duration::from_secs) {
            let queue = Queue::new(grade, timeout).await;
            for (measured, part) in queue.hour().await.into_iter().zip(PARTS) {
                assert_costs(measured, grade, part, timeout);
            }
        }
    }
}

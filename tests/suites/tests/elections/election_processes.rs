//! Nominees that are processes of their own: killed, paused, made to resign.
//!
//! Each of them asks all the time whether its leadership is valid, and no two may hear yes at once.
#![expect(clippy::indexing_slicing, reason = "a test fails by panicking")]

use core::time::Duration;

use election_tokio::Token;
use tokio::runtime::Runtime;
use zk_test_kit::election::{Arena, LASTING};
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::history::Tenure;
use zk_test_kit::on_both_servers;
use zk_test_kit::server::ServerKind;
use zk_test_kit::wait::SOON;
use zk_tests::nominee::{NomineeError, NomineeProcess, Report, merged};

on_both_servers! {
    #[test]
    when_the_leader_is_killed_the_next_process_leads,
    when_the_leader_resigns_the_next_process_leads,
    a_leader_that_was_paused_never_claims_the_lead_that_it_lost,
    what_a_former_leader_writes_is_not_applied,
    a_leader_that_hands_over_leads_on_in_another_process,
    a_leader_that_was_paused_for_a_moment_goes_on,
    a_paused_follower_is_not_elected_by_an_event_that_waited;
}

/// Long enough for a busy machine to keep a session that is to live, short enough to wait for the
/// end of one that is not.
const SHORT: Duration = Duration::from_secs(4);

/// A runtime for the client beside the processes. These tests are blocking ones, since a nominee
/// process dies with the thread that started it.
struct Bench {
    runtime: Runtime,
    arena: Arena,
}

impl Bench {
    fn new(server: ServerKind, label: &str) -> Result<Self, TestFailure> {
        let runtime = Runtime::new()?;
        let arena = runtime.block_on(Arena::new(server, label))?;
        Ok(Self { runtime, arena })
    }

    /// Starts nominees one after another, each once the one before it has its candidate.
    fn queue(
        &self,
        names: &[&str],
        session_timeout: Duration,
    ) -> Result<Vec<NomineeProcess>, TestFailure> {
        let program = env!("CARGO_BIN_EXE_nominee");
        let mut nominees = Vec::new();
        for name in names {
            let servers = self.arena.servers();
            let nominee = NomineeProcess::start(program, &servers, name, session_timeout)?;
            nominee.wait_for(SOON, "it leads or follows", |report| match report {
                Report::Elected { .. } | Report::Following { .. } => Some(()),
                _ => None,
            })?;
            nominees.push(nominee);
        }
        Ok(nominees)
    }

    fn wait_for_candidates(&self, count: usize) -> TestResult {
        self.runtime.block_on(self.arena.wait_for_children(count))
    }
}

/// Waits until the nominee says that it leads and may act.
fn leads(nominee: &NomineeProcess) -> Result<Token, NomineeError> {
    leads_after(nominee, 0)
}

fn leads_after(nominee: &NomineeProcess, reports: usize) -> Result<Token, NomineeError> {
    let token = nominee.wait_for_after(reports, SOON, "it is elected", |report| match report {
        Report::Elected { token, .. } => Some(*token),
        _ => None,
    })?;
    nominee.wait_for_after(reports, SOON, "it may act", |report| match report {
        Report::Valid(claim) if claim.token == token => Some(token),
        _ => None,
    })
}

fn follows_after(nominee: &NomineeProcess, reports: usize) -> Result<String, NomineeError> {
    nominee.wait_for_after(reports, SOON, "it follows", |report| match report {
        Report::Following { predecessor, .. } => Some(predecessor.clone()),
        _ => None,
    })
}

fn names(tenures: &[Tenure]) -> Vec<&str> {
    let names = tenures.iter().map(|tenure| tenure.nominee.as_str());
    names.collect()
}

/// Four processes; each leader is killed, and the next one takes over once the session has expired,
/// until none is left.
fn when_the_leader_is_killed_the_next_process_leads(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "killed")?;
    let mut nominees = bench.queue(&["1", "2", "3", "4"], SHORT)?;
    for nominee in &mut nominees {
        leads(nominee)?;
        nominee.kill()?;
    }
    bench.wait_for_candidates(0)?;
    let tenures = merged(&nominees).tenures()?;
    assert_eq!(names(&tenures), ["1", "2", "3", "4"]);
    Ok(())
}

/// The same with leaders that resign: no session has to expire for that. Each process ends well.
fn when_the_leader_resigns_the_next_process_leads(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "resigned")?;
    let mut nominees = bench.queue(&["1", "2", "3", "4"], LASTING)?;
    for nominee in &mut nominees {
        leads(nominee)?;
        nominee.resign()?;
        assert!(nominee.wait_for_end(SOON)?, "{}", nominee.name());
        let departure = nominee.wait_for(SOON, "its nomination ends", |report| match report {
            Report::Ended(departure) => Some(departure.clone()),
            _ => None,
        })?;
        assert_eq!(departure, "Deleted");
    }
    bench.wait_for_candidates(0)?;
    let tenures = merged(&nominees).tenures()?;
    assert_eq!(names(&tenures), ["1", "2", "3", "4"]);
    Ok(())
}

/// A process that is to be replaced gives its session and its nomination to the next one, which
/// leads on with the same token, and no other nominee hears of it.
fn a_leader_that_hands_over_leads_on_in_another_process(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "handed-over")?;
    let mut nominees = bench.queue(&["leader", "heir"], LASTING)?;
    let token = leads(&nominees[0])?;
    nominees[0].hand_over()?;
    let (ticket, id) = nominees[0].wait_for(SOON, "it hands over", |report| match report {
        Report::HandedOver { ticket, id } => Some((ticket.clone(), id.clone())),
        _ => None,
    })?;
    assert!(nominees[0].wait_for_end(SOON)?);
    let program = env!("CARGO_BIN_EXE_nominee");
    let servers = bench.arena.servers();
    let mut successor = NomineeProcess::take_over(program, &servers, "leader", (&ticket, &id))?;
    assert_eq!(leads(&successor)?, token);
    bench.wait_for_candidates(2)?;
    let is_news = |report: &Report| !matches!(report, Report::Following { .. });
    assert!(!nominees[1].reports().iter().any(is_news), "the heir heard of it");
    let claims = |nominee: &NomineeProcess| {
        let claims = nominee.reports().into_iter().filter_map(|report| match report {
            Report::Valid(claim) => Some(claim),
            _ => None,
        });
        claims.collect::<Vec<_>>()
    };
    let last = claims(&nominees[0]).iter().map(|claim| claim.asked_at).max();
    let first = claims(&successor).iter().map(|claim| claim.answered_at).min();
    assert!(last < first, "{last:?} {first:?}");

    successor.resign()?;
    assert!(successor.wait_for_end(SOON)?);
    assert!(leads(&nominees[1])? > token);
    nominees.push(successor);
    let tenures = merged(&nominees).tenures()?;
    assert_eq!(names(&tenures), ["leader", "heir"]);
    Ok(())
}

/// The leader is stopped for longer than its session lives. The next one leads; the old one, when
/// it goes on, does not see itself lead by the old token ever again, is told of the loss, and
/// stands again behind the others.
fn a_leader_that_was_paused_never_claims_the_lead_that_it_lost(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "paused")?;
    let nominees = bench.queue(&["one", "two", "three"], SHORT)?;
    let [one, two, three] = nominees.as_slice() else {
        unreachable!("three were started");
    };
    let token = leads(one)?;
    one.pause()?;
    let successor = leads(two)?;
    assert!(successor > token);
    let before = one.report_count();
    one.resume()?;
    let reason =
        one.wait_for_after(before, SOON, "it is told of the loss", |report| match report {
            Report::Lost { token: lost, reason } if *lost == token => Some(reason.clone()),
            _ => None,
        })?;
    assert_eq!(reason, "the lease deadline passed");
    one.wait_for_after(before, SOON, "it asks, and may not act", |report| {
        matches!(report, Report::NotValid(lost) if *lost == token).then_some(())
    })?;
    follows_after(one, before)?;

    // And round again: it is behind `three` now.
    for paused in [two, three] {
        leads(paused)?;
        paused.pause()?;
    }
    let again = leads_after(one, before)?;
    assert!(again > successor);
    let (second, third) = (two.report_count(), three.report_count());
    two.resume()?;
    three.resume()?;
    follows_after(two, second)?;
    follows_after(three, third)?;
    let tenures = merged(&nominees).tenures()?;
    assert_eq!(names(&tenures), ["one", "two", "three", "one"]);
    assert!(tenures.iter().all(|tenure| tenure.claims > 0));
    Ok(())
}

/// A leader is paused with a write in its hands, and another one leads before it goes on. Its write
/// under the guard of its leadership is not applied; that of a present leader is (KAFKA-6082).
fn what_a_former_leader_writes_is_not_applied(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "zombie")?;
    let mut nominees = bench.queue(&["former", "present"], SHORT)?;
    let token = leads(&nominees[0])?;
    nominees[0].write("/in-time")?;
    let written = |report: &Report| match report {
        Report::Written(token) => Some(*token),
        _ => None,
    };
    assert_eq!(nominees[0].wait_for(SOON, "it has written", written)?, token);
    nominees[0].pause()?;
    nominees[0].write("/too-late")?;
    let successor = leads(&nominees[1])?;
    nominees[0].resume()?;
    let refused = nominees[0].wait_for(SOON, "its write fails", |report| match report {
        Report::NotWritten { token, .. } => Some(*token),
        _ => None,
    })?;
    assert_eq!(refused, token);
    nominees[1].write("/by-the-present-one")?;
    assert_eq!(nominees[1].wait_for(SOON, "it has written", written)?, successor);
    let admin = &bench.arena.admin;
    for (path, is_there) in
        [("/in-time", true), ("/too-late", false), ("/by-the-present-one", true)]
    {
        let found = bench.runtime.block_on(admin.exists(path))?;
        assert_eq!(found.is_some(), is_there, "{path}");
    }
    Ok(())
}

/// A leader that was paused, but not for so long that its session expired, goes on leading by the
/// same token.
fn a_leader_that_was_paused_for_a_moment_goes_on(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "moment")?;
    let nominees = bench.queue(&["one", "two"], LASTING)?;
    let [one, two] = nominees.as_slice() else {
        unreachable!("two were started");
    };
    let token = leads(one)?;
    one.pause()?;
    let before = one.report_count();
    one.resume()?;
    one.wait_for_after(before, SOON, "it may act", |report| {
        matches!(report, Report::Valid(claim) if claim.token == token).then_some(())
    })?;
    let two_leads =
        two.reports().into_iter().any(|report| matches!(report, Report::Elected { .. }));
    assert!(!two_leads);
    Ok(())
}

/// A follower is paused. Meanwhile the leader resigns, which is the event that promotes the
/// follower and lies waiting at its socket; its session expires, and the one behind it leads. When
/// it goes on it must not be elected by that event (etcd #11456, CURATOR-696).
fn a_paused_follower_is_not_elected_by_an_event_that_waited(server: ServerKind) -> TestResult {
    let bench = Bench::new(server, "stale")?;
    let mut nominees = bench.queue(&["leader", "paused", "heir"], SHORT)?;
    let first = leads(&nominees[0])?;
    nominees[1].pause()?;
    nominees[0].resign()?;
    assert!(nominees[0].wait_for_end(SOON)?);
    let heir = leads(&nominees[2])?;
    assert!(heir > first);

    let before = nominees[1].report_count();
    nominees[1].resume()?;
    follows_after(&nominees[1], before)?;
    let reports = nominees[1].reports();
    let elected = reports.iter().find(|report| {
        matches!(report, Report::Elected { .. } | Report::Valid(_) | Report::Lost { .. })
    });
    assert_eq!(elected, None);

    nominees[2].resign()?;
    assert!(nominees[2].wait_for_end(SOON)?);
    leads(&nominees[1])?;
    let tenures = merged(&nominees).tenures()?;
    assert_eq!(names(&tenures), ["leader", "heir", "paused"]);
    Ok(())
}

//! Checks the candidates of an election against each other.

use election_tokio::election::Candidate;
use election_tokio::format::{Child, Format};
use election_tokio::{Client, SessionId};

use super::path::child;
use super::report::Finding;
use crate::args::FormatName;
use crate::candidate::ShownCandidate;
use crate::list::recognised;

/// How many candidates, or other children, are read, one after another.
const MOST_READ: usize = 1_000;

pub(super) async fn findings(client: &Client, path: &str, format: FormatName) -> Vec<Finding> {
    // The step `list` reports why there is none.
    let Ok(children) = client.get_children(path).await else { return Vec::new() };
    let mut findings = vec![order(client, path, format.format()).await];
    let of_kind = |wanted: Child| {
        let is_wanted = move |name: &&str| format.format().child(name) == wanted;
        children.iter().filter(is_wanted)
    };
    findings.extend(of_kind(Child::Exhausted).next().map(exhausted));
    if children.iter().any(|name| format.format().end_mark() == Some(name)) {
        findings.push(ended("`zkelect reopen` lets candidates stand again"));
    } else if let Some(name) = of_kind(Child::Tombstone).next() {
        findings.push(ended(&format!("delete the child {name} to let candidates stand again")));
    }
    for name in of_kind(Child::Foreign).take(MOST_READ) {
        // One that goes with no session leads nothing.
        let stat = client.exists(&child(path, name)).await;
        if let Ok(Some(stat)) = stat
            && stat.ephemeral_owner != SessionId::NONE
        {
            findings.push(stranger(name, format));
            break;
        }
    }
    findings
}

/// Checks whether each candidate goes when its session does, and was created after those ahead of
/// it.
async fn order(client: &Client, path: &str, format: Format) -> Finding {
    let mut candidates = match client.election(path).format(format).read_candidates().await {
        Ok(candidates) => candidates,
        Err(error) => return Finding::skipped("order", error),
    };
    let (mut leader, mut last) = (None, None::<Candidate>);
    let mut count = 0;
    while count < MOST_READ {
        let candidate = match candidates.next().await {
            Ok(Some(candidate)) => candidate,
            Ok(None) => break,
            Err(error) if error.is_no_auth() => return hidden(count),
            Err(error) => return Finding::skipped("order", error),
        };
        if !candidate.is_ephemeral() {
            return blocked(&candidate);
        }
        if let Some(ahead) = last.filter(|ahead| candidate.token < ahead.token) {
            return overtaken(&ahead, &candidate);
        }
        leader.get_or_insert_with(|| ShownCandidate::from(&candidate));
        last = Some(candidate);
        count += 1;
    }
    let Some(leader) = leader else { return Finding::ok("order", "no candidate stands") };
    let (leader, unread) = (leader.describe(), candidates.remaining());
    Finding::ok(
        "order",
        match unread {
            0 => format!("{leader} is the first of {count}, each created after those ahead of it"),
            _ => format!("{leader} is the first; the last {unread} candidates were not read"),
        },
    )
}

fn blocked(candidate: &Candidate) -> Finding {
    let says =
        format!("{} goes with no session: no candidate behind it is ever elected", candidate.name);
    Finding::failed("blocked", says)
        .advise(format!("delete it, by `zkelect evict --token {}`", candidate.token))
}

/// Reports that a candidate cannot be read, which so many are ahead of.
fn hidden(ahead: usize) -> Finding {
    let which = match ahead {
        0 => "the candidate that leads".to_owned(),
        ahead => format!("a candidate with {ahead} ahead of it"),
    };
    Finding::warning("blocked", format!("{which} may not be read by this client")).advise(
        "its process has to create its candidate with an access list (ACL) that lets others read",
    )
}

fn overtaken(first: &Candidate, behind: &Candidate) -> Finding {
    let (by, of) =
        (ShownCandidate::from(first).describe(), ShownCandidate::from(behind).describe());
    let says = format!(
        "{by} stands ahead of {of}, and was created after it: both may lead, since a leader does not look for \
         candidates that come in ahead of it"
    );
    let Candidate { session, token, .. } = first;
    Finding::failed("order", says).advise(format!(
        "session {session} gave its candidate a number of its own, where the server has to count: end that \
         program, and remove the candidate by `zkelect evict --token {token}`"
    ))
}

fn stranger(name: &str, format: FormatName) -> Finding {
    let other = recognised(&[name.to_owned()]);
    let of = other.map_or("another format".to_owned(), |other| format!("the format {other}"));
    let says = format!(
        "{name} is of {of}, and its program does not see candidates of the format {format}: both may lead"
    );
    let take = other.map_or("the same --format".to_owned(), |other| format!("--format {other}"));
    Finding::failed("strangers", says).advise(format!(
        "have all that stand here use one format: give {take} if that is what the others have, or move \
         one kind to another election node"
    ))
}

fn ended(advice: &str) -> Finding {
    Finding::failed("ended", "the election was ended for all: candidates leave it at once")
        .advise(advice)
}

fn exhausted(name: &str) -> Finding {
    let says = format!("the numbers of candidates have run out: {name} leads nothing");
    Finding::failed("exhausted", says)
        .advise("move all that stand here to another election node, whose numbers begin at 0")
}

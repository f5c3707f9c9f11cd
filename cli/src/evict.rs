//! `zkelect evict`: removes a candidate without asking it.

use election_tokio::election::{Election, Follow, Observation};
use election_tokio::lock::Removal;
use election_tokio::{Client, Token};
use serde::Serialize;

use crate::args::{EvictArgs, Kind};
use crate::candidate::ShownCandidate;
use crate::candidate::lookup::{self, Meant};
use crate::console;
use crate::errand::{errand, within, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::{Failure, observer_ended, observer_failed};
use crate::list::kind_at;

/// The outcome, for JSON.
#[derive(Serialize)]
struct EvictOutcome {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<ShownCandidate>,
}

/// Removes a candidate, and reports which one.
pub(crate) async fn evict(args: EvictArgs) -> Result<Exit, Failure> {
    args.election.one.check()?;
    let (node, bound) = (&args.election.one.election, *args.election.timeout);
    errand(&args.election.one.servers, (&args.election).into(), async |client: &Client| {
        let election = args.election.one.of(client);
        let Some(candidate) = within(bound, meant(client, &election, &args)).await? else {
            let what = if args.id.is_some() || args.token.is_some() { "such " } else { "" };
            console::remark(format_args!("no {what}candidate stands at {node}"));
            point_to_lock(client, node).await;
            return told(&args, "none", None, Exit::Busy(1));
        };
        let token = Token::new(candidate.token());
        let removed = within_or_in_doubt(bound, "it may be evicted", election.evict(token));
        match removed.await? {
            Removal::Removed => {
                if !args.json {
                    console::print(&format!("evicted {}\n", candidate.describe()))?;
                }
                told(&args, "evicted", Some(candidate), Exit::Success)
            }
            Removal::Gone => {
                console::remark(format_args!("{} was gone before", candidate.describe()));
                told(&args, "gone", Some(candidate), Exit::Busy(1))
            }
        }
    })
    .await
}

fn told(
    args: &EvictArgs,
    outcome: &'static str,
    candidate: Option<ShownCandidate>,
    exit: Exit,
) -> Result<Exit, Failure> {
    if args.json {
        console::print_json(&EvictOutcome { outcome, candidate })?;
    }
    Ok(exit)
}

/// Names the command for locks if the node is that of a lock.
async fn point_to_lock(client: &Client, node: &str) {
    if kind_at(client, node).await == Some(Kind::Lock) {
        console::remark(format_args!(
            "a lock is at {node}: `zkelect revoke` asks its holders, and with --break removes them"
        ));
    }
}

/// Finds the candidate that the arguments name.
async fn meant(
    client: &Client,
    election: &Election,
    args: &EvictArgs,
) -> Result<Option<ShownCandidate>, Failure> {
    match (&args.id, args.token) {
        (None, None) => leader(client, election, &args.election.one.election).await,
        (id, token) => {
            let meant = Meant { id: id.as_deref(), token };
            meant.find(client, election, &args.election.one.election).await
        }
    }
}

/// Finds the leader, confirmed by a quorum.
async fn leader(
    client: &Client,
    election: &Election,
    node: &str,
) -> Result<Option<ShownCandidate>, Failure> {
    let mut observer = election.observe(Follow::Leader)?;
    let seen = observer.wait_for(|seen| *seen != Observation::Unknown).await;
    match seen.map_err(|_| observer_ended(node))? {
        Observation::Led(leader) => Ok(Some((&leader).into())),
        Observation::Failed(failure) => Err(observer_failed(node, failure).into()),
        // A candidate with a name too long for a leader blocks the election.
        Observation::Hidden => {
            let found = lookup::first(1, client, election, node, |_| true).await?;
            Ok(found.into_iter().next())
        }
        _ => Ok(None),
    }
}

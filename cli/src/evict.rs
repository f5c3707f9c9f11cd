//! `zkelect evict`: removes a candidate without asking it.

use election_tokio::{Client, Election, Follow, Observation, Removal, Token, VerifyError};
use serde::Serialize;

use crate::args::EvictArgs;
use crate::candidate::Shown;
use crate::console;
use crate::errand::{errand, within, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::{Failure, OperatingFailure};

/// What became of it, as JSON has it.
#[derive(Serialize)]
struct Told {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<Shown>,
}

/// Removes the candidate that was meant, and tells which it was.
pub(crate) async fn evict(args: EvictArgs) -> Result<Exit, Failure> {
    args.election.one.check()?;
    let (node, bound) = (&args.election.one.election, *args.election.timeout);
    errand(&args.election.one.servers, (&args.election).into(), async |client: &Client| {
        let election = args.election.one.of(client);
        let Some(candidate) = within(bound, meant(client, &election, &args)).await? else {
            let what = if args.id.is_some() || args.token.is_some() { "such " } else { "" };
            console::note(format_args!("no {what}candidate stands at {node}"));
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
                console::note(format_args!("{} was gone before", candidate.describe()));
                told(&args, "gone", Some(candidate), Exit::Busy(1))
            }
        }
    })
    .await
}

fn told(
    args: &EvictArgs,
    outcome: &'static str,
    candidate: Option<Shown>,
    exit: Exit,
) -> Result<Exit, Failure> {
    if args.json {
        console::print_json(&Told { outcome, candidate })?;
    }
    Ok(exit)
}

/// The candidate that the arguments say.
async fn meant(
    client: &Client,
    election: &Election,
    args: &EvictArgs,
) -> Result<Option<Shown>, Failure> {
    match (&args.id, args.token) {
        (None, None) => leader(client, election, args).await,
        (id, token) => {
            let is_meant = |candidate: &Shown| {
                token == Some(Token::new(candidate.token()))
                    || id.as_deref().is_some_and(|id| candidate.is_called(id))
            };
            let mut found = candidates(client, election, args, is_meant).await?;
            match (found.pop(), found.as_slice(), id) {
                (Some(last), [first, ..], Some(id)) => {
                    Err(Failure::Operating(OperatingFailure::Ambiguous {
                        id: id.clone(),
                        tokens: [first.token(), last.token()],
                    }))
                }
                (last, ..) => Ok(last),
            }
        }
    }
}

/// The one that leads, as a quorum has it.
async fn leader(
    client: &Client,
    election: &Election,
    args: &EvictArgs,
) -> Result<Option<Shown>, Failure> {
    let mut observer = election.observe(Follow::Leader)?;
    let seen = observer.wait_for(|seen| *seen != Observation::Unknown).await;
    match seen.map_err(|_| VerifyError::ClientClosed)? {
        Observation::Led(leader) => Ok(Some((&leader).into())),
        Observation::Failed(failure) => Err(VerifyError::Failed(failure).into()),
        // One whose name is too long for a leader blocks the election.
        Observation::Hidden => {
            let mut found = candidates(client, election, args, |_| true).await?;
            Ok((!found.is_empty()).then(|| found.swap_remove(0)))
        }
        _ => Ok(None),
    }
}

/// The first two that are meant, in their order. The data of one is kept at a time.
async fn candidates(
    client: &Client,
    election: &Election,
    args: &EvictArgs,
    is_meant: impl Fn(&Shown) -> bool,
) -> Result<Vec<Shown>, Failure> {
    // What this server has not heard of yet may be what is meant.
    client.sync(&args.election.one.election).await?;
    let mut candidates = election.read_candidates().await?;
    let mut found = Vec::new();
    while let Some(candidate) = candidates.next().await? {
        let shown = Shown::from(&candidate);
        if is_meant(&shown) {
            found.push(shown);
            if found.len() == 2 {
                break;
            }
        }
    }
    Ok(found)
}

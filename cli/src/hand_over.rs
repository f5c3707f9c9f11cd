//! `zkelect hand-over`: hands the leadership to a candidate of the operator's choice.

use election_tokio::election::{Election, HandOver, HandOverError};
use election_tokio::{Client, Token};
use serde::Serialize;

use crate::args::HandOverArgs;
use crate::candidate::ShownCandidate;
use crate::candidate::lookup::{self, Meant};
use crate::console;
use crate::errand::{errand, within, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::{Failure, OperatingFailure};

/// How many of the candidates ahead to report.
const MOST_TOLD: usize = 10;

/// The outcome, for JSON.
#[derive(Serialize)]
struct HandOverOutcome<'a> {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    candidate: Option<&'a ShownCandidate>,
    #[serde(skip_serializing_if = "<[ShownCandidate]>::is_empty")]
    ahead: &'a [ShownCandidate],
}

/// How a hand-over to a candidate that was found has ended.
enum Outcome {
    HandedOver,
    LeadsAlready,
    Gone,
    Refused { by: Vec<Token> },
}

/// Asks for the hand-over, and waits for its outcome.
pub(crate) async fn hand_over(args: HandOverArgs) -> Result<Exit, Failure> {
    args.election.one.check()?;
    let (node, bound) = (&args.election.one.election, *args.election.timeout);
    errand(&args.election.one.servers, (&args.election).into(), async |client: &Client| {
        let election = args.election.one.of(client);
        let meant = Meant { id: args.id.as_deref(), token: args.token };
        let Some(candidate) = within(bound, meant.find(client, &election, node)).await? else {
            console::remark(format_args!(
                "no such candidate stands at {node}: give the ID, the ZNODE or the token of one that \
                 `zkelect list` shows"
            ));
            return told(&args, "none", None, Exit::Busy(1));
        };
        let by = args.asker.by();
        let (to, time) = (Token::new(candidate.token()), *args.within);
        let asked = async {
            match election.hand_over(to, &by, &args.asker.reason, time).await {
                Ok(HandOver::To(_)) => Ok(Outcome::HandedOver),
                Ok(HandOver::Refused { by }) => Ok(Outcome::Refused { by }),
                Err(HandOverError::LeadsAlready { .. }) => Ok(Outcome::LeadsAlready),
                // It was found, so it has gone since.
                Err(HandOverError::CandidateGone { .. } | HandOverError::NoCandidate { .. }) => {
                    Ok(Outcome::Gone)
                }
                Err(error) => Err(Failure::from(error)),
            }
        };
        let bound_of_all = time.saturating_add(bound);
        let outcome = within_or_in_doubt(bound_of_all, "the leadership may be handed over", asked);
        match outcome.await? {
            Outcome::LeadsAlready => {
                console::remark(format_args!("{} leads already", candidate.describe()));
                told(&args, "leads_already", Some(&candidate), Exit::Success)
            }
            Outcome::HandedOver => {
                if !args.json {
                    console::print(&format!("{} leads\n", candidate.describe()))?;
                }
                told(&args, "handed_over", Some(&candidate), Exit::Success)
            }
            Outcome::Gone => {
                told(&args, "gone", Some(&candidate), Exit::Busy(1))?;
                Err(OperatingFailure::CandidateGone { who: candidate.describe() }.into())
            }
            Outcome::Refused { by } => {
                let ahead = within(bound, ahead(client, &election, node, &by)).await?;
                refused(&args, &candidate, by.len(), &ahead)
            }
        }
    })
    .await
}

/// Returns the first standing candidates with these tokens.
async fn ahead(
    client: &Client,
    election: &Election,
    node: &str,
    tokens: &[Token],
) -> Result<Vec<ShownCandidate>, Failure> {
    let count = tokens.len().min(MOST_TOLD);
    let is_told = |candidate: &ShownCandidate| tokens.contains(&Token::new(candidate.token()));
    lookup::first(count, client, election, node, is_told).await
}

fn refused(
    args: &HandOverArgs,
    candidate: &ShownCandidate,
    count: usize,
    ahead: &[ShownCandidate],
) -> Result<Exit, Failure> {
    told_with(args, "refused", Some(candidate), ahead)?;
    let mut names: Vec<String> = ahead.iter().map(ShownCandidate::describe).collect();
    match count.saturating_sub(names.len()) {
        0 => {}
        others => names.push(format!("{others} more")),
    }
    Err(OperatingFailure::NotHandedOver {
        to: candidate.describe(),
        within: *args.within,
        ahead: names.join(", "),
    }
    .into())
}

fn told(
    args: &HandOverArgs,
    outcome: &'static str,
    candidate: Option<&ShownCandidate>,
    exit: Exit,
) -> Result<Exit, Failure> {
    told_with(args, outcome, candidate, &[])?;
    Ok(exit)
}

fn told_with(
    args: &HandOverArgs,
    outcome: &'static str,
    candidate: Option<&ShownCandidate>,
    ahead: &[ShownCandidate],
) -> Result<(), Failure> {
    if args.json {
        console::print_json(&HandOverOutcome { outcome, candidate, ahead })?;
    }
    Ok(())
}

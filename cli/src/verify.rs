//! `zkelect verify`: tells whether a token's leader still leads.

use election_tokio::election::Verdict;
use election_tokio::{Client, Token};
use serde::Serialize;

use crate::args::VerifyArgs;
use crate::console;
use crate::errand::{errand, within};
use crate::exit::Exit;
use crate::failure::Failure;

/// An answer, for JSON.
#[derive(Serialize)]
struct VerifyOutcome {
    verdict: &'static str,
    token: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocked_by: Option<String>,
}

/// Prints the verdict, which is also the exit code.
pub(crate) async fn verify(args: VerifyArgs) -> Result<Exit, Failure> {
    let VerifyArgs { election, token, json } = args;
    election.one.check()?;
    errand(&election.one.servers, (&election).into(), async |client: &Client| {
        let asked = election.one.of(client);
        let verdict = within(*election.timeout, asked.verify(token)).await?;
        let is_leader = verdict == Verdict::Leads;
        let (answer, text) = answer(token, verdict);
        if json {
            console::print_json(&answer)?;
        } else {
            console::print(&format!("{text}\n"))?;
        }
        Ok(if is_leader { Exit::Success } else { Exit::Busy(1) })
    })
    .await
}

fn answer(token: Token, verdict: Verdict) -> (VerifyOutcome, String) {
    let mut blocked_by = None;
    let (verdict, leader, text) = match verdict {
        Verdict::Blocked { by } => {
            let text = format!("token {token} does not lead: its candidate is blocked by {by}");
            blocked_by = Some(by.to_string());
            ("blocked", None, text)
        }
        Verdict::NotEphemeral => (
            "not_ephemeral",
            None,
            format!("token {token} does not lead: its candidate is not ephemeral"),
        ),
        Verdict::Leads => ("leads", Some(token.get()), format!("token {token} leads")),
        Verdict::Over { leader: Some(leader) } => (
            "over",
            Some(leader.get()),
            format!("token {token} leads no more: the leader has token {leader}"),
        ),
        Verdict::Over { leader: None } => {
            ("over", None, format!("token {token} leads no more: there is no leader"))
        }
        Verdict::NotYet { leader } => (
            "not_yet",
            Some(leader.get()),
            format!("token {token} does not lead yet: the leader has token {leader}"),
        ),
    };
    (VerifyOutcome { verdict, token: token.get(), leader, blocked_by }, text)
}

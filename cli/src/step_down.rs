//! `zkelect step-down`: asks the leader to let another nominee lead.

use core::time::Duration;

use election_tokio::election::{Follow, Observation, Observer, StepDownRequest, VerifyError};
use election_tokio::{Client, Token};
use serde::Serialize;
use tokio::time::{Instant, timeout, timeout_at};

use crate::args::StepDownArgs;
use crate::candidate::ShownCandidate;
use crate::console;
use crate::errand::{errand, within, within_or_in_doubt};
use crate::exit::Exit;
use crate::failure::{Failure, OperatingFailure, observer_ended, observer_failed};

/// How long to wait for the next leader, to report it.
const SUCCESSION: Duration = Duration::from_secs(2);

/// The outcome of the request, for JSON.
#[derive(Serialize)]
struct StepDownOutcome {
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<ShownCandidate>,
    #[serde(skip_serializing_if = "Option::is_none")]
    leader: Option<ShownCandidate>,
}

/// Leaves the request, and waits until the leader that was asked leads no more.
pub(crate) async fn step_down(args: StepDownArgs) -> Result<Exit, Failure> {
    args.election.one.check()?;
    let (path, bound) = (&args.election.one.election, *args.election.timeout);
    errand(&args.election.one.servers, (&args.election).into(), async |client: &Client| {
        let election = args.election.one.of(client);
        let mut observer = election.observe(Follow::Leader)?;
        let by = args.asker.by();
        let request = election.request_step_down(&by, &args.asker.reason, *args.within);
        let deadline = Instant::now().checked_add(*args.within);
        match within_or_in_doubt(bound, "the leader may be asked", request).await? {
            StepDownRequest::NoLeader => {
                console::remark(format_args!("{} has no leader", args.election.one.election));
                if args.json {
                    let none = StepDownOutcome { outcome: "no_leader", asked: None, leader: None };
                    console::print_json(&none)?;
                }
                Ok(Exit::Busy(1))
            }
            StepDownRequest::Made(token) => {
                // If it is not observed, it has gone already.
                let seen = within(bound, known(path, &mut observer, |_| true)).await?;
                let asked = seen.filter(|leader| leader.token() == token.get());
                let until =
                    deadline.unwrap_or_else(|| Instant::now() + Duration::from_secs(24 * 60 * 60));
                outcome(&args, &mut observer, token, asked, until).await
            }
        }
    })
    .await
}

async fn outcome(
    args: &StepDownArgs,
    observer: &mut Observer,
    token: Token,
    asked: Option<ShownCandidate>,
    until: Instant,
) -> Result<Exit, Failure> {
    let path = &args.election.one.election;
    let who = asked.as_ref().map_or_else(|| format!("token {token}"), ShownCandidate::describe);
    console::remark(format_args!("{who} is asked to step down"));
    let is_another = |seen: &Observation| seen.first().is_none_or(|first| first.token != token);
    let over = match timeout_at(until, known(path, observer, is_another)).await {
        Err(_) => None,
        Ok(leader) => Some(leader?),
    };
    let Some(leader) = over else {
        if args.json {
            let leader = asked.clone();
            console::print_json(&StepDownOutcome { outcome: "still_leads", asked, leader })?;
        }
        return Err(OperatingFailure::StillLeads { who, within: *args.within }.into());
    };
    let leader = if leader.is_some() {
        leader
    } else {
        let is_led = |seen: &Observation| seen.leader().is_some();
        timeout(SUCCESSION, known(path, observer, is_led)).await.unwrap_or(Ok(None))?
    };
    let next = match &leader {
        // It stood again, behind all others.
        Some(leader) if asked.as_ref().is_some_and(|asked| asked.is_of_session_of(leader)) => {
            format!("{} leads, the same process again", leader.describe())
        }
        Some(leader) => format!("{} leads", leader.describe()),
        None => "there is no leader now".to_owned(),
    };
    if args.json {
        console::print_json(&StepDownOutcome { outcome: "stepped_down", asked, leader })?;
    } else {
        console::print(&format!("{who} leads no more; {next}\n"))?;
    }
    Ok(Exit::Success)
}

/// Waits until the observation is as wanted, and returns the leader.
async fn known(
    path: &str,
    observer: &mut Observer,
    mut wanted: impl FnMut(&Observation) -> bool,
) -> Result<Option<ShownCandidate>, VerifyError> {
    let is_known =
        |seen: &Observation| *seen != Observation::Unknown && (is_failed(seen) || wanted(seen));
    match observer.wait_for(is_known).await.map_err(|_| observer_ended(path))? {
        Observation::Failed(failure) => Err(observer_failed(path, failure)),
        seen => Ok(seen.first().map(ShownCandidate::from)),
    }
}

fn is_failed(seen: &Observation) -> bool {
    matches!(seen, Observation::Failed(_))
}

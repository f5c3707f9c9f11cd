//! `zkelect members join`.

use core::time::Duration;

use election_tokio::group::{Group, Membership, MembershipError, MembershipState, WhenEvicted};
use election_tokio::{Client, ConnectionState};
use serde::Serialize;
use tokio::time::{Instant, sleep_until, timeout};

use super::path::check;
use crate::args::MembersJoinArgs;
use crate::console;
use crate::errand::{Done, Errand, Reach};
use crate::exit::Exit;
use crate::failure::Failure;

/// How long to wait for a server to confirm that the member has left.
const LEAVE_BOUND: Duration = Duration::from_secs(5);

/// Joins, and stays a member until a signal comes.
pub(super) async fn join(args: &MembersJoinArgs) -> Result<Exit, Failure> {
    check(&args.path)?;
    let (when_taken, bound) = args.terms();
    let until = bound.and_then(|bound| Instant::now().checked_add(bound));
    let (reach, session_timeout) = (Reach::Patient { bound }, args.session_timeout.0);
    let mut errand = match Errand::begin_with(&args.servers, reach, session_timeout).await? {
        Done::Output(errand) => errand,
        Done::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
    };
    let client = errand.client().clone();
    let group = client.group(&args.path).format(args.format.format.format());
    let group = group.when_taken(when_taken).when_evicted(WhenEvicted::End);
    let joined = async {
        tokio::select! {
            biased;
            joined = joined(&group, args) => Some(joined),
            () = passed(until) => None,
        }
    };
    let outcome = match errand.or_told(joined).await {
        Done::Output(Some(Ok(membership))) => be_member(&mut errand, membership, args).await,
        Done::Output(Some(Err(error))) => Err(error.into()),
        Done::Output(None) => in_vain(&client, args, bound.unwrap_or_default()),
        // If a create is on its way, it reaches the server before the end of the session.
        Done::Told(signal) => Ok(Exit::Signal(signal.as_raw())),
    };
    errand.end().await;
    outcome
}

/// Ends because the time is over. A server in reach would have let it join if the name were free.
fn in_vain(client: &Client, args: &MembersJoinArgs, bound: Duration) -> Result<Exit, Failure> {
    match (client.connection_state(), &args.name) {
        (ConnectionState::Connected { .. }, Some(name)) => {
            console::remark(format_args!(
                "the name {name} is taken still (`zkelect members list` shows its session)"
            ));
            Ok(Exit::Busy(1))
        }
        _ => Err(Failure::NoAnswer(bound)),
    }
}

/// A member, for JSON.
#[derive(Serialize)]
struct Joined<'a> {
    path: &'a str,
    name: String,
}

/// Prints the name once it is a member, and reports changes of the membership.
async fn be_member(
    errand: &mut Errand,
    membership: Membership,
    args: &MembersJoinArgs,
) -> Result<Exit, Failure> {
    if args.json {
        console::print_json(&Joined { path: &args.path, name: membership.znode().to_string() })?;
    } else {
        console::print(&format!("{}\n", membership.znode()))?;
    }
    let mut state = membership.state();
    loop {
        state = match errand.or_told(membership.changed_from(&state)).await {
            Done::Output(state) => state,
            Done::Told(_) => return leave(errand, membership).await,
        };
        match &state {
            MembershipState::Joining { lost: Some(cause) } => {
                console::warn(format_args!("is no member any more: {cause}; joins again"));
            }
            MembershipState::Waiting { .. } => {
                console::warn("another znode has the name; waits until it goes");
            }
            MembershipState::HeldBack => {
                console::warn("the servers may not take data as long; asks again later");
            }
            MembershipState::Joined { .. } => console::note("has joined again"),
            MembershipState::Ended(error) => return Err(error.clone().into()),
            _ => {}
        }
    }
}

/// Waits until the znode is gone; another signal ends the wait.
async fn leave(errand: &mut Errand, membership: Membership) -> Result<Exit, Failure> {
    let outcome = match errand.or_told(timeout(LEAVE_BOUND, membership.leave())).await {
        Done::Output(Ok(Ok(_))) => return Ok(Exit::Success),
        Done::Output(Ok(Err(error))) => return Err(error.into()),
        Done::Output(Err(_)) => Err(Failure::NoAnswer(LEAVE_BOUND)),
        Done::Told(signal) => Ok(Exit::Signal(signal.as_raw())),
    };
    console::warn(
        "no server confirmed the departure: others see this member until its session times out",
    );
    outcome
}

async fn joined(group: &Group, args: &MembersJoinArgs) -> Result<Membership, MembershipError> {
    let data = args.data.clone();
    match &args.name {
        Some(name) => group.join_as(name, data).await,
        None => group.join(data).await,
    }
}

async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => core::future::pending().await,
    }
}

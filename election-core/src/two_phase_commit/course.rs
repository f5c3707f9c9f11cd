//! The protocol: what follows from a list.
//!
//! A list has everything that a party knows, so a lost reply does not matter: the party looks
//! again. Its write is refused if the list was out of date.

use super::child::{CommitChild, CommitState, SitePresence, SiteState};
use super::plan::{Plan, Step};
use super::tally::Tally;
use super::task::CommitTask;
use super::told::{CommitEnd, CommitFailure, Decision};
use crate::id::NomineeId;
use crate::site_name::SiteName;

/// The age of a list: it shows everything that was committed at the request, or may lag. Servers may be behind,
/// so a znode that one server does not show may exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sight {
    MayLag,
    /// A quorum's commit came before the list on this connection.
    Current,
}

/// The next step after a list.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "without an allocator a plan cannot be boxed")]
pub(super) enum Next {
    End(CommitEnd),
    /// Make a list behind a quorum's commit.
    Doubt,
    Act(Plan, Then),
    /// Look at this child, and wait for its end.
    Look(CommitState, NomineeId),
    /// Look at the owner of the site's own presence.
    LookAtOwn(SitePresence),
    /// Wait for the watch on the list.
    Wait,
    /// The site takes part.
    Joined(NomineeId),
}

/// The next step after a transaction that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Then {
    End(CommitEnd),
    Survey,
    Joined(NomineeId),
}

/// Returns what follows if there is no node.
pub(super) const fn without_a_node(task: &CommitTask, sight: Sight) -> Next {
    let end = match task {
        // A transaction is removed once all have acknowledged that have to.
        CommitTask::Acknowledge(_) => CommitEnd::Acknowledged,
        CommitTask::Finish => CommitEnd::Finished,
        _ => CommitEnd::Gone,
    };
    sure(sight, end)
}

/// Returns what follows from a list. `known` is the id of the transaction that is meant.
pub(super) fn next(
    task: &CommitTask,
    known: Option<NomineeId>,
    tally: &Tally,
    sight: Sight,
) -> Next {
    let Some((state, id)) = tally.state else {
        return sure(sight, CommitEnd::Failed(CommitFailure::NotATransaction));
    };
    if known.is_some_and(|known| known != id) {
        let end = match task {
            CommitTask::Acknowledge(_) => CommitEnd::Acknowledged,
            CommitTask::Finish => CommitEnd::Finished,
            _ => CommitEnd::Replaced,
        };
        return sure(sight, end);
    }
    let decision = Decision::of(state);
    match (task, decision) {
        (CommitTask::Find, _) => sure(sight, CommitEnd::Found { id, state }),
        (CommitTask::Join(site), _) => join(site, (state, id), tally, sight),
        (CommitTask::Acknowledge(site), Some(_)) => acknowledge(site, (state, id), tally, sight),
        (CommitTask::Finish, Some(_)) => finish((state, id), tally, sight),
        // A decision may be missing from a list of an older server.
        (CommitTask::Acknowledge(_) | CommitTask::Finish, None) => {
            sure(sight, CommitEnd::Undecided)
        }
        (_, Some(decision)) => Next::End(CommitEnd::Decided(decision)),
        (CommitTask::Vote(site, Decision::Commit), None) => vote(site, id, tally, sight),
        (CommitTask::Vote(site, Decision::Abort), None) => refuse(site, id, tally, sight),
        (CommitTask::Decide, None) if tally.is_unanimous() => decide(id, Decision::Commit),
        (CommitTask::Decide, None) if tally.lacks_a_site() => decide(id, Decision::Abort),
        (CommitTask::Decide, None) => Next::Wait,
        (CommitTask::Learn, None) => Next::Look(CommitState::Open, id),
        (CommitTask::Abort, None) => decide(id, Decision::Abort),
    }
}

/// Returns an end that rests on a missing znode.
const fn sure(sight: Sight, end: CommitEnd) -> Next {
    match sight {
        Sight::MayLag => Next::Doubt,
        Sight::Current => Next::End(end),
    }
}

const fn open(id: NomineeId) -> CommitChild<'static> {
    CommitChild::State(CommitState::Open, id)
}

fn decide(id: NomineeId, decision: Decision) -> Next {
    let plan = Plan::of([(Step::Create, decided(id, decision)), (Step::Delete, open(id))]);
    Next::Act(plan, Then::End(CommitEnd::Decided(decision)))
}

const fn decided(id: NomineeId, decision: Decision) -> CommitChild<'static> {
    let state = match decision {
        Decision::Commit => CommitState::Committed,
        Decision::Abort => CommitState::Aborted,
    };
    CommitChild::State(state, id)
}

fn join(
    site: &SiteName,
    (state, id): (CommitState, NomineeId),
    tally: &Tally,
    sight: Sight,
) -> Next {
    match (tally.own, tally.own_is, state) {
        (None, ..) => sure(sight, CommitEnd::NoSuchSite),
        // To be there is of no more use.
        (Some(_), _, CommitState::Committed | CommitState::Aborted) => match sight {
            Sight::MayLag => Next::Doubt,
            Sight::Current => Next::Joined(id),
        },
        (Some(_), Some(presence), CommitState::Open) => Next::LookAtOwn(presence),
        (Some(own), None, CommitState::Open) => match come(site, id, own) {
            Some(plan) => Next::Act(plan, Then::Joined(id)),
            None => sure(sight, CommitEnd::Failed(CommitFailure::NotATransaction)),
        },
    }
}

/// Makes the transaction by which a site becomes present. That happens only together with
/// [`SiteState::Joined`], so the site is missed once it is gone.
fn come(site: &SiteName, id: NomineeId, own: SiteState) -> Option<Plan> {
    let site = site.as_str();
    let state = |state| CommitChild::Site(state, site);
    let presence = |presence| CommitChild::Presence(presence, site);
    match own {
        SiteState::Invited => Some(Plan::of([
            (Step::Check, open(id)),
            (Step::CreateEphemeral, presence(SitePresence::Live)),
            (Step::Create, state(SiteState::Joined)),
            (Step::Delete, state(SiteState::Invited)),
        ])),
        SiteState::Joined => Some(Plan::of([
            (Step::Check, open(id)),
            (Step::Check, state(SiteState::Joined)),
            (Step::CreateEphemeral, presence(SitePresence::Live)),
        ])),
        SiteState::VotedCommit => Some(Plan::of([
            (Step::Check, open(id)),
            (Step::Check, state(SiteState::VotedCommit)),
            (Step::CreateEphemeral, presence(SitePresence::Bound)),
        ])),
        SiteState::VotedAbort => None,
    }
}

/// Votes to commit.
fn vote(site: &SiteName, id: NomineeId, tally: &Tally, sight: Sight) -> Next {
    let nothing = CommitEnd::Failed(CommitFailure::NotATransaction);
    match (tally.own, tally.own_is) {
        (None, _) => sure(sight, CommitEnd::NoSuchSite),
        (Some(SiteState::VotedCommit), _) => Next::End(CommitEnd::Voted),
        (Some(SiteState::Joined), Some(SitePresence::Live)) => {
            let name = site.as_str();
            let plan = Plan::of([
                (Step::Create, CommitChild::Site(SiteState::VotedCommit, name)),
                (Step::CreateEphemeral, CommitChild::Presence(SitePresence::Bound, name)),
                (Step::Delete, CommitChild::Site(SiteState::Joined, name)),
                (Step::Delete, CommitChild::Presence(SitePresence::Live, name)),
            ]);
            Next::Act(plan.provided(open(id)), Then::End(CommitEnd::Voted))
        }
        (Some(own @ (SiteState::Invited | SiteState::Joined)), None) => match come(site, id, own) {
            Some(plan) => Next::Act(plan, Then::Survey),
            None => sure(sight, nothing),
        },
        (Some(_), _) => sure(sight, nothing),
    }
}

/// Votes to abort, which decides.
fn refuse(site: &SiteName, id: NomineeId, tally: &Tally, sight: Sight) -> Next {
    let name = site.as_str();
    match tally.own {
        None => sure(sight, CommitEnd::NoSuchSite),
        Some(SiteState::VotedCommit) => Next::End(CommitEnd::Bound),
        Some(SiteState::VotedAbort) => {
            sure(sight, CommitEnd::Failed(CommitFailure::NotATransaction))
        }
        Some(own @ (SiteState::Invited | SiteState::Joined)) => {
            let plan = Plan::of([
                (Step::Create, decided(id, Decision::Abort)),
                (Step::Delete, open(id)),
                (Step::Create, CommitChild::Site(SiteState::VotedAbort, name)),
                (Step::Delete, CommitChild::Site(own, name)),
            ]);
            Next::Act(plan, Then::End(CommitEnd::Decided(Decision::Abort)))
        }
    }
}

fn acknowledge(
    site: &SiteName,
    (state, id): (CommitState, NomineeId),
    tally: &Tally,
    sight: Sight,
) -> Next {
    let Some(own) = tally.own else { return sure(sight, CommitEnd::Acknowledged) };
    let mut plan = Plan::of([(Step::Delete, CommitChild::Site(own, site.as_str()))]);
    if let Some(presence) = tally.own_is {
        plan.add_if_there_is_room(Step::Delete, CommitChild::Presence(presence, site.as_str()));
    }
    let plan = plan.provided(CommitChild::State(state, id));
    Next::Act(plan, Then::End(CommitEnd::Acknowledged))
}

fn finish((state, id): (CommitState, NomineeId), tally: &Tally, sight: Sight) -> Next {
    let state = CommitChild::State(state, id);
    if tally.commits > 0 || tally.live > 0 || tally.bound > 0 {
        Next::Wait
    } else if !tally.unbound.is_empty() {
        Next::Act(tally.unbound.provided(state), Then::Survey)
    } else if tally.foreign > 0 {
        sure(sight, CommitEnd::Failed(CommitFailure::ForeignChildren))
    } else {
        let plan = Plan::of([(Step::Delete, state)]).and_the_node();
        Next::Act(plan, Then::End(CommitEnd::Finished))
    }
}

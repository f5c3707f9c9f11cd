//! Inputs of recipes, made from replies and events.

use bytes::Bytes;
use election_core::children::Children;
use election_core::{
    Applied, Arrivals, Change, Event, Failure, Output, Recipe, Reply, SessionId, Ticket,
};
use zk_jute::records::{
    Create2Response, CreateResponse, EventType, ExistsResponse, GetChildren2Response,
    GetChildrenResponse, GetDataResponse, MultiResponse, MultiResult, SetDataResponse, Stat,
};
use zk_jute::{Decode, ErrorCode};

use crate::event::Wake;
use crate::names::{Listed, Names};
use crate::request::RequestKind;

/// The cause of a recipe's step.
#[derive(Debug)]
pub(crate) enum Stimulus {
    Happened(Happening),
    Replied { ticket: Ticket, kind: RequestKind, outcome: Result<Bytes, Failure> },
    Listed { ticket: Ticket, listed: Listed },
    Withdraw,
}

/// An event that is no reply of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    Connected(zk_jute::SessionId),
    Disconnected,
    SessionExpired,
    LeaseLapsed,
    Look,
    Deadline,
    Fired { ticket: Ticket, wake: Wake },
    WatchLost(Ticket),
    NotSent(Ticket, Failure),
}

/// Makes the recipe take the step, and shows its output to `then`.
pub(crate) fn feed<R: Recipe, X>(
    recipe: &mut R,
    stimulus: &Stimulus,
    then: impl FnOnce(Output<'_, R::Notice>) -> X,
) -> X {
    match stimulus {
        Stimulus::Happened(happening) => then(recipe.handle_event(event(*happening))),
        Stimulus::Withdraw => then(recipe.withdraw()),
        // A node that exists already is fine.
        Stimulus::Replied {
            ticket,
            kind: RequestKind::CreateNode,
            outcome: Err(Failure::NodeExists),
        } => then(recipe.handle_event(replied(*ticket, Ok(Reply::NodeCreated)))),
        Stimulus::Replied { ticket, outcome: Err(failure), .. }
        | Stimulus::Listed { ticket, listed: Err(failure) } => {
            then(recipe.handle_event(replied(*ticket, Err(*failure))))
        }
        Stimulus::Replied { ticket, kind, outcome: Ok(body) } => {
            feed_reply(recipe, *ticket, (*kind, body), then)
        }
        Stimulus::Listed { ticket, listed: Ok(Names::Answer(body)) } => {
            feed_reply(recipe, *ticket, (RequestKind::List, body), then)
        }
        Stimulus::Listed { ticket, listed: Ok(Names::Sorted(names)) } => {
            let reply = Reply::Children(Children::indexed(&**names));
            then(recipe.handle_event(replied(*ticket, Ok(reply))))
        }
    }
}

fn feed_reply<R: Recipe, X>(
    recipe: &mut R,
    ticket: Ticket,
    (kind, body): (RequestKind, &Bytes),
    then: impl FnOnce(Output<'_, R::Notice>) -> X,
) -> X {
    let mut names;
    let mut results;
    let reply = match kind {
        RequestKind::CreateNode | RequestKind::CreateOutermost | RequestKind::CreateAncestor => {
            Ok(Reply::NodeCreated)
        }
        // A multi with an answer was committed, whatever the outcome of its check.
        RequestKind::Barrier => Ok(Reply::BarrierPassed),
        RequestKind::Delete => Ok(Reply::Deleted),
        RequestKind::Create => created(body),
        RequestKind::Read => decode::<GetDataResponse<'_>>(body).map(|read| Reply::Read {
            stat: core_stat(&read.stat),
            data: read.data.unwrap_or_default(),
        }),
        RequestKind::Exists => {
            decode::<ExistsResponse>(body).map(|found| Reply::Exists(core_stat(&found.stat)))
        }
        RequestKind::Write => {
            decode::<SetDataResponse>(body).map(|set| Reply::Written(core_stat(&set.stat)))
        }
        RequestKind::List => match decode::<GetChildrenResponse<'_>>(body) {
            Ok(listed) => {
                names = listed.children.into_iter();
                Ok(Reply::Children(Children::listed(&mut names)))
            }
            Err(failure) => Err(failure),
        },
        RequestKind::WatchedList => match decode::<GetChildren2Response<'_>>(body) {
            Ok(listed) => {
                names = listed.children.into_iter();
                Ok(Reply::Children(Children::listed(&mut names)))
            }
            Err(failure) => Err(failure),
        },
        RequestKind::Multi => match decode::<MultiResponse<'_>>(body) {
            Ok(response) => {
                if let Some((part, code)) = response.error() {
                    Err(aborted(part, code))
                } else {
                    results = response.into_iter().filter_map(applied);
                    Ok(Reply::Committed(&mut results))
                }
            }
            Err(failure) => Err(failure),
        },
    };
    then(recipe.handle_event(replied(ticket, reply)))
}

/// Fails the part of a transaction at which the server noticed that the session ended while it
/// prepared it.
const fn aborted(part: usize, code: ErrorCode) -> Failure {
    match Failure::from_code(code.get()) {
        Failure::ConnectionLoss => Failure::ConnectionLoss,
        _ => Failure::Aborted { part, code: code.get() },
    }
}

/// Reads the answer to `create2`, or to `create`, which has only the path.
fn created(body: &Bytes) -> Result<Reply<'_>, Failure> {
    if let Ok(created) = decode::<Create2Response<'_>>(body) {
        let stat = Some(core_stat(&created.stat));
        return Ok(Reply::Created { name: name_of(created.path), stat });
    }
    let created = decode::<CreateResponse<'_>>(body)?;
    Ok(Reply::Created { name: name_of(created.path), stat: None })
}

/// The failure of a request that the server does not know.
pub(crate) const UNIMPLEMENTED: Failure = Failure::Rejected(ErrorCode::UNIMPLEMENTED.get());

const fn replied(ticket: Ticket, result: Result<Reply<'_>, Failure>) -> Event<'_> {
    Event::Reply { ticket, result }
}

fn event<'a>(happening: Happening) -> Event<'a> {
    match happening {
        Happening::Connected(id) => Event::Connected { session: SessionId::new(id.get()) },
        Happening::Disconnected => Event::Disconnected,
        Happening::SessionExpired => Event::SessionExpired,
        Happening::LeaseLapsed => Event::LeaseLapsed,
        Happening::Look => Event::Look,
        Happening::Deadline => Event::Deadline,
        Happening::Fired { ticket, wake } => Event::Changed { ticket, change: change(wake.kind) },
        Happening::WatchLost(ticket) => Event::Changed { ticket, change: Change::Lost },
        Happening::NotSent(ticket, failure) => replied(ticket, Err(failure)),
    }
}

fn change(kind: EventType) -> Change {
    match kind {
        EventType::NODE_DELETED => Change::Deleted,
        EventType::NODE_CREATED => Change::Created,
        EventType::NODE_CHILDREN_CHANGED => Change::Children,
        _ => Change::Data,
    }
}

fn applied(result: MultiResult<'_>) -> Option<Applied<'_>> {
    match result {
        MultiResult::Create(created) => Some(Applied::Created { name: name_of(created.path) }),
        MultiResult::Create2(created) => Some(Applied::Created { name: name_of(created.path) }),
        MultiResult::Delete => Some(Applied::Deleted),
        MultiResult::SetData(set) => Some(Applied::Written(core_stat(&set.stat))),
        MultiResult::Check => Some(Applied::Checked),
        _ => None,
    }
}

fn decode<'a, D: Decode<'a>>(body: &'a Bytes) -> Result<D, Failure> {
    D::decode_prefix(body).map_err(|_| Failure::Unreadable)
}

/// Returns the last part of a path.
fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

fn core_stat(stat: &Stat) -> election_core::Stat {
    let owner = stat.ephemeral_owner.get();
    let arrivals = Arrivals::of(stat.cversion.get(), stat.num_children);
    election_core::Stat::new(owner, stat.czxid.get(), stat.version.get()).with_arrivals(arrivals)
}

/// Converts the failure of a request for a recipe.
pub(crate) fn core_failure(failure: zk_session::Failure) -> Failure {
    match failure {
        zk_session::Failure::Refused(code) => Failure::from_code(code.get()),
        zk_session::Failure::ReplyTooLarge { .. } => Failure::Unreadable,
        zk_session::Failure::ConnectionLoss | zk_session::Failure::NotSent => {
            Failure::ConnectionLoss
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;
    use election_core::{Incarnation, Phase};
    use zk_jute::Encode as _;

    use super::*;

    /// A recipe that keeps the failure of its request.
    #[derive(Default)]
    struct Ear(Option<Failure>);

    impl Recipe for Ear {
        type Notice = ();

        fn handle_event<'a, 'e: 'a>(&'a mut self, event: Event<'e>) -> Output<'a, ()> {
            if let Event::Reply { result: Err(failure), .. } = event {
                self.0 = Some(failure);
            }
            Output { command: None, notice: None }
        }

        fn withdraw(&mut self) -> Output<'_, ()> {
            Output { command: None, notice: None }
        }

        fn phase(&self) -> Phase {
            Phase::Standing
        }

        fn awaits_change(&self, _: Ticket) -> bool {
            false
        }
    }

    fn heard_of(code: ErrorCode) -> Option<Failure> {
        let results = [MultiResult::Error(ErrorCode::OK), MultiResult::Error(code)];
        let mut body = BytesMut::new();
        MultiResponse::new(&results).encode(&mut body);
        let ticket = Ticket::request(Incarnation::FIRST, 0);
        let outcome = Ok(body.freeze());
        let mut ear = Ear::default();
        feed(&mut ear, &Stimulus::Replied { ticket, kind: RequestKind::Multi, outcome }, |_| ());
        ear.0
    }

    /// A server puts the end of the session inside the answer if the session ends while the server prepares a
    /// transaction.
    #[test]
    fn a_transaction_in_a_session_that_ends_counts_as_a_lost_connection() {
        for code in [ErrorCode::SESSION_EXPIRED, ErrorCode::SESSION_MOVED] {
            assert_eq!(heard_of(code), Some(Failure::ConnectionLoss));
        }
        let code = ErrorCode::NO_NODE;
        assert_eq!(heard_of(code), Some(Failure::Aborted { part: 1, code: code.get() }));
    }
}

//! Observations of an election.

use core::fmt;

use bytes::Bytes;
use election_core::Token;
use election_core::election::{Observed, ObserverFailure, Present};
use election_core::name::CandidateName;
use tokio::time::Instant;
use zk_jute::SessionId;

use crate::error::Escaped;

/// The subject that an observer follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Follow {
    /// The leader: one watch on the server.
    Leader,
    /// The leader, and its [`Leadership::acknowledge`](crate::election::Leadership::acknowledge): two
    /// watches.
    LeaderAndAcknowledgement,
}

/// The last observation of an election.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Observation {
    /// No server has answered yet.
    Unknown,
    /// No candidate stands.
    Vacant,
    /// This candidate leads.
    Led(ObservedLeader),
    /// A candidate is the first, and does not lead as far as can be seen: a sequential znode of another
    /// format is in the way, which goes with another session. The nominee waits for the end of that
    /// znode; it leads if it led before that came, or was sure to be the next. An
    /// [acknowledgement](ObservedLeader::acknowledgement) shows that it leads, so then it is
    /// [`Self::Led`].
    Blocked {
        /// The first candidate.
        first: ObservedLeader,
        /// The znode in the way.
        by: ForeignZnode,
    },
    /// The first candidate may not be read, or has a name longer than 64 bytes. The observer looks
    /// again once in a [look interval](crate::ClientBuilder::look_interval).
    Hidden,
    /// The observer has ended, because of an error that trying again does not repair.
    Failed(ObserverFailure),
}

/// The first candidate of an election.
///
/// Its nominee leads as soon as it knows that and has proved its lease, a moment after the
/// candidate is the first. A leader that is ready publishes an
/// [acknowledgement](ObservedLeader::acknowledgement).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ObservedLeader {
    /// The name of its candidate.
    pub candidate: CandidateName,
    /// Its fencing token.
    pub token: Token,
    /// The session that its candidate goes with; [`SessionId::NONE`] if that is not ephemeral: such
    /// a znode leads nothing, and no nominee behind it leads before it is deleted.
    pub session: SessionId,
    /// The data of its candidate: by convention its name.
    pub data: Bytes,
    /// When this observer first saw it lead.
    pub since: Instant,
    /// Its acknowledgement.
    pub acknowledgement: Acknowledgement,
}

/// A sequential znode of another format beside candidates: a participant by another library, or another
/// format of this one, that does not see them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForeignZnode {
    /// Its name.
    Named(String),
    /// Its name is longer than 64 bytes, and is not kept.
    LongName,
}

impl fmt::Display for ForeignZnode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => write!(f, "{}, of another format", Escaped(name)),
            Self::LongName => {
                f.write_str("a znode of another format with a name longer than 64 bytes")
            }
        }
    }
}

/// A leader's acknowledgement that it has taken over.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Acknowledgement {
    /// Unknown: the observer follows only the [leader](Follow::Leader), or may not read the
    /// acknowledgement.
    Unknown,
    /// No.
    Awaited,
    /// Yes, with these data.
    Given(Bytes),
}

impl Observation {
    /// Returns the leader, if there is one.
    pub const fn leader(&self) -> Option<&ObservedLeader> {
        match self {
            Self::Led(leader) => Some(leader),
            _ => None,
        }
    }

    /// Returns the first candidate, if there is one: the leader, or a candidate that is blocked.
    pub const fn first(&self) -> Option<&ObservedLeader> {
        match self {
            Self::Led(first) | Self::Blocked { first, .. } => Some(first),
            _ => None,
        }
    }
}

/// Bytes that were read. `Debug` does not show them.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Data(Bytes);

impl Data {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        Self(Bytes::copy_from_slice(bytes))
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.0.len())
    }
}

/// The observations of both halves of an observer.
#[derive(Debug)]
pub(super) struct Sight {
    follow: Follow,
    leader: Option<Observed<Data>>,
    /// Since when the present leader is known.
    since: Instant,
    mark: Option<Observed<Data>>,
}

impl Sight {
    pub(super) fn new(follow: Follow) -> Self {
        Self { follow, leader: None, since: Instant::now(), mark: None }
    }

    pub(super) fn see_leader(&mut self, leader: Observed<Data>) {
        if token_of(self.leader.as_ref()) != token_of(Some(&leader)) {
            self.since = Instant::now();
        }
        self.leader = Some(leader);
    }

    pub(super) fn see_mark(&mut self, mark: Observed<Data>) {
        self.mark = Some(mark);
    }

    /// Combines both halves; unknown until both have been seen.
    pub(super) fn observation(&self) -> Observation {
        if let Some(failure) = failure_of(self.leader.as_ref()).or(failure_of(self.mark.as_ref())) {
            return Observation::Failed(failure);
        }
        match (&self.leader, self.follow, &self.mark) {
            (None, ..) | (_, Follow::LeaderAndAcknowledgement, None) => Observation::Unknown,
            (Some(Observed::Absent | Observed::Ended(_)), ..) => Observation::Vacant,
            (Some(Observed::Hidden), ..) => Observation::Hidden,
            (Some(Observed::Present(present)), ..) => {
                self.first(present).map_or(Observation::Vacant, Observation::Led)
            }
            (Some(Observed::Blocked { first, by }), ..) => match self.first(first) {
                None => Observation::Vacant,
                Some(first) if matches!(first.acknowledgement, Acknowledgement::Given(_)) => {
                    Observation::Led(first)
                }
                Some(first) => Observation::Blocked {
                    first,
                    by: by.as_ref().map_or(ForeignZnode::LongName, |by| {
                        ForeignZnode::Named(by.as_str().to_owned())
                    }),
                },
            },
        }
    }

    fn first(&self, present: &Present<Data>) -> Option<ObservedLeader> {
        let Present { candidate: Some(candidate), token, owner, data, .. } = present else {
            return None;
        };
        let acknowledgement = match (self.follow, &self.mark) {
            (Follow::Leader, _) | (_, None | Some(Observed::Hidden)) => Acknowledgement::Unknown,
            (_, Some(Observed::Present(mark))) => said_by(*token, &mark.data.0)
                .map_or(Acknowledgement::Awaited, Acknowledgement::Given),
            // A mark is not blocked.
            (_, Some(Observed::Absent | Observed::Ended(_) | Observed::Blocked { .. })) => {
                Acknowledgement::Awaited
            }
        };
        Some(ObservedLeader {
            candidate: candidate.clone(),
            token: *token,
            session: owner.map_or(SessionId::NONE, |owner| SessionId::new(owner.get())),
            data: data.0.clone(),
            since: self.since,
            acknowledgement,
        })
    }
}

fn token_of(observed: Option<&Observed<Data>>) -> Option<Token> {
    match observed {
        Some(Observed::Present(first) | Observed::Blocked { first, .. }) => Some(first.token),
        _ => None,
    }
}

const fn failure_of(observed: Option<&Observed<Data>>) -> Option<ObserverFailure> {
    match observed {
        Some(Observed::Ended(election_core::election::ObserverEnd::Failed(failure))) => {
            Some(*failure)
        }
        _ => None,
    }
}

/// Returns what the leader with this token says in a mark. A mark of an earlier leader does not
/// count.
fn said_by(token: Token, mark: &Bytes) -> Option<Bytes> {
    let line = format!("token: {token}\n");
    let rest = mark.strip_prefix(line.as_bytes())?;
    let end = rest.windows(2).position(|two| two == b"\n\n")?;
    Some(mark.slice(line.len() + end + 2..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_that_of_the_leader_whose_token_it_has() {
        let mark = Bytes::from_static(b"token: 42\nnominee: n\n\nready\n\nand more");
        let token = Token::new(42);
        assert_eq!(
            said_by(token, &mark),
            Some(Bytes::from_static(b"ready\n\nand more")),
            "{token}"
        );
        assert_eq!(said_by(Token::new(7), &mark), None);
        for broken in ["", "token: ", "token: 42\n", "token: 42\nnominee: n\n"] {
            assert_eq!(said_by(token, &Bytes::from_static(broken.as_bytes())), None, "{broken}");
        }
    }
}

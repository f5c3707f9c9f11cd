//! Ending an election for all nominees, reopening it, and deleting it.

use core::time::Duration;

use election_core::election::{ElectionNode, NodeKind, Nominee};
use election_core::format::Access;
use tokio::time::sleep;
use zk_jute::{ErrorCode, OpCode, Version, Zxid};

use super::{Election, acknowledgement, epoch, step_down_request};
use crate::Error;
use crate::client::{Children, CreateMode, Transaction, TransactionError};
use crate::error::Place;
use crate::path::child_path;

/// How often to try, since other clients are at work there, or the connection was lost.
const ROUNDS: usize = 8;

/// The steps that errors name.
const END: &str = "end";
const DELETE: &str = "delete";
const REOPEN: &str = "reopen";
const IS_ENDED: &str = "is_ended";

/// The znodes that may stand beside an election node.
const MARKS: [&str; 4] =
    [acknowledgement::SUFFIX, epoch::SUFFIX, step_down_request::SUFFIX, Nominee::LOCK_DELAY_MARK];

/// The outcome of reopening an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reopening {
    /// It was ended, and is open now.
    Reopened,
    /// It was not ended.
    WasOpen,
}

/// Why an election was not ended, reopened or deleted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndError {
    /// In this format no election can be ended: participants of other libraries would not know the
    /// sign, or would fail at it.
    #[error(
        "{at}: an election in this format cannot be ended: its participants do not know the sign"
    )]
    ForeignFormat {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// Other clients reopened the election, or deleted its node, at each attempt.
    #[error("{at}: other clients reopen the election, or delete its node, at the same time")]
    Contested {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// New candidates came each time that all were deleted. The node was left, and the election is
    /// ended.
    #[error("{at}: the election is ended, but its node was not deleted: candidates keep coming")]
    CandidatesKeepComing {
        /// The recipe, its path and the step.
        at: Place,
    },
    /// The node has this child, which is neither a candidate nor a sign of this crate. The node was
    /// left, and the election is ended.
    #[error(
        "{at}: the election is ended, but its node was not deleted: it has the child {child:?}"
    )]
    OtherChild {
        /// The recipe, its path and the step.
        at: Place,
        /// The name of the child.
        child: String,
    },
    /// A request failed. The call may have done a part of its work, and may be repeated.
    #[error("{at}: {error}")]
    Request {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: Error,
    },
    /// The transaction that deletes the node was refused. The election is ended.
    #[error("{at}: {error}")]
    Transaction {
        /// The recipe, its path and the step.
        at: Place,
        /// The failure.
        error: TransactionError,
    },
}

/// The election node at one look.
enum Sight {
    /// The node is missing.
    Missing,
    /// The sign is missing.
    Open,
    /// The sign is there, at a server that had applied it.
    Ended {
        /// The candidates' paths, in their order.
        candidates: Vec<String>,
        /// A child that is neither a candidate nor the sign.
        other: Option<String>,
    },
}

impl Election {
    /// Ends the election, and returns how many candidates were deleted. When this returns, each
    /// candidate that stood is deleted, and no nominee leads or stands any more that has not seen
    /// the end. A nomination ends with
    /// [`EndReason::ElectionEnded`](super::EndReason::ElectionEnded), and so does a later one,
    /// until the election is [reopened](Self::reopen). A leader gets
    /// [`LostReason::Evicted`](super::LostReason::Evicted) first, as late as after an
    /// [eviction](Self::evict): until then only its token, and guarded transactions, keep it from
    /// writing.
    ///
    /// This creates the persistent znode `ELECTION/ended`, with the access list of
    /// [`Election::acls`], and the election node if it is missing. Then it lists the candidates at
    /// a server that has applied the sign, and deletes them, the last one first, 64 requests at a
    /// time. A later nominee sees the sign in the list that it needs anyway to find its place, so
    /// joining costs no request more.
    ///
    /// Participants of Curator's `LeaderLatch` in the same election do not know the sign, and stand
    /// again.
    ///
    /// Cancel safe: the election may be partly ended. Then no new nominee stands, and some of the
    /// earlier ones still do, until this is called again.
    ///
    /// # Errors
    ///
    /// [`EndError`]. It may be called again, even if the election is ended.
    pub async fn end(&self) -> Result<u64, EndError> {
        let mut deleted = 0;
        for _ in 0..ROUNDS {
            match self.try_end(&mut deleted).await {
                Ok(Some(Sight::Ended { .. })) => return Ok(deleted),
                Err(EndError::Request { error, .. }) if error.is_connection_loss() => {}
                Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
        Err(EndError::Contested { at: self.place(END) })
    }

    /// Lets nominees stand again in an election that was ended. Nominations that the end has ended
    /// stay ended.
    ///
    /// Cancel safe: it may still be reopened.
    ///
    /// # Errors
    ///
    /// [`EndError::ForeignFormat`] and [`EndError::Request`]. It may be called again.
    pub async fn reopen(&self) -> Result<Reopening, EndError> {
        match self.spot.client.delete(&self.end_mark(REOPEN)?, Version::ANY).await {
            Ok(()) => Ok(Reopening::Reopened),
            Err(error) if error.is_no_node() => Ok(Reopening::WasOpen),
            Err(error) => Err(self.failed(REOPEN)(error)),
        }
    }

    /// Returns whether the election is ended, as one server knows it; it may be out of date.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// [`EndError::ForeignFormat`] and [`EndError::Request`].
    pub async fn is_ended(&self) -> Result<bool, EndError> {
        let sign = self.spot.client.exists(&self.end_mark(IS_ENDED)?).await;
        let sign = sign.map_err(self.failed(IS_ENDED))?;
        Ok(sign.is_some())
    }

    /// [Ends](Self::end) the election and deletes its node and the znodes beside it: the
    /// acknowledgement, the epoch, the request to step down, and the mark of the lock delay.
    /// Returns how many candidates were deleted. If the election does not exist, it deletes only
    /// the znodes beside it.
    ///
    /// It deletes the node once no candidate has come for the time `quiet`, in one transaction with
    /// the sign that the election is ended and the znodes beside it, in the versions that it has read:
    /// none of the next election is hit. Until then each nominee that joins ends with
    /// [`EndReason::ElectionEnded`](crate::election::EndReason::ElectionEnded).
    /// After that nothing shows that there was an election. So a nomination that is made later, or
    /// that has not heard of the end by then, holds a new election at a new node, by the default
    /// policy; its tokens are greater than all before, and its [epochs](super::Epoch) begin with 0
    /// again: a write that still checks an epoch of the deleted election may pass in the same one of
    /// the new. If this must not happen, leave the election ended: it costs two znodes.
    ///
    /// Cancel safe, as [`Election::end`].
    ///
    /// # Errors
    ///
    /// [`EndError`]. It may be called again, even if everything is deleted. With
    /// [`PathError::Chroot`](crate::error::PathError::Chroot), for `/` of a client with a chroot, nothing
    /// was done.
    pub async fn delete(&self, quiet: Duration) -> Result<u64, EndError> {
        self.end_mark(DELETE)?;
        self.mark(OpCode::DELETE, "").map_err(self.failed(DELETE))?;
        let (mut deleted, mut last) = (0, self.contested());
        // The node that this call has found: the one of a later election is not its to delete.
        let mut found = None;
        for _ in 0..ROUNDS {
            last = match self.try_delete(quiet, &mut found, &mut deleted).await {
                Ok(()) => return Ok(deleted),
                Err(
                    error @ (EndError::Contested { .. } | EndError::CandidatesKeepComing { .. }),
                ) => error,
                Err(EndError::Request { at, error }) if error.is_connection_loss() => {
                    EndError::Request { at, error }
                }
                Err(error) => return Err(error),
            };
        }
        Err(last)
    }

    fn end_mark(&self, step: &'static str) -> Result<String, EndError> {
        let foreign = || EndError::ForeignFormat { at: self.place(step) };
        let name = self.format.end_mark().ok_or_else(foreign)?;
        Ok(child_path(&self.spot.path, name))
    }

    /// Makes the error of a request in this step.
    fn failed(&self, step: &'static str) -> impl Fn(Error) -> EndError {
        move |error| EndError::Request { at: self.place(step), error }
    }

    fn contested(&self) -> EndError {
        EndError::Contested { at: self.place(DELETE) }
    }

    fn candidates_keep_coming(&self) -> EndError {
        EndError::CandidatesKeepComing { at: self.place(DELETE) }
    }

    /// Tries once, and returns the last look unless another client was in the way.
    async fn try_end(&self, deleted: &mut u64) -> Result<Option<Sight>, EndError> {
        let (client, mark) = (&self.spot.client, self.end_mark(END)?);
        let failed = self.failed(END);
        match client.create_with_acl(&mark, "", CreateMode::Persistent, self.spot.acls()).await {
            Ok(_) => {}
            Err(error) if error.is_node_exists() => {}
            Err(error) if error.is_no_node() => {
                self.create_node(error).await.map_err(failed)?;
                return Ok(None);
            }
            Err(error) => return Err(failed(error)),
        }
        let sight = self.look().await.map_err(&failed)?;
        if let Sight::Ended { candidates, .. } = &sight
            && let Some(not_empty) =
                client.delete_all(candidates, deleted).await.map_err(&failed)?
        {
            return Err(failed(not_empty));
        }
        Ok(Some(sight))
    }

    async fn create_node(&self, missing: Error) -> Result<(), Error> {
        let mode = match self.policy.election_node {
            ElectionNode::Create(NodeKind::Persistent) => CreateMode::Persistent,
            ElectionNode::Create(NodeKind::Container) => CreateMode::Container,
            ElectionNode::MustExist => return Err(missing),
        };
        match self
            .spot
            .client
            .create_with_parents(&self.spot.path, "", mode, self.spot.acls())
            .await
        {
            Err(error) if !error.is_node_exists() => Err(error),
            _ => Ok(()),
        }
    }

    async fn look(&self) -> Result<Sight, Error> {
        match self.spot.client.get_children(&self.spot.path).await {
            Ok(children) => Ok(self.sight_of(&children)),
            Err(error) if error.is_no_node() => Ok(Sight::Missing),
            Err(error) => Err(error),
        }
    }

    fn sight_of(&self, children: &Children) -> Sight {
        let (mut candidates, mut other, mut sight) = (Vec::new(), None, Sight::Open);
        let mark = |name| Some(self.format.parse_hand_over_mark(name)?.to());
        for name in children.iter() {
            // A mark that a leader has left goes with the candidates.
            match self.format.rival(Access::Exclusive, name).or_else(|| mark(name)) {
                Some(sequence) => candidates.push((sequence, name)),
                None if self.format.end_mark() == Some(name) => {
                    sight = Sight::Ended { candidates: Vec::new(), other: None };
                }
                None => other = Some(name.to_owned()),
            }
        }
        candidates.sort_unstable();
        let paths =
            candidates.into_iter().map(|(_, name)| child_path(&self.spot.path, name)).collect();
        match sight {
            Sight::Ended { .. } => Sight::Ended { candidates: paths, other },
            Sight::Open | Sight::Missing => sight,
        }
    }

    /// Waits until no candidate has come for this time, and then deletes the node, its sign and the
    /// marks.
    async fn try_delete(
        &self,
        quiet: Duration,
        found: &mut Option<Zxid>,
        deleted: &mut u64,
    ) -> Result<(), EndError> {
        let failed = self.failed(DELETE);
        let node = self.spot.client.exists(&self.spot.path).await.map_err(&failed)?;
        let Some(node) = node else {
            return self.delete_stray_marks().await;
        };
        if *found.get_or_insert(node.czxid) != node.czxid {
            match self.look().await.map_err(&failed)? {
                Sight::Open => return Ok(()),
                Sight::Missing => return Err(self.contested()),
                // This call, or another operator, has ended that one, too.
                Sight::Ended { .. } => *found = Some(node.czxid),
            }
        }
        *deleted += self.end().await?;
        sleep(quiet).await;
        match self.look().await.map_err(&failed)? {
            Sight::Missing | Sight::Open => return Err(self.contested()),
            Sight::Ended { candidates, .. } if !candidates.is_empty() => {
                return Err(self.candidates_keep_coming());
            }
            Sight::Ended { other: Some(child), .. } => {
                return Err(EndError::OtherChild { at: self.place(DELETE), child });
            }
            Sight::Ended { other: None, .. } => {}
        }
        let sign = self.spot.client.transaction().delete(&self.end_mark(DELETE)?, Version::ANY);
        let all = sign.delete(&self.spot.path, Version::ANY);
        let (all, _) = self.with_marks(all).await.map_err(failed)?;
        self.commit_deletion(all).await
    }

    /// Deletes the marks where there is no node: in a transaction that is applied only while there is
    /// none, since those of an election that has begun meanwhile are its own.
    async fn delete_stray_marks(&self) -> Result<(), EndError> {
        let (mode, start) = (CreateMode::Persistent, self.spot.client.transaction());
        let none = start.create_with_acl(&self.spot.path, "", mode, self.spot.acls());
        let none = none.delete(&self.spot.path, Version::ANY);
        let (all, marks) = self.with_marks(none).await.map_err(self.failed(DELETE))?;
        if marks == 0 {
            return Ok(());
        }
        match self.commit_deletion(all).await {
            Err(EndError::Transaction { error, .. }) if error.is_node_exists() => Ok(()),
            done => done,
        }
    }

    /// Adds the deletion of the marks that stand, in their versions, and returns how many there are.
    async fn with_marks(&self, mut all: Transaction) -> Result<(Transaction, usize), Error> {
        let mut count = 0;
        for suffix in MARKS {
            let mark = self.mark(OpCode::DELETE, suffix)?;
            if let Some(stat) = self.spot.client.exists(&mark).await? {
                all = all.delete(&mark, stat.version);
                count += 1;
            }
        }
        Ok((all, count))
    }

    async fn commit_deletion(&self, all: Transaction) -> Result<(), EndError> {
        match all.commit().await {
            Ok(_) => Ok(()),
            Err(TransactionError::Request(error)) => Err(self.failed(DELETE)(error)),
            Err(error) if error.code() == Some(ErrorCode::NOT_EMPTY) => {
                Err(self.candidates_keep_coming())
            }
            Err(error) if error.is_no_node() || error.is_bad_version() => Err(self.contested()),
            Err(error) => Err(EndError::Transaction { at: self.place(DELETE), error }),
        }
    }
}

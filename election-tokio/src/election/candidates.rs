//! The candidates of an election.

use bytes::Bytes;
use election_core::Token;
use election_core::format::Access;
use election_core::name::Sequence;
use election_core::preference::Preference;
use zk_jute::SessionId;

use super::Election;
use crate::Error;
#[cfg(doc)]
use crate::ErrorKind;
use crate::ordered_children::{OrderedChild, OrderedChildren};

/// A candidate znode.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name. A name above 64 bytes is no [`CandidateName`](crate::election::CandidateName), and no
    /// nominee made it.
    pub name: String,
    /// Its place in the queue.
    pub sequence: Sequence,
    /// The session that owns it; [`SessionId::NONE`] if it is not ephemeral.
    pub session: SessionId,
    /// The token with which its nominee leads, or would lead.
    pub token: Token,
    /// Its data: by convention the nominee's name.
    pub data: Bytes,
}

impl Candidate {
    /// Returns whether the znode goes with its session. If not, it blocks the election until it is
    /// deleted; no nominee makes such a znode.
    pub fn is_ephemeral(&self) -> bool {
        self.session != SessionId::NONE
    }

    /// Returns how much it is preferred as the leader: the last word of its data
    /// ([`Election::preference`]).
    pub fn preference(&self) -> Preference {
        Preference::of(&self.data)
    }

    fn of(child: OrderedChild<()>) -> Self {
        let OrderedChild { name, sequence, data, stat, said: () } = child;
        let token = Token::new(stat.czxid.get());
        Self { name, sequence, session: stat.ephemeral_owner, token, data }
    }
}

/// Reads the candidates of an election, one after another; made by [`Election::read_candidates`].
#[derive(Debug)]
#[must_use = "nothing is read until it is asked for"]
pub struct Candidates(OrderedChildren<()>);

impl Candidates {
    /// Reads the next candidate, in their order; `None` after the last one. It passes over a
    /// candidate that has gone.
    ///
    /// Cancel safe: the candidate that was being read is then passed over.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`](crate::Client::get_data), except that of a missing znode.
    pub async fn next(&mut self) -> Result<Option<Candidate>, Error> {
        Ok(self.0.next().await?.map(Candidate::of))
    }

    /// Returns how many candidates were listed and not read yet.
    pub fn remaining(&self) -> usize {
        self.0.remaining()
    }
}

impl Election {
    /// Lists the candidates, to be read one after another: only one candidate's data is kept at a
    /// time.
    ///
    /// It leaves out children that are not candidates. A missing election node has no candidates.
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`](crate::Client::get_children), except that of a missing
    /// election node.
    pub async fn read_candidates(&self) -> Result<Candidates, Error> {
        let placed = |name: &str| Some((self.format.rival(Access::Exclusive, name)?, ()));
        OrderedChildren::list(&self.spot.client, &self.spot.path, placed).await.map(Candidates)
    }

    /// Returns the candidates in their order, the leader's first. It leaves out children that are
    /// not candidates. A missing election node has no candidates.
    ///
    /// It reads them one after another, so candidates that come or go meanwhile may be missing or
    /// shown. For more data than one reply may have, see
    /// [`read_candidates`](Self::read_candidates).
    ///
    /// Cancel safe: it changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`](crate::Client::get_children) and
    /// [`Client::get_data`](crate::Client::get_data), except that of a missing znode; and
    /// [`ErrorKind::ReplyTooLarge`] if the data of all candidates is above
    /// [`max_reply`](crate::ClientBuilder::max_reply): participants decide how much they write.
    pub async fn candidates(&self) -> Result<Vec<Candidate>, Error> {
        let all = self.read_candidates().await?.0.read_all().await?;
        Ok(all.into_iter().map(Candidate::of).collect())
    }
}

//! Who stands in an election.

use bytes::Bytes;
use election_core::{Access, Sequence, Token};
use zk_jute::SessionId;

use super::Election;
use crate::error::Error;
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::ordered_children::{OrderedChild, OrderedChildren};

/// A candidate znode.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name. One above 64 bytes is no [`CandidateName`](crate::CandidateName), and no nominee made it.
    pub name: String,
    /// Its place in the queue.
    pub sequence: Sequence,
    /// The session that owns it; [`SessionId::NONE`] if it is not ephemeral.
    pub session: SessionId,
    /// The token that its nominee leads with, or would.
    pub token: Token,
    /// Its data: by convention the nominee's name.
    pub data: Bytes,
}

impl Candidate {
    /// Whether the znode goes with its session. One that does not blocks the election until it is
    /// deleted: no nominee makes such a znode.
    pub fn is_ephemeral(&self) -> bool {
        self.session != SessionId::NONE
    }

    fn of(child: OrderedChild<()>) -> Self {
        let OrderedChild { name, sequence, data, stat, said: () } = child;
        let token = Token::new(stat.czxid.get());
        Self { name, sequence, session: stat.ephemeral_owner, token, data }
    }
}

/// The candidates of an election, read one after another: made by [`Election::read_candidates`].
#[derive(Debug)]
#[must_use = "nothing is read until it is asked for"]
pub struct Candidates(OrderedChildren<()>);

impl Candidates {
    /// Reads the next candidate, in their order; one that has gone meanwhile is passed over. `None`
    /// after the last one.
    ///
    /// Cancel safe: the candidate that was being read is passed over then.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_data`](crate::Client::get_data), but for what is not there.
    pub async fn next(&mut self) -> Result<Option<Candidate>, Error> {
        Ok(self.0.next().await?.map(Candidate::of))
    }

    /// How many were listed and not read yet.
    pub fn remaining(&self) -> usize {
        self.0.remaining()
    }
}

impl Election {
    /// Lists the candidates, to be read one after another: the data of one is kept at a time.
    ///
    /// What is not a candidate is left out; an election node that does not exist has none.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`](crate::Client::get_children), but for an election node that
    /// does not exist.
    pub async fn read_candidates(&self) -> Result<Candidates, Error> {
        let placed = |name: &str| Some((self.format.rival(Access::Exclusive, name)?, ()));
        OrderedChildren::list(&self.client, &self.path, placed).await.map(Candidates)
    }

    /// The candidates in their order, the one that leads first. What is not a candidate is left
    /// out; an election node that does not exist has none.
    ///
    /// Looks at them one after another, so those that come or go meanwhile may be missing or
    /// shown. For more data than one reply may have, see [`read_candidates`](Self::read_candidates).
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`](crate::Client::get_children) and
    /// [`Client::get_data`](crate::Client::get_data), but for what is not there; and
    /// [`ErrorKind::ReplyTooLarge`] if the data of all together is above
    /// [`max_reply`](crate::ClientBuilder::max_reply): participants decide how much they write.
    pub async fn candidates(&self) -> Result<Vec<Candidate>, Error> {
        let all = self.read_candidates().await?.0.read_all().await?;
        Ok(all.into_iter().map(Candidate::of).collect())
    }
}

//! Who stands in an election.

use bytes::Bytes;
use election_core::{CandidateName, Token};
use zk_jute::SessionId;

use super::Election;
use crate::error::Error;
use crate::path::join;

/// A candidate znode.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Candidate {
    /// Its name.
    pub name: CandidateName,
    /// The session that owns it.
    pub session: SessionId,
    /// The token that its nominee leads with, or would.
    pub token: Token,
    /// Its data: by convention the nominee's name.
    pub data: Bytes,
}

impl Election {
    /// The candidates in their order, the one that leads first. What is not a candidate is left
    /// out; an election node that does not exist has none (C-43).
    ///
    /// Looks at them one after another, so those that come or go meanwhile may be missing or
    /// shown.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_children`](crate::Client::get_children) and
    /// [`Client::get_data`](crate::Client::get_data), but for what is not there.
    pub async fn candidates(&self) -> Result<Vec<Candidate>, Error> {
        let children = match self.client.get_children(&self.path).await {
            Err(error) if error.is_no_node() => return Ok(Vec::new()),
            children => children?,
        };
        let mut names: Vec<_> =
            children.iter().filter_map(|name| CandidateName::parse(name).ok()).collect();
        names.sort_by_key(CandidateName::sequence);
        let mut candidates = Vec::with_capacity(names.len());
        for name in names {
            match self.client.get_data(&join(&self.path, &name)).await {
                Ok((data, stat)) => candidates.push(Candidate {
                    name,
                    session: stat.ephemeral_owner,
                    token: Token::new(stat.czxid.get()),
                    data,
                }),
                Err(error) if error.is_no_node() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(candidates)
    }
}

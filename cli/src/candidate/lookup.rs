//! Finding the candidate that an operator means.

use election_tokio::election::Election;
use election_tokio::{Client, Token};

use super::ShownCandidate;
use crate::failure::{Failure, OperatingFailure};

/// An operator's description of a candidate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Meant<'a> {
    /// Its ID or its ZNODE.
    pub(crate) id: Option<&'a str>,
    pub(crate) token: Option<Token>,
}

impl Meant<'_> {
    /// Finds the candidate, or refuses to choose among several.
    pub(crate) async fn find(
        self,
        client: &Client,
        election: &Election,
        node: &str,
    ) -> Result<Option<ShownCandidate>, Failure> {
        let is_meant = |candidate: &ShownCandidate| {
            self.token == Some(Token::new(candidate.token()))
                || self.id.is_some_and(|id| candidate.is_called(id))
        };
        let mut found = first(2, client, election, node, is_meant).await?;
        match (found.pop(), found.as_slice(), self.id) {
            (Some(last), [first, ..], Some(id)) => {
                Err(Failure::Operating(OperatingFailure::Ambiguous {
                    id: id.to_owned(),
                    tokens: [first.token(), last.token()],
                }))
            }
            (last, ..) => Ok(last),
        }
    }
}

/// Reads the first `count` candidates that match, in their order. It keeps one candidate's data at
/// a time.
pub(crate) async fn first(
    count: usize,
    client: &Client,
    election: &Election,
    node: &str,
    is_wanted: impl Fn(&ShownCandidate) -> bool,
) -> Result<Vec<ShownCandidate>, Failure> {
    // The candidate may be one that this server has not heard of yet.
    client.sync(node).await?;
    let mut candidates = election.read_candidates().await?;
    let mut found = Vec::new();
    while found.len() < count {
        let Some(candidate) = candidates.next().await? else { break };
        let shown = ShownCandidate::from(&candidate);
        if is_wanted(&shown) {
            found.push(shown);
        }
    }
    Ok(found)
}

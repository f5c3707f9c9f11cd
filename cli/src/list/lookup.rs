//! Reads the znodes at a path.

use core::future::Future;
use core::time::Duration;

use election_tokio::election::{Follow, ForeignZnode, Observation};
use election_tokio::{Bytes, Client, Error, Stat, Token};

use super::kind::{LEASES, LOCKS, recognised};
use crate::args::FormatName;
use crate::failure::{Failure, observer_ended};

/// Reads below a path, with a bound on each answer.
pub(super) struct Lookup<'a> {
    pub(super) client: &'a Client,
    pub(super) path: &'a str,
    pub(super) timeout: Duration,
}

impl Lookup<'_> {
    /// Returns the names below a child, or below the path itself if `child` is empty; none if the
    /// node does not exist.
    pub(super) async fn names(&self, child: &str) -> Result<Vec<String>, Failure> {
        let path = self.path_of(child);
        match self.within(self.client.get_children(&path)).await {
            Ok(children) => Ok(children.iter().map(str::to_owned).collect()),
            Err(Failure::Operation(error)) if error.is_no_node() => Ok(Vec::new()),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the data of a child; `None` if it has gone meanwhile.
    pub(super) async fn data(&self, name: &str) -> Result<Option<(Bytes, Stat)>, Failure> {
        let path = self.path_of(name);
        match self.within(self.client.get_data(&path)).await {
            Ok(read) => Ok(Some(read)),
            Err(Failure::Operation(error)) if error.is_no_node() => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the metadata of a child; `None` if it has gone meanwhile.
    pub(super) async fn stat(&self, name: &str) -> Result<Option<Stat>, Failure> {
        self.within(self.client.exists(&self.path_of(name))).await
    }

    /// Returns the format that the names of children show. A parent of locks that calls one of them
    /// `locks` is no semaphore: below that of a semaphore are contenders.
    pub(super) async fn recognised(&self, names: &[String]) -> Result<Option<FormatName>, Failure> {
        let format = recognised(names);
        if format == Some(FormatName::CuratorSemaphore) && !names.iter().any(|name| name == LEASES)
        {
            let turns = self.names(LOCKS).await?;
            if !turns.is_empty() && recognised(&turns).is_none() {
                return Ok(None);
            }
        }
        Ok(format)
    }

    /// Returns the token of the first candidate, and the znode that keeps it from leading; `None` if it
    /// leads, or none stands.
    pub(super) async fn blocked_first(
        &self,
        format: FormatName,
    ) -> Result<Option<(Token, ForeignZnode)>, Failure> {
        let election = self.client.election(self.path).format(format.format());
        let mut observer = election.observe(Follow::LeaderAndAcknowledgement)?;
        let seen = observer.wait_for(|seen| *seen != Observation::Unknown);
        let seen = tokio::time::timeout(self.timeout, seen).await;
        let seen = seen.map_err(|_| Failure::NoAnswer(self.timeout))?;
        Ok(match seen.map_err(|_| observer_ended(self.path))? {
            Observation::Blocked { first, by } => Some((first.token, by)),
            _ => None,
        })
    }

    fn path_of(&self, child: &str) -> String {
        match (self.path, child) {
            (path, "") => path.to_owned(),
            ("/", child) => format!("/{child}"),
            (parent, child) => format!("{parent}/{child}"),
        }
    }

    /// Waits for an answer.
    async fn within<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let answer = tokio::time::timeout(self.timeout, answer).await;
        Ok(answer.map_err(|_| Failure::NoAnswer(self.timeout))??)
    }
}

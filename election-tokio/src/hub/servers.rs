//! The servers that a client knows, and when it asks for them anew.

use core::num::NonZeroUsize;

use zk_session::{ServerAddress, ServerIndex};

use crate::error::SharedError;
use crate::state::ConnectFailure;

/// The servers, by the session's indices.
#[derive(Debug)]
pub(crate) struct Servers {
    list: Vec<ServerAddress>,
    round: Round,
    /// The server of the last attempt, whatever list counts by now.
    tried: Option<ServerAddress>,
    /// Why the source gave no list, when it was last asked.
    outdated: Option<SharedError>,
}

/// A round: the attempts between two questions to the source.
#[derive(Clone, Copy, Debug)]
enum Round {
    /// No round: the client is new, or connected.
    None,
    Running {
        left: usize,
    },
}

impl Servers {
    pub(crate) fn new(list: Vec<ServerAddress>) -> Self {
        Self { list: tidy(list), round: Round::None, tried: None, outdated: None }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of servers for the session. While no server is known it is one, so that
    /// the session makes attempts.
    pub(crate) fn count(&self) -> NonZeroUsize {
        NonZeroUsize::new(self.list.len()).unwrap_or(NonZeroUsize::MIN)
    }

    /// Returns whether the next attempt begins a round.
    pub(crate) const fn begins_round(&self) -> bool {
        matches!(self.round, Round::None | Round::Running { left: 0 })
    }

    /// Begins an attempt, and returns the server's address, if it is known.
    pub(crate) fn attempt(&mut self, server: ServerIndex) -> Option<ServerAddress> {
        let left = match self.round {
            Round::None | Round::Running { left: 0 } => self.list.len(),
            Round::Running { left } => left,
        };
        self.round = Round::Running { left: left.saturating_sub(1) };
        self.tried = self.address(server);
        self.tried.clone()
    }

    pub(crate) fn address(&self, server: ServerIndex) -> Option<ServerAddress> {
        self.list.get(server.0).cloned()
    }

    /// Returns the server of the last attempt.
    pub(crate) const fn tried(&self) -> Option<&ServerAddress> {
        self.tried.as_ref()
    }

    /// Makes the report of a failed attempt.
    pub(crate) fn failed(&self, reason: SharedError) -> ConnectFailure {
        let outdated = self.outdated.clone();
        match &self.tried {
            Some(server) => ConnectFailure::Server { server: server.clone(), reason, outdated },
            None => ConnectFailure::NoneKnown { reason: outdated.unwrap_or(reason) },
        }
    }

    /// Notes a connection: the next attempt begins a round.
    pub(crate) const fn connected(&mut self) {
        self.round = Round::None;
    }

    /// Replaces the list, and returns whether it differs from the one before. If it does, a round
    /// in progress begins again.
    pub(crate) fn replace(&mut self, list: Vec<ServerAddress>) -> bool {
        let list = tidy(list);
        let differs = list != self.list;
        if differs {
            if let Round::Running { left } = &mut self.round {
                *left = list.len();
            }
            self.list = list;
        }
        differs
    }

    /// Records why the last question to the source brought no list, and returns the earlier reason.
    pub(crate) const fn set_outdated(
        &mut self,
        reason: Option<SharedError>,
    ) -> Option<SharedError> {
        core::mem::replace(&mut self.outdated, reason)
    }
}

/// Sorts a list. Its order means nothing: the session shuffles it, and some sources do.
fn tidy(mut list: Vec<ServerAddress>) -> Vec<ServerAddress> {
    list.sort_by(|one, other| (&one.host, one.port).cmp(&(&other.host, other.port)));
    list.dedup();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(hosts: &[&str]) -> Vec<ServerAddress> {
        hosts.iter().map(|&host| ServerAddress { host: host.to_owned(), port: 1 }).collect()
    }

    #[test]
    fn the_source_is_asked_once_a_round_and_after_a_connection() {
        let mut servers = Servers::new(list(&["a", "b"]));
        let attempt = |servers: &mut Servers| {
            let begins = servers.begins_round();
            servers.attempt(ServerIndex(0));
            begins
        };
        assert_eq!([(); 4].map(|()| attempt(&mut servers)), [true, false, true, false]);
        assert!(attempt(&mut servers));
        servers.connected();
        assert!(attempt(&mut servers));
        assert!(servers.replace(list(&["a", "b", "c"])));
        assert_eq!([(); 4].map(|()| attempt(&mut servers)), [false, false, false, true]);
        servers.connected();
        assert!(servers.replace(list(&["a"])), "while connected");
        assert!(attempt(&mut servers));
    }

    #[test]
    fn the_same_servers_in_another_order_are_no_new_list() {
        let mut servers = Servers::new(list(&["a", "b"]));
        assert!(!servers.replace(list(&["b", "a", "b"])));
        assert_eq!(servers.count().get(), 2);
        let address = servers.attempt(ServerIndex(1));
        assert!(servers.replace(list(&["c"])));
        let ConnectFailure::Server { server, .. } = servers.failed(SharedError::new("refused"))
        else {
            unreachable!("a server was tried")
        };
        assert_eq!(Some(server), address, "whatever list counts by now");
    }

    #[test]
    fn a_failure_tells_why_the_list_may_be_out_of_date() {
        let mut servers = Servers::new(Vec::new());
        assert_eq!(servers.attempt(ServerIndex(0)), None);
        servers.set_outdated(Some(SharedError::new("no such file")));
        let none_known = ConnectFailure::NoneKnown { reason: SharedError::new("no such file") };
        assert_eq!(servers.failed(SharedError::new("closed")), none_known);
        assert!(servers.replace(list(&["a"])));
        servers.attempt(ServerIndex(0));
        servers.set_outdated(Some(SharedError::new("no such file")));
        let text = servers.failed(SharedError::new("closed")).to_string();
        assert!(text.contains("a:1: closed") && text.contains("no such file"), "{text}");
        assert!(!servers.replace(list(&["a"])));
        servers.set_outdated(None);
        assert_eq!(servers.failed(SharedError::new("closed")).to_string(), "a:1: closed");
    }
}

//! Candidates of an election and contenders for a lock, for output.

pub(crate) mod lookup;

use election_tokio::election::{Candidate, ObservedLeader, Preference};
use election_tokio::lock::Contender;
use election_tokio::{SessionId, Token};
use serde::Serialize;

use crate::cells::cut;
use crate::data::Data;

/// A candidate or a contender, with the fields that `zkelect list --json` has for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ShownCandidate {
    /// The candidate's data if it can be shown: by convention its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    znode: String,
    session: String,
    token: i64,
    #[serde(flatten)]
    data: Data,
}

impl ShownCandidate {
    fn new(znode: &str, session: SessionId, token: Token, data: &[u8]) -> Self {
        let data = Data::from(data);
        Self {
            id: match &data {
                Data::Text(text) if !text.is_empty() => Some(text.clone()),
                _ => None,
            },
            znode: znode.to_owned(),
            session: session.to_string(),
            token: token.get(),
            data,
        }
    }

    pub(crate) fn token(&self) -> i64 {
        self.token
    }

    pub(crate) fn znode(&self) -> &str {
        &self.znode
    }

    /// Returns whether both candidates are of one session, and so of one process.
    pub(crate) fn is_of_session_of(&self, other: &Self) -> bool {
        self.session == other.session
    }

    /// Returns whether a text from `zkelect list` means this candidate.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let stripped = |id: &str| Preference::strip(id.as_bytes()) == name.as_bytes();
        self.znode == name
            || self.id.as_deref().is_some_and(|id| id == name || stripped(id) && !name.is_empty())
    }

    /// Returns the name, cut to fit a line; without a name, the znode.
    pub(crate) fn name(&self) -> String {
        cut(self.id.as_deref().unwrap_or(&self.znode))
    }

    pub(crate) fn describe(&self) -> String {
        format!("{} (token {})", self.name(), self.token)
    }

    /// Returns the cells of a table with the columns [`HEADER`].
    pub(crate) fn cells(&self) -> Vec<String> {
        let id = self.id.as_deref().map_or_else(|| "-".to_owned(), cut);
        vec![id, cut(&self.znode), self.session.clone(), self.token.to_string()]
    }
}

pub(crate) const HEADER: [&str; 4] = ["ID", "ZNODE", "SESSION", "TOKEN"];

impl From<&Candidate> for ShownCandidate {
    fn from(candidate: &Candidate) -> Self {
        let Candidate { name, session, token, data, .. } = candidate;
        Self::new(name, *session, *token, data)
    }
}

impl From<&Contender> for ShownCandidate {
    fn from(contender: &Contender) -> Self {
        let Contender { name, session, token, data, .. } = contender;
        Self::new(name, *session, *token, data)
    }
}

impl From<&ObservedLeader> for ShownCandidate {
    fn from(leader: &ObservedLeader) -> Self {
        let ObservedLeader { candidate, session, token, data, .. } = leader;
        Self::new(&candidate.text(), *session, *token, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_called_by_its_name_or_its_znode() {
        let shown =
            |data: &[u8]| ShownCandidate::new("c-1", SessionId::new(1), Token::new(7), data);
        let named = shown(b"host-a");
        assert!(named.is_called("host-a") && named.is_called("c-1") && !named.is_called("host"));
        assert_eq!(named.describe(), "host-a (token 7)");
        let preferred = shown(b"host-b preference=5");
        assert!(preferred.is_called("host-b") && preferred.is_called("host-b preference=5"));
        assert!(!shown(b"preference=5").is_called(""));
        let nameless = shown(b"\xff");
        assert_eq!(nameless.describe(), "c-1 (token 7)");
        assert!(!nameless.is_called(""));
        let json = serde_json::to_string(&nameless).expect("it is JSON");
        assert_eq!(
            json,
            r#"{"znode":"c-1","session":"0x0000000000000001","token":7,"data_hex":"ff"}"#
        );
    }
}

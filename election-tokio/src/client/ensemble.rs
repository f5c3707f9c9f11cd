//! The members of the ensemble, and changing them.

use core::fmt;
use core::str::FromStr;

use zk_jute::records::{GetDataRequest, GetDataResponse, ReconfigRequest};
use zk_jute::{OpCode, Zxid};
use zk_session::{Completion, Watching};

use super::operations::decoded_as;
use super::watch::Asked;
use super::{Client, OneshotWatch};
use crate::{Error, ErrorKind};

/// The path of the configuration, outside of every chroot.
const CONFIG: &str = "/zookeeper/config";

/// The members of an ensemble, and the transaction that made it so. It leaves out the groups and
/// weights of hierarchical quorums.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnsembleConfig {
    /// The members; none if the server stands alone.
    pub members: Vec<EnsembleMember>,
    /// The transaction that made it so; `None` if the server stands alone.
    pub version: Option<Zxid>,
}

/// A member of an ensemble: its number, its addresses and its role.
///
/// Displayed and parsed as in a server's configuration: `server.1=host:2888:3888:participant;2181`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnsembleMember {
    id: u64,
    place: String,
}

/// The role of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EnsembleMemberRole {
    /// It votes.
    Participant,
    /// It does not vote.
    Observer,
}

/// The text describes no member of an ensemble. Nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no member of an ensemble: write server.N=host:port:port[:role][;[host:]port]")]
pub struct ParseEnsembleMemberError {
    text: String,
}

/// A change of the members of an ensemble, for [`Client::reconfigure`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a change does nothing until it is asked for"]
pub struct Reconfiguration {
    change: MembershipChange,
    only_from: Option<Zxid>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum MembershipChange {
    Members { joining: Vec<EnsembleMember>, leaving: Vec<u64> },
    All(Vec<EnsembleMember>),
}

impl Client {
    /// Reads the members of the ensemble as this server knows them, from ZooKeeper 3.5.0 on. The
    /// path is outside of every chroot.
    ///
    /// Cancel safe: nothing is changed.
    ///
    /// # Errors
    ///
    /// `NoNode` before ZooKeeper 3.5.0; [`ErrorKind::UnreadableConfig`].
    pub async fn get_config(&self) -> Result<EnsembleConfig, Error> {
        let request = GetDataRequest { path: CONFIG, watch: false };
        let reply = self.call(CONFIG, &request).await?;
        config(OpCode::GET_DATA, &reply)
    }

    /// Reads like [`Client::get_config`], and leaves a watch that fires when the members change.
    ///
    /// Cancel safe: no watch is left.
    ///
    /// # Errors
    ///
    /// Those of [`Client::get_config`]; then no watch is left.
    pub async fn get_config_and_watch(&self) -> Result<(EnsembleConfig, OneshotWatch), Error> {
        let asked = Asked::Once(Watching::GetData(CONFIG));
        let (outcome, holder) = self.watching(OpCode::GET_DATA, CONFIG, asked).await?;
        Ok((config(OpCode::GET_DATA, &outcome?)?, OneshotWatch::new(holder)))
    }

    /// Changes the members of the ensemble, and returns the new ones. Servers allow it if
    /// `reconfigEnabled=true` is set, to clients that may write `/zookeeper/config`; by default
    /// only the super user may.
    ///
    /// Cancel safe: the change may still be made.
    ///
    /// # Errors
    ///
    /// `NoAuth`; `ReconfigDisabled`; `BadVersion` if the members are not those of
    /// [`Reconfiguration::only_from`] any more; `ReconfigInProgress`; `NewConfigNoQuorum` if too
    /// few of the new members are connected and up to date; `BadArguments` for impossible members;
    /// [`ErrorKind::Unsupported`] before ZooKeeper 3.5.0 and on a server that stands alone.
    pub async fn reconfigure(&self, change: &Reconfiguration) -> Result<EnsembleConfig, Error> {
        fn list<T: fmt::Display>(items: &[T]) -> Option<String> {
            let items: Vec<String> = items.iter().map(T::to_string).collect();
            (!items.is_empty()).then(|| items.join(","))
        }
        let (joining, leaving, members) = match &change.change {
            MembershipChange::Members { joining, leaving } => (list(joining), list(leaving), None),
            MembershipChange::All(members) => (None, None, list(members)),
        };
        let request = ReconfigRequest {
            joining_servers: joining.as_deref(),
            leaving_servers: leaving.as_deref(),
            new_members: members.as_deref(),
            current_config: change.only_from.unwrap_or(Zxid::new(-1)),
        };
        let reply = self.call(CONFIG, &request).await?;
        config(OpCode::RECONFIG, &reply)
    }
}

impl EnsembleConfig {
    /// Returns the client addresses, as `host:port,host:port`, of the members that publish one.
    pub fn connect_string(&self) -> String {
        let addresses: Vec<&str> =
            self.members.iter().filter_map(EnsembleMember::client_address).collect();
        addresses.join(",")
    }

    fn parse(text: &str) -> Result<Self, ParseEnsembleMemberError> {
        let mut config = Self { members: Vec::new(), version: None };
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some(version) = line.strip_prefix("version=") {
                let zxid = i64::from_str_radix(version, 16);
                config.version =
                    Some(Zxid::new(zxid.map_err(|_| ParseEnsembleMemberError::new(line))?));
            } else if !line.starts_with("group.") && !line.starts_with("weight.") {
                config.members.push(line.parse()?);
            }
        }
        Ok(config)
    }
}

impl EnsembleMember {
    /// Returns the member's number (`myid`).
    pub const fn id(&self) -> u64 {
        self.id
    }

    /// Returns the role. A member without a stated role votes.
    pub fn role(&self) -> EnsembleMemberRole {
        let peers = self.place.split(';').next().unwrap_or_default();
        match peers.rsplit(':').next() {
            Some("observer") => EnsembleMemberRole::Observer,
            _ => EnsembleMemberRole::Participant,
        }
    }

    /// Returns the address for clients, if it is stated with a host: `host:port`.
    pub fn client_address(&self) -> Option<&str> {
        let (_, address) = self.place.split_once(';')?;
        address.contains(':').then_some(address)
    }
}

impl fmt::Display for EnsembleMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server.{}={}", self.id, self.place)
    }
}

impl FromStr for EnsembleMember {
    type Err = ParseEnsembleMemberError;

    /// Parses a member. The servers check the addresses; this only makes sure that the text is one
    /// member.
    fn from_str(text: &str) -> Result<Self, ParseEnsembleMemberError> {
        let member = text.strip_prefix("server.").and_then(|rest| {
            let (id, place) = rest.split_once('=')?;
            let digits = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
            let sound = |c: char| !c.is_whitespace() && !c.is_control() && c != ',' && c != '=';
            (digits && place.contains(':') && place.chars().all(sound))
                .then(|| Some(Self { id: id.parse().ok()?, place: place.to_owned() }))?
        });
        member.ok_or_else(|| ParseEnsembleMemberError::new(text))
    }
}

impl ParseEnsembleMemberError {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

impl Reconfiguration {
    /// Adds and removes members. A member that exists already is changed.
    pub const fn incremental() -> Self {
        let change = MembershipChange::Members { joining: Vec::new(), leaving: Vec::new() };
        Self { change, only_from: None }
    }

    /// Replaces all members by these.
    pub const fn to(members: Vec<EnsembleMember>) -> Self {
        Self { change: MembershipChange::All(members), only_from: None }
    }

    /// Adds a member, or changes it.
    pub fn joining(mut self, member: EnsembleMember) -> Self {
        match &mut self.change {
            MembershipChange::Members { joining: members, .. } | MembershipChange::All(members) => {
                members.push(member);
            }
        }
        self
    }

    /// Removes the member with this number.
    pub fn leaving(mut self, id: u64) -> Self {
        match &mut self.change {
            MembershipChange::Members { leaving, .. } => leaving.push(id),
            MembershipChange::All(members) => members.retain(|member| member.id != id),
        }
        self
    }

    /// Makes the change only if the members are those of this version
    /// ([`EnsembleConfig::version`]).
    pub const fn only_from(mut self, version: Zxid) -> Self {
        self.only_from = Some(version);
        self
    }
}

fn config(operation: OpCode, reply: &Completion) -> Result<EnsembleConfig, Error> {
    let response: GetDataResponse<'_> = decoded_as(operation, CONFIG, reply)?;
    let unreadable = || Error::new(operation, CONFIG, ErrorKind::UnreadableConfig);
    let text = core::str::from_utf8(response.data.unwrap_or_default());
    let text = text.map_err(|_| unreadable())?;
    EnsembleConfig::parse(text).map_err(|_| unreadable())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read_as_servers_write_it() {
        let text = "server.1=127.0.0.1:2888:3888:participant;0.0.0.0:2181\n\
                    server.12=[::1]:1:2:observer;2182\n\
                    server.3=a:1:2|b:1:2\n\
                    version=100000007";
        let config = EnsembleConfig::parse(text).unwrap();
        let ids: Vec<_> = config.members.iter().map(EnsembleMember::id).collect();
        assert_eq!(ids, [1, 12, 3]);
        let roles: Vec<_> = config.members.iter().map(EnsembleMember::role).collect();
        let (votes, looks_on) = (EnsembleMemberRole::Participant, EnsembleMemberRole::Observer);
        assert_eq!(roles, [votes, looks_on, votes]);
        assert_eq!(config.connect_string(), "0.0.0.0:2181");
        assert_eq!(config.version, Some(Zxid::new(0x1_0000_0007)));
        let written: Vec<_> = config.members.iter().map(EnsembleMember::to_string).collect();
        assert_eq!(written.join("\n"), text.rsplit_once('\n').unwrap().0);
        let alone = EnsembleConfig { members: vec![], version: None };
        assert_eq!(EnsembleConfig::parse(""), Ok(alone));
    }

    /// With hierarchical quorums, groups and weights follow the members.
    #[test]
    fn groups_and_weights_are_no_members() {
        let text = "server.1=a:2888:3888:participant;0.0.0.0:2181\n\
                    group.1=1\n\
                    weight.1=1\n\
                    version=100000007";
        let config = EnsembleConfig::parse(text).unwrap();
        assert_eq!(config.members.iter().map(EnsembleMember::id).collect::<Vec<_>>(), [1]);
        assert_eq!(config.version, Some(Zxid::new(0x1_0000_0007)));
    }

    #[test]
    fn what_is_no_member_is_refused() {
        let cases = [
            "",
            "server.1",
            "server.=a:1:2",
            "server.-1=a:1:2",
            "server.99999999999999999999=a:1:2",
            "server.1=",
            "server.1=a",
            "server.1=a:1:2,server.2=b:1:2",
            "server.1=a:1:2\nserver.2=b:1:2",
            "server.1=a:1:2 ",
            "1=a:1:2",
        ];
        for text in cases {
            assert_eq!(text.parse::<EnsembleMember>(), Err(ParseEnsembleMemberError::new(text)));
        }
        assert!(EnsembleConfig::parse("version=xyz").is_err());
        assert!(EnsembleConfig::parse("nonsense").is_err());
    }
}

//! The deviations of other servers that speak ZooKeeper's protocol.

use core::time::Duration;

use zk_jute::OpCode;

/// A server that speaks ZooKeeper's protocol, of which the embedded server has a profile.
///
/// The profiles of the others are made from their sources. They were not compared with the servers in
/// operation, and they have only what [`Deviations`] names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Profile {
    /// Apache ZooKeeper: the rest of this server is compared with it, request by request.
    #[default]
    ZooKeeper,
    /// `ClickHouse` Keeper, from 25.12 on.
    Keeper,
    /// `ClickHouse` Keeper before 25.12: without `create2`, and without watches that stay.
    KeeperBefore2512,
    /// `RaftKeeper`, as of August 2025 (8fc471d).
    RaftKeeper,
}

/// The points in which a server deviates from Apache ZooKeeper. The default deviates in none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deviations {
    /// The passwords of sessions.
    pub passwords: Passwords,
    /// The answer to a handshake that continues a session.
    pub resumption: Resumption,
    /// The sessions of a member's clients when the member shuts down in order.
    pub shutdown: Shutdown,
    /// The reaction to an operation that the server does not have.
    pub unknown_operations: UnknownOperations,
    /// The operations that the embedded server has and this one has not.
    pub without: &'static [OpCode],
    /// The timeout of a client that asks for 0; `None` for the least one. Keeper grants 30 s.
    pub timeout_for_zero: Option<Duration>,
}

/// The passwords of sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passwords {
    /// Each follows from the session's id.
    #[default]
    FromId,
    /// All are sixteen bytes of zero, in both servers, and no server compares them: `RaftKeeper` gives a
    /// session to any client that knows its id.
    Zeros,
}

/// The answer to a handshake that continues a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Resumption {
    /// The server continues it.
    #[default]
    Continued,
    /// The server reads the id, drops it, and makes a new session. The old one goes on until its timeout
    /// has passed. Keeper: `receiveHandshake`, KeeperTCPHandler.cpp@00a8069; `ClickHouse` #116690.
    Replaced,
}

/// The sessions of a member's clients when the member shuts down in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shutdown {
    /// They go on: the clients continue them at another member.
    #[default]
    SessionsGoOn,
    /// The member has them closed before it closes the connections, so the ephemeral znodes go before
    /// their clients can know. Keeper: `shutdown`, KeeperRequestDispatcher2.cpp@f401ef0, in its comment;
    /// `ClickHouse` #41215.
    SessionsEnd,
}

/// The reaction to an operation that the server does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownOperations {
    /// It answers `Unimplemented`, and closes the connection.
    #[default]
    Answered,
    /// It closes the connection when it reads the request. Keeper: `receiveRequest`,
    /// KeeperTCPHandler.cpp@1ebbef9; `ClickHouse` #48141.
    ConnectionClosed,
    /// It goes on with the next request, and never answers this one. `RaftKeeper`:
    /// ConnectionHandler.cpp:215-233.
    Unanswered,
}

/// Not among Keeper's request types.
const NOT_IN_KEEPER: &[OpCode] = &[OpCode::GET_EPHEMERALS, OpCode::WHO_AM_I, OpCode::SASL];

/// `create2` came with `ClickHouse` #90741, watches with #88813, containers with #108908.
const NOT_BEFORE_2512: &[OpCode] = &[
    OpCode::CREATE2,
    OpCode::CREATE_CONTAINER,
    OpCode::CREATE_TTL,
    OpCode::ADD_WATCH,
    OpCode::CHECK_WATCHES,
    OpCode::REMOVE_WATCHES,
    OpCode::SET_WATCHES,
    OpCode::SET_WATCHES2,
    OpCode::GET_EPHEMERALS,
    OpCode::WHO_AM_I,
    OpCode::SASL,
];

/// ZooKeeperConstants.h:23-46.
const NOT_IN_RAFTKEEPER: &[OpCode] = &[
    OpCode::CREATE2,
    OpCode::CREATE_CONTAINER,
    OpCode::CREATE_TTL,
    OpCode::ADD_WATCH,
    OpCode::CHECK_WATCHES,
    OpCode::REMOVE_WATCHES,
    OpCode::SET_WATCHES2,
    OpCode::GET_EPHEMERALS,
    OpCode::WHO_AM_I,
    OpCode::RECONFIG,
    OpCode::SASL,
];

impl Deviations {
    /// Returns the deviations of a server.
    #[must_use]
    pub const fn of(profile: Profile) -> Self {
        let keeper = Self {
            passwords: Passwords::Zeros,
            resumption: Resumption::Replaced,
            shutdown: Shutdown::SessionsEnd,
            unknown_operations: UnknownOperations::ConnectionClosed,
            without: NOT_IN_KEEPER,
            timeout_for_zero: Some(Duration::from_secs(30)),
        };
        match profile {
            Profile::ZooKeeper => Self {
                passwords: Passwords::FromId,
                resumption: Resumption::Continued,
                shutdown: Shutdown::SessionsGoOn,
                unknown_operations: UnknownOperations::Answered,
                without: &[],
                timeout_for_zero: None,
            },
            Profile::Keeper => keeper,
            Profile::KeeperBefore2512 => Self { without: NOT_BEFORE_2512, ..keeper },
            Profile::RaftKeeper => Self {
                passwords: Passwords::Zeros,
                resumption: Resumption::Continued,
                shutdown: Shutdown::SessionsGoOn,
                unknown_operations: UnknownOperations::Unanswered,
                without: NOT_IN_RAFTKEEPER,
                timeout_for_zero: None,
            },
        }
    }

    /// Returns whether the server has an operation that the embedded server has.
    pub(crate) fn has(&self, opcode: OpCode) -> bool {
        !self.without.contains(&opcode)
    }
}

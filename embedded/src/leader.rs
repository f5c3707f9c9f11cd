//! Who decides: numbers the transactions, ends the sessions, reaps the containers.

mod clocks;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use zk_jute::{ErrorCode, SessionId, Zxid};

use self::clocks::{Owner, SessionClocks};
use crate::config::{Config, ExtendedTypes};
use crate::database::Database;
use crate::prepare::prepare;
use crate::replica::{Answer, Forward, ReplicaId};
use crate::time::{Instant, Timestamp};
use crate::txn::{Change, Extent, Moment, Rejection, Txn, TxnOperation};
use crate::write::{Write, WriteRequest};

/// The half of a server that only ZooKeeper's leader has.
///
/// It holds no database of its own: each call is given one that has applied every transaction
/// which this leader made so far, committed or not. A server on its own has only one; an ensemble's
/// leader keeps a second one ahead of the one that its clients read.
#[derive(Clone, Debug)]
pub struct Leader {
    clocks: SessionClocks,
    last_zxid: Zxid,
    wall_clock_at_origin: Timestamp,
    extended_types: ExtendedTypes,
    max_sessions: usize,
    check_interval: Duration,
    next_check: Instant,
    /// What the last check found, the next one last.
    reapable: Vec<String>,
}

/// What a leader makes of what a replica forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The next transaction of the log. Once it is committed, every replica applies it, and the one
    /// that forwarded the request answers its client.
    Propose(Txn),
    /// For the replica that asked, behind all transactions proposed before.
    Answer(Answer),
}

impl Leader {
    /// A leader whose transactions come after `last_zxid`; the clock of every session of `database`
    /// starts afresh.
    ///
    /// A server on its own passes [`Database::last_zxid`], a leader of an ensemble its epoch in the
    /// upper 32 bits.
    pub fn new(now: Instant, config: &Config, database: &Database, last_zxid: Zxid) -> Self {
        let mut clocks = SessionClocks::new(config.tick_time);
        for (session, timeout) in database.sessions() {
            clocks.start(now, session, timeout, Owner::Unclaimed);
        }
        let check_interval = config.container_check_interval.max(Duration::from_millis(1));
        Self {
            clocks,
            last_zxid,
            wall_clock_at_origin: config.wall_clock_at_origin,
            extended_types: config.extended_types,
            max_sessions: config.limits.max_sessions,
            check_interval,
            next_check: now + check_interval,
            reapable: Vec::new(),
        }
    }

    /// Decides on what the replica `from` forwarded.
    ///
    /// Only the beginning of a session, or of its next connection, counts as hearing of it: for
    /// everything else the replica tells that by itself ([`Leader::touch`]), in an ensemble later,
    /// with its answer to the leader's next heartbeat.
    pub fn decide(
        &mut self,
        now: Instant,
        database: &Database,
        from: ReplicaId,
        forward: &Forward,
    ) -> Decision {
        match forward {
            Forward::CreateSession { session, timeout } => {
                self.create_session(now, from, *session, *timeout)
            }
            Forward::ResumeSession { session, timeout } => {
                Decision::Answer(if self.clocks.owner(*session).is_some() {
                    let owner = Owner::Replica(from);
                    self.clocks.start(now, *session, *timeout, owner);
                    Answer::SessionResumed
                } else {
                    Answer::SessionUnknown
                })
            }
            Forward::Sync { .. } => Decision::Answer(Answer::Synced),
            Forward::Write(request) => self.write(now, database, from, request),
        }
    }

    /// A replica heard of the session.
    pub fn touch(&mut self, now: Instant, session: SessionId) {
        self.clocks.touch(now, session);
    }

    /// Ends the session at once, as if its time were over. `None` if there is no such session.
    pub fn expire(&mut self, now: Instant, session: SessionId) -> Option<Txn> {
        self.clocks.owner(session)?;
        self.clocks.stop(session);
        Some(self.txn(now, session, Change::CloseSession))
    }

    /// The next transaction that is due at `now`: the end of a session, or the reaping of a
    /// znode. To be called until there is none, each transaction being applied to `database` before
    /// the next call.
    pub fn poll_due(&mut self, now: Instant, database: &Database) -> Option<Txn> {
        if let Some(session) = self.clocks.first_expired(now) {
            return self.expire(now, session);
        }
        let wall_clock = self.wall_clock(now);
        if self.next_check <= now {
            self.next_check = now + self.check_interval;
            let found = database.tree().reapable(wall_clock);
            self.reapable = found.map(String::from).collect();
            self.reapable.reverse();
        }
        while let Some(path) = self.reapable.pop() {
            // It may have got a child, or been written, since the check.
            if database.znode(&path).is_some_and(|znode| znode.is_reapable(wall_clock)) {
                let reap = vec![TxnOperation::Delete { path }];
                return Some(self.txn(now, SessionId::NONE, Change::Apply(reap)));
            }
        }
        None
    }

    /// When [`Leader::poll_due`] wants to be called next.
    pub fn poll_timeout(&self, database: &Database) -> Option<Instant> {
        let has_mortals = database.tree().has_mortals();
        let check = has_mortals.then_some(self.next_check);
        self.clocks.next_expiry().into_iter().chain(check).min()
    }

    fn create_session(
        &mut self,
        now: Instant,
        from: ReplicaId,
        session: SessionId,
        timeout: Duration,
    ) -> Decision {
        if self.max_sessions > 0 && self.clocks.len() >= self.max_sessions {
            return Decision::Answer(Answer::TooManySessions);
        }
        let owner = Owner::Replica(from);
        self.clocks.start(now, session, timeout, owner);
        Decision::Propose(self.txn(now, session, Change::CreateSession { timeout }))
    }

    fn write(
        &mut self,
        now: Instant,
        database: &Database,
        from: ReplicaId,
        request: &WriteRequest,
    ) -> Decision {
        let session = request.session;
        match self.clocks.owner(session) {
            // The session has ended, and the replica has not applied that yet (protocol section 6).
            None => {
                let rejection = Rejection {
                    operation: 0,
                    error: ErrorCode::SESSION_EXPIRED,
                    extent: Extent::Request,
                };
                return Decision::Propose(self.txn(now, session, Change::Reject(rejection)));
            }
            Some(Owner::Replica(owner)) if owner != from => {
                return Decision::Answer(Answer::SessionMoved);
            }
            Some(_) => {}
        }
        let at = self.next_moment(now);
        let txn = prepare(database, request, self.extended_types, at);
        if request.write == Write::CloseSession {
            self.clocks.stop(session);
        }
        Decision::Propose(txn)
    }

    fn txn(&mut self, now: Instant, session: SessionId, change: Change) -> Txn {
        let at = self.next_moment(now);
        Txn { at, session, change }
    }

    fn next_moment(&mut self, now: Instant) -> Moment {
        self.last_zxid = Zxid::new(self.last_zxid.get().saturating_add(1));
        Moment { zxid: self.last_zxid, time: self.wall_clock(now) }
    }

    fn wall_clock(&self, now: Instant) -> Timestamp {
        self.wall_clock_at_origin + now.elapsed()
    }
}

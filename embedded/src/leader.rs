//! The leader: numbers the transactions, ends the sessions, and deletes containers that are due.

mod tracker;

use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use zk_jute::{SessionId, Zxid};

use self::tracker::{Owner, SessionTracker};
use crate::config::{Config, ExpiryPace, ExtendedTypes};
use crate::database::Database;
use crate::forward::{Answer, Forward, ReplicaId};
use crate::prepare::{PendingCounters, Rules, SessionState, prepare_beside};
use crate::time::{Instant, Timestamp};
use crate::txn::{Moment, Txn, TxnBody, TxnOperation};
use crate::write::{Write, WriteRequest};

/// The part of a server that only ZooKeeper's leader has.
///
/// It keeps no database: the caller passes one to each call, which has applied every transaction
/// that this leader has made so far, committed or not. A server on its own has only one database.
/// The leader of an ensemble keeps a second one, ahead of the one that its clients read.
#[derive(Clone, Debug)]
pub struct Leader {
    tracker: SessionTracker,
    counters: PendingCounters,
    last_zxid: Zxid,
    wall_clock_at_origin: Timestamp,
    extended_types: ExtendedTypes,
    max_sessions: usize,
    max_tree_bytes: usize,
    check_interval: Duration,
    next_check: Instant,
    /// Znodes that the last check found reapable, in reverse order: the next one is popped.
    reapable: Vec<String>,
}

/// The leader's decision on what a replica forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The next transaction of the log. Once it is committed every replica applies it, and the
    /// replica that forwarded the request answers its client.
    Propose(Txn),
    /// An answer for the replica that asked. It goes out after all transactions proposed before.
    Answer(Answer),
}

impl Leader {
    /// Creates a leader that numbers transactions after `last_zxid`. The clock of every session of
    /// `database` starts afresh, with the timeout that the session was created with: no log has the
    /// timeouts that were granted later.
    ///
    /// A server on its own passes [`Database::last_zxid`], a leader of an ensemble its epoch in the
    /// upper 32 bits.
    pub fn new(now: Instant, config: &Config, database: &Database, last_zxid: Zxid) -> Self {
        let mut tracker = SessionTracker::new(config.tick_time, config.expiry_pace);
        for (session, timeout) in database.sessions() {
            tracker.start(now, session, timeout, Owner::Unclaimed);
        }
        let check_interval = config.container_check_interval.max(Duration::from_millis(1));
        Self {
            tracker,
            counters: PendingCounters::default(),
            last_zxid,
            wall_clock_at_origin: config.wall_clock_at_origin,
            extended_types: config.extended_types,
            max_sessions: config.limits.max_sessions,
            max_tree_bytes: config.limits.max_tree_bytes,
            check_interval,
            next_check: now + check_interval,
            reapable: Vec::new(),
        }
    }

    /// Sets the wall clock, by what it would have shown at [`Instant::ORIGIN`]. The times of later transactions follow it;
    /// no session ends by it.
    pub const fn set_wall_clock_at_origin(&mut self, time: Timestamp) {
        self.wall_clock_at_origin = time;
    }

    /// Decides on what the replica `from` forwarded.
    ///
    /// Only the beginning of a session, or of its next connection, touches the session. For every
    /// other request the replica reports the touch itself ([`Leader::touch`]); in an ensemble it
    /// does so later, with its answer to the leader's next heartbeat.
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
                Decision::Answer(if self.tracker.owner(*session).is_some() {
                    let owner = Owner::Replica(from);
                    self.tracker.start(now, *session, *timeout, owner);
                    Answer::SessionResumed
                } else {
                    Answer::SessionUnknown
                })
            }
            // Even if the session has ended.
            Forward::Sync { .. } => Decision::Answer(Answer::Synced),
            Forward::Write(request) => self.write(now, database, from, request),
        }
    }

    /// Restarts the clock of a session: a replica heard from it on a connection with this timeout.
    /// The session is due `timeout` after `now`, even if that is earlier than before. Returns
    /// `false`, and changes nothing, if the session is closing or does not exist.
    pub fn touch(&mut self, now: Instant, session: SessionId, timeout: Duration) -> bool {
        self.tracker.touch(now, session, timeout)
    }

    /// Ends the session at once, as if its timeout had passed. Returns `None` if the session is
    /// closing or does not exist.
    pub fn expire(&mut self, now: Instant, session: SessionId) -> Option<Txn> {
        self.tracker.owner(session)?;
        self.tracker.close(session);
        Some(self.txn(now, session, TxnBody::CloseSession))
    }

    /// Sets how long the leader takes to end a session from now on.
    pub const fn set_expiry_pace(&mut self, pace: ExpiryPace) {
        self.tracker.set_pace(pace);
    }

    /// Records that the leader's own replica has applied all transactions up to this one.
    pub fn handle_applied(&mut self, zxid: Zxid) {
        self.counters.forget(zxid);
    }

    /// Returns a session that the leader has marked closing. The leader's own replica must not
    /// answer it any more ([`Replica::mark_closing`](crate::replication::Replica::mark_closing));
    /// other replicas learn of the end when they apply it. Call it after each call that takes the
    /// time.
    pub fn poll_closing(&mut self) -> Option<SessionId> {
        self.tracker.poll_closing()
    }

    /// Returns the next transaction that is due at `now`: the end of a session, or the deletion of
    /// a znode. Call it until it returns `None`, and apply each transaction to `database` before
    /// the next call.
    pub fn poll_due(&mut self, now: Instant, database: &Database) -> Option<Txn> {
        while let Some(session) = self.tracker.poll(now) {
            // The client may have closed it meanwhile.
            if database.has_session(session) {
                return Some(self.txn(now, session, TxnBody::CloseSession));
            }
        }
        let wall_clock = self.wall_clock(now);
        if self.next_check <= now {
            self.next_check = now + self.check_interval;
            let found = database.tree().reapable(wall_clock);
            self.reapable = found.map(String::from).collect();
            self.reapable.reverse();
        }
        while let Some(path) = self.reapable.pop() {
            // A child or a write may have come since the check.
            if database.znode(&path).is_some_and(|znode| znode.is_reapable(wall_clock)) {
                let reap = vec![TxnOperation::Delete { path }];
                return Some(self.txn(now, SessionId::NONE, TxnBody::Apply(reap)));
            }
        }
        None
    }

    /// Returns when to call [`Leader::poll_due`] next.
    pub fn poll_timeout(&self, database: &Database) -> Option<Instant> {
        let has_reaped = database.tree().has_reaped();
        let check = has_reaped.then_some(self.next_check);
        self.tracker.poll_timeout().into_iter().chain(check).min()
    }

    fn create_session(
        &mut self,
        now: Instant,
        from: ReplicaId,
        session: SessionId,
        timeout: Duration,
    ) -> Decision {
        if self.max_sessions > 0 && self.tracker.len() >= self.max_sessions {
            return Decision::Answer(Answer::TooManySessions);
        }
        let owner = Owner::Replica(from);
        self.tracker.start(now, session, timeout, owner);
        Decision::Propose(self.txn(now, session, TxnBody::CreateSession { timeout }))
    }

    fn write(
        &mut self,
        now: Instant,
        database: &Database,
        from: ReplicaId,
        request: &WriteRequest,
    ) -> Decision {
        let session = request.session;
        let session_state = match self.tracker.owner(session) {
            // It has ended, and the replica has not applied that yet.
            None => SessionState::Closing,
            // A `closeSession` may come through any replica; the tracker makes one too.
            _ if request.write == Write::CloseSession => SessionState::AsStored,
            Some(Owner::Replica(owner)) if owner != from => {
                return Decision::Answer(Answer::SessionMoved);
            }
            // The first replica that writes for it owns it.
            Some(Owner::Unclaimed) => {
                self.tracker.claim(session, from);
                SessionState::AsStored
            }
            Some(Owner::Replica(_)) => SessionState::AsStored,
        };
        let at = self.next_moment(now);
        let (extended_types, max_tree_bytes) = (self.extended_types, self.max_tree_bytes);
        let rules = Rules { extended_types, session_state, max_tree_bytes };
        let txn = prepare_beside(database, request, rules, &mut self.counters, at);
        if request.write == Write::CloseSession {
            self.tracker.close(session);
        }
        Decision::Propose(txn)
    }

    fn txn(&mut self, now: Instant, session: SessionId, body: TxnBody) -> Txn {
        let at = self.next_moment(now);
        Txn { at, session, body }
    }

    fn next_moment(&mut self, now: Instant) -> Moment {
        self.last_zxid = Zxid::new(self.last_zxid.get().saturating_add(1));
        Moment { zxid: self.last_zxid, time: self.wall_clock(now) }
    }

    fn wall_clock(&self, now: Instant) -> Timestamp {
        self.wall_clock_at_origin + now.elapsed()
    }
}

//! Who decides: numbers the transactions, ends the sessions, reaps the containers.

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

/// The half of a server that only ZooKeeper's leader has.
///
/// It holds no database of its own: each call is given one that has applied every transaction
/// which this leader made so far, committed or not. A server on its own has only one; an ensemble's
/// leader keeps a second one ahead of the one that its clients read.
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
    /// A leader whose transactions come after `last_zxid`. The clock of every session of `database`
    /// starts afresh, with the timeout that the session was created with: what was granted to it
    /// later is known to no log.
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
                Decision::Answer(if self.tracker.owner(*session).is_some() {
                    let owner = Owner::Replica(from);
                    self.tracker.start(now, *session, *timeout, owner);
                    Answer::SessionResumed
                } else {
                    Answer::SessionUnknown
                })
            }
            // Whatever has become of the session.
            Forward::Sync { .. } => Decision::Answer(Answer::Synced),
            Forward::Write(request) => self.write(now, database, from, request),
        }
    }

    /// A replica heard of the session, on a connection with this timeout: the session is due so long
    /// after `now`, also if that is earlier than before. `false`: the session is closing, or there is
    /// none, and nothing changes.
    pub fn touch(&mut self, now: Instant, session: SessionId, timeout: Duration) -> bool {
        self.tracker.touch(now, session, timeout)
    }

    /// Ends the session at once, as if its time were over. `None` if it is closing, or there is no
    /// such session.
    pub fn expire(&mut self, now: Instant, session: SessionId) -> Option<Txn> {
        self.tracker.owner(session)?;
        self.tracker.close(session);
        Some(self.txn(now, session, TxnBody::CloseSession))
    }

    /// How long the end of a session takes from now on.
    pub const fn set_expiry_pace(&mut self, pace: ExpiryPace) {
        self.tracker.set_pace(pace);
    }

    /// The leader's own replica has applied all transactions up to this one.
    pub fn handle_applied(&mut self, zxid: Zxid) {
        self.counters.forget(zxid);
    }

    /// A session that was found closing: the leader's own replica is to answer it no more
    /// ([`Replica::mark_closing`](crate::replication::Replica::mark_closing)). Other replicas learn of it when they apply its end.
    /// To be asked for after each call that takes the time.
    pub fn poll_closing(&mut self) -> Option<SessionId> {
        self.tracker.poll_closing()
    }

    /// The next transaction that is due at `now`: the end of a session, or the reaping of a
    /// znode. To be called until there is none, each transaction being applied to `database` before
    /// the next call.
    pub fn poll_due(&mut self, now: Instant, database: &Database) -> Option<Txn> {
        while let Some(session) = self.tracker.poll(now) {
            // It may have ended itself meanwhile.
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
            // It may have got a child, or been written, since the check.
            if database.znode(&path).is_some_and(|znode| znode.is_reapable(wall_clock)) {
                let reap = vec![TxnOperation::Delete { path }];
                return Some(self.txn(now, SessionId::NONE, TxnBody::Apply(reap)));
            }
        }
        None
    }

    /// When [`Leader::poll_due`] wants to be called next.
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
            // It is over, and the replica has not applied that yet.
            None => SessionState::Closing,
            // The end of a session may come from anywhere: the tracker asks for it, too.
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

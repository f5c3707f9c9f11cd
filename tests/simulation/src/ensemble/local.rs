//! The state that a member has in every role.

use core::time::Duration;
use std::collections::{BTreeMap, VecDeque};

use zk_embedded::replication::{Replica, ServerMode, Ticket};
use zk_embedded::{Database, Instant};
use zk_jute::{SessionId, Zxid};

use super::log::{Credentials, Epoch, Log, Promise};
use super::message::{Link, Message, PeerMessage, PeerOutput};
use super::{EnsembleConfig, MemberId, ReadOnlyMode, TouchLoss};

#[derive(Debug)]
pub(super) struct Local {
    pub(super) id: MemberId,
    pub(super) config: EnsembleConfig,
    pub(super) log: Log,
    pub(super) promise: Promise,
    /// The committed state, and the clients that read it. One replica lasts for all of the member's
    /// life: its database is the committed part of the log, and its tickets are never used twice.
    pub(super) replica: Replica,
    pub(super) random: fastrand::Rng,
    pub(super) touch_loss: TouchLoss,
    pub(super) loses_next_touch: bool,
    pub(super) read_only_mode: ReadOnlyMode,
    /// By how much the ends of sessions that it tells are too early.
    pub(super) touch_skew: Duration,
    /// The moment at which a client was last heard.
    pub(super) heard_at: Instant,
    /// The moment at which a touch was last lost.
    lost_at: Option<Instant>,
    outbox: VecDeque<PeerOutput>,
    links: u64,
}

impl Local {
    pub(super) fn new(id: MemberId, config: &EnsembleConfig, seed: u64) -> Self {
        let mut config = config.clone();
        config.server.server_id = id.0;
        config.server.seed = seed;
        Self {
            id,
            log: Log::default(),
            promise: Promise { epoch: Epoch::default(), to: id },
            replica: Replica::new(
                &config.server,
                Database::first(&config.server),
                ServerMode::NotServing,
            ),
            touch_loss: TouchLoss::default(),
            loses_next_touch: false,
            read_only_mode: ReadOnlyMode::default(),
            touch_skew: Duration::ZERO,
            heard_at: Instant::ORIGIN,
            lost_at: None,
            random: fastrand::Rng::with_seed(seed ^ u64::from(id.0)),
            outbox: VecDeque::new(),
            links: 0,
            config,
        }
    }

    /// Returns how many members, itself among them, decide for all.
    pub(super) fn quorum(&self) -> usize {
        usize::from(self.config.size) / 2 + 1
    }

    pub(super) fn peers(&self) -> impl Iterator<Item = MemberId> + use<> {
        let own = self.id;
        (1..=self.config.size).map(MemberId).filter(move |peer| *peer != own)
    }

    pub(super) fn tick(&self) -> Duration {
        self.config.server.tick_time
    }

    pub(super) fn init_limit(&self) -> Duration {
        self.tick().saturating_mul(self.config.init_limit)
    }

    pub(super) fn sync_limit(&self) -> Duration {
        self.tick().saturating_mul(self.config.sync_limit)
    }

    pub(super) fn credentials(&self) -> Credentials {
        self.log.credentials()
    }

    pub(super) fn committed(&self) -> Zxid {
        self.replica.database().last_zxid()
    }

    pub(super) fn next_link(&mut self) -> Link {
        self.links += 1;
        Link(self.links)
    }

    pub(super) fn send(&mut self, to: MemberId, message: Message) {
        let message = PeerMessage(message);
        self.outbox.push_back(PeerOutput::Send { to, message });
    }

    pub(super) fn broadcast(&mut self, message: &Message) {
        for peer in self.peers() {
            self.send(peer, message.clone());
        }
    }

    pub(super) fn reset(&mut self, peer: MemberId) {
        self.outbox.push_back(PeerOutput::Reset { peer });
    }

    pub(super) fn poll(&mut self) -> Option<PeerOutput> {
        self.outbox.pop_front()
    }

    /// Drops every message that was to be sent.
    pub(super) fn fall_silent(&mut self) {
        self.outbox.clear();
    }

    /// Swaps the touch table, and perhaps loses the entry that was made last.
    pub(super) fn take_touched(&mut self, now: Instant) -> Vec<(SessionId, Duration)> {
        let TouchLoss { per_mille, within, apart } = self.touch_loss;
        if per_mille > 0
            && self.heard_at + within >= now
            && self.lost_at.is_none_or(|lost_at| lost_at + apart <= now)
            && self.random.u16(0..1000) < per_mille
            && self.replica.lose_last_touch().is_some()
        {
            self.lost_at = Some(now);
        }
        let skew = self.touch_skew;
        let touched = core::iter::from_fn(|| self.replica.poll_touched());
        touched.map(|(session, timeout)| (session, timeout.saturating_sub(skew))).collect()
    }

    /// Applies what is logged up to `zxid`; `tickets` are those of the requests made here.
    pub(super) fn commit(&mut self, zxid: Zxid, tickets: &mut BTreeMap<Zxid, Ticket>) {
        let known = self.committed();
        for txn in self.log.after(known).iter().take_while(|txn| txn.at.zxid <= zxid) {
            let ticket = tickets.remove(&txn.at.zxid);
            let committed = self.replica.commit(txn, ticket);
            committed.expect("committed logs agree, and each applies to what came before");
        }
    }
}

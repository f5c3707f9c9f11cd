//! Standing for election: the settings of a nomination, and its begin.

use core::time::Duration;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use election_core::NomineeId;
use election_core::election::{ElectionNode, Nominee, OnLoss, Policy, WhenAsked, WhenPromoted};
use election_core::format::{Format, Recovery};
use election_session::{AclList, Site};
use zk_jute::OpCode;
use zk_session::ZnodePath;

use super::face::NomineeFace;
use super::inner::NominationInner;
use super::preferring::Preference;
use super::settings::NominationSettings;
use super::{Election, ElectionError, Nomination, WhileSuspended};
use crate::acl::Acls;
use crate::client::Client;
use crate::error::Place;
use crate::hub::Seat;
use crate::path::PathError;
use crate::site::site;
use crate::telemetry::{ElectionLabel, nomination_began};
use crate::updates::Updates;
use crate::{Error, ErrorKind};

impl Election {
    /// Returns the place of an error.
    pub(super) fn place(&self, step: &'static str) -> Place {
        Place::new("election", &self.path, step)
    }

    /// Draws random bytes for a nominee.
    fn draw<const N: usize>(&self) -> Result<[u8; N], ElectionError> {
        let failed = |error| ElectionError::Randomness { at: self.place("stand"), error };
        self.client.shared().ids.draw().map_err(failed)
    }

    pub(super) fn new(client: Client, path: &str) -> Self {
        Self {
            client,
            path: path.to_owned(),
            data: Bytes::new(),
            preference: None,
            acls: Acls::open(),
            policy: Policy::default(),
            when_asked: WhenAsked::default(),
            when_promoted: WhenPromoted::default(),
            format: Format::curator_latch(),
            settings: OnceLock::new(),
            label: ElectionLabel::NONE,
            while_suspended: WhileSuspended::UntilDeadline,
        }
    }

    /// Stands for election. The nomination goes on in the background without being polled, and
    /// survives lost connections and, by the default policy, expired sessions.
    ///
    /// # Errors
    ///
    /// [`ElectionError`] if the path or the access list is invalid, or the client stands there
    /// already in a format without ids. The nomination reports later errors.
    pub fn nominate(&self) -> Result<Nomination, ElectionError> {
        let settings = self.settings()?;
        let id = self.draw()?;
        let nominee = Nominee::new(NomineeId::wakeable(id), self.policy);
        self.stand(settings, nominee.when_promoted(self.when_promoted))
    }

    /// Continues a nomination of another process, which has given it up together with its session,
    /// by [`Client::detach`]. The nominee adopts a candidate of this id in this client's session,
    /// with its data and its token, so a leader stays the leader. If there is none, this is
    /// [`Election::nominate`] under that id. Withdraw the nomination to delete what was left.
    ///
    /// The other process must have given up: two nominations of one id in one session share a
    /// candidate, and both lead by it. In a [format](Self::format) without ids the candidate is the
    /// session's znode there, whatever the id is.
    ///
    /// # Errors
    ///
    /// Those of [`Election::nominate`].
    pub fn take_over(&self, id: NomineeId) -> Result<Nomination, ElectionError> {
        let settings = self.settings()?;
        // No name of the earlier nominee's is to be used again; how many it has used is not known.
        let attempts = u32::from_ne_bytes(self.draw()?);
        // The candidate keeps its data, which may be others than the election's.
        let nominee = Nominee::returning(id, attempts, self.policy);
        self.stand(settings, nominee.when_promoted(WhenPromoted::Rests))
    }

    /// Returns the path of a znode beside the election node.
    pub(super) fn mark(&self, operation: OpCode, suffix: &str) -> Result<String, Error> {
        if self.path == "/" && !self.client.shared().chroot.as_str().is_empty() {
            let kind = ErrorKind::InvalidPath(PathError::Chroot);
            return Err(Error::new(operation, &self.path, kind));
        }
        Ok([&self.path, suffix].concat())
    }

    pub(super) fn site(&self) -> Result<Arc<Site>, ElectionError> {
        Ok(Arc::clone(&self.settings()?.site))
    }

    fn settings(&self) -> Result<Arc<NominationSettings>, ElectionError> {
        if let Some(settings) = self.settings.get() {
            return Ok(Arc::clone(settings));
        }
        let path = self.path.parse();
        let invalid = |error| ElectionError::InvalidPath { path: self.path.clone(), error };
        let path: ZnodePath = path.map_err(invalid)?;
        let refused = |error| ElectionError::InvalidAcl { path: self.path.clone(), error };
        let acl = AclList::new(&self.acls.checked().map_err(refused)?);
        let node = self.policy.election_node;
        let site = site(&self.client, &path, self.candidate_data(), acl, node);
        if !site.may_have_siblings() {
            return Err(invalid(PathError::Chroot));
        }
        let settings = NominationSettings {
            site,
            clock: self.client.shared().clock.clone(),
            format: self.format,
            label: self.label,
            while_suspended: self.while_suspended,
            when_promoted: self.when_promoted,
        };
        Ok(Arc::clone(self.settings.get_or_init(|| Arc::new(settings))))
    }

    /// Returns the data of candidates: the caller's, and the preference behind them.
    fn candidate_data(&self) -> Bytes {
        let Some(preference) = self.preference else {
            return self.data.clone();
        };
        let between = if self.data.is_empty() { "" } else { " " };
        let preference = format!("{between}{preference}");
        Bytes::from([&self.data[..], preference.as_bytes()].concat())
    }

    fn stand(
        &self,
        settings: Arc<NominationSettings>,
        nominee: Nominee,
    ) -> Result<Nomination, ElectionError> {
        let nominee = nominee.in_format(self.format).when_asked(self.when_asked);
        let shared = self.client.shared();
        let id = nominee.id();
        let site = Arc::clone(&settings.site);
        nomination_began(settings.label);
        let (face, facts, status) = NomineeFace::new(settings);
        let seat = <dyn Seat>::new(nominee, face);
        let key = match self.format.recovery() {
            Recovery::Id => shared.with(|hub, now| hub.stand(now, seat, site)),
            Recovery::SessionInName | Recovery::Owner => shared
                .with(|hub, now| hub.stand_alone(now, seat, site))
                .ok_or_else(|| ElectionError::AlreadyStanding { path: self.path.clone() })?,
        };
        let client = self.client.clone();
        let inner = NominationInner { client, key, id, facts };
        Ok(Nomination::new(inner, Updates::new(status)))
    }
}

/// Settings.
impl Election {
    /// Sets the data of the candidate znode: by convention the nominee's name.
    pub fn data(mut self, data: impl Into<Bytes>) -> Self {
        (self.data, self.settings) = (data.into(), OnceLock::new());
        self
    }

    /// Sets how much this nominee is preferred as the leader: the greater, the better (default: 0, which is not
    /// written). Leaders hand over to a better candidate if they are to
    /// ([`RunOptions::prefer`](super::RunOptions::prefer)).
    ///
    /// It is the last word of the candidate's data: `host-7 preference=5`. Participants of other libraries take it
    /// for a part of the name, and may state one so. To change it, stand again.
    pub fn preference(mut self, preference: i32) -> Self {
        self.preference = Some(Preference::new(preference));
        self.settings = OnceLock::new();
        self
    }

    /// Sets the access list of the candidate znode, and of the election node and its ancestors if
    /// they have to be created (default: every client may do everything).
    pub fn acls(mut self, acls: Acls) -> Self {
        (self.acls, self.settings) = (acls, OnceLock::new());
        self
    }

    /// Sets what happens when the candidate is lost (default: the nominee stands again).
    pub fn on_loss(mut self, on_loss: OnLoss) -> Self {
        self.policy.on_loss = on_loss;
        self
    }

    /// Sets what a leader does while its connection is lost (default: it goes on until the lease
    /// deadline).
    pub fn while_suspended(mut self, while_suspended: WhileSuspended) -> Self {
        (self.while_suspended, self.settings) = (while_suspended, OnceLock::new());
        self
    }

    /// Sets how long a new leader waits before it is reported elected, if the leader before it has
    /// not confirmed that it ended (default: not at all). It is for resources that cannot check a
    /// token. After a clean end the next leader is reported at once. All nominees of an election
    /// need a lock delay; `docs/operating.md` says from when it counts, and what it costs.
    ///
    /// A leader leaves a mark for the next one, the persistent znode `ELECTION.lock-delay`. It
    /// deletes the mark with its candidate when it resigns, withdraws or steps down, and when its
    /// nomination is dropped: end the work first. The mark stays after an expired session, a lapsed
    /// lease, an eviction, a failure, and work that [`Nomination::run`] has dropped because it did
    /// not end within the grace.
    pub fn lock_delay(mut self, lock_delay: Duration) -> Self {
        self.policy.lock_delay = lock_delay;
        self
    }

    /// Sets what a nomination does while it follows, and the leader hands the leadership over to a
    /// candidate behind it (default: it stands behind that candidate).
    pub fn when_asked(mut self, when_asked: WhenAsked) -> Self {
        self.when_asked = when_asked;
        self
    }

    /// Sets what a leader does for the candidate behind it (default: it wakes its nominee, which then knows that
    /// it is the next to lead, and leads by one event; or finds the mark of a hand-over). All nominees should
    /// have one setting.
    ///
    /// With [`WhenPromoted::Rests`] no leader writes to its candidate. A nominee that has become the next to lead
    /// learns so at its next look, up to a minute later; a promotion before that takes a list, and a hand-over to
    /// a candidate behind others takes that long.
    pub fn when_promoted(mut self, when_promoted: WhenPromoted) -> Self {
        self.when_promoted = when_promoted;
        self.settings = OnceLock::new();
        self
    }

    /// Sets what happens if the election node does not exist (default: it is created as a
    /// persistent znode).
    pub fn election_node(mut self, election_node: ElectionNode) -> Self {
        self.policy.election_node = election_node;
        self.settings = OnceLock::new();
        self
    }

    /// Sets the format of the candidates' names, for elections with participants of other libraries
    /// (default: that of Curator's `LeaderLatch`). All participants of an election have to use one
    /// format.
    ///
    /// In [`Format::leader_election_support`], [`Format::go_leaderelection`] and
    /// [`Format::zookeeper_write_lock`] no name tells one candidate of a session from another.
    /// There a client stands only once at a path; after the end of a nomination it stands again
    /// once its znode is gone. If the format prescribes the data, that is used.
    pub fn format(mut self, format: Format) -> Self {
        (self.format, self.settings) = (format, OnceLock::new());
        self
    }

    /// Distinguishes this election's metrics from those of others, and those of its observers, by
    /// the label `election` with this value (default: no label).
    ///
    /// A process has 64 values at most, of up to 64 bytes each; values that come later, or are
    /// longer, become `other`. So use a name from a configuration, and not one for each of many
    /// customers.
    ///
    /// With the feature `metrics`.
    #[cfg(feature = "metrics")]
    pub fn metrics_label(mut self, value: &str) -> Self {
        (self.label, self.settings) = (ElectionLabel::new(value), OnceLock::new());
        self
    }
}

//! Standing for election: the settings of a nomination, and its begin.

use core::time::Duration;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use election_core::NomineeId;
use election_core::election::{ElectionNode, Nominee, OnLoss, Policy, WhenAsked, WhenPromoted};
use election_core::format::{Format, Recovery};
use election_session::Site;
use zk_jute::OpCode;

use super::face::NomineeFace;
use super::inner::NominationInner;
use super::preferring::Preference;
use super::settings::NominationSettings;
use super::{Election, ElectionError, Nomination, WhileSuspended};
use crate::acl::Acls;
use crate::client::Client;
use crate::error::Place;
use crate::path::PathError;
use crate::spot::Spot;
use crate::standing::RecipeHandle;
use crate::telemetry::{ElectionLabel, nomination_began};
use crate::updates::Updates;
use crate::{Error, ErrorKind};

impl Election {
    /// Returns the place of an error.
    pub(super) fn place(&self, step: &'static str) -> Place {
        self.spot.place(step)
    }

    /// Draws random bytes for a nominee.
    fn draw<const N: usize>(&self) -> Result<[u8; N], ElectionError> {
        let failed = |error| ElectionError::Randomness { at: self.place("stand"), error };
        self.spot.client.shared().ids.draw().map_err(failed)
    }

    pub(super) fn new(client: Client, path: &str) -> Self {
        Self {
            spot: Spot::new(client, "election", path),
            data: Bytes::new(),
            preference: None,
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
        if self.spot.path == "/" && !self.spot.client.shared().chroot.as_str().is_empty() {
            let kind = ErrorKind::InvalidPath(PathError::Chroot);
            return Err(Error::new(operation, &self.spot.path, kind));
        }
        Ok([&self.spot.path, suffix].concat())
    }

    pub(super) fn site(&self) -> Result<Arc<Site>, ElectionError> {
        Ok(Arc::clone(&self.settings()?.site))
    }

    fn settings(&self) -> Result<Arc<NominationSettings>, ElectionError> {
        if let Some(settings) = self.settings.get() {
            return Ok(Arc::clone(settings));
        }
        let site = self.spot.site("nominate")?;
        if !site.may_have_siblings() {
            let (path, error) = (self.spot.path.clone(), PathError::Chroot);
            return Err(ElectionError::InvalidPath { path, error });
        }
        let settings = NominationSettings {
            site: Arc::clone(site),
            clock: self.spot.client.shared().clock.clone(),
            format: self.format,
            label: self.label,
            while_suspended: self.while_suspended,
            when_promoted: self.when_promoted,
        };
        Ok(Arc::clone(self.settings.get_or_init(|| Arc::new(settings))))
    }

    fn stand(
        &self,
        settings: Arc<NominationSettings>,
        nominee: Nominee,
    ) -> Result<Nomination, ElectionError> {
        let nominee = nominee.in_format(self.format).when_asked(self.when_asked);
        let id = nominee.id();
        let site = Arc::clone(&settings.site);
        nomination_began(settings.label);
        let (face, facts, status) = NomineeFace::new(settings);
        let recipe = match self.format.recovery() {
            Recovery::Id => RecipeHandle::stand(&self.spot.client, site, nominee, face),
            Recovery::SessionInName | Recovery::Owner => {
                RecipeHandle::stand_alone(&self.spot.client, site, nominee, face).ok_or_else(
                    || ElectionError::AlreadyStanding { path: self.spot.path.clone() },
                )?
            }
        };
        let inner = NominationInner { recipe, id, facts };
        Ok(Nomination::new(inner, Updates::new(status)))
    }
}

/// Settings.
impl Election {
    /// Changes the settings, for nominations from here on.
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        let data = match self.preference {
            None => self.data.clone(),
            Some(preference) => {
                let between = if self.data.is_empty() { "" } else { " " };
                let preference = format!("{between}{preference}");
                Bytes::from([&self.data[..], preference.as_bytes()].concat())
            }
        };
        self.spot.set_data(data);
        self.settings = OnceLock::new();
        self
    }

    /// Sets the data of the candidate znode: by convention the nominee's name.
    pub fn data(self, data: impl Into<Bytes>) -> Self {
        self.with(|election| election.data = data.into())
    }

    /// Sets how much this nominee is preferred as the leader: the greater, the better (default: 0, which is not
    /// written). Leaders hand over to a better candidate if they are to
    /// ([`RunOptions::prefer`](super::RunOptions::prefer)).
    ///
    /// It is the last word of the candidate's data: `host-7 preference=5`. Participants of other libraries take it
    /// for a part of the name, and may state one so. To change it, stand again.
    pub fn preference(self, preference: i32) -> Self {
        self.with(|election| election.preference = Some(Preference::new(preference)))
    }

    /// Sets the access list of the candidate znode, and of the election node and its ancestors if
    /// they have to be created (default: every client may do everything).
    pub fn acls(self, acls: Acls) -> Self {
        self.with(|election| election.spot.set_acls(acls))
    }

    /// Sets what happens when the candidate is lost (default: the nominee stands again).
    pub fn on_loss(self, on_loss: OnLoss) -> Self {
        self.with(|election| election.policy.on_loss = on_loss)
    }

    /// Sets what a leader does while its connection is lost (default: it goes on until the lease
    /// deadline).
    pub fn while_suspended(self, while_suspended: WhileSuspended) -> Self {
        self.with(|election| election.while_suspended = while_suspended)
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
    pub fn lock_delay(self, lock_delay: Duration) -> Self {
        self.with(|election| election.policy.lock_delay = lock_delay)
    }

    /// Sets what a nomination does while it follows, and the leader hands the leadership over to a
    /// candidate behind it (default: it stands behind that candidate).
    pub fn when_asked(self, when_asked: WhenAsked) -> Self {
        self.with(|election| election.when_asked = when_asked)
    }

    /// Sets what a leader does for the candidate behind it (default: it wakes its nominee, which then knows that
    /// it is the next to lead, and leads by one event; or finds the mark of a hand-over). All nominees should
    /// have one setting.
    ///
    /// With [`WhenPromoted::Rests`] no leader writes to its candidate. A nominee that has become the next to lead
    /// learns so at its next look, up to a minute later; a promotion before that takes a list, and a hand-over to
    /// a candidate behind others takes that long.
    pub fn when_promoted(self, when_promoted: WhenPromoted) -> Self {
        self.with(|election| election.when_promoted = when_promoted)
    }

    /// Sets what happens if the election node does not exist (default: it is created as a
    /// persistent znode).
    pub fn election_node(self, election_node: ElectionNode) -> Self {
        self.with(|election| {
            election.spot.set_node(election_node);
            election.policy.election_node = election_node;
        })
    }

    /// Sets the format of the candidates' names, for elections with participants of other libraries
    /// (default: that of Curator's `LeaderLatch`). All participants of an election have to use one
    /// format.
    ///
    /// In [`Format::leader_election_support`], [`Format::go_leaderelection`] and
    /// [`Format::zookeeper_write_lock`] no name tells one candidate of a session from another.
    /// There a client stands only once at a path; after the end of a nomination it stands again
    /// once its znode is gone. If the format prescribes the data, that is used.
    pub fn format(self, format: Format) -> Self {
        self.with(|election| election.format = format)
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
    pub fn metrics_label(self, value: &str) -> Self {
        self.with(|election| election.label = ElectionLabel::new(value))
    }
}

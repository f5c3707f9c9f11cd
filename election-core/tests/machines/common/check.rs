//! The laws that must hold in every state of a world.

use election_core::election::{End, NominationError, Role};
use election_core::format::Format;
use election_core::{Recipe, Token};

use super::World;
use super::client::Client;
use super::server::{Data, Kind, Name, PERSISTENT, Znode};

const NO_AUTH: i32 = -102;

impl World {
    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let leaders = self.valid_leaders();
        self.check_exclusion(&leaders)?;
        for client in &self.clients {
            let leads = leaders.contains(&client.index);
            self.check_client(client, leads)
                .map_err(|fault| format!("{}: {fault}", client.index))?;
        }
        self.check_herd()
    }

    /// Checks the further laws of a state where nothing happens any more unless something goes
    /// wrong: exactly one nominee leads, all others follow, and the queue holds nothing but their
    /// candidates.
    pub fn check_rest(&self) -> Result<(), String> {
        self.check_end_at_rest()?;
        self.check_hand_over_at_rest()?;
        let contenders: Vec<&Client> =
            self.clients.iter().filter(|client| !client.is_ended()).collect();
        if contenders.is_empty() {
            let is_left = |znode: &&Znode| znode.owner != PERSISTENT;
            let left = self.server.tip.znodes.iter().filter(is_left).count();
            return if left == 0 { Ok(()) } else { Err(format!("all ended, {left} znodes left")) };
        }
        self.check_progress()?;
        for client in &contenders {
            if client.wish.is_impatient() && !client.leads() {
                return Err(format!("{}: waits, and was not to", client.index));
            }
            if !matches!(client.nominee.role(), Role::Leading { .. } | Role::Following { .. }) {
                return Err(format!("{}: {:?} at rest", client.index, client.nominee.role()));
            }
        }
        let znodes = self.server.tip.znodes.iter();
        let mut queue: Vec<Name> =
            znodes.filter(|znode| znode.owner != PERSISTENT).map(|znode| znode.name).collect();
        let mut candidates: Vec<Name> = contenders.iter().filter_map(|it| it.candidate()).collect();
        queue.sort_unstable();
        candidates.sort_unstable();
        if queue == candidates { Ok(()) } else { Err(format!("{queue:?} for {candidates:?}")) }
    }

    /// Checks that two contenders that exclude each other never hold at once, and that none holds while an earlier
    /// znode stands that excludes its own.
    fn check_exclusion(&self, leaders: &[usize]) -> Result<(), String> {
        let kind = |leader: &usize| self.clients[*leader].kind();
        for (at, leader) in leaders.iter().enumerate() {
            let excluded = |other: &&usize| {
                kind(leader).excludes(kind(other)) || kind(leader).format() != kind(other).format()
            };
            if let Some(other) = leaders[at + 1..].iter().find(excluded) {
                return Err(format!("several lead: {leader} and {other}"));
            }
            let own = self.clients[*leader].candidate();
            let is_before = |znode: &&Znode| {
                own.is_some_and(|own| {
                    znode.name.sequence < own.sequence && znode.name.kind.excludes(own.kind)
                })
            };
            if self.is_foreign_before(&self.clients[*leader]) {
                return Err(format!("{leader} leads behind one of another format"));
            }
            if let Some(znode) = self.server.tip.znodes.iter().find(is_before) {
                return Err(format!("{leader} leads before {:?}", znode.name));
            }
        }
        Ok(())
    }

    /// Checks that, where nothing is on its way, every contender holds that none before it
    /// excludes.
    fn check_progress(&self) -> Result<(), String> {
        let leaders = self.valid_leaders();
        if leaders.is_empty() {
            return Err("nobody leads and nothing is on its way".into());
        }
        let znodes = &self.server.tip.znodes;
        for client in self.clients.iter().filter(|client| !client.is_ended()) {
            let Some(own) = client.candidate() else { continue };
            let is_free = !znodes.iter().any(|znode| {
                znode.name.sequence < own.sequence && znode.name.kind.excludes(own.kind)
            });
            if is_free && !self.is_foreign_to(client) && !leaders.contains(&client.index) {
                return Err(format!(
                    "{}: its way is free, and nothing is on its way",
                    client.index
                ));
            }
        }
        Ok(())
    }

    /// Returns the nominees that believe to lead, in a session that lives and by a znode that no
    /// operator deleted. The lease covers the time between the end of a session and the news of it;
    /// against an operator only the token helps.
    fn valid_leaders(&self) -> Vec<usize> {
        let leads = |client: &&Client| match client.nominee.role() {
            Role::Leading { token } | Role::Suspended { token } => {
                let is_of = |(name, evicted): &(Name, Token)| {
                    client.token_of(*evicted) == token
                        || client.is_downgrading() && client.may_hold_by(*name)
                };
                client.session_lives && !self.evicted.iter().any(is_of)
            }
            _ => false,
        };
        self.clients.iter().filter(leads).map(|client| client.index).collect()
    }

    /// Whether a contender of another format stands in the node, which does not see this client's.
    fn is_foreign_to(&self, client: &Client) -> bool {
        self.server.tip.znodes.iter().any(|znode| is_foreign(client, znode))
    }

    /// Whether one stood there before this client did. A later one looks, and waits or is refused.
    fn is_foreign_before(&self, client: &Client) -> bool {
        let own = client.candidate().map(|own| own.sequence);
        self.server.tip.znodes.iter().any(|znode| {
            is_foreign(client, znode) && own.is_none_or(|own| znode.name.sequence < own)
        })
    }

    fn stands(&self, client: &Client) -> bool {
        let is_own =
            |znode: &Znode| znode.owner == client.session && client.may_hold_by(znode.name);
        self.server.tip.znodes.iter().any(is_own)
    }

    fn check_client(&self, client: &Client, leads: bool) -> Result<(), String> {
        self.check_ending_of(client)?;
        let znodes = &self.server.tip.znodes;
        let is_own = |znode: &&Znode| znode.owner == client.session;
        let own = znodes.iter().filter(is_own).count();
        if own > 1 {
            return Err(format!("{own} znodes in one session"));
        }
        if leads && !self.stands(client) {
            return Err("leads by a znode that is gone".into());
        }
        if client.is_idle_for_good() && own > 0 {
            return Err("a ghost is left after the end".into());
        }
        if client.is_idle_for_good() && !client.nominee.is_silent_after_its_end(client.session) {
            return Err("goes on after the end".into());
        }
        let candidate = client.nominee.candidate();
        let heartbeat = client.nominee.heartbeat();
        let is_of_own = heartbeat == candidate.map(|own| election_core::Znode::Child(own.into()));
        let is_of_either = match heartbeat {
            Some(election_core::Znode::Child(name)) => {
                client.may_hold_by(Name::parse(&name.text()))
            }
            other => other == Some(election_core::Znode::Node),
        };
        if client.leads() && !is_of_own && !(client.is_downgrading() && is_of_either) {
            return Err("leads without heartbeats".into());
        }
        if client.watchers.len() > 2 {
            return Err(format!("{} watches", client.watchers.len()));
        }
        match client.nominee.role() {
            // No nominee ends so: an election may move from one format to another.
            Role::Ended(End::Failed(NominationError::OtherFormat))
                if self.mixes_formats && client.nominee.is_lock() => {}
            // Where no operator has deleted it, it is created.
            Role::Ended(End::Failed(NominationError::NoElectionNode)) if self.numbers_matter => {}
            Role::Ended(End::Failed(
                NominationError::SequenceExhausted | NominationError::Rejected(NO_AUTH),
            )) if self.may_fail => {}
            Role::Ended(End::Failed(error)) => return Err(format!("failed: {error}")),
            Role::Leading { .. } if !client.is_up() => {
                return Err("leads without a link".into());
            }
            Role::Following { predecessor, .. }
                if client.nominee.owns(&predecessor.text())
                    || self
                        .server
                        .find(Name::parse(&predecessor.text()))
                        .is_some_and(|znode| znode.owner == client.session) =>
            {
                return Err("follows a ghost of its own".into());
            }
            _ => {}
        }
        if self.is_quiet(client) && !self.has_missed_something(client) {
            self.check_quiet_client(client)
        } else {
            Ok(())
        }
    }

    /// Checks the beliefs of a client to which nothing is on its way: they must be so.
    fn check_quiet_client(&self, client: &Client) -> Result<(), String> {
        match client.nominee.role() {
            Role::Leading { .. } if !self.stands(client) => {
                Err("believes to lead by a znode that is gone".into())
            }
            Role::Leading { .. } if client.is_downgrading() => {
                Err("is to become a reader, and nothing is on its way".into())
            }
            Role::Leading { .. } | Role::Following { .. } if self.has_missed_a_request(client) => {
                Err("is asked to let go, and was not told".into())
            }
            Role::Following { predecessor, .. }
                if self.server.find(Name::parse(&predecessor.text())).is_none() =>
            {
                Err("follows a znode that is gone".into())
            }
            // It waits for the end of a contender that is of another format.
            Role::Standing if self.is_foreign_to(client) => Ok(()),
            Role::Standing | Role::Suspended { .. } | Role::Leaving => {
                Err("is on its way, and nothing is on its way".into())
            }
            _ => Ok(()),
        }
    }

    /// Whether a request to let go is at the znode of a client that watches it, and was not told of it.
    fn has_missed_a_request(&self, client: &Client) -> bool {
        let own = client.candidate().filter(|own| own.kind != Kind::Latch);
        let watches = |own: Name| client.watchers.iter().any(|watcher| watcher.name == own);
        let znode = own.filter(|own| watches(*own)).and_then(|own| self.server.find(own));
        znode.is_some_and(|znode| {
            znode.data == Data::RevokeRequest
                && client.told_request != Some((znode.token, znode.version))
        })
    }

    /// Checks that a deletion wakes one follower at most; that of a writer, or of a contender of another format,
    /// wakes one writer, and the readers behind it, which are to wake together. Those of
    /// each format count for themselves.
    fn check_herd(&self) -> Result<(), String> {
        for znode in &self.server.tip.znodes {
            let follows = |client: &&Client| {
                let is_meant = client.kind() == Kind::Read && znode.name.kind != Kind::Read;
                !is_meant
                    && !client.has_had(znode.owner)
                    && self.stands(client)
                    && client.watchers.iter().any(|watcher| watcher.name == znode.name)
            };
            let followers = |format: Format| {
                let is_of = |client: &&Client| client.kind().format() == format;
                self.clients.iter().filter(follows).filter(is_of).count()
            };
            let formats = self.clients.iter().map(|client| client.kind().format());
            let followers = formats.map(followers).max().unwrap_or(0);
            if followers > 1 {
                return Err(format!("herd: {followers} followers watch {:?}", znode.name));
            }
            let reads = |client: &&Client| {
                client.kind() == Kind::Read
                    && client.watchers.iter().any(|watcher| watcher.name == znode.name)
            };
            let readers = self.clients.iter().filter(|client| !client.has_had(znode.owner));
            if znode.name.kind == Kind::Read && readers.filter(reads).count() > 0 {
                return Err(format!("a reader watches {:?}", znode.name));
            }
        }
        Ok(())
    }
}

fn is_foreign(client: &Client, znode: &Znode) -> bool {
    znode.name.kind.format() != client.kind().format()
        && ![PERSISTENT, client.session].contains(&znode.owner)
}

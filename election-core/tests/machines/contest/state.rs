//! The laws of a state, and those of a state at rest.

use election_core::election::{Cause, End, NominationError, Role};
use election_core::{Hold, Phase, Recipe as _, SessionId, Token};

use super::candidates::{Candidate, Kind};
use super::laws::named;
use super::names::{self, Name};
use super::operators::Course;
use super::operators::HandOver;
use super::operators::Stage;
use super::told::Told;
use super::{Contender, REVOKE_REQUEST, World, is_quiet};
use crate::lab::Znode;

const NO_AUTH: i32 = -102;

impl World {
    pub fn check_contest(&self) -> Result<(), String> {
        let leaders = self.valid_leaders();
        self.check_exclusion(&leaders)?;
        for (i, client) in self.clients.iter().enumerate() {
            let leads = leaders.contains(&i);
            self.check_client(client, leads).map_err(|fault| format!("{i}: {fault}"))?;
        }
        self.check_herd()
    }

    /// Checks the further laws of a state where nothing happens any more unless something goes wrong: exactly one
    /// nominee leads, all others follow, and the queue holds nothing but their candidates.
    pub fn check_contest_at_rest(&self) -> Result<(), String> {
        self.check_end_at_rest()?;
        if let Some(HandOver { stage: Stage::Asking | Stage::Ready, to, .. }) = self.model.hand_over
        {
            return Err(format!("{to:?} is to lead, and nothing is on its way"));
        }
        let contenders: Vec<&Contender> =
            self.clients.iter().filter(|client| !client.is_ended()).collect();
        let queue = self.candidates().filter(|(_, znode)| znode.owner.is_some());
        let mut queue: Vec<Candidate> = queue.map(|(name, _)| name).collect();
        if contenders.is_empty() {
            let left = queue.len();
            return if left == 0 { Ok(()) } else { Err(format!("all ended, {left} znodes left")) };
        }
        self.check_progress()?;
        for client in &contenders {
            if client.role.is_impatient() && !client.leads() {
                return Err(format!("{}: waits, and was not to", client.index));
            }
            if !matches!(client.role(), Role::Leading { .. } | Role::Following { .. }) {
                return Err(format!("{}: {:?} at rest", client.index, client.role()));
            }
        }
        let mut candidates: Vec<Candidate> =
            contenders.iter().filter_map(|client| client.candidate()).collect();
        queue.sort_unstable();
        candidates.sort_unstable();
        if queue == candidates { Ok(()) } else { Err(format!("{queue:?} for {candidates:?}")) }
    }

    /// Checks that two contenders that exclude each other never hold at once, and that none holds while an earlier
    /// znode stands that excludes its own.
    fn check_exclusion(&self, leaders: &[usize]) -> Result<(), String> {
        for (at, leader) in leaders.iter().enumerate() {
            let client = &self.clients[*leader];
            let kind = client.kind();
            let excluded = |other: &&usize| {
                let other = self.clients[**other].kind();
                kind.excludes(other) || kind.format() != other.format()
            };
            if let Some(other) = leaders[at + 1..].iter().find(excluded) {
                return Err(format!("several lead: {leader} and {other}"));
            }
            if self.is_foreign_before(client) {
                return Err(format!("{leader} leads behind one of another format"));
            }
            let own = client.candidate();
            if let Some((name, _)) = self.candidates().find(|(name, _)| excludes(own, *name)) {
                return Err(format!("{leader} leads before {name:?}"));
            }
        }
        Ok(())
    }

    /// Checks that, where nothing is on its way, every contender holds that none before it excludes.
    fn check_progress(&self) -> Result<(), String> {
        let leaders = self.valid_leaders();
        if leaders.is_empty() {
            return Err("nobody leads and nothing is on its way".into());
        }
        for (i, client) in self.clients.iter().enumerate().filter(|(_, it)| !it.is_ended()) {
            let Some(own) = client.candidate() else { continue };
            let is_free = !self.candidates().any(|(name, _)| excludes(Some(own), name));
            if is_free && !self.is_foreign_to(client) && !leaders.contains(&i) {
                return Err(format!("{i}: its way is free, and nothing is on its way"));
            }
        }
        Ok(())
    }

    /// Returns the nominees that believe to lead, in a session that lives and by a znode that no operator deleted. The
    /// lease covers the time between the end of a session and the news of it; against an operator only the token helps.
    fn valid_leaders(&self) -> Vec<usize> {
        let leads = |client: &Contender| match client.role() {
            Role::Leading { token } | Role::Suspended { token } => {
                let is_of = |(name, evicted): &(Name, Token)| {
                    let is_its = |name: Candidate| client.may_hold_by(name);
                    client.token_of(*evicted) == token
                        || client.is_downgrading() && name.candidate().is_some_and(is_its)
                };
                client.session_lives && !self.model.evicted.iter().any(is_of)
            }
            _ => false,
        };
        (0..self.clients.len()).filter(|i| leads(&self.clients[*i])).collect()
    }

    /// Whether a contender of another format stands in the node, which does not see this client's.
    fn is_foreign_to(&self, client: &Contender) -> bool {
        self.candidates().any(|(name, znode)| is_foreign(client, name, znode))
    }

    /// Whether one stood there before this client did. A later one looks, and waits or is refused.
    fn is_foreign_before(&self, client: &Contender) -> bool {
        let own = client.candidate().map(|own| own.sequence);
        self.candidates().any(|(name, znode)| {
            is_foreign(client, name, znode) && own.is_none_or(|own| name.sequence < own)
        })
    }

    fn stands(&self, client: &Contender) -> bool {
        self.candidates()
            .any(|(name, znode)| znode.owner == Some(client.session) && client.may_hold_by(name))
    }

    fn check_client(&self, client: &Contender, leads: bool) -> Result<(), String> {
        compare_role_with_notices(client)?;
        let end = client.end();
        if end == Some(End::ElectionEnded) && self.model.course == Course::Open {
            return Err("is told of an end that never was".into());
        }
        let is_own = |(_, znode): &(Candidate, &Znode)| znode.owner == Some(client.session);
        let own = self.candidates().filter(is_own).count();
        if own > 1 {
            return Err(format!("{own} znodes in one session"));
        }
        if leads && !self.stands(client) {
            return Err("leads by a znode that is gone".into());
        }
        if client.is_done() && client.in_doubt.is_empty() && own > 0 {
            return Err("a ghost is left after the end".into());
        }
        if client.is_done() && !client.machine().is_silent_after_its_end(client.session) {
            return Err("goes on after the end".into());
        }
        check_heartbeat(client)?;
        self.check_role(client)?;
        if is_quiet(self, client) && !self.needs_look(usize::from(client.index)) {
            self.check_quiet_client(client)
        } else {
            Ok(())
        }
    }

    fn check_role(&self, client: &Contender) -> Result<(), String> {
        let kinds = self.model.kinds;
        match client.role() {
            // No nominee ends so: an election may move from one format to another.
            Role::Ended(End::Failed(NominationError::OtherFormat))
                if kinds.mixes_formats && client.machine().is_lock() =>
            {
                Ok(())
            }
            // Where no operator has deleted it, it is created.
            Role::Ended(End::Failed(NominationError::NoElectionNode)) if kinds.numbers_matter => {
                Ok(())
            }
            Role::Ended(End::Failed(
                NominationError::SequenceExhausted
                | NominationError::Rejected(NO_AUTH)
                | NominationError::TooLarge,
            )) if kinds.may_fail => Ok(()),
            Role::Ended(End::Failed(error)) => Err(format!("failed: {error}")),
            Role::Leading { .. } if !client.is_up() => Err("leads without a link".into()),
            Role::Following { predecessor, .. } => {
                let znode = named(predecessor).and_then(|name| self.find(name));
                let is_ghost = znode.is_some_and(|znode| znode.owner == Some(client.session));
                if client.machine().owns(&predecessor.text()) || is_ghost {
                    Err("follows a ghost of its own".into())
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }

    /// Checks the beliefs of a client to which nothing is on its way: they must be so.
    fn check_quiet_client(&self, client: &Contender) -> Result<(), String> {
        match client.role() {
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
                if named(predecessor).and_then(|name| self.find(name)).is_none() =>
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
    fn has_missed_a_request(&self, client: &Contender) -> bool {
        let own = client.candidate().filter(|own| own.kind != Kind::Latch);
        let watches = |own: &Candidate| watches(client, *own);
        let znode = own.filter(watches).and_then(|own| self.find(own));
        znode.is_some_and(|znode| {
            znode.data == REVOKE_REQUEST
                && client.notes.told_request != Some((znode.token, znode.version))
        })
    }

    /// Checks that a deletion wakes one follower at most; that of a writer, or of a contender of another format, wakes
    /// one writer, and the readers behind it, which are to wake together. Those of each format count for themselves.
    fn check_herd(&self) -> Result<(), String> {
        let contenders: Vec<(&Contender, Kind)> =
            self.clients.iter().map(|client| (client, client.kind())).collect();
        for (name, znode) in self.candidates() {
            let owner = znode.owner.unwrap_or(SessionId::new(0));
            let follows = |(client, kind): &&(&Contender, Kind)| {
                let is_meant = *kind == Kind::Read && name.kind != Kind::Read;
                watches(client, name) && !is_meant && !client.has_had(owner) && self.stands(client)
            };
            let followers = |(_, kind): &(_, Kind)| {
                let is_of_format = |(_, other): &&(_, Kind)| other.shares_format_of(*kind);
                contenders.iter().filter(follows).filter(is_of_format).count()
            };
            let followers = contenders.iter().map(followers).max().unwrap_or(0);
            if followers > 1 {
                return Err(format!("herd: {followers} followers watch {name:?}"));
            }
            let reads = |(client, kind): &(&Contender, Kind)| {
                *kind == Kind::Read && watches(client, name) && !client.has_had(owner)
            };
            if name.kind == Kind::Read && contenders.iter().any(reads) {
                return Err(format!("a reader watches {name:?}"));
            }
        }
        Ok(())
    }

    /// Checks a state where nothing happens any more: each nominee was told of the end by its name, and none stands.
    fn check_end_at_rest(&self) -> Result<(), String> {
        for client in self.clients.iter().filter(|_| self.is_ended_for_all()) {
            match client.end() {
                None => return Err(format!("{}: stands after the end", client.index)),
                Some(End::Lost(Cause::Evicted)) if !self.model.has_evicted_otherwise => {
                    return Err(format!("{}: takes the end for an eviction", client.index));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

fn watches(client: &Contender, name: Candidate) -> bool {
    client.watches.iter().any(|watch| watch.name == Name::Candidate(name))
}

/// Whether a contender with this znode waits for another one.
fn excludes(own: Option<Candidate>, other: Candidate) -> bool {
    own.is_some_and(|own| other.sequence < own.sequence && other.kind.excludes(own.kind))
}

fn is_foreign(client: &Contender, name: Candidate, znode: &Znode) -> bool {
    name.kind.format() != client.kind().format()
        && znode.owner.is_some_and(|owner| owner != client.session)
}

fn check_heartbeat(client: &Contender) -> Result<(), String> {
    let heartbeat = client.machine().heartbeat();
    let own = client.machine().candidate().map(|own| election_core::Znode::Child(own.into()));
    let is_of_either = || match heartbeat {
        Some(election_core::Znode::Child(name)) => {
            let name = names::parse(&name.text()).candidate();
            name.is_some_and(|name| client.may_hold_by(name))
        }
        other => other == Some(election_core::Znode::Node),
    };
    if client.leads() && heartbeat != own && !(client.is_downgrading() && is_of_either()) {
        return Err("leads without heartbeats".into());
    }
    Ok(())
}

fn compare_role_with_notices(client: &Contender) -> Result<(), String> {
    let (machine, told) = (client.machine(), client.notes.told);
    let (role, hold, phase) = (machine.role(), machine.hold(), machine.phase());
    let at_end = matches!(phase, Phase::CleaningUp | Phase::Over);
    let agrees = match role {
        Role::Leading { token } => told == Told::Leading && hold == Hold::Active(token),
        Role::Suspended { token } => told == Told::Suspended && hold == Hold::Suspended(token),
        Role::Ended(_) => told == Told::Ended && hold == Hold::None,
        _ => told == Told::NotLeading && hold == Hold::None,
    };
    if agrees && at_end == (told == Told::Ended) {
        Ok(())
    } else {
        Err(format!("role {role:?}, {hold:?}, {phase:?}, but told {told:?}"))
    }
}

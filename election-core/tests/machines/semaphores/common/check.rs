//! The laws of every state, and of the states at rest.

use election_core::{Hold, Phase, Recipe as _, Token};

use super::World;
use super::client::Client;
use super::tree::Home;

impl World {
    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let valid = self.clients.iter().filter(|client| self.is_valid(client)).count();
        let foreign = self.newest().znodes.iter().filter(|znode| znode.owner.is_none()).count();
        if valid > self.permits as usize {
            return Err(format!("{valid} hold, of {} permits", self.permits));
        }
        if valid > 0 && valid + foreign.min(self.foreign_at_first) > self.permits as usize {
            return Err(format!("{valid} hold beside {foreign} foreign ones, of {}", self.permits));
        }
        for (index, client) in self.clients.iter().enumerate() {
            self.check_client(client).map_err(|fault| format!("{index}: {fault}"))?;
        }
        Ok(())
    }

    /// Whether the session lives, and no operator has deleted the znode. The client has not been told that its lease
    /// has lapsed.
    fn is_valid(&self, client: &Client) -> bool {
        let lives = client.session.is_some_and(|session| self.sessions.contains(&session));
        let znode = client.machine.znode();
        let is_evicted =
            znode.is_some_and(|own| client.evicted.iter().any(|name| own == name.as_str()));
        client.holds() && lives && !is_evicted
    }

    fn check_client(&self, client: &Client) -> Result<(), String> {
        let tree = self.newest();
        if self.is_valid(client) {
            let own = client.machine.znode().and_then(|own| tree.find(Home::Leases, &own.text()));
            let token = client.machine.hold().token();
            if own.map(|znode| znode.czxid) != token.map(Token::get) {
                return Err("holds by a znode that is gone".to_owned());
            }
        }
        // On what it waits for, on the own znode of the turn, and, once that was verified after a
        // reconnect, on that of the permit.
        if client.watches.len() > 3 {
            return Err(format!("awaits {:?}", client.watches));
        }
        if client.machine.hold() != Hold::None && client.machine.heartbeat().is_none() {
            return Err("holds without a heartbeat".to_owned());
        }
        if let Some(session) = client.session {
            for home in Home::ALL {
                if tree.count(home, session) > 1 {
                    return Err(format!("several znodes in {home:?}"));
                }
            }
            let left = tree.owned_by(session).next();
            if let (Phase::Over, Some(left)) = (client.machine.phase(), left) {
                return Err(format!("{left:?} is left after the end"));
            }
        }
        Ok(())
    }

    /// Checks the laws of a state where nothing is on its way.
    pub fn check_rest(&self) -> Result<(), String> {
        let tree = self.newest();
        let mut standing = 0;
        let mut holders = 0;
        for (index, client) in self.clients.iter().enumerate() {
            let session = client.session.unwrap_or_default();
            let own = Home::ALL.map(|home| tree.count(home, session));
            match (client.machine.phase(), client.machine.hold()) {
                (Phase::Over, _) => {}
                (Phase::Standing, Hold::Active(_)) => {
                    holders += 1;
                    standing += 1;
                    if own != [0, 1] {
                        return Err(format!("{index} holds at rest, with {own:?} znodes"));
                    }
                }
                (Phase::Standing, Hold::None) => {
                    standing += 1;
                    if self.impatient.contains(&index) {
                        return Err(format!("{index} waits, and was not to"));
                    }
                    if own[0] != 1 {
                        return Err(format!("{index} waits at rest, with {own:?} znodes"));
                    }
                }
                (phase, hold) => return Err(format!("{index} is at rest: {phase:?}, {hold:?}")),
            }
        }
        let own = tree.znodes.iter().filter(|znode| znode.owner.is_some());
        let foreign = tree.znodes.len() - own.clone().count();
        let room = (self.permits as usize).saturating_sub(foreign);
        if holders != room.min(standing) {
            return Err(format!("{standing} stand, and {holders} hold, of {}", self.permits));
        }
        let are_ended =
            |owner: Option<i64>| owner.is_some_and(|session| !self.sessions.contains(&session));
        match own.clone().find(|znode| are_ended(znode.owner)) {
            Some(left) => Err(format!("{left:?} is left of a session that is gone")),
            None => Ok(()),
        }
    }
}

//! What must hold in every state of a world.

use election_core::{Role, Token};

use super::World;
use super::client::Client;
use super::server::Name;
use super::step::is_former;

impl World {
    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let leaders: Vec<usize> = self
            .clients
            .iter()
            .filter(|client| self.leads_in_truth(client))
            .map(|client| client.index)
            .collect();
        if leaders.len() > 1 {
            return Err(format!("several lead: {leaders:?}"));
        }
        for client in &self.clients {
            self.check_client(client).map_err(|fault| format!("{}: {fault}", client.index))?;
        }
        self.check_herd()?;
        let contends = self.clients.iter().any(|client| !client.is_ended());
        if contends && leaders.is_empty() && self.is_at_rest() {
            return Err("nobody leads and nothing is on its way".into());
        }
        Ok(())
    }

    /// It believes that it leads, its session lives, and its znode stands.
    fn leads_in_truth(&self, client: &Client) -> bool {
        match client.nominee.role() {
            Role::Leading { token } => {
                client.is_up() && client.session_lives && self.stands(client, token)
            }
            _ => false,
        }
    }

    fn stands(&self, client: &Client, token: Token) -> bool {
        self.server.znodes.iter().any(|znode| znode.token == token && znode.owner == client.session)
    }

    fn check_client(&self, client: &Client) -> Result<(), String> {
        let own = self
            .server
            .znodes
            .iter()
            .filter(|znode| znode.name.client == client.index && znode.owner == client.session)
            .count();
        if own > 1 {
            return Err(format!("{own} znodes in one session"));
        }
        let nothing_on_its_way = client.requests.is_empty() && client.deliveries.is_empty();
        if client.is_ended() && own > 0 && nothing_on_its_way && client.in_doubt.is_empty() {
            return Err("a ghost is left after the end".into());
        }
        if client.is_up() && nothing_on_its_way {
            match client.nominee.role() {
                Role::Leading { token } if !self.stands(client, token) => {
                    return Err("believes to lead by a znode that is gone".into());
                }
                Role::Following { predecessor, .. }
                    if self.server.find(Name::parse(predecessor.as_str())).is_none() =>
                {
                    return Err("follows a znode that is gone".into());
                }
                Role::Standing | Role::Suspended { .. } | Role::Leaving => {
                    return Err("is on its way, and nothing is on its way".into());
                }
                _ => {}
            }
        }
        let watches =
            self.server.watchers.iter().filter(|watcher| watcher.client == client.index).count();
        if watches > 2 {
            return Err(format!("{watches} watches"));
        }
        Ok(())
    }

    /// A deletion wakes one follower at most.
    fn check_herd(&self) -> Result<(), String> {
        for znode in &self.server.znodes {
            let followers = self
                .server
                .watchers
                .iter()
                .filter(|watcher| watcher.name == znode.name && watcher.client != znode.name.client)
                .filter(|watcher| {
                    let follower = &self.clients[watcher.client];
                    follower.nominee.awaits_change(watcher.ticket)
                        && follower.candidate().is_some_and(|own| self.server.find(own).is_some())
                })
                .count();
            if followers > 1 {
                return Err(format!("herd: {followers} followers watch {:?}", znode.name));
            }
        }
        Ok(())
    }

    /// A former session that still owns a znode is not at rest: its expiry is on its way.
    fn is_at_rest(&self) -> bool {
        self.clients.iter().all(|client| {
            client.is_up()
                && !self.server.znodes.iter().any(|znode| is_former(client, znode.owner))
                && client.requests.is_empty()
                && client.deliveries.is_empty()
                && client.in_doubt.is_empty()
        })
    }
}

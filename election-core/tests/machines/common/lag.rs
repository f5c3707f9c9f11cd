//! The lag of servers, and the changes that no client can see any more.

use super::World;
use super::client::Client;
use super::server::{Answer, Entry, Request};
use super::step::Heard;

impl World {
    /// Lets no server lag more than `max_lag` changes behind, and forgets the changes that none of
    /// them lags behind.
    pub fn bound_the_lag(&mut self) {
        for i in 0..self.clients.len() {
            loop {
                let end = self.server.end();
                let client = &mut self.clients[i];
                if client.is_idle_for_good() {
                    client.watchers.clear();
                    (client.applied, client.seen) = (end, end);
                }
                if !client.has_a_server() {
                    (client.applied, client.seen) = (end, end);
                }
                let least = end.saturating_sub(self.max_lag);
                client.seen = client.seen.max(least);
                if !client.is_up() {
                    client.applied = client.seen;
                }
                let client = &self.clients[i];
                if client.applied >= least {
                    break;
                }
                match self.next_heard(client) {
                    Some(Heard::Entry(position)) if position < least => self.hear(i),
                    Some(Heard::Reply)
                        if client.due.front().is_some_and(|due| due.position < least) =>
                    {
                        self.hear(i);
                    }
                    _ => self.clients[i].applied = least,
                }
            }
        }
        self.forget_vain_deletions();
        let end = self.server.end();
        let reach = |client: &Client| {
            if client.session_lives { client.seen } else { client.applied }
        };
        let folded = self.clients.iter().map(reach).min().unwrap_or(end);
        self.server.fold(folded);
        for client in &mut self.clients {
            client.applied -= folded;
            client.seen = client.seen.saturating_sub(folded);
            for due in &mut client.due {
                due.position = due.position.saturating_sub(folded);
            }
        }
        self.forget_evictions();
        self.forget_unheard();
    }

    /// Forgets a deletion that no watch reported, once no list shows the znode any more, and no client waits for its
    /// end.
    fn forget_unheard(&mut self) {
        let (clients, log) = (&self.clients, &self.server.log);
        self.server.unheard.retain(|name| {
            log.contains(&Entry::Deleted(*name))
                || clients.iter().any(|client| client.may_await(*name))
        });
    }

    /// Forgets a deletion in doubt of a znode that is gone: it can do nothing any more, unless its
    /// name comes around again.
    fn forget_vain_deletions(&mut self) {
        if self.numbers_matter {
            return;
        }
        for client in &mut self.clients {
            client.in_doubt.retain(|lost| match lost.request {
                Request::Delete(name, _) | Request::Exchange { writer: name, .. } => {
                    self.server.find(name).is_some()
                }
                _ => true,
            });
        }
    }

    /// Forgets an eviction once the evicted can know of it no longer.
    fn forget_evictions(&mut self) {
        let (clients, log) = (&self.clients, &self.server.log);
        self.evicted.retain(|(name, _)| {
            let knows_not = |client: &Client| {
                client.may_hold_by(*name)
                    || client.due.iter().any(
                        |due| matches!(due.answer, Answer::Created(created, _) if created == *name),
                    )
            };
            log.contains(&Entry::Deleted(*name)) || clients.iter().any(knows_not)
        });
    }
}

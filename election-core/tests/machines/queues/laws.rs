//! The laws of each state, and of the states at rest; and the form in which equal states are one.

use core::hash::{Hash as _, Hasher as _};
use std::hash::DefaultHasher;

use election_core::queue::{Purpose, WhenEmpty};
use election_core::{Phase, Recipe as _};

use crate::queues::server::Order;
use crate::queues::world::{Client, World};

impl World {
    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        for (i, client) in self.clients.iter().enumerate() {
            if client.watch.is_some() && client.taker.phase() == Phase::Over {
                return Err(format!("{i}: a watch is left"));
            }
            let is_at_end = matches!(client.taker.phase(), Phase::CleaningUp | Phase::Over);
            if is_at_end != client.ended.is_some() {
                return Err(format!("{i}: over, and has not said so"));
            }
        }
        if let [client] = &self.clients[..]
            && self.tip().order == Order::ByNumber
            && !client.taken.is_sorted()
        {
            return Err(format!("out of order: {:?}", client.taken));
        }
        Ok(())
    }

    pub fn check_rest(&self) -> Result<(), String> {
        let tip = self.tip();
        for number in 0..self.next {
            let is_accounted = self.accounted.iter().any(|(of, _)| *of == number);
            if tip.item(number).is_none() && !is_accounted {
                return Err(format!("{number} is lost"));
            }
        }
        if let Some((number, session, _)) = tip.claims.first() {
            return Err(format!("a claim of {number} is left by {session}"));
        }
        for item in &tip.items {
            if !item.pins.is_empty() {
                return Err(format!("{} is pinned: {:?}", item.number, item.pins));
            }
        }
        for (i, client) in self.clients.iter().enumerate() {
            if client.taker.phase() != Phase::Over {
                self.check_waiting(client).map_err(|fault| format!("{i}: {fault}"))?;
            }
        }
        Ok(())
    }

    fn check_waiting(&self, client: &Client) -> Result<(), String> {
        if client.options.when_empty == WhenEmpty::GiveUp || client.withdrawn {
            return Err("does not end".into());
        }
        if !client.is_waiting || client.watch.is_none() {
            return Err("waits for nothing".into());
        }
        let is_free = |item: &&crate::queues::server::ItemZnode| {
            let is_claimable = item.owner.is_none() && !item.is_parent;
            match client.options.purpose {
                Purpose::Claim => item.owner.is_none(),
                Purpose::Take => is_claimable || !item.is_parent,
                Purpose::Peek => true,
            }
        };
        match self.tip().items.iter().find(is_free) {
            Some(item) => Err(format!("waits, and {} is free", item.number)),
            None => Ok(()),
        }
    }

    /// Tickets only have to differ from each other, so their numbers do not count.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.trees, self.budget, self.next, &self.accounted).hash(&mut hasher);
        for client in &self.clients {
            let machine = format!("{:?}", client.taker);
            let mut parts = machine.split("step");
            parts.next().hash(&mut hasher);
            for part in parts {
                part.trim_start_matches(|c: char| "s: ".contains(c) || c.is_ascii_digit())
                    .hash(&mut hasher);
            }
            let request = client.request.as_ref().map(|(_, request)| request);
            let due = client.due.as_ref().map(|(_, answer, position)| (answer, position));
            (client.takes, client.link, client.session, client.session_lives).hash(&mut hasher);
            (request, due, client.watch.is_some(), &client.in_doubt).hash(&mut hasher);
            (client.applied, client.seen, client.is_waiting, client.withdrawn).hash(&mut hasher);
            (&client.taken, &client.shown).hash(&mut hasher);
            client.ended.hash(&mut hasher);
        }
        hasher.finish()
    }
}

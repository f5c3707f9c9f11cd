//! Writes of leaders that are guarded by their candidates: a check of the candidate's name, and a write, in one
//! transaction.

use election_core::election::Role;

use super::World;
use super::client::Client;
use super::step::Step;

impl World {
    pub fn guarded_writes(&self, steps: &mut Vec<Step>) {
        for client in &self.clients {
            if client.guarded.is_some() {
                steps.push(Step::ApplyGuarded(client.index));
            } else if self.budget.guarded > 0 && may_write(client) {
                steps.push(Step::WriteGuarded(client.index));
            }
        }
    }

    /// A write may be applied long after it was sent, and in another order than the nominee's requests. The law is that
    /// of tokens: none is applied after one with a greater token.
    pub fn write_guarded(&mut self, step: Step) {
        match step {
            Step::WriteGuarded(i) => {
                self.budget.guarded -= 1;
                let token = self.token(i);
                self.clients[i].guarded = Some((self.candidate(i), token));
            }
            Step::ApplyGuarded(i) => {
                let (name, token) = self.clients[i].guarded.take().expect("it was sent");
                if self.server.find(name).is_none() {
                    return;
                }
                if token.get() < self.written_by {
                    let before = self.written_by;
                    self.fault = Some(format!("{i}: writes by {token} after {before}"));
                }
                self.written_by = token.get();
            }
            _ => {}
        }
    }
}

/// Nothing guards a write where names recur, and none is sent.
fn may_write(client: &Client) -> bool {
    client.is_up()
        && matches!(client.nominee.role(), Role::Leading { .. })
        && !client.kind().format().names_recur()
}

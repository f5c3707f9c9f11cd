//! Deliveries of a server to its nominee.

use election_core::children::Children;
use election_core::format::Format;
use election_core::name::Sequence;
use election_core::{Applied, Event, Failure, Reply, Ticket};

use super::super::machine::News;
use super::super::server::{Answer, Data, Name};
use super::{Client, Delivery};

impl Client {
    /// Delivers the answer to a read on this connection.
    pub fn deliver_read(&mut self, ticket: Ticket, answer: Answer) -> Result<Option<News>, String> {
        let shown = match &answer {
            Answer::Read(name, stat, data) => Some((name, stat, *data)),
            Answer::Exists(name, stat) => Some((name, stat, Data::Own)),
            _ => None,
        };
        if let Some((name, stat, data)) = shown
            && stat.owner == Some(self.session)
            && (self.candidate().is_none() || self.may_hold_by(*name))
        {
            self.verified = Some(stat.token);
            self.shown_request =
                (data == Data::RevokeRequest).then(|| (stat.token, stat.version.get()));
        }
        let told = self.deliver(Delivery::Reply(ticket, answer));
        self.shown_request = None;
        told
    }

    /// Delivers a message of an earlier connection: it verifies nothing on this one.
    pub fn deliver_straggler(&mut self, delivery: Delivery) -> Result<Option<News>, String> {
        match delivery {
            Delivery::Reply(ticket, Answer::Created(name, stat)) => {
                self.reply(ticket, Ok(Reply::Created { name: &name.text(), stat }))
            }
            delivery => self.deliver(delivery),
        }
    }

    pub fn deliver(&mut self, delivery: Delivery) -> Result<Option<News>, String> {
        let (ticket, answer) = match delivery {
            Delivery::Changed(ticket, change) => {
                return self.feed(Event::Changed { ticket, change });
            }
            Delivery::Reply(ticket, answer) => (ticket, answer),
        };
        match answer {
            Answer::Created(name, stat) => {
                let owned = stat.filter(|stat| stat.owner == Some(self.session));
                self.verified = owned.map(|stat| stat.token).or(self.verified);
                self.reply(ticket, Ok(Reply::Created { name: &name.text(), stat }))
            }
            Answer::ElectionNodeCreated => self.reply(ticket, Ok(Reply::NodeCreated)),
            Answer::BarrierPassed => self.reply(ticket, Ok(Reply::BarrierPassed)),
            Answer::Children(names, foreign, next) => {
                let number = |name: Name| Sequence::new(u32::try_from(name.sequence).ok()?);
                let mark =
                    next.and_then(number).and_then(|to| Format::curator_latch().hand_over_mark(to));
                let mark = mark.map(|mark| mark.to_string());
                let names: Vec<String> = names.into_iter().map(Name::text).chain(mark).collect();
                let names = foreign.iter().copied().chain(names.iter().map(String::as_str));
                self.reply(ticket, Ok(Reply::Children(Children::listed(&mut { names }))))
            }
            Answer::Read(_, stat, data) => {
                self.reply(ticket, Ok(Reply::Read { stat, data: data.bytes() }))
            }
            Answer::Exchanged(reader) => {
                let name = reader.text();
                let parts = [Applied::Created { name: &name }, Applied::Deleted];
                self.reply(ticket, Ok(Reply::Committed(&mut parts.iter().copied())))
            }
            Answer::Exists(_, stat) | Answer::EndMark(stat) => {
                self.reply(ticket, Ok(Reply::Exists(stat)))
            }
            Answer::Deleted => self.reply(ticket, Ok(Reply::Deleted)),
            Answer::Failed(failure) => self.reply(ticket, Err(failure)),
        }
    }

    fn reply(
        &mut self,
        ticket: Ticket,
        result: Result<Reply<'_>, Failure>,
    ) -> Result<Option<News>, String> {
        self.feed(Event::Reply { ticket, result })
    }
}

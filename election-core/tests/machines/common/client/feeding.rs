//! Feeding a nominee, and taking in what it tells and asks for.

use election_core::election::Notice;
use election_core::{Event, Output, Recipe, Ticket};

use super::super::machine::News;
use super::super::server::{Answer, Kind, Request};
use super::{Client, Downgrade, Sight, Told};

impl Client {
    /// Feeds an event and queues the command that follows; the error is a broken rule.
    pub fn feed(&mut self, event: Event<'_>) -> Result<Option<News>, String> {
        let output = self.nominee.handle_event(event);
        let (request, notice) = owned(&output);
        self.take_in(request, notice)
    }

    pub fn withdraw(&mut self) -> Result<Option<News>, String> {
        self.withdrawn = true;
        self.downgrade = Downgrade::NotWanted;
        if self.told != Told::Ended {
            self.told = Told::NotLeading;
        }
        let output = self.nominee.withdraw();
        let (request, notice) = owned(&output);
        self.take_in(request, notice)
    }

    /// Tells the contender that the time has passed that the user gave for the lock.
    pub fn pass_deadline(&mut self) -> Result<Option<News>, String> {
        let led = self.leads();
        self.withdrawn |= !led && self.nominee.is_lock();
        let told = self.feed(Event::Deadline)?;
        if !self.nominee.is_lock() && self.leads() {
            return Err("leads on, and was to step down".into());
        }
        Ok(told)
    }

    fn take_in(
        &mut self,
        request: Option<(Ticket, Request)>,
        news: Option<News>,
    ) -> Result<Option<News>, String> {
        if let Some((ticket, request)) = request {
            self.queue(ticket, request)?;
        }
        match news {
            None => {}
            Some(News::Noticed(notice)) => {
                let verified = self.verified.map(|czxid| self.token_of(czxid));
                self.told = self.told.after(notice, verified)?;
                if let Some(log) = &mut self.log {
                    log.push(notice);
                }
                if let Notice::Lost(_) | Notice::Ended(_) = notice {
                    self.downgrade = Downgrade::NotWanted;
                }
            }
            Some(News::RevokeRequested) => self.revoke_requested()?,
            Some(News::Downgraded) => self.downgraded()?,
            Some(News::NotDowngraded(failure)) => {
                return Err(format!("not downgraded: {failure}"));
            }
        }
        self.compare_role_with_notices()?;
        Ok(news)
    }

    /// Notes a request to let go: it comes once, and by the data of the own znode.
    fn revoke_requested(&mut self) -> Result<(), String> {
        match self.shown_request {
            None => Err("is told of a request that is not there".into()),
            shown if shown == self.told_request => Err("is told of a request again".into()),
            shown => {
                self.told_request = shown;
                Ok(())
            }
        }
    }

    /// Checks a downgrade: it comes by a znode that was read on this connection, and with the token that it had;
    /// contenders that wait have greater ones.
    fn downgraded(&mut self) -> Result<(), String> {
        let held = matches!(self.told, Told::Leading | Told::Suspended);
        match (self.verified, self.nominee.hold().token()) {
            (Some(czxid), Some(token)) if held && self.is_downgrading() => {
                self.kept = Some((czxid, token));
            }
            (verified, token) => {
                return Err(format!("a reader with {token:?}, and {verified:?} is verified"));
            }
        }
        self.downgrade = Downgrade::NotWanted;
        self.told = Told::Leading;
        Ok(())
    }

    fn queue(&mut self, ticket: Ticket, request: Request) -> Result<(), String> {
        if !self.is_up() {
            return Err(format!("{request:?} is asked for while the link is down"));
        }
        if !ticket.is_cleanup() && self.unanswered().any(|ticket| self.is_awaited(ticket)) {
            return Err(format!("{request:?} is asked for while another request is in flight"));
        }
        if let Request::Delete(name, _) = request
            && matches!(name.kind, Kind::Plain | Kind::Session)
            && self.sight != Sight::Own(name)
        {
            return Err(format!("deletes {name:?}, which may be another's by now"));
        }
        if !matches!(request, Request::Barrier | Request::List | Request::LookAt(_)) {
            self.sight = Sight::Nothing;
        }
        if matches!(request, Request::Create(_)) {
            self.creates = self.creates.saturating_add(1);
            if self.in_doubt.iter().any(|lost| {
                matches!(lost.request, Request::Create(_)) && lost.session == self.session
            }) {
                return Err("creates again while a create is in doubt".into());
            }
        }
        if matches!(request, Request::Exchange { .. })
            && self.in_doubt.iter().any(|lost| lost.request == request)
        {
            return Err("exchanges again while an exchange is in doubt".into());
        }
        self.requests.push_back((ticket, request));
        Ok(())
    }
}

impl Client {
    /// Notes what a read has shown of the own znode, or of another one of the session's, which no candidate is.
    pub fn see(&mut self, request: Request, answer: &Answer) {
        self.sight = match (self.sight, request, answer) {
            (_, Request::Read(name) | Request::ReadUnwatched(name), Answer::Read(_, stat, _))
                if stat.owner == Some(self.session)
                    && self.kind().format().names_recur()
                    && self.candidate().is_some_and(|own| own != name) =>
            {
                Sight::Own(name)
            }
            (Sight::Nothing, ..) => Sight::Nothing,
            (_, Request::LookAt(name), Answer::Exists(_, stat))
                if stat.owner == Some(self.session) =>
            {
                Sight::Own(name)
            }
            _ => Sight::Barrier,
        };
    }
}

fn owned(output: &Output<'_, News>) -> (Option<(Ticket, Request)>, Option<News>) {
    let request = output.command.map(|command| (command.ticket, Request::of(&command.op)));
    (request, output.notice)
}

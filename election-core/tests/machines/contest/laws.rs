//! What is noted of each step, and the laws of a step.

use election_core::election::Notice;
use election_core::{Recipe as _, SessionId, Token, Watch};

use super::Downgrade;
use super::candidates::{Candidate, Kind, UNTOLD};
use super::machine::News;
use super::names::{self, Name};
use super::told::Told;
use super::{Contender, Contest, Notes, REVOKE_REQUEST, Sight, World};
use crate::lab::{Answer, Change, Commit, Data, Effect, Request, Sent};

pub fn committed(lab: &mut World, commit: &Commit<'_, Contest>) {
    let Request::Single(Change::Delete(name, _)) = commit.request else { return };
    let (Some(candidate), Some(znode)) = (name.candidate(), commit.before.get(name)) else {
        return;
    };
    // A deletion may hit a znode that was given the name while it was on its way: no condition of a server tells them
    // apart, so for that one's nominee this is an operator's deletion.
    let hits_another = |i: usize| {
        let owner = znode.owner.unwrap_or(SessionId::new(0));
        candidate.client == UNTOLD && !lab.clients[i].has_had(owner)
    };
    if commit.author.is_none_or(hits_another) {
        lab.model.evicted.push((*name, znode.token));
    }
}

/// Notes what a read has shown of the own znode.
pub fn answered(lab: &mut World, i: usize, request: &Request<Name>, answer: &Answer<Name>) {
    let client = &lab.clients[i];
    let sight = see(client, request, answer);
    let shown = match (request, answer) {
        (Request::Read(name, _), Answer::Read(stat, data)) => Some((*name, stat, *data)),
        (Request::Exists(name, _), Answer::Exists(stat)) => Some((*name, stat, Data::Byte(0))),
        _ => None,
    };
    let shown = shown.filter(|(name, stat, _)| {
        let is_its = |name: Candidate| client.candidate().is_none() || client.may_hold_by(name);
        stat.owner == Some(client.session) && name.candidate().is_some_and(is_its)
    });
    let notes = &mut lab.clients[i].notes;
    notes.sight = sight;
    notes.shown_request = None;
    if let Some((_, stat, data)) = shown {
        notes.verified = Some(stat.token);
        notes.shown_request = (data == REVOKE_REQUEST).then(|| (stat.token, stat.version.get()));
    }
}

/// Returns what a read has shown of the own znode, or of another one of the session's, which no candidate is.
fn see(client: &Contender, request: &Request<Name>, answer: &Answer<Name>) -> Sight {
    let is_another = |name: &Name| {
        let own = client.candidate().map(Name::Candidate);
        client.kind().format().names_recur() && own.is_some_and(|own| own != *name)
    };
    match (client.notes.sight, request, answer) {
        (_, Request::Read(name, watch), Answer::Read(stat, _))
            if *watch != Watch::None && stat.owner == Some(client.session) && is_another(name) =>
        {
            Sight::Own(*name)
        }
        (Sight::Nothing, ..) => Sight::Nothing,
        (_, Request::Exists(name, Watch::None), Answer::Exists(stat))
            if stat.owner == Some(client.session) =>
        {
            Sight::Own(*name)
        }
        _ => Sight::Barrier,
    }
}

/// Notes what the answer to a write tells.
pub fn replied(lab: &mut World, i: usize, answer: &Answer<Name>) {
    let knows_create2 = lab.model.kinds.knows_create2;
    let client = &mut lab.clients[i];
    match answer {
        Answer::Created(_, stat) if knows_create2 && stat.owner == Some(client.session) => {
            client.notes.verified = Some(stat.token);
        }
        Answer::BarrierPassed if client.kind().format().names_recur() => {
            client.notes.sight = Sight::Barrier;
        }
        _ => {}
    }
}

/// Whether the reply may matter: a nominee that leaves deletes its znode at once, also while it is being read.
pub fn is_awaited(client: &Contender, request: &Request<Name>) -> bool {
    let is_own = |name: &Name| {
        name.candidate()
            .is_some_and(|name| name.client == UNTOLD || name.client == usize::from(client.index))
    };
    let is_own_read = matches!(request, Request::Read(name, _) if is_own(name));
    let leaves = client.role() == election_core::election::Role::Leaving;
    !(leaves && is_own_read)
}

/// Checks the last request of a client.
pub fn asked(lab: &mut World, i: usize) -> Result<(), String> {
    let client = &lab.clients[i];
    let mut sent = client.requests.iter().rev();
    let Some(Sent { ticket, request, .. }) = sent.next() else { return Ok(()) };
    let is_late =
        |sent: &Sent<Name>| !sent.ticket.is_cleanup() && is_awaited(client, &sent.request);
    let is_due = client.due.as_ref().is_some_and(|due| !due.ticket.is_cleanup());
    if !ticket.is_cleanup() && (is_due || sent.any(is_late)) {
        return Err(format!("{request:?} is asked for while another request is in flight"));
    }
    if let Request::Single(Change::Delete(name, _)) = request
        && let Some(Candidate { kind: Kind::Plain | Kind::Session, .. }) = name.candidate()
        && client.notes.sight != Sight::Own(*name)
    {
        return Err(format!("deletes {name:?}, which may be another's by now"));
    }
    let creates = |request: &Request<Name>| matches!(request, Request::Single(Change::Create(..)));
    let exchanges = |request: &Request<Name>| matches!(request, Request::Multi(_));
    let is_in_doubt =
        |kind: &dyn Fn(&Request<Name>) -> bool| kind(request) && client.in_doubt.iter().any(kind);
    if is_in_doubt(&creates) {
        return Err("creates again while a create is in doubt".into());
    }
    if is_in_doubt(&exchanges) {
        return Err("exchanges again while an exchange is in doubt".into());
    }
    let has_created = creates(request);
    let keeps_sight =
        matches!(request, Request::Barrier | Request::List(..) | Request::Exists(_, Watch::None));
    if let Some(record) = &mut lab.model.record {
        record.creates.extend(has_created.then_some(i));
    }
    let notes = &mut lab.clients[i].notes;
    notes.has_created |= has_created;
    if !keeps_sight {
        notes.sight = Sight::Nothing;
    }
    Ok(())
}

pub fn told(lab: &mut World, i: usize, news: News) {
    if let (Some(record), News::Noticed(notice)) = (&mut lab.model.record, news) {
        record.notices.push((i, notice));
    }
    if let Err(fault) = told_of(lab, i, news) {
        return lab.break_with(format!("{i}: {fault}"));
    }
    match news {
        News::Noticed(Notice::Elected(token)) => elected(lab, i, token),
        News::Downgraded => {
            // Contenders that hold later have greater tokens than the reader.
            let token = lab.clients[i].machine().hold().token().unwrap_or(Token::new(0));
            lab.model.greatest_token = lab.model.greatest_token.max(token);
            check_own_watch(lab, i, "a reader");
        }
        _ => {}
    }
}

fn told_of(lab: &mut World, i: usize, news: News) -> Result<(), String> {
    let client = &mut lab.clients[i];
    match news {
        News::Noticed(notice) => {
            let verified = client.notes.verified.map(|czxid| client.token_of(czxid));
            client.notes.told = client.notes.told.after(notice, verified)?;
            if let Notice::Lost(_) | Notice::Ended(_) = notice {
                client.notes.downgrade = Downgrade::NotWanted;
            }
            Ok(())
        }
        News::RevokeRequested => revoke_requested(&mut client.notes),
        News::Downgraded => downgraded(client),
        News::NotDowngraded(failure) => Err(format!("not downgraded: {failure}")),
    }
}

/// Notes a request to let go: it comes once, and by the data of the own znode.
fn revoke_requested(notes: &mut Notes) -> Result<(), String> {
    match notes.shown_request {
        None => Err("is told of a request that is not there".into()),
        shown if shown == notes.told_request => Err("is told of a request again".into()),
        shown => {
            notes.told_request = shown;
            Ok(())
        }
    }
}

/// Checks a downgrade: it comes by a znode that was read on this connection, and with the token that it had;
/// contenders that wait have greater ones.
fn downgraded(client: &mut Contender) -> Result<(), String> {
    let held = matches!(client.notes.told, Told::Leading | Told::Suspended);
    match (client.notes.verified, client.machine().hold().token()) {
        (Some(czxid), Some(token)) if held && client.is_downgrading() => {
            client.notes.kept = Some((czxid, token));
        }
        (verified, token) => {
            return Err(format!("a reader with {token:?}, and {verified:?} is verified"));
        }
    }
    client.notes.downgrade = Downgrade::NotWanted;
    client.notes.told = Told::Leading;
    Ok(())
}

/// Notes the token of a new holder. Tokens grow from holder to holder that do not share, unless the newer one's znode is
/// gone when it hears of its promotion. A shared token is no later than those that others share.
fn elected(lab: &mut World, i: usize, token: Token) {
    let stands = lab.candidates().any(|(_, znode)| znode.token == token);
    let client = &lab.clients[i];
    // A nominee that took over a leader's candidate leads with its token.
    let took_over = !client.notes.has_created && token == lab.model.greatest_token;
    let is_shared = client.kind() == Kind::Read;
    let is_to_end =
        client.notes.is_withdrawn || client.machine().is_lock() && client.notes.has_held;
    let model = &mut lab.model;
    let least = if is_shared { model.greatest_unshared } else { model.greatest_token };
    model.greatest_token = model.greatest_token.max(token);
    if !is_shared {
        model.greatest_unshared = model.greatest_unshared.max(token);
    }
    lab.clients[i].notes.has_held = true;
    if stands && !took_over && token <= least {
        lab.break_with(format!("{i}: elected with {token}, after {least}"));
    }
    if stands && lab.is_ended_for_all() {
        lab.break_with(format!("{i}: elected after the end"));
    }
    if is_to_end {
        lab.break_with(format!("{i}: elected after it was to end"));
    }
    lab.check_successor(i);
    check_own_watch(lab, i, "elected");
}

fn check_own_watch(lab: &mut World, i: usize, what: &str) {
    let client = &lab.clients[i];
    let own = client.candidate().map(Name::Candidate);
    let is_read = client.requests.iter().any(|sent| {
        matches!(sent.request, Request::Read(name, watch)
            if Some(name) == own && watch != Watch::None)
    });
    // A server drops the watch of one that may not read it any more, and says nothing.
    let is_hidden = own.is_some_and(|own| client.hidden.contains(&own));
    if !is_read && !is_hidden && !client.watches.iter().any(|watch| Some(watch.name) == own) {
        lab.break_with(format!("{i}: {what} without a watch on the own znode, or its read"));
    }
}

/// Forgets what can matter no longer: evictions that the evicted can know of no more, and deletions in doubt of a znode
/// that is gone, unless its name comes around again.
pub fn forget(lab: &mut World) {
    let (clients, log) = (&lab.clients, &lab.server.log);
    lab.model.evicted.retain(|(name, _)| {
        let knows_not = |client: &Contender| {
            let is_due = client.due.as_ref().is_some_and(
                |due| matches!(due.answer, Answer::Created(created, _) if created == *name),
            );
            is_due || name.candidate().is_some_and(|name| client.may_hold_by(name))
        };
        log.iter().flatten().any(|effect| *effect == Effect::Gone(*name))
            || clients.iter().any(knows_not)
    });
    if lab.model.kinds.numbers_matter {
        return;
    }
    let tip = &lab.server.tip;
    let may_be_done = |request: &Request<Name>| match request {
        Request::Single(Change::Delete(name, _)) => tip.contains_key(name),
        Request::Multi(changes) => changes
            .iter()
            .all(|change| !matches!(change, Change::Delete(name, _) if !tip.contains_key(name))),
        _ => true,
    };
    let has_more = |client: &Contender| !client.in_doubt.iter().all(may_be_done);
    lab.clients.change(has_more, |client| client.in_doubt.retain(may_be_done));
}

/// Returns the name of a znode that a nominee follows.
pub fn named(name: &election_core::name::CandidateName) -> Option<Candidate> {
    names::parse(&name.text()).candidate()
}

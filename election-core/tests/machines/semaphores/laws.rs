//! The laws of contenders: no more valid holders than permits, each by a znode that stands; tokens that are given
//! once, and grow where there is one permit; one znode a session in each place; one request in flight; nothing left
//! after the end, and nothing told; as many holders at rest as there are permits, or contenders.

use election_core::lock::{GaveUp, LockEnd, LockNotice, WhenBusy};
use election_core::{Hold, Phase, Recipe as _, SessionId, Ticket};

use super::contending::{Contending, Home, Name, phase};
use crate::lab::{Client, Lab, Link, Request, Right, Rights, Sent, Znode};

/// Checks that one request is in flight, but for a read that is given up, and for what is deleted without waiting;
/// and that none takes part again after it has given up.
pub fn stepped(lab: &mut Lab<Contending>, i: usize) {
    let client = &mut lab.clients[i];
    let now = phase(client);
    let is_back = client.notes.has_given_up && now == Phase::Standing;
    client.notes.has_given_up |= now != Phase::Standing;
    let is_awaited = |ticket: Ticket| !ticket.is_cleanup();
    let can_be_abandoned =
        |sent: &&Sent<Name>| matches!(sent.request, Request::Read(..) | Request::Exists(..));
    let due = client.due.iter().filter(|due| is_awaited(due.ticket)).count();
    let sent: Vec<_> = client.requests.iter().filter(|sent| is_awaited(sent.ticket)).collect();
    let last = sent.len().saturating_sub(1);
    let awaited = sent[..last].iter().filter(|sent| !can_be_abandoned(sent)).count();
    let second = sent.last().filter(|_| due + awaited > 0);
    let fault = second.map(|sent| format!("{:?} is asked for beside another one", sent.request));
    if let Some(fault) = fault {
        lab.break_with(format!("{i}: {fault}"));
    }
    if is_back {
        lab.break_with(format!("{i}: takes part after it was to end"));
    }
}

pub fn told(lab: &mut Lab<Contending>, i: usize, notice: LockNotice) {
    let client = &mut lab.clients[i];
    if client.notes.has_ended {
        return lab.break_with(format!("{i}: is told {notice:?} after its end"));
    }
    match notice {
        LockNotice::Acquired(_) if client.notes.has_given_up => {
            lab.break_with(format!("{i}: has got a permit after it was to end"));
        }
        LockNotice::Acquired(token) => {
            let tokens = &mut lab.model.tokens;
            let is_one = lab.model.permits == 1;
            let is_greater = tokens.iter().all(|other| *other < token);
            let fault = (!tokens.insert(token) || is_one && !is_greater)
                .then(|| format!("{i}: token {token} after {tokens:?}"));
            if is_one {
                tokens.retain(|other| *other >= token);
            }
            lab.fault = lab.fault.take().or(fault);
        }
        LockNotice::Ended(end) => {
            client.notes.has_ended = true;
            if let Err(fault) = ended(lab, i, end) {
                lab.break_with(format!("{i}: {fault}"));
            }
        }
        _ => {}
    }
}

fn ended(lab: &Lab<Contending>, i: usize, end: LockEnd) -> Result<(), String> {
    let client = &lab.clients[i];
    let left = owned_by(lab, client.session).next();
    match (end, left) {
        (LockEnd::Failed(_), _) if client.rights != Rights::All || lab.model.has_barred => Ok(()),
        (LockEnd::Failed(failure), _) => Err(format!("failed: {failure}")),
        (LockEnd::NotAcquired(GaveUp::Busy, _), _) if client.role == WhenBusy::Wait => {
            Err("gave up, and was to wait".into())
        }
        (_, Some((left, _))) => Err(format!("is told its end, and {left:?} is left")),
        _ => Ok(()),
    }
}

fn owned_by(lab: &Lab<Contending>, session: SessionId) -> impl Iterator<Item = (&Name, &Znode)> {
    lab.tip().iter().filter(move |(_, znode)| znode.owner == Some(session))
}

fn count(lab: &Lab<Contending>, home: Home, session: SessionId) -> usize {
    let is_there = |name: &Name| matches!(name, Name::Contender(at, ..) if *at == home);
    owned_by(lab, session).filter(|(name, _)| is_there(name)).count()
}

fn foreign(lab: &Lab<Contending>) -> usize {
    usize::from(lab.tip().contains_key(&Name::Foreign))
}

pub fn check(lab: &Lab<Contending>) -> Result<(), String> {
    let (permits, foreign) = (lab.model.permits, foreign(lab));
    let valid = lab.clients.iter().filter(|client| client.is_valid()).count();
    if valid > permits {
        return Err(format!("{valid} hold, of {permits} permits"));
    }
    if valid > 0 && valid + foreign > permits {
        return Err(format!("{valid} hold beside {foreign} foreign ones, of {permits}"));
    }
    for client in lab.clients.iter() {
        check_client(lab, client).map_err(|fault| format!("{}: {fault}", client.index))?;
    }
    Ok(())
}

fn check_client(lab: &Lab<Contending>, client: &Client<Contending>) -> Result<(), String> {
    let Some(semaphore) = client.semaphore() else { return Ok(()) };
    let own = client.permit().and_then(|own| lab.tip().get(&own));
    if client.is_valid() && own.map(|znode| znode.token) != semaphore.hold().token() {
        return Err("holds by a znode that is gone".into());
    }
    if semaphore.hold() != Hold::None && semaphore.heartbeat().is_none() {
        return Err("holds without a heartbeat".into());
    }
    if let Some(home) = Home::ALL.into_iter().find(|home| count(lab, *home, client.session) > 1) {
        return Err(format!("several znodes in {home:?}"));
    }
    match (semaphore.phase(), owned_by(lab, client.session).next()) {
        (Phase::Over, Some((left, _))) => Err(format!("{left:?} is left after the end")),
        _ => Ok(()),
    }
}

pub fn check_rest(lab: &Lab<Contending>) -> Result<(), String> {
    let (mut standing, mut holders) = (0, 0);
    for client in lab.clients.iter().filter(|client| client.link != Link::Dead) {
        let i = client.index;
        let Some(semaphore) = client.semaphore() else { continue };
        let own = Home::ALL.map(|home| count(lab, home, client.session));
        standing += usize::from(semaphore.phase() == Phase::Standing);
        match (semaphore.phase(), semaphore.hold()) {
            (Phase::Over, _) => {}
            (Phase::Standing, Hold::Active(_)) if own == [0, 1] => holders += 1,
            (Phase::Standing, Hold::Active(_)) => {
                return Err(format!("{i} holds at rest, with {own:?} znodes"));
            }
            (Phase::Standing, Hold::None) if client.role == WhenBusy::GiveUp => {
                return Err(format!("{i} waits, and was not to"));
            }
            (Phase::Standing, Hold::None) if own[0] == 1 => {}
            (Phase::Standing, Hold::None) => {
                return Err(format!("{i} waits at rest, with {own:?} znodes"));
            }
            (Phase::CleaningUp, _) if client.rights == Rights::NotTo(Right::List) => {}
            (phase, hold) => return Err(format!("{i} is at rest: {phase:?}, {hold:?}")),
        }
    }
    let room = lab.model.permits.saturating_sub(foreign(lab));
    if holders != room.min(standing) {
        return Err(format!("{standing} stand, and {holders} hold, of {}", lab.model.permits));
    }
    let is_ended = |owner: SessionId| lab.clients.iter().all(|client| client.session != owner);
    match lab.tip().iter().find(|(_, znode)| znode.owner.is_some_and(is_ended)) {
        Some((left, _)) => Err(format!("{left:?} is left of a session that is gone")),
        None => Ok(()),
    }
}

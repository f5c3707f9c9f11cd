//! The laws of takers: no item is taken twice, none is lost that no taker was told of, a taker deletes no claim of
//! another, one taker takes in order, nothing is left of a taker that has ended, and none waits while there is
//! something for it.

use election_core::queue::{Item, Purpose, TakerEnd, WhenEmpty};
use election_core::{Phase, Recipe as _};

use super::taking::{Account, Byte, Gone, Name, Order, Queue, item};
use crate::lab::{Access, Change, Client, Commit, Data, Lab, Link, Request, Rights, Znode};

/// Notes how items go, and checks what a taker deletes.
pub fn committed(lab: &mut Lab<Queue>, commit: &Commit<'_, Queue>) {
    let by = commit.author.map(|i| lab.clients[i].index);
    let is_gone = |(name, _): &(&Name, &Znode)| !commit.after.contains_key(name);
    for (name, znode) in commit.before.iter().filter(is_gone) {
        if let Some(number) = item(*name) {
            lab.model.gone.insert(number, Gone { by, data: znode.data });
        }
    }
    let Some(i) = commit.author else { return };
    let is_peek = lab.clients[i].role.purpose == Purpose::Peek;
    if is_peek {
        lab.break_with(format!("{i}: a peek changes something"));
    }
    let changes = commit.request.changes();
    if let [Change::Delete(pin, _), Change::Delete(claim @ Name::Claim(_), _)] = changes
        && commit.before[pin].token != commit.before[claim].token
    {
        lab.break_with(format!("{i}: gives back the claim of another"));
    }
}

/// Checks that a taker asks for one thing at a time.
pub fn stepped(lab: &mut Lab<Queue>, i: usize) {
    let client = &mut lab.clients[i];
    client.notes.is_waiting &= !client.is_asking(0);
    let own: Vec<_> = client.requests.iter().filter(|sent| sent.actor == 0).collect();
    // A read that is given up may be on its way before the first request of the end.
    let is_end = |request: &Request<Name>| matches!(request, Request::Exists(Name::Pin(..), _));
    let is_right = match &own[..] {
        [] | [_] => client.due.is_none() || own.is_empty(),
        [first, second] => first.request.reads() && is_end(&second.request),
        _ => false,
    };
    if !is_right {
        lab.break_with(format!("{i}: asks twice"));
    }
}

/// Checks that the claim is there.
pub fn claimed(lab: &Lab<Queue>, i: usize, told: &Item<Byte>) -> Result<(), String> {
    let client = &lab.clients[i];
    let number = client.target();
    let is_its = |(name, znode): (&Name, &Znode)| {
        matches!(name, Name::Claim(of) if Some(of.1) == number)
            && znode.owner == Some(client.session)
    };
    let is_disturbed = !client.session_lives || lab.model.are_claims_disturbed;
    if is_disturbed || lab.tip().iter().any(is_its) {
        return Ok(());
    }
    Err(format!("claims {told:?}, which is not claimed"))
}

pub fn ended(lab: &mut Lab<Queue>, i: usize, end: &TakerEnd<Byte>) -> Result<(), String> {
    let client = &mut lab.clients[i];
    if core::mem::replace(&mut client.notes.has_ended, true) {
        return Err("ends twice".into());
    }
    let (index, target) = (client.index, client.target());
    let may_fail = client.rights != Rights::All
        || lab.model.are_items_barred
        || lab.model.are_claims_disturbed;
    let (account, data) = match end {
        TakerEnd::Taken(item) => (Account::Taken, Some(item.data)),
        TakerEnd::Unknown(item) => (Account::Unknown, Some(item.data)),
        TakerEnd::Finished => (Account::Finished, None),
        TakerEnd::Failed(failure) if !may_fail => return Err(failure.to_string()),
        _ => return Ok(()),
    };
    let number = target.ok_or("ends with no item")?;
    check_account(lab, index, number, account, data)?;
    lab.model.accounts.insert((number, index, account));
    if account == Account::Taken {
        check_order(lab, i, number)?;
        // An item that it may not read is for others.
        if lab.clients.len() == 1 && lab.clients[i].rights == Rights::All {
            lab.clients[i].notes.taken.push(number);
        }
    }
    Ok(())
}

/// Checks that the item is gone as a taker is told.
fn check_account(
    lab: &Lab<Queue>,
    index: u8,
    number: u8,
    account: Account,
    data: Option<Byte>,
) -> Result<(), String> {
    let model = &lab.model;
    let gone = model.gone.get(&number);
    let is_its = gone.is_some_and(|gone| gone.by == Some(index));
    let is_right = match account {
        Account::Taken => {
            is_its && gone.map(|gone| gone.data) == data.map(|Byte(byte)| Data::Byte(byte))
        }
        Account::Finished => is_its || model.are_claims_disturbed && gone.is_some(),
        Account::Unknown => gone.is_some() || model.has_ghosts,
        Account::Done => true,
    };
    if !is_right {
        return Err(format!("{account:?}: {number}, and it is {gone:?}"));
    }
    let was_taken = |account| model.accounts.contains(&(number, index, account));
    if account != Account::Unknown
        && [Account::Taken, Account::Finished].map(was_taken).contains(&true)
    {
        return Err(format!("took {number}, which was taken before"));
    }
    Ok(())
}

/// Checks the order of a take: no item that goes before it was there all the time.
fn check_order(lab: &Lab<Queue>, i: usize, taken: u8) -> Result<(), String> {
    let is_alone = lab.clients.iter().all(|client| client.role.purpose == Purpose::Take);
    let is_parent =
        |number: u8| lab.tip().keys().any(|it| matches!(it, Name::Child(of) if of.1 == number));
    let stands = |number: u8| lab.tip().keys().any(|name| item(*name) == Some(number));
    // An item that it may not read is for others.
    let may_read = lab.clients[i].rights == Rights::All && !lab.model.are_items_barred;
    let overlooked = |number: &&u8| **number > taken && stands(**number) && !is_parent(**number);
    match lab.clients[i].notes.shown.iter().flatten().find(overlooked) {
        Some(number) if is_alone && may_read => {
            Err(format!("takes {taken}, and overlooks {number}"))
        }
        _ => Ok(()),
    }
}

pub fn check(lab: &Lab<Queue>) -> Result<(), String> {
    for client in lab.clients.iter() {
        let Some(taker) = client.machines.get(0) else { continue };
        let is_at_end = matches!(taker.phase(), Phase::CleaningUp | Phase::Over);
        if is_at_end != client.notes.has_ended {
            return Err(format!("{}: over, and has not said so", client.index));
        }
    }
    let client = &lab.clients[0];
    if lab.clients.len() == 1
        && lab.model.order == Order::ByNumber
        && !client.notes.taken.is_sorted()
    {
        return Err(format!("out of order: {:?}", client.notes.taken));
    }
    Ok(())
}

pub fn check_rest(lab: &Lab<Queue>) -> Result<(), String> {
    for number in 0..lab.model.next {
        check_loss(lab, number)?;
    }
    if let Some((name, znode)) = lab.tip().iter().find(|(name, _)| name.is_claim() || name.is_pin())
    {
        return Err(format!("{name:?} is left by {:?}", znode.owner));
    }
    for client in lab.clients.iter().filter(|client| !client.is_over()) {
        check_waiting(lab, client).map_err(|fault| format!("{}: {fault}", client.index))?;
    }
    Ok(())
}

/// Checks that an item which is gone was taken by an operator, by a process that was killed, or by a client that was
/// told of it.
fn check_loss(lab: &Lab<Queue>, number: u8) -> Result<(), String> {
    let stands = lab.tip().keys().any(|name| item(*name) == Some(number));
    let by = match (lab.model.gone.get(&number), stands) {
        (None, true) => return Ok(()),
        (Some(gone), false) => gone.by,
        (gone, _) => return Err(format!("{number} is {gone:?}")),
    };
    let Some(by) = by else { return Ok(()) };
    let is_told = lab.model.accounts.iter().any(|(of, client, _)| (*of, *client) == (number, by));
    let is_dead = lab.clients[usize::from(by)].link == Link::Dead;
    if is_told || is_dead { Ok(()) } else { Err(format!("{number} is lost")) }
}

fn check_waiting(lab: &Lab<Queue>, client: &Client<Queue>) -> Result<(), String> {
    let options = client.role;
    if options.when_empty == WhenEmpty::GiveUp || client.machine().phase() != Phase::Standing {
        return Err("does not end".into());
    }
    if !client.notes.is_waiting || client.watches.is_empty() {
        return Err("waits for nothing".into());
    }
    let tip = lab.tip();
    let is_free = |(name, znode): &(&Name, &Znode)| {
        let Name::Item(number) = name else { return false };
        match options.purpose {
            Purpose::Claim => znode.owner.is_none(),
            Purpose::Take => {
                znode.access == Access::Open && !tip.contains_key(&Name::Child(*number))
            }
            Purpose::Peek => true,
        }
    };
    match tip.iter().find(is_free) {
        Some((name, _)) => Err(format!("waits, and {name:?} is free")),
        None => Ok(()),
    }
}

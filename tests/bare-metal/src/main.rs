//! Steps a whole election, on `core` alone: no `std`, no allocator, an own panic handler.
//!
//! Two nominees stand. The first is elected and resigns; the second follows, is elected by one
//! event, and resigns. Exit code 0: every step was the expected one. Otherwise: the number of the
//! step that was not.
//!
//! That it links is half of the proof: `election-core` or a dependency that allocated would need a
//! global allocator, which is not here.
#![no_std]
#![no_main]

use core::ffi::{c_char, c_int};
use core::panic::PanicInfo;

use election_core::children::Children;
use election_core::election::{Departure, End, Nominee, Notice, Policy};
use election_core::{
    Change, Command, Create, CreateMode, Delete, Event, NewZnode, NomineeId, Op, Output, Payload,
    Recipe, Reply, SessionId, Stat, Ticket, Token, Watch, Znode,
};

const SESSION: SessionId = SessionId::new(1);
const FIRST: &str = "_c_01010101-0101-0101-0101-010101010101-latch-0000000000";
const SECOND: &str = "_c_02020202-0202-0202-0202-020202020202-latch-0000000001";

/// The C library provides the start-up code that calls `main`, and `abort`.
#[expect(unsafe_code, reason = "names what the platform links to: nothing here can be checked")]
mod platform {
    #[link(name = "c")]
    unsafe extern "C" {
        pub safe fn abort() -> !;
    }

    /// `core` comes compiled for unwinding and refers to this; without unwinding no code calls it.
    #[unsafe(no_mangle)]
    extern "C" fn rust_eh_personality() {}

    /// The start-up code calls this symbol by its name.
    #[unsafe(no_mangle)]
    extern "C" fn main(_: super::c_int, _: *const *const super::c_char) -> super::c_int {
        super::run()
    }
}

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    platform::abort()
}

fn run() -> c_int {
    match election() {
        Ok(()) => 0,
        Err(step) => step,
    }
}

/// The number of the step that went wrong.
type Step = c_int;

fn election() -> Result<(), Step> {
    let mut first = Nominee::new(NomineeId::from_bytes([1; 16]), Policy::default());
    let mut second = Nominee::new(NomineeId::from_bytes([2; 16]), Policy::default());

    let read = stand(&mut first, 10, FIRST, Token::new(100))?;
    let elected = list(&mut first, 15, read, &[FIRST])?;
    expect(15, elected == (None, Some(Notice::Elected(Token::new(100)))))?;

    let read = stand(&mut second, 20, SECOND, Token::new(101))?;
    let (watch, _) = list(&mut second, 25, read, &[SECOND, "not a candidate", FIRST])?;
    let watch = watch.ok_or(26)?;
    let stat = stat(Token::new(100));
    let output = second.handle_event(reply(watch, Reply::Read { stat, data: &[] }));
    expect(27, output.notice == Some(Notice::Following) && output.command.is_none())?;

    resign(&mut first, 30, FIRST)?;

    let output = second.handle_event(Event::Changed { ticket: watch, change: Change::Deleted });
    let elected = Some(Notice::Elected(Token::new(101)));
    expect(40, output.notice == elected && output.command.is_none())?;
    resign(&mut second, 50, SECOND)
}

/// Connects, creates and verifies a candidate; gives the ticket of the list that follows.
fn stand(nominee: &mut Nominee, at: Step, name: &str, token: Token) -> Result<Ticket, Step> {
    let prefix = nominee.id().candidate_prefix(nominee.attempts());
    let output = nominee.handle_event(Event::Connected { session: SESSION });
    let (znode, mode) = (NewZnode::Child(prefix), CreateMode::EphemeralSequential);
    let create = Op::Create(Create { znode, mode, data: Payload::Kept(0) });
    let create = ticket_of(&output, at, &create)?;
    let output = nominee.handle_event(reply(create, Reply::Created { name, stat: None }));
    let read =
        ticket_of(&output, at + 1, &Op::Read { znode: Znode::child(name), watch: Watch::Own })?;
    let output = nominee.handle_event(reply(read, Reply::Read { stat: stat(token), data: &[] }));
    ticket_of(&output, at + 2, &Op::List { parent: Znode::Node, watch: Watch::None })
}

/// Answers a list; gives the ticket of the read that follows, if any, and the notice.
fn list(
    nominee: &mut Nominee,
    at: Step,
    ticket: Ticket,
    names: &[&str],
) -> Result<(Option<Ticket>, Option<Notice>), Step> {
    let mut names = names.iter().copied();
    let output = nominee.handle_event(reply(ticket, Reply::Children(Children::listed(&mut names))));
    let watch = match output.command {
        None => None,
        Some(Command { ticket, op: Op::Read { watch: Watch::Other, .. } }) => Some(ticket),
        Some(_) => return Err(at),
    };
    Ok((watch, output.notice))
}

fn resign(nominee: &mut Nominee, at: Step, own: &str) -> Result<(), Step> {
    let delete = match nominee.withdraw().command {
        Some(Command { ticket, op: Op::Delete(Delete { znode: Znode::Child(name), .. }) })
            if name == *own =>
        {
            ticket
        }
        _ => return Err(at),
    };
    let output = nominee.handle_event(reply(delete, Reply::Deleted));
    let resigned = Notice::Ended(End::Resigned(Departure::Deleted));
    expect(at + 1, output.notice == Some(resigned) && output.command.is_none())
}

fn ticket_of(output: &Output<'_>, at: Step, expected: &Op<'_>) -> Result<Ticket, Step> {
    match output.command {
        Some(Command { ticket, op }) if op == *expected => Ok(ticket),
        _ => Err(at),
    }
}

fn expect(at: Step, holds: bool) -> Result<(), Step> {
    if holds { Ok(()) } else { Err(at) }
}

fn reply(ticket: Ticket, reply: Reply<'_>) -> Event<'_> {
    Event::Reply { ticket, result: Ok(reply) }
}

const fn stat(token: Token) -> Stat {
    Stat::new(SESSION.get(), token.get(), 0)
}

//! `zkelect slots run`: runs COMMAND for each slot that is held.

mod event;
mod grip;

use core::time::Duration;

use election_tokio::slots::{SlotEvent, SlotGuard, SlotList, SlotMember, SlotName, SlotsError};
use election_tokio::{Client, ConnectionState};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::watch;
use tokio::time::{sleep_until, timeout};

use crate::args::{SlotsRunArgs, SuspensionPolicy};
use crate::contender::LEAVE_BOUND;
use crate::event::{Recorder, Subject};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::{Signals, UserSignals};
use crate::supervision::{
    Held as _, Hold, Input, Over, Pace, Privileges, Supervision, Task, WhileSuspended,
};
use crate::{connection, console, guard};
use event::SlotRunEvent;
use grip::Grip;

/// How much longer than COMMAND's grace a slot is kept, for COMMAND to be killed.
const BEYOND_THE_GRACE: Duration = Duration::from_secs(5);

/// Joins, and runs COMMAND for each slot until a signal.
pub(super) async fn run(args: &SlotsRunArgs) -> Result<Exit, Failure> {
    let list = match args.count {
        Some(count) => count.into(),
        None => SlotList::of(&args.slots)?,
    };
    let path = &args.path;
    connection::check_path(path)
        .map_err(|error| SlotsError::InvalidPath { path: path.clone(), error })?;
    args.name().parse::<SlotName>().map_err(SlotsError::InvalidName)?;
    let recorder =
        Recorder::open(args.events.as_ref(), Subject::Slots(path.clone()), &args.name())?;
    let outcome = joined(args, list, &recorder).await;
    let reason = outcome.as_ref().err().map_or_else(|| "left".to_owned(), ToString::to_string);
    recorder.record(&SlotRunEvent::Ended { reason });
    outcome
}

async fn joined(args: &SlotsRunArgs, list: SlotList, recorder: &Recorder) -> Result<Exit, Failure> {
    guard::check_means()?;
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    guard::adopt_orphans().map_err(Failure::system("orphans cannot be adopted"))?;
    let builder = args.lease.apply(args.servers.client()?);
    let client = builder.session_timeout(args.session_timeout.0).start()?;
    let slots = client.slots(&args.path, list).acls(args.acl.acls()).weight(args.weight);
    let slots = slots.apart(args.apart.iter().map(|group| group.split(',')))?;
    let slots = slots.spread_after(*args.spread_after);
    let slots = slots.give_up_within(*args.grace + BEYOND_THE_GRACE);
    tokio::spawn(connection::report(&client, args.session_timeout.0));
    tokio::select! {
        checked = connection::check_chroot(&client, &args.servers.servers) => checked?,
        signal = signals.next() => return Ok(Exit::Signal(signal.as_raw())),
    }
    let member = slots.join(&args.name())?;
    let outcome = serve((args, recorder), &client, member, &mut signals).await;
    if !matches!(timeout(LEAVE_BOUND, client.close()).await, Ok(Ok(()))) {
        console::warn(format_args!(
            "no server confirmed the departure: slots are held until the session times out (asked for: {})",
            args.session_timeout
        ));
    }
    outcome
}

/// Serves slots until a signal, or a failure, and then until the COMMAND of each has ended and its slot is given up.
async fn serve(
    (args, recorder): (&SlotsRunArgs, &Recorder),
    client: &Client,
    mut member: SlotMember,
    signals: &mut Signals,
) -> Result<Exit, Failure> {
    let mut works = FuturesUnordered::new();
    let is_over = watch::Sender::new(false);
    let mut outcome: Option<Result<Exit, Failure>> = None;
    let mut is_member = true;
    while is_member || !works.is_empty() {
        let ended = tokio::select! {
            signal = signals.next(), if outcome.is_none() => {
                member.leave();
                Some(Ok(Exit::Signal(signal.as_raw())))
            }
            Some(worked) = works.next() => Result::err(worked).map(Err),
            event = member.next(), if is_member => match event {
                Some(Ok(SlotEvent::Gained(guard))) if outcome.is_none() => {
                    let grip = Grip::new(guard, is_over.subscribe(), client, recorder);
                    works.push(work(args, client, grip));
                    None
                }
                // The guard reports what is to be given up; one that comes after the end is dropped.
                Some(Ok(_)) => None,
                Some(Err(error)) => Some(Err(error.into())),
                None => {
                    is_member = false;
                    Some(Err(Failure::Internal("the member ended by itself")))
                }
            },
        };
        if let Some(ended) = ended {
            if ended.is_err() {
                // A member that has failed asks for nothing any more.
                member.leave();
                is_over.send_replace(true);
            }
            outcome.get_or_insert(ended);
        }
    }
    outcome.unwrap_or(Err(Failure::Internal("the member ended by itself")))
}

/// Runs COMMAND for a slot, and then releases the slot.
async fn work(args: &SlotsRunArgs, client: &Client, mut grip: Grip<'_>) -> Result<(), Failure> {
    let worked = until_over(args, client, &mut grip).await;
    // Behind the end of COMMAND; the member hears of it.
    grip.release(worked.as_ref().copied().unwrap_or("zkelect has failed"));
    worked.map(drop)
}

/// Runs COMMAND for a slot: again after its connection was in doubt, until it ends by itself, or the
/// slot is to be given up or lost. Returns why it is over.
async fn until_over(
    args: &SlotsRunArgs,
    client: &Client,
    grip: &mut Grip<'_>,
) -> Result<&'static str, Failure> {
    let slot = grip.guard.slot().clone();
    loop {
        let timeout = match client.connection_state() {
            ConnectionState::Connected { timeout, .. } => timeout,
            _ => args.session_timeout.0,
        };
        let pace = Pace::of(timeout);
        match grip.look() {
            Hold::Valid { until } if pace.may_start(until) => {
                let handled = Failure::system("signals cannot be handled");
                let mut signals = Signals::new().map_err(&handled)?;
                let mut user_signals = UserSignals::new().map_err(&handled)?;
                let task = task(args, environment(args, &grip.guard, &slot));
                let mut supervision = Supervision::start(grip, &task, pace, until)?;
                match supervision.until_over(&mut signals, &mut user_signals).await {
                    Over::Done(_) => return Ok("COMMAND has ended"),
                    Over::Told(_) => return Ok("COMMAND was stopped"),
                    Over::InDoubt => {}
                    Over::OutOfReach => return Err(Failure::OutOfReach),
                }
            }
            Hold::Nothing => return Ok("lost"),
            Hold::Requested { .. } => return Ok("given up"),
            Hold::Valid { .. } | Hold::InDoubt { .. } => tokio::select! {
                () = grip.changed() => {}
                () = sleep_until(pace.next_look()) => {}
            },
        }
    }
}

fn environment(
    args: &SlotsRunArgs,
    guard: &SlotGuard,
    slot: &SlotName,
) -> Vec<(&'static str, String)> {
    vec![
        ("ZKELECT_SLOT", slot.to_string()),
        ("ZKELECT_TOKEN", guard.token().get().to_string()),
        ("ZKELECT_ID", args.name()),
        ("ZKELECT_SLOTS", args.path.clone()),
        ("ZKELECT_ZNODE", guard.znode().to_string()),
    ]
}

fn task<'a>(args: &'a SlotsRunArgs, environment: Vec<(&'static str, String)>) -> Task<'a> {
    let while_suspended = match args.while_suspended {
        SuspensionPolicy::Stop => WhileSuspended::Stop,
        SuspensionPolicy::UntilDeadline => WhileSuspended::UntilDeadline,
    };
    Task {
        command: &args.command,
        grace: *args.grace,
        environment,
        hidden: &[],
        privileges: Privileges::Fixed,
        input: Input::Empty,
        ready_fd: None,
        while_suspended,
    }
}

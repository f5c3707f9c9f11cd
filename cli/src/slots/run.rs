//! `zkelect slots run`: runs COMMAND for each slot that is held.

use core::future::pending;
use core::time::Duration;

use election_tokio::slots::{SlotEvent, SlotGuard, SlotList, SlotMember, SlotName, SlotsError};
use election_tokio::{Client, ConnectionState, Updates};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::time::{sleep_until, timeout};

use crate::args::{SlotsRunArgs, SuspensionPolicy};
use crate::contender::LEAVE_BOUND;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::future::now;
use crate::signals::{Signals, UserSignals};
use crate::supervision::{
    Held, Hold, Input, Over, Pace, Privileges, Supervision, Task, WhileSuspended,
};
use crate::{connection, console, guard};

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
    guard::check_means()?;
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    guard::adopt_orphans().map_err(Failure::system("orphans cannot be adopted"))?;
    let builder = args.lease.apply(args.servers.client()?);
    let client = builder.session_timeout(args.session_timeout.0).start()?;
    tokio::spawn(connection::report(client.connection_updates(), args.session_timeout.0));
    tokio::select! {
        checked = connection::check_chroot(&client, &args.servers.servers) => checked?,
        signal = signals.next() => return Ok(Exit::Signal(signal.as_raw())),
    }
    let slots = client.slots(&args.path, list).acls(args.acl.acls()).weight(args.weight);
    let slots = slots.spread_after(*args.spread_after);
    let slots = slots.give_up_within(*args.grace + BEYOND_THE_GRACE);
    let member = slots.join(&args.name())?;
    let outcome = serve(args, &client, member, &mut signals).await;
    if !matches!(timeout(LEAVE_BOUND, client.close()).await, Ok(Ok(()))) {
        console::warn(format_args!(
            "no server confirmed the departure: slots are held until the session times out (asked for: {})",
            args.session_timeout
        ));
    }
    outcome
}

/// Serves slots until a signal, and then until all are given up.
async fn serve(
    args: &SlotsRunArgs,
    client: &Client,
    mut member: SlotMember,
    signals: &mut Signals,
) -> Result<Exit, Failure> {
    let mut works = FuturesUnordered::new();
    let mut told = None;
    loop {
        tokio::select! {
            signal = signals.next(), if told.is_none() => {
                told = Some(signal);
                member.leave();
            }
            Some(work) = works.next(), if !works.is_empty() => work?,
            event = member.next() => match (event, told) {
                (Some(Ok(SlotEvent::Gained(guard))), _) => works.push(work(args, client, guard)),
                // The guard says so, too.
                (Some(Ok(_)), _) => {}
                (Some(Err(error)), _) => return Err(error.into()),
                (None, Some(signal)) => return Ok(Exit::Signal(signal.as_raw())),
                (None, None) => return Err(Failure::Internal("the member ended by itself")),
            },
        }
    }
}

/// Runs COMMAND for a slot: again after its connection was in doubt, until it ends by itself, or the
/// slot is to be given up or lost.
async fn work(args: &SlotsRunArgs, client: &Client, guard: SlotGuard) -> Result<(), Failure> {
    let slot = guard.slot().clone();
    let token = guard.token();
    console::note(format_args!("slot {slot}: held, token {token}"));
    let mut grip = Grip { guard, connection: client.connection_updates() };
    let how = loop {
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
                let mut supervision = Supervision::start(&mut grip, &task, pace, until)?;
                match supervision.until_over(&mut signals, &mut user_signals).await {
                    Over::Done(_) => break "COMMAND has ended",
                    Over::Told(_) => break "COMMAND was stopped",
                    Over::InDoubt => {}
                    Over::OutOfReach => return Err(Failure::OutOfReach),
                }
            }
            Hold::Nothing => break "lost",
            Hold::Requested { .. } => break "given up",
            Hold::Valid { .. } | Hold::InDoubt { .. } => tokio::select! {
                () = grip.changed() => {}
                () = sleep_until(pace.next_look()) => {}
            },
        }
    };
    console::note(format_args!("slot {slot}: {how}"));
    // Behind the end of COMMAND; the member hears of it.
    drop(grip);
    Ok(())
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

/// A slot, while COMMAND runs for it.
struct Grip {
    guard: SlotGuard,
    connection: Updates<ConnectionState>,
}

impl Held for Grip {
    fn look(&mut self) -> Hold {
        let state = self.connection.latest_and_update();
        let is_connected = matches!(state, ConnectionState::Connected { .. });
        if now(self.guard.lost()).is_some() {
            return Hold::Nothing;
        }
        match (self.guard.give_up_by(), self.guard.valid_until()) {
            (Some(_), until) => Hold::Requested { until },
            (None, Some(until)) if is_connected => Hold::Valid { until },
            (None, until) => Hold::InDoubt { until },
        }
    }

    /// Does nothing: COMMAND has no descriptor to write such a line to.
    fn heed_line(&mut self, _: String) {}

    async fn changed(&mut self) {
        let is_requested = self.guard.give_up_by().is_some();
        let connection_changed = async {
            if self.connection.next().await.is_none() {
                // The last state stands, and the next look finds it.
                pending::<()>().await;
            }
        };
        tokio::select! {
            _ = self.guard.lost() => {}
            _ = self.guard.give_up_requested(), if !is_requested => {}
            () = connection_changed => {}
        }
    }
}

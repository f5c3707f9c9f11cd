//! `zkelect slots run`: runs COMMAND for each slot that is held.

use core::future::pending;
use core::time::Duration;

use election_tokio::slots::{SlotEvent, SlotGuard, SlotList, SlotMember, SlotName, SlotsError};
use election_tokio::{Client, ConnectionState, Updates};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::watch;
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

/// Serves slots until a signal, or a failure, and then until the COMMAND of each has ended and its slot is given up.
async fn serve(
    args: &SlotsRunArgs,
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
                    works.push(work(args, client, (guard, is_over.subscribe())));
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

/// Runs COMMAND for a slot: again after its connection was in doubt, until it ends by itself, or the
/// slot is to be given up or lost.
async fn work(
    args: &SlotsRunArgs,
    client: &Client,
    (guard, is_over): (SlotGuard, watch::Receiver<bool>),
) -> Result<(), Failure> {
    let slot = guard.slot().clone();
    let token = guard.token();
    console::note(format_args!("slot {slot}: held, token {token}"));
    let mut grip = Grip::new(guard, is_over, client.connection_updates());
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
    /// Whether all slots are to be given up, because something has failed.
    is_over: watch::Receiver<bool>,
    connection: Updates<ConnectionState>,
    /// What the last look has seen: it is no change any more.
    seen: Option<Hold>,
}

impl Grip {
    const fn new(
        guard: SlotGuard,
        is_over: watch::Receiver<bool>,
        connection: Updates<ConnectionState>,
    ) -> Self {
        Self { guard, is_over, connection, seen: None }
    }

    fn is_to_be_given_up(&self) -> bool {
        *self.is_over.borrow() || self.guard.give_up_by().is_some()
    }
}

impl Held for Grip {
    fn look(&mut self) -> Hold {
        let state = self.connection.latest_and_update();
        let is_connected = matches!(state, ConnectionState::Connected { .. });
        let hold = match (self.is_to_be_given_up(), self.guard.valid_until()) {
            _ if now(self.guard.lost()).is_some() => Hold::Nothing,
            (true, until) => Hold::Requested { until },
            (false, Some(until)) if is_connected => Hold::Valid { until },
            (false, until) => Hold::InDoubt { until },
        };
        self.seen = Some(hold);
        hold
    }

    /// Does nothing: COMMAND has no descriptor to write such a line to.
    fn heed_line(&mut self, _: String) {}

    async fn changed(&mut self) {
        let is_lost = self.seen == Some(Hold::Nothing);
        let is_requested = is_lost || matches!(self.seen, Some(Hold::Requested { .. }));
        let mut is_over = self.is_over.clone();
        let over = async {
            if is_over.wait_for(|is_over| *is_over).await.is_err() {
                // `serve` owns the sender for as long as it owns this.
                pending::<()>().await;
            }
        };
        let connection_changed = async {
            if self.connection.next().await.is_none() {
                // The last state stands, and the next look finds it.
                pending::<()>().await;
            }
        };
        tokio::select! {
            _ = self.guard.lost(), if !is_lost => {}
            _ = self.guard.give_up_requested(), if !is_requested => {}
            () = over, if !is_requested => {}
            () = connection_changed => {}
        }
    }
}

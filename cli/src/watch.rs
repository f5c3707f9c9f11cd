//! `zkelect watch`: shows the leader of an election until a signal comes.

mod count;
mod known;
mod line;
mod screen;

use std::io::{self, IsTerminal as _};

use election_tokio::Client;
use election_tokio::election::{Follow, Observation};
use tokio::time::{Duration, MissedTickBehavior, interval, timeout};

use crate::args::WatchArgs;
use crate::connection;
use crate::exit::Exit;
use crate::failure::{Failure, observer_ended, observer_failed};
use crate::signals::Signals;
use crate::stream::{Reader, print};
use count::Census;
use known::Known;
use line::Lines;
use screen::Screen;

/// How long the end of the session, which holds nothing, may take.
const LEAVE_BOUND: Duration = Duration::from_secs(5);

/// The timeout to ask for, for a session that holds nothing.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);

/// How often the table is drawn while nothing changes: it shows how long ago things happened.
const REDRAW: Duration = Duration::from_secs(1);

/// Shows changes until a signal comes.
pub(crate) async fn watch(args: WatchArgs) -> Result<Exit, Failure> {
    args.one.check()?;
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    let client = args.one.servers.client()?.session_timeout(SESSION_TIMEOUT).start()?;
    let outcome = tokio::select! {
        outcome = show(&args, &client) => outcome,
        _ = signals.next() => Ok(Exit::Success),
    };
    let _ = timeout(LEAVE_BOUND, client.close()).await;
    outcome
}

async fn show(args: &WatchArgs, client: &Client) -> Result<Exit, Failure> {
    let election = &args.one.election;
    let output = if args.json || !io::stdout().is_terminal() {
        tokio::spawn(connection::report(client, SESSION_TIMEOUT));
        Output::Lines(Lines::new(election))
    } else {
        Output::Screen(Screen::new(election))
    };
    tokio::select! {
        shown = follow(args, client, output) => shown,
        refused = refused(args, client) => Err(refused),
    }
}

/// Returns why nothing can ever be observed. Waits for ever if there is no such reason.
async fn refused(args: &WatchArgs, client: &Client) -> Failure {
    match connection::check_chroot(client, &args.one.servers.servers).await {
        Ok(()) => core::future::pending().await,
        Err(failure) => failure,
    }
}

/// The form of the output.
enum Output {
    Lines(Lines),
    Screen(Screen),
}

impl Output {
    /// Returns the text to print now; empty if nothing is new.
    fn text(&mut self, known: &Known) -> String {
        match self {
            Self::Lines(lines) => lines.text(known),
            Self::Screen(screen) => screen.text(known),
        }
    }

    /// Returns how many candidates have a row of their own.
    fn rows(&self) -> usize {
        match self {
            Self::Lines(_) => 0,
            Self::Screen(_) => screen::ROWS,
        }
    }
}

async fn follow(args: &WatchArgs, client: &Client, mut output: Output) -> Result<Exit, Failure> {
    let election = args.one.of(client);
    let mut observer = election.observe(Follow::LeaderAndAcknowledgement)?;
    let mut connection = client.connection_updates();
    let mut census = Census::begin(election, *args.interval, output.rows());
    let mut redraw = interval(REDRAW);
    redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = Known::new(connection.latest_and_update());
    loop {
        let text = output.text(&known);
        if !text.is_empty() && print(text).await? == Reader::Gone {
            return Ok(Exit::Success);
        }
        tokio::select! {
            seen = observer.next() => match seen {
                Some(Observation::Failed(failure)) => {
                    return Err(observer_failed(&args.one.election, failure).into());
                }
                Some(seen) => {
                    if known.see(seen) {
                        census.ask();
                    }
                }
                None => return Err(observer_ended(&args.one.election).into()),
            },
            state = connection.next() => match state {
                Some(state) => known.connection = state,
                None => return Err(observer_ended(&args.one.election).into()),
            },
            counted = census.next() => known.counted = Some(counted),
            _ = redraw.tick() => {}
        }
    }
}

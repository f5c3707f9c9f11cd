//! `zkelect demo`: shows an election.

mod mortal;
mod nominee;
mod report;
mod stage;
mod venue;

use core::time::Duration;
use std::time::SystemTime;

use election_tokio::Client;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::args::{DemoArgs, Servers};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{connection, console};
use nominee::{Change, Nominee, Seat, Setting};
use report::{End, Report};
use stage::{Leader, Stage};
use venue::Venue;

const CONNECT_BOUND: Duration = Duration::from_secs(10);
/// How long a take-over may take beyond the session timeout.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends leaders by resignation and crash in turn, and reports how long the take-overs took.
pub(crate) async fn demo(args: DemoArgs) -> Result<Exit, Failure> {
    let venue = Venue::open(args.servers.clone()).await?;
    let outcome = hold(&args, &venue).await;
    venue.close().await;
    outcome
}

async fn hold(args: &DemoArgs, venue: &Venue) -> Result<Exit, Failure> {
    let servers = venue.servers();
    let path = fresh_path();
    let builder = args.tls.apply(Client::builder(servers.connect_string()));
    let operator = connection::connect(builder, &servers, CONNECT_BOUND).await?;
    let mut signals = Signals::new().map_err(Failure::system("signals cannot be handled"))?;
    let mut demo = Demo::new(args, servers, path.clone());
    demo.stage.say(&format!("election at {path} on {venue}"));
    let outcome = tokio::select! {
        played = demo.play(args.rounds, *args.pause) => played.map(|()| Exit::Success),
        signal = signals.next() => Ok(Exit::Signal(signal.as_raw())),
    };
    demo.close().await;
    // The candidate of a leader that crashed just before the end may remain: its session has yet to
    // expire.
    if let Venue::Given(_) = venue
        && let Err(error) = operator.delete_tree(&path).await
    {
        console::warn(format_args!("{path} was left behind: {error}"));
    }
    // The session holds nothing by now.
    let _ = operator.close().await;
    let exit = outcome?;
    if exit == Exit::Success {
        console::print(&demo.summary(args.rounds, venue))?;
    }
    Ok(exit)
}

/// Returns a path that no other demo uses.
fn fresh_path() -> String {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    format!("/zkelect-demo-{}-{}", std::process::id(), since_epoch.as_millis())
}

struct Demo {
    setting: Setting,
    changes: mpsc::UnboundedReceiver<Change>,
    stage: Stage,
    nominees: Vec<(Seat, Nominee)>,
    /// The timeout that the servers granted.
    session_timeout: Duration,
    report: Report,
}

impl Demo {
    fn new(args: &DemoArgs, servers: Servers, path: String) -> Self {
        let (sender, changes) = mpsc::unbounded_channel();
        Self {
            setting: Setting {
                servers,
                tls: args.tls.clone(),
                session_timeout: args.session_timeout.0,
                connect_timeout: CONNECT_BOUND,
                path,
                changes: sender,
            },
            changes,
            // The command line allows at most 50.
            stage: Stage::new(usize::try_from(args.nominees).unwrap_or(usize::MAX)),
            nominees: Vec::new(),
            session_timeout: args.session_timeout.0,
            report: Report::default(),
        }
    }

    async fn play(&mut self, rounds: u32, pause: Duration) -> Result<(), Failure> {
        for seat in self.stage.seats() {
            self.stand(seat).await?;
        }
        for round in 1..=rounds {
            let leader = self.until_settled().await?;
            tokio::time::sleep(pause).await;
            let end = End::of_round(round);
            let (took, next) = self.replace(leader, end).await?;
            if next.token <= leader.token {
                return Err(Failure::Internal("a leader has no greater token"));
            }
            self.stage.say(&format!(
                "{} leads {} later",
                self.stage.name(next.seat),
                report::show(took)
            ));
            self.report.add(end, took);
            self.stand(leader.seat).await?;
        }
        self.until_settled().await?;
        Ok(())
    }

    async fn stand(&mut self, seat: Seat) -> Result<(), Failure> {
        let life = self.stage.next_life(seat);
        let name = self.stage.name(seat);
        let nominee = Nominee::stand(&self.setting, seat, life, &name).await?;
        self.session_timeout = nominee.session_timeout().unwrap_or(self.session_timeout);
        self.nominees.push((seat, nominee));
        Ok(())
    }

    /// Ends the leader, and waits for the next one.
    async fn replace(&mut self, leader: Leader, end: End) -> Result<(Duration, Leader), Failure> {
        let place = self
            .nominees
            .iter()
            .position(|(seat, _)| *seat == leader.seat)
            .ok_or(Failure::Internal("the leader is nobody"))?;
        let (seat, nominee) = self.nominees.swap_remove(place);
        let name = self.stage.name(seat);
        let start;
        match end {
            End::Resignation => {
                self.stage.say(&format!("{name} resigns"));
                start = Instant::now();
                tokio::spawn(nominee.resign());
            }
            End::Crash => {
                self.stage.say(&format!("{name} crashes"));
                start = Instant::now();
                nominee.crash();
                self.stage.crashed(seat);
            }
        }
        let (at, next) = self.until(start, |_, next| next.filter(|next| next.seat != seat)).await?;
        Ok((at.saturating_duration_since(start), next))
    }

    async fn until_settled(&mut self) -> Result<Leader, Failure> {
        if let Some(leader) = self.stage.settled() {
            return Ok(leader);
        }
        let settled = |stage: &Stage, _| stage.settled();
        Ok(self.until(Instant::now(), settled).await?.1)
    }

    /// Handles changes until `found` returns something, and returns when that changed.
    async fn until<T>(
        &mut self,
        start: Instant,
        found: impl Fn(&Stage, Option<Leader>) -> Option<T>,
    ) -> Result<(Instant, T), Failure> {
        let bound = self.session_timeout * 2 + PATIENCE;
        loop {
            let change = timeout_at(start + bound, self.changes.recv())
                .await
                .map_err(|_| Failure::NoTakeOver(bound))?
                .ok_or(Failure::Internal("nobody stands any more"))?;
            let at = change.at;
            let leads = self.stage.heard(change);
            if let Some(found) = found(&self.stage, leads) {
                return Ok((at, found));
            }
        }
    }

    fn summary(&self, rounds: u32, venue: &Venue) -> String {
        let mut summary = format!(
            "\n{}\n{} leaders, each with a greater token than the one before. A crash shows only \
             once the session timeout ({}) has passed since the last sign of life.\n",
            self.report.table(),
            rounds + 1,
            humantime::format_duration(self.session_timeout)
        );
        if let Some(remark) = venue.remark() {
            summary.push_str(&remark);
            summary.push('\n');
        }
        summary
    }

    /// Withdraws all nominees, followers first, so that none takes over any more.
    async fn close(&mut self) {
        let leader = self.stage.leader().map(|leader| leader.seat);
        let nominees = core::mem::take(&mut self.nominees);
        let (last, first): (Vec<_>, Vec<_>) =
            nominees.into_iter().partition(|(seat, _)| Some(*seat) == leader);
        for (_, nominee) in first.into_iter().chain(last) {
            nominee.resign().await;
        }
    }
}

//! A run: the ensemble, the writers, and one fault after another.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;
use core::time::Duration;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use election_tokio::acl::Acls;
use election_tokio::{Client, ConnectError, CreateMode, Error, Token};
use fastrand::Rng;
use zk_test_kit::history::{self, History, Tenure};
use zk_test_kit::wait::NotInTime;
use zk_test_kit::zookeeper::{LinkedEnsemble, Member, Options, StartError};
use zk_verdict::Mode;

use super::faults::Fault;
use super::guard::Guard;
use super::process::{ClockRate, Launch, Writer, preloaded_clock};
use super::report::Report;
use super::second::{LEADERSHIPS, SecondVerdict};
use super::service::Registers;
use super::verdict::{Clocks, Incident, Reign, Verdict, Versions};
use super::writer::ZNODE;

/// Between the end of one fault and the next one, in session timeouts, at most.
const REST: f64 = 1.5;
/// How long there may be no leader while nothing fails. A member that was killed, or cut off, may cost
/// an election of its ensemble.
const PATIENCE: Duration = Duration::from_secs(90);
/// Clocks run within so many thousandths of the true one: the lease's margin is a hundred between two.
const DRIFT: u16 = 40;

/// The settings of a run.
#[derive(Debug)]
pub struct Settings {
    /// How long.
    pub span: Duration,
    /// How many writers.
    pub writers: usize,
    /// The session timeout of the writers.
    pub timeout: Duration,
    /// The seed of the faults.
    pub seed: u64,
    /// The program, which the first argument `writer` makes a writer: see [`write`](super::write).
    pub program: PathBuf,
}

/// Why a run came to no verdict.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The ensemble does not start, or a member of it.
    #[error("the ensemble does not start")]
    Start(#[from] StartError),
    /// A process or a socket.
    #[error("a process, or a connection to the registers")]
    Io(#[from] io::Error),
    /// The znodes cannot be prepared.
    #[error("the register's znode cannot be prepared")]
    Prepare(#[from] Error),
    /// No client gets a session.
    #[error("the ensemble gives no session")]
    Connect(#[from] ConnectError),
    /// No leader, though nothing fails.
    #[error("nothing fails, and yet")]
    NotInTime(#[from] NotInTime),
}

/// A run that goes on.
struct Run {
    ensemble: LinkedEnsemble,
    writers: Vec<Writer>,
    launch: Launch,
    reports: Receiver<(usize, Report)>,
    registers: Registers,
    rng: Rng,
    /// The leaderships that are not known to be over, and their writers.
    leading: BTreeMap<Token, usize>,
    reigns: BTreeMap<Token, Reign>,
    history: History,
    versions: Versions,
    incidents: Vec<Incident>,
}

/// Runs until the time is over, and says what it has shown.
///
/// # Errors
///
/// When there is no verdict: [`CheckError`].
pub fn check(settings: &Settings) -> Result<Verdict, CheckError> {
    let mut run = Run::begin(settings)?;
    let begun = Instant::now();
    while begun.elapsed() < settings.span {
        let leader = run.wait_for_leader()?;
        let rest = settings.timeout.mul_f64(run.rng.f64() * REST);
        run.hear_for(rest);
        let (fault, span) = Fault::random(&mut run.rng, settings.timeout);
        run.strike(leader, fault, span)?;
    }
    run.wait_for_leader()?;
    run.hear_for(settings.timeout);
    Ok(run.end())
}

impl Run {
    fn begin(settings: &Settings) -> Result<Self, CheckError> {
        let ensemble = Options::new().start_linked_ensemble()?;
        prepare(&ensemble.ensemble().connect_string())?;
        let addresses: Vec<SocketAddr> =
            Member::ALL.map(|member| ensemble.ensemble().member(member).addr()).to_vec();
        let registers = Registers::serve()?;
        let (sender, reports) = channel();
        let launch = Launch {
            program: settings.program.clone(),
            timeout: settings.timeout,
            registers: registers.address(),
            clock: preloaded_clock(),
            reports: sender,
        };
        let name = |index: usize| format!("w{}", index + 1);
        let writers = (0..settings.writers)
            .map(|index| Writer::new(name(index), &addresses))
            .collect::<Result<_, _>>()?;
        let mut run = Self {
            ensemble,
            writers,
            launch,
            reports,
            registers,
            rng: Rng::with_seed(settings.seed),
            leading: BTreeMap::new(),
            reigns: BTreeMap::new(),
            history: History::default(),
            versions: Versions::default(),
            incidents: Vec::new(),
        };
        for index in 0..run.writers.len() {
            run.start(index)?;
        }
        Ok(run)
    }

    fn start(&mut self, index: usize) -> io::Result<()> {
        let rate = ClockRate(self.rng.u16(1000 - DRIFT..=1000 + DRIFT));
        let writer = self.writers.get_mut(index).ok_or(io::ErrorKind::NotFound)?;
        writer.start(index, &self.launch, rate)
    }

    fn now(&self) -> Duration {
        history::now().saturating_sub(self.registers.begun_at())
    }

    fn writer(&mut self, index: usize) -> io::Result<&mut Writer> {
        self.writers.get_mut(index).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Applies the fault to the ensemble, or to the leading writer, for that time.
    fn strike(&mut self, leader: usize, fault: Fault, span: Duration) -> Result<(), CheckError> {
        let from = self.now();
        let zookeepers_leader = self.ensemble.ensemble().leader();
        let ensemble = self.ensemble.ensemble();
        match fault {
            Fault::Kill => self.writer(leader)?.kill()?,
            Fault::Stop => self.writer(leader)?.pause()?,
            Fault::Cut => self.writer(leader)?.cut(),
            Fault::BlackHole(directions) => self.writer(leader)?.black_hole(directions),
            Fault::Slow(delay) => self.writer(leader)?.delay(delay),
            Fault::MemberKilled(member) => ensemble.member(member).kill()?,
            Fault::MemberStopped(member) => ensemble.member(member).pause()?,
            Fault::MemberCutOff(member, lost) => self.ensemble.cut_off(member, lost),
            Fault::LeaderDeserted => {
                if let Some(member) = zookeepers_leader {
                    self.ensemble.desert(member);
                }
            }
        }
        self.hear_for(span);
        self.mend(leader, fault, zookeepers_leader)?;
        let writer = fault.hits_the_writer().then_some(leader);
        let until = self.now();
        self.incidents.push(Incident { what: fault.to_string(), writer, from, until });
        Ok(())
    }

    fn mend(
        &mut self,
        leader: usize,
        fault: Fault,
        zookeepers_leader: Option<Member>,
    ) -> Result<(), CheckError> {
        let ensemble = self.ensemble.ensemble();
        match fault {
            Fault::Kill => {
                self.leading.retain(|_, owner| *owner != leader);
                self.start(leader)?;
            }
            Fault::Stop => self.writer(leader)?.resume()?,
            Fault::Cut => {}
            Fault::BlackHole(_) => self.writer(leader)?.heal(),
            Fault::Slow(_) => self.writer(leader)?.delay(Duration::ZERO),
            Fault::MemberKilled(member) => ensemble.member(member).restart()?,
            Fault::MemberStopped(member) => ensemble.member(member).resume()?,
            Fault::MemberCutOff(member, _) => self.ensemble.reunite(member),
            Fault::LeaderDeserted => {
                if let Some(member) = zookeepers_leader {
                    self.ensemble.reunite(member);
                }
            }
        }
        Ok(())
    }

    /// Takes in what is said for so long.
    fn hear_for(&mut self, span: Duration) {
        let until = Instant::now() + span;
        while let Ok((writer, report)) =
            self.reports.recv_timeout(until.saturating_duration_since(Instant::now()))
        {
            self.hear(writer, report);
        }
    }

    /// Returns the writer that has the last leadership.
    fn wait_for_leader(&mut self) -> Result<usize, NotInTime> {
        let until = Instant::now() + PATIENCE;
        loop {
            while let Ok((writer, report)) = self.reports.try_recv() {
                self.hear(writer, report);
            }
            if let Some((_, writer)) = self.leading.last_key_value() {
                return Ok(*writer);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.reports.recv_timeout(left) {
                Ok((writer, report)) => self.hear(writer, report),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(NotInTime::new("a writer leads", PATIENCE));
                }
            }
        }
    }

    fn hear(&mut self, writer: usize, report: Report) {
        let at = self.now();
        self.versions.note(at, &report);
        match report {
            Report::Elected(token) => {
                self.leading.insert(token, writer);
            }
            Report::Lost(token, _) => {
                self.leading.remove(&token);
            }
            Report::Valid(claim) => {
                let (token, from, until) = (claim.token, claim.answered_at, claim.asked_at);
                let reign =
                    self.reigns.entry(token).or_insert(Reign { writer, token, from, until });
                reign.from = reign.from.min(from);
                reign.until = reign.until.max(until);
                self.history.record(claim);
            }
            Report::Seen { .. } | Report::NotWritten(_) => {}
        }
    }

    fn end(mut self) -> Verdict {
        for writer in &mut self.writers {
            // Dropped in a moment in any case.
            let _ = writer.kill();
        }
        self.hear_for(Duration::from_millis(200));
        let span = self.now();
        let mut tallies: BTreeMap<Guard, _> = Guard::ALL
            .into_iter()
            .filter_map(|guard| Some((guard, self.registers.tally(guard)?)))
            .collect();
        tallies.insert(Guard::Transaction, self.versions.into_tally());
        let tenures = self.history.tenures();
        let mut operations = self.registers.history();
        for Tenure { token, asked_at, valid_by, valid_until, .. } in tenures.iter().flatten() {
            let grant = (token.get(), Mode::Alone);
            operations.held(LEADERSHIPS, grant, [*asked_at, *valid_by], *valid_until);
        }
        Verdict {
            span,
            writers: self.writers.iter().map(|writer| writer.name.clone()).collect(),
            reigns: self.reigns.into_values().collect(),
            incidents: self.incidents,
            tallies,
            contradiction: tenures.err(),
            second: SecondVerdict::on(operations),
            clocks: if self.launch.clock.is_some() { Clocks::Drifting } else { Clocks::True },
        }
    }
}

/// Makes the register's znode. The election's is made by its nominees.
fn prepare(servers: &str) -> Result<(), CheckError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = Client::builder(servers)
            .session_timeout(Duration::from_secs(10))
            .connect_timeout(Duration::from_secs(60))
            .connect()
            .await?;
        // No version was read before the first one, which is 0.
        let mode = CreateMode::Persistent;
        client.create_with_parents(ZNODE, "0 -1", mode, &Acls::open()).await?;
        // The ensemble is fine: if it does not answer, the session ends by itself.
        let _ = client.close().await;
        Ok(())
    })
}

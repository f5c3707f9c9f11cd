//! `zkelect run`: stands for election, and runs COMMAND while it leads.

mod announcer;
mod board;
mod candidacy;
mod event;
mod http;
mod lead;
mod notifier;
mod part;
mod standing;
mod wellness;
mod words;

use std::io::{self, IsTerminal as _};

use election_tokio::election::{EndReason, Leadership, NominationEnded};
use election_tokio::error::Place;
use tokio::time::{Instant, sleep_until, timeout};

use crate::args::{ListenAddress, RunArgs};
use crate::connection;
use crate::contender::{Contender, LEAVE_BOUND, Waited};
use crate::diagnosis;
use crate::event::{Recorder, Subject};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::supervision::{Held as _, Input, Over, Task};
use announcer::Announcer;
use http::Bound;
pub(crate) use lead::OnStepDownRequest;
use part::CommandState;
use standing::{Nominee, Standing};
use wellness::Wellness;

/// Stands for election until COMMAND has ended by itself, or a signal comes.
pub(crate) async fn run(args: RunArgs) -> Result<Exit, Failure> {
    let id = args.command.id();
    let path = args.election.clone();
    connection::check_election(&path, &args.servers.servers)?;
    if args.stdin && io::stdin().is_terminal() {
        return Err(Failure::TerminalInput);
    }
    let subject = Subject::Election(path.clone());
    let recorder = Recorder::open(args.command.events.as_ref(), subject, &id)?;
    let wait = args.wait.map(|wait| *wait);
    let http = args.http.map(|ListenAddress(address)| Bound::to(address)).transpose()?;
    let session_timeout = args.command.session_timeout;
    let mut contender = Contender::new(args.client()?, &args.servers, session_timeout, wait)?;
    let client = contender.client().clone();
    let announcer = Announcer::start(&args, &client, http)?;
    match contender.wait(connection::check_chroot(&client, &args.servers.servers)).await {
        Waited::Until(checked) => checked?,
        Waited::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
        Waited::OutOfTime(bound) => return Err(Failure::NotElected(bound)),
    }
    // The path and the access list are checked before the first check is made.
    let election = args.in_election(&client);
    let wellness = Wellness::start(&args, &id);
    let gives_way = (args.on_step_down_request(), args.prefer());
    let mut nominee = Nominee::new(wellness, recorder, gives_way, announcer);
    if args.wellness.check.is_none() {
        nominee.stand(election.nominate()?);
    }
    let mut run = Run { args, id, contender, nominee };
    let outcome = run.until_over().await;
    let Run { contender, nominee, .. } = run;
    contender.leave(nominee.leave(LEAVE_BOUND)).await;
    outcome
}

struct Run {
    args: RunArgs,
    id: String,
    contender: Contender,
    nominee: Nominee,
}

impl Run {
    async fn until_over(&mut self) -> Result<Exit, Failure> {
        loop {
            let pace = self.contender.pace();
            let standing = self.nominee.standing();
            match standing {
                Standing::Ended(reason) => return Err(self.failure(reason).await),
                Standing::Leading { until } if pace.may_start(until) => {
                    match self.lead(until).await? {
                        Over::Done(exit) | Over::Told(exit) => return Ok(Exit::Command(exit)),
                        Over::InDoubt if self.args.once => return Ok(Exit::InDoubt),
                        Over::InDoubt => self.contender.wait_anew(),
                        Over::OutOfReach => {
                            self.nominee.leaves_work_behind();
                            return Err(Failure::OutOfReach);
                        }
                    }
                    continue;
                }
                Standing::AskedToStepDown { .. } => {
                    self.contender.wait_anew();
                    match self.contender.wait(self.nominee.step_down()).await {
                        Waited::Until(()) => continue,
                        Waited::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
                        Waited::OutOfTime(bound) => return Err(Failure::NotElected(bound)),
                    }
                }
                Standing::Well => {
                    let election = self.args.in_election(self.contender.client());
                    self.nominee.stand(election.nominate()?);
                    continue;
                }
                Standing::Unwell => match self.contender.wait(self.nominee.withdraw()).await {
                    Waited::Until(()) => continue,
                    Waited::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
                    Waited::OutOfTime(bound) => return Err(Failure::NotElected(bound)),
                },
                Standing::Unusable(exit) => return Err(wellness::unusable(&self.args, exit)),
                Standing::Waiting | Standing::Leading { .. } | Standing::InDoubt { .. } => {}
            }
            let is_a_matter_of_time =
                standing != Standing::Waiting || self.nominee.is_to_be_looked_at();
            let change = async {
                tokio::select! {
                    () = self.nominee.changed() => {}
                    () = sleep_until(pace.next_look()), if is_a_matter_of_time => {}
                }
            };
            match self.contender.wait(change).await {
                Waited::Until(()) => {}
                Waited::Told(signal) => return Ok(Exit::Signal(signal.as_raw())),
                Waited::OutOfTime(bound) => return Err(Failure::NotElected(bound)),
            }
        }
    }

    /// Returns why the nomination ended, as far as it can be found out.
    async fn failure(&self, reason: EndReason) -> Failure {
        let at = Place::new("election", &self.args.election, "run");
        let failure = Failure::Nomination(NominationEnded { at, reason });
        let diagnosis = diagnosis::diagnose(self.contender.client(), &self.args.election, &failure);
        match timeout(LEAVE_BOUND, diagnosis).await {
            Ok(Some(diagnosed)) => diagnosed,
            Ok(None) | Err(_) => failure,
        }
    }

    async fn lead(&mut self, until: Instant) -> Result<Over, Failure> {
        let Some(leadership) = self.nominee.leadership() else {
            return Ok(Over::InDoubt);
        };
        let environment = self.environment(leadership);
        let input = if self.args.stdin { Input::Own } else { Input::Empty };
        let ready_fd = self.args.ready_fd;
        let hidden = notifier::VARIABLES;
        let task = Task { hidden, ready_fd, ..self.args.command.task(environment, input) };
        let begins = ready_fd.map_or(CommandState::Ready, |_| CommandState::TakingOver);
        self.nominee.command_is(begins);
        let over = self.contender.supervise(&mut self.nominee, &task, until).await;
        self.nominee.command_is(CommandState::Absent);
        over
    }

    fn environment(&self, leadership: &Leadership) -> Vec<(&'static str, String)> {
        vec![
            ("ZKELECT_TOKEN", leadership.token().get().to_string()),
            ("ZKELECT_ID", self.id.clone()),
            ("ZKELECT_ELECTION", self.args.election.clone()),
            ("ZKELECT_CANDIDATE", leadership.candidate().to_string()),
        ]
    }
}

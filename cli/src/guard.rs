//! The guard: a process between `zkelect run` and COMMAND. It ends COMMAND in time, with all
//! processes that COMMAND started, whatever happens to `zkelect run`.
//!
//! `zkelect run` sends it, over a socket, the moment until which COMMAND may live, again and again.
//! The guard kills COMMAND at that moment, for example because `zkelect run` is stopped or hangs.
//! It also kills COMMAND when the socket closes; the kernel closes it however `zkelect run` ends.
//! If the guard itself is killed, the kernel kills COMMAND (see `exec`), and `zkelect run` kills
//! the processes that COMMAND had started.
//!
//! If `zkelect run` dies, the guard closes its session once nothing of COMMAND is left: see `session`.

mod boot_time;
mod descriptors;
mod family;
mod link;
mod ready;
mod session;

use core::time::Duration;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::process::{Pid, Signal, getppid};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use boot_time::BootTime;
pub(crate) use descriptors::{receive_descriptor, send_descriptor};
pub(crate) use family::{SELF, adopt_orphans, check_means, kill_children, kill_orphans};
pub(crate) use link::{EndedBy, KilledAt, Link, Order, Report};
pub(crate) use session::HeldSession;

use crate::args::GuardArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::secrets;
use crate::signals::{Signals, UserSignals};
use family::{Family, Left, kill_all};
use ready::Ready;

/// How often to look at the clock. Timers stand still while the machine sleeps, and COMMAND's time
/// does not.
const LOOK: Duration = Duration::from_millis(250);

/// Runs COMMAND for the `zkelect run` at the other end of standard input.
pub(crate) async fn guard(args: GuardArgs) -> Result<Exit, Failure> {
    secrets::keep_out_of_core_dumps();
    let parent = getppid();
    let stream = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .map(UnixStream::from)
        .map_err(Failure::system("standard input cannot be used"))?;
    // This fails for anything but a socket of the right kind.
    if stream.peer_addr().is_err() {
        return Err(Failure::Internal("`guard` is for `zkelect run` to call"));
    }
    let input = if args.stdin {
        let input = receive_descriptor(&stream);
        input.map_err(Failure::system("standard input cannot be handed over"))?
    } else {
        let empty = File::open("/dev/null");
        empty.map_err(Failure::system("/dev/null cannot be opened"))?.into()
    };
    let mut run: Link<Order, Report> =
        Link::new(stream).map_err(Failure::system("no link to zkelect run"))?;
    adopt_orphans().map_err(Failure::system("COMMAND's orphans cannot be adopted"))?;
    let mut signals = Handled::new().map_err(Failure::system("signals cannot be handled"))?;
    let Some(Order::ValidUntil(valid_until)) = run.receive().await else {
        return Ok(Exit::Success);
    };
    let started = spawn(&args, input);
    let (family, ready) = started.map_err(Failure::system("COMMAND cannot be started"))?;
    let mut watch = Watch {
        family,
        grace: Duration::from_millis(args.grace_ms),
        valid_until,
        stage: GuardStage::Running,
        out_of_reach: Vec::new(),
        ask_at: BootTime::now(),
        ready,
        listener: Listener::Listens,
        peer: Peer::There,
        session: None,
    };
    // If anything fails here, COMMAND does not survive it: dropping the family kills it.
    let report = watch
        .until_nothing_is_left(&mut run, &mut signals)
        .await
        .map_err(Failure::system("COMMAND cannot be watched"))?;
    // If `zkelect run` has gone, there is no process to tell.
    let _ = run.send(&report);
    if let (Peer::Gone, Some(session)) = (&watch.peer, watch.session.take()) {
        session.close_after(parent).await;
    }
    Ok(Exit::Success)
}

fn spawn(args: &GuardArgs, input: OwnedFd) -> io::Result<(Family, Ready)> {
    let mut exec = Command::new(SELF);
    exec.arg0("zkelect").args(["exec", "--parent", &std::process::id().to_string()]);
    if args.allow_new_privileges {
        exec.arg("--allow-new-privileges");
    }
    let (ready, input) = match args.ready_fd {
        None => (Ready::none(), input),
        Some(number) => {
            let (ready, line_end) = Ready::pipe()?;
            exec.args(["--ready-fd", &number.to_string()]);
            let (here, there) = UnixStream::pair()?;
            send_descriptor(&here, input.as_fd())?;
            send_descriptor(&here, line_end.as_fd())?;
            (ready, there.into())
        }
    };
    let child = exec.arg("--").args(&args.command).process_group(0).stdin(input).spawn()?;
    Ok((Family::new(Pid::from_child(&child)), ready))
}

/// Signals that a service manager may send to all processes at once. `zkelect run` acts on them and
/// tells the guard what to do; the guard handles them so that they do nothing here, and COMMAND
/// starts with the defaults.
struct Handled {
    child: tokio::signal::unix::Signal,
    #[expect(dead_code, reason = "they are handled for as long as they are held")]
    swallowed: (Signals, UserSignals),
}

impl Handled {
    fn new() -> io::Result<Self> {
        Ok(Self {
            child: signal(SignalKind::child())?,
            swallowed: (Signals::new()?, UserSignals::new()?),
        })
    }
}

/// The stage of COMMAND's end.
#[derive(Clone, Copy)]
enum GuardStage {
    Running,
    Stopping { kill_at: BootTime, ended_by: EndedBy },
    Killing { ended_by: EndedBy },
}

struct Watch {
    family: Family,
    grace: Duration,
    valid_until: BootTime,
    stage: GuardStage,
    /// The processes that refused a signal, as reported.
    out_of_reach: Vec<Pid>,
    /// When to look for them next.
    ask_at: BootTime,
    ready: Ready,
    listener: Listener,
    peer: Peer,
    /// The session to close if `zkelect run` dies.
    session: Option<HeldSession>,
}

/// The listener to COMMAND's lines. Until it has taken the last line it gets no other: a COMMAND
/// that writes much must not fill the socket by which its end is reported.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listener {
    Listens,
    Busy,
}

enum Peer {
    There,
    Gone,
}

impl Watch {
    async fn until_nothing_is_left(
        &mut self,
        run: &mut Link<Order, Report>,
        signals: &mut Handled,
    ) -> io::Result<Report> {
        loop {
            if self.kill_at().is_some_and(BootTime::is_past) {
                let at = self.kills_at();
                self.kill();
                // If `zkelect run` has gone, or stands still, there is no process to tell.
                let _ = run.send(&Report::Killed { at });
            }
            if let Some(report) = self.look()? {
                return Ok(report);
            }
            self.tell_of_refusals(run);
            let left = self.kill_at().map_or(LOOK, BootTime::left);
            tokio::select! {
                () = tokio::time::sleep(left.min(LOOK)) => {}
                _ = signals.child.recv() => {}
                line = self.ready.line(), if self.listener == Listener::Listens => {
                    self.listener = Listener::Busy;
                    // If it has gone, the end of its orders says so.
                    let _ = run.send(&Report::Line { line });
                }
                order = run.receive(), if matches!(self.peer, Peer::There) => {
                    if let Some(order) = order {
                        self.obey(order);
                    } else {
                        self.peer = Peer::Gone;
                        self.kill();
                    }
                }
            }
        }
    }

    /// Returns when to kill COMMAND, unless that has begun.
    fn kill_at(&self) -> Option<BootTime> {
        match self.stage {
            GuardStage::Running => Some(self.valid_until),
            GuardStage::Stopping { kill_at, .. } => Some(kill_at.min(self.valid_until)),
            GuardStage::Killing { .. } => None,
        }
    }

    /// Returns whether the lease or the grace is over first.
    fn kills_at(&self) -> KilledAt {
        match self.stage {
            GuardStage::Stopping { kill_at, .. } if kill_at < self.valid_until => {
                KilledAt::GraceOver
            }
            _ => KilledAt::LeaseDeadline,
        }
    }

    /// Looks which processes are left. Once COMMAND has ended, the processes that it left have to
    /// end too.
    fn look(&mut self) -> io::Result<Option<Report>> {
        match (self.family.reap()?, self.stage) {
            (Left::Nothing(exit), stage) => Ok(Some(Report::Ended {
                exit,
                ended_by: match stage {
                    GuardStage::Running => EndedBy::Itself,
                    GuardStage::Stopping { ended_by, .. } | GuardStage::Killing { ended_by } => {
                        ended_by
                    }
                },
            })),
            (Left::Others, GuardStage::Running) => {
                self.family.signal(Signal::TERM);
                self.stage = GuardStage::Stopping {
                    kill_at: BootTime::now().plus(self.grace),
                    ended_by: EndedBy::Itself,
                };
                Ok(None)
            }
            // A process that was adopted since the last kill.
            (_, GuardStage::Killing { .. }) => {
                self.family.signal(Signal::KILL);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Once COMMAND has to end, reports the processes that refuse its signals.
    fn tell_of_refusals(&mut self, run: &Link<Order, Report>) {
        if matches!(self.stage, GuardStage::Running) || !self.ask_at.is_past() {
            return;
        }
        self.ask_at = BootTime::now().plus(LOOK);
        for pid in Family::out_of_reach() {
            if !self.out_of_reach.contains(&pid) {
                self.out_of_reach.push(pid);
                // A `zkelect run` that has gone needs no news.
                let _ = run.send(&Report::OutOfReach { pid: pid.as_raw_pid() });
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match (order, self.stage) {
            (Order::PassOn { signal }, _) => {
                if let Some(signal) = Signal::from_named_raw(signal) {
                    self.family.signal_command(signal);
                }
            }
            (Order::Session(session), _) => self.session = Some(*session),
            (Order::NextLine, _) => self.listener = Listener::Listens,
            (Order::ValidUntil(until), _) => self.valid_until = until,
            (Order::Stop { .. }, GuardStage::Killing { .. }) => {}
            (Order::Stop { signal, kill_at }, stage) => {
                self.family.signal(Signal::from_named_raw(signal).unwrap_or(Signal::TERM));
                // A stopped process takes the signal only when it goes on.
                self.family.signal(Signal::CONT);
                self.stage = match stage {
                    GuardStage::Stopping { kill_at: earlier, ended_by } => {
                        GuardStage::Stopping { kill_at: kill_at.min(earlier), ended_by }
                    }
                    _ => GuardStage::Stopping { kill_at, ended_by: EndedBy::Order },
                };
            }
        }
    }

    fn kill(&mut self) {
        self.family.signal(Signal::KILL);
        self.stage = GuardStage::Killing {
            ended_by: match self.stage {
                GuardStage::Running => EndedBy::Deadline,
                GuardStage::Stopping { ended_by, .. } | GuardStage::Killing { ended_by } => {
                    ended_by
                }
            },
        };
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        kill_all();
    }
}

//! The command line of `zkelect run`.

use clap::{Args, ValueEnum};
use election_tokio::election::{Election, OnLoss, PreferBetter};
use election_tokio::session::OnExpiry;
use election_tokio::{Client, ClientBuilder};

use super::exit_codes::EXIT_CODES;
use super::{
    AclArgs, CommandArgs, ElectionFormat, LeaseArgs, ListenAddress, ReadyFd, ServersArgs, Time,
    WellnessArgs,
};
use crate::failure::Failure;
#[cfg(target_os = "linux")]
use crate::run::OnStepDownRequest;

const RUN_HELP: &str = "\
Examples:
  zkelect run --servers zk1:2181,zk2:2181,zk3:2181 --election /reports/leader -- ./make-reports
  zkelect run --servers zk1:2181/app --election /leader --events - -- \\
      sh -c 'echo leading with token $ZKELECT_TOKEN; exec ./serve'
  zkelect run --servers zk1:2281 --tls-ca ca.pem --tls-cert me.pem --tls-key me.key \\
      --election /leader -- ./serve
  zkelect run --servers zk1:2181 --election /leader --http 127.0.0.1:8080 --ready-fd 3 -- \\
      sh -c './load && echo ready >&3; exec ./serve'
  zkelect run --servers zk1:2181 --election /leader --check 'curl -fsS http://127.0.0.1:8080/health' -- ./serve
  zkelect run --servers zk1:2181 --election /leader --auth digest:/etc/me.zk --acl creator -- ./serve

COMMAND finds in its environment:
  ZKELECT_TOKEN      the fencing token, a decimal number that grows with every new leader: hand it
                     to the systems that COMMAND writes to, and let them refuse smaller ones
  ZKELECT_ID         the value of --id
  ZKELECT_ELECTION   the value of --election
  ZKELECT_CANDIDATE  the name of the candidate znode
  ZKELECT_READY_FD   the number of --ready-fd, if that is given

When COMMAND has to go, its process group gets SIGTERM, and SIGKILL after the grace, but no later
than the lease deadline: the moment from which another machine may lead. That holds also while
zkelect itself is stopped, and COMMAND does not outlive a zkelect that was killed. A COMMAND that
was stopped because leadership was in doubt is started again if the doubt is cleared.
COMMAND cannot become another user by sudo or the like, unless zkelect may signal every process: with
--allow-new-privileges it can, and zkelect cannot stop it then.
COMMAND's standard input is empty, unless --stdin is given. What it leaves running when it ends is stopped the same way
before the lead is given up.";

/// Stands for election and runs COMMAND while elected.
///
/// When COMMAND ends by itself, resigns and ends with COMMAND's exit code. On SIGTERM, SIGINT,
/// SIGQUIT or SIGHUP, passes the signal on to COMMAND, waits for its end, resigns, and ends; a
/// second SIGINT or SIGQUIT kills COMMAND. SIGUSR1 and SIGUSR2 are passed on and end nothing.
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP, after_long_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) servers: ServersArgs,
    /// The election node, an absolute path; it is created if it does not exist.
    #[arg(long, value_name = "PATH")]
    pub(crate) election: String,
    /// The format of the candidates' znodes: all candidates of an election need the same one.
    #[arg(long, value_name = "NAME", default_value_t = ElectionFormat::DEFAULT)]
    pub(crate) format: ElectionFormat,
    /// End when leadership is in doubt or lost, instead of standing again.
    #[arg(long)]
    pub(crate) once: bool,
    /// Wait this long before starting COMMAND, if the previous leader did not confirm that its own
    /// COMMAND has ended: for systems that COMMAND writes to and that cannot refuse a smaller
    /// token. Say the same on all machines.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub(crate) lock_delay: Time,
    /// Look so often, more or less, for events that a server may have kept back, and for requests to let another
    /// candidate lead [default: ten session timeouts, a minute at most].
    #[arg(long, value_name = "TIME")]
    look_interval: Option<Time>,
    /// End, with code 75, when the session expires, instead of standing again in a new one.
    #[arg(long, value_name = "POLICY", value_enum, default_value_t = ExpiryPolicy::StandAgain)]
    pub(crate) on_expiry: ExpiryPolicy,
    /// Ignore requests to step down (`zkelect step-down`). Without it, a request stops COMMAND, and
    /// zkelect stands again behind the others.
    #[arg(long)]
    ignore_step_down: bool,
    /// How much this nominee is preferred as the leader: the greater, the better; 0 for those without. A leader with
    /// this option hands over to a better candidate.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) preference: Option<i32>,
    /// How long a better candidate has to have stood until this leader hands over to it.
    #[arg(long, value_name = "TIME", default_value = "30s", requires = "preference")]
    hand_over_after: Time,
    /// Give COMMAND a descriptor of this number, 3 say, to write a line to when it has taken over.
    /// From then on others see that the new leader is ready, and what the line says. Every further
    /// line replaces it.
    #[arg(long, value_name = "N")]
    pub(crate) ready_fd: Option<ReadyFd>,
    /// Answer HTTP requests at this address, such as 127.0.0.1:8080: /leader names the leader,
    /// /healthz and /readyz are for probes, /metrics is for Prometheus, and / lists them.
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) http: Option<ListenAddress>,
    /// End, with code 69, when not elected within this time. The time begins anew when COMMAND was
    /// stopped because leadership was in doubt.
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<Time>,
    /// Let COMMAND read zkelect's standard input, a file or a pipe. Only with --once: a second run
    /// of COMMAND would find what the first one has left.
    #[arg(long, requires = "once")]
    pub(crate) stdin: bool,
    #[command(flatten)]
    pub(crate) acl: AclArgs,
    #[command(flatten)]
    pub(crate) lease: LeaseArgs,
    #[command(flatten)]
    pub(crate) wellness: WellnessArgs,
    #[command(flatten)]
    pub(crate) command: CommandArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExpiryPolicy {
    /// A new session begins, and zkelect stands again.
    StandAgain,
    /// zkelect ends.
    End,
}

impl ExpiryPolicy {
    pub(crate) const fn on_expiry(self) -> OnExpiry {
        match self {
            Self::StandAgain => OnExpiry::Renew,
            Self::End => OnExpiry::Close,
        }
    }
}

#[cfg(target_os = "linux")]
impl RunArgs {
    pub(crate) fn on_step_down_request(&self) -> OnStepDownRequest {
        if self.ignore_step_down { OnStepDownRequest::Ignore } else { OnStepDownRequest::Consent }
    }

    /// Returns whether this leader hands over to a better candidate.
    pub(crate) fn prefer(&self) -> PreferBetter {
        self.preference.map_or(PreferBetter::Never, |_| PreferBetter::After(*self.hand_over_after))
    }

    /// Returns the builder of the client that keeps the session.
    pub(crate) fn client(&self) -> Result<ClientBuilder, Failure> {
        let client = self.lease.apply(self.servers.client()?).on_expiry(self.on_expiry.on_expiry());
        Ok(match self.look_interval {
            Some(interval) => client.look_interval(*interval),
            None => client,
        })
    }

    /// Returns the election, as this nominee stands in it.
    pub(crate) fn in_election(&self, client: &Client) -> Election {
        let ElectionFormat(name) = self.format;
        let data = self.command.data(self.command.id());
        // With --once no COMMAND starts any more after a loss.
        let on_loss = if self.once { OnLoss::StandUntilElected } else { OnLoss::StandAgain };
        let election = client.election(&self.election);
        let election = match self.preference {
            Some(preference) => election.preference(preference),
            None => election,
        };
        election
            .format(name.format())
            .acls(self.acl.acls())
            .data(data)
            .on_loss(on_loss)
            .lock_delay(*self.lock_delay)
    }
}

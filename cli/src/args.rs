//! The command line.

#[cfg(target_os = "linux")]
mod internal;
mod server;
mod tls;
mod values;

use std::ffi::OsString;

use clap::{Args, Parser};
use election_tokio::{Client, ClientBuilder};

#[cfg(target_os = "linux")]
pub(crate) use internal::{ExecArgs, GuardArgs, Internal};
pub(crate) use server::ServerOptions;
pub(crate) use tls::TlsArgs;
pub(crate) use values::{EventsTo, ListenAddress, Servers, SessionTimeout, TickTime};

use crate::failure::Failure;
use crate::identity::IdentityArgs;

const EXIT_CODES: &str = "\
Exit codes of `run`:
  COMMAND's own, or 128 + N if signal N killed it; and if there is no COMMAND to tell:
    2  the arguments cannot be used
   69  with --wait: not elected in time
   70  a fault in zkelect itself
   71  the operating system refused something, or COMMAND cannot be stopped
   73  the events file cannot be opened
   75  with --once: leadership was in doubt or lost
   77  the server refused for lack of permission
   78  what the server holds does not fit, such as a missing chroot
  126  COMMAND cannot be executed
  127  COMMAND was not found
  128 + N  signal N ended zkelect before COMMAND was started

Exit codes of `list` and `demo`: 0, those above, and
   69  no server granted a session, or answered, in time";

const SERVER_EXIT_CODES: &str = "\
Exit codes of `server`:
    0  SIGINT, SIGTERM, SIGQUIT or SIGHUP ended it
    2  the arguments cannot be used
   70  a fault in zkelect itself
   71  the operating system refused something: the address is in use, say";

const TRY_HELP: &str = "\
To try it on one machine, without an installed ZooKeeper:
  zkelect demo
  zkelect server &
  zkelect run --servers 127.0.0.1:2181 --election /leader -- sleep 10 &
  zkelect list --servers 127.0.0.1:2181 --election /leader

`zkelect help SUBCOMMAND` has examples of each.";

/// Lets one of several machines act: leader election on Apache ZooKeeper.
///
/// Every machine runs `zkelect run` with the same servers and the same election. One of them is
/// elected and starts its COMMAND; when it ends, fails or loses its connection, its COMMAND is
/// stopped and the next one takes over.
#[derive(Debug, Parser)]
#[command(
    name = "zkelect",
    version,
    after_help = TRY_HELP,
    after_long_help = format!("{TRY_HELP}\n\n{EXIT_CODES}\n\n{SERVER_EXIT_CODES}"),
    max_term_width = 100
)]
pub(crate) struct Cli {
    /// Trace what happens on standard error; twice for more. Without it, `RUST_LOG` says what to trace.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    #[command(subcommand)]
    pub(crate) subcommand: Subcommand,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Subcommand {
    #[cfg(target_os = "linux")]
    Run(RunArgs),
    List(ListArgs),
    Demo(DemoArgs),
    Server(ServerArgs),
}

const SERVERS_HELP: &str = "The ZooKeeper servers: HOST:PORT[,HOST:PORT...][/CHROOT]";

const RUN_HELP: &str = "\
Examples:
  zkelect run --servers zk1:2181,zk2:2181,zk3:2181 --election /reports/leader -- ./make-reports
  zkelect run --servers zk1:2181/app --election /leader --events - -- \\
      sh -c 'echo leading with token $ZKELECT_TOKEN; exec ./serve'
  zkelect run --servers zk1:2281 --tls-ca ca.pem --tls-cert me.pem --tls-key me.key \\
      --election /leader -- ./serve

COMMAND finds in its environment:
  ZKELECT_TOKEN      the fencing token, a decimal number that grows with every new leader: hand it
                     to the systems that COMMAND writes to, and let them refuse smaller ones
  ZKELECT_ID         the value of --id
  ZKELECT_ELECTION   the value of --election
  ZKELECT_CANDIDATE  the name of the candidate znode

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
/// When COMMAND ends by itself, resigns and ends with COMMAND's exit code. On SIGTERM, SIGINT, SIGQUIT
/// or SIGHUP, passes the signal on to COMMAND, waits for its end, resigns, and ends; a second SIGINT or
/// SIGQUIT kills COMMAND. SIGUSR1 and SIGUSR2 are passed on and end nothing.
#[derive(Debug, Args)]
#[command(after_help = RUN_HELP, after_long_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// This nominee's name, for others to see [default: HOST-PID].
    #[arg(long, value_name = "NAME")]
    pub(crate) id: Option<String>,
    /// How long after its connection was cut a machine is replaced. The server may change it.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) session_timeout: SessionTimeout,
    /// How long COMMAND may take to end after SIGTERM, within the lease deadline.
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub(crate) grace: humantime::Duration,
    /// End when leadership is in doubt or lost, instead of standing again.
    #[arg(long)]
    pub(crate) once: bool,
    /// End, with code 69, when not elected within this time; it begins anew when COMMAND was stopped
    /// because leadership was in doubt.
    #[arg(long, value_name = "TIME")]
    pub(crate) wait: Option<humantime::Duration>,
    /// Let COMMAND read zkelect's standard input, a file or a pipe. Only with --once: a second run of
    /// COMMAND would find what the first one has left.
    #[arg(long, requires = "once")]
    pub(crate) stdin: bool,
    /// Let COMMAND become another user, by sudo, say. zkelect cannot stop such a COMMAND then: it may
    /// work on while another machine leads.
    #[arg(long)]
    pub(crate) allow_new_privileges: bool,
    /// Append one JSON object a line for each event to FILE; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<EventsTo>,
    /// What to run while elected.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

const LIST_HELP: &str = "\
Examples:
  zkelect list --servers zk1:2181,zk2:2181 --election /reports/leader
  zkelect list --servers zk1:2181/app --election /leader --json | jq -r '.[0].id'";

/// Lists the candidates, the one that leads first.
#[derive(Debug, Args)]
#[command(after_help = LIST_HELP, after_long_help = format!("{LIST_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct ListArgs {
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
    /// Print a JSON array instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
    /// How long to try to reach a server, and then to wait for its answers.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: humantime::Duration,
}

const DEMO_HELP: &str = "\
Examples:
  zkelect demo
  zkelect demo --nominees 7 --rounds 20 --pause 0s
  zkelect demo --servers zk1:2181,zk2:2181,zk3:2181";

/// Shows an election at work: nominees elect a leader, which resigns or crashes in turn.
///
/// All nominees live in this process, each in a session of its own. A crash cuts a nominee's
/// connection without a word, so that the session timeout has to pass before the next one leads.
///
/// Without --servers, the ZooKeeper server is in this process too: one in memory, as that of
/// `zkelect server`, on a free port of 127.0.0.1.
#[derive(Debug, Args)]
#[command(after_help = DEMO_HELP, after_long_help = format!("{DEMO_HELP}\n\n{EXIT_CODES}"))]
pub(crate) struct DemoArgs {
    #[arg(long, help = format!("{SERVERS_HELP} [default: one in this process]"))]
    pub(crate) servers: Option<Servers>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// How many leaders go, in turn by resigning and by crashing.
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) rounds: u32,
    /// How many stand for election.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=50))]
    pub(crate) nominees: u32,
    /// The session timeout to ask for: how long a crashed leader holds the lead.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub(crate) session_timeout: SessionTimeout,
    /// How long to look at the table before the next leader goes.
    #[arg(long, value_name = "TIME", default_value = "700ms")]
    pub(crate) pause: humantime::Duration,
}

const SERVER_HELP: &str = "\
Examples:
  zkelect server
  zkelect server --tick-time 100ms                  # sessions that expire quickly
  zkelect server --listen 127.0.0.1:0 >address &    # any free port
  zkelect server --max-connections-per-address 0 --extended-types

The first line of standard output is `listening on IP:PORT`; the server answers from then on.

Session timeouts are brought between 2 and 20 ticks, and sessions expire in steps of a tick, as by
Apache ZooKeeper. Any client of ZooKeeper can use it; it has no TLS, no SASL, and enforces no
quotas. What it holds is gone when it ends, and fencing tokens begin anew with the next one: for anything that matters run an Apache ZooKeeper ensemble.";

/// Runs a ZooKeeper server in memory, for development and tests.
///
/// One server, not an ensemble, with nothing on disk: it starts empty, in milliseconds, and needs
/// no Java. Runs until SIGINT (Ctrl-C), SIGTERM, SIGQUIT or SIGHUP.
#[derive(Debug, Args)]
#[command(
    after_help = SERVER_HELP,
    after_long_help = format!("{SERVER_HELP}\n\n{SERVER_EXIT_CODES}")
)]
pub(crate) struct ServerArgs {
    /// Where to listen; 0.0.0.0 is all interfaces of this machine, port 0 any free port.
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:2181")]
    pub(crate) listen: ListenAddress,
    /// The server's unit of time, from 10ms to 1h.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub(crate) tick_time: TickTime,
    #[command(flatten)]
    pub(crate) options: ServerOptions,
}

#[derive(Debug, Args)]
pub(crate) struct ElectionArgs {
    #[arg(long, help = SERVERS_HELP)]
    pub(crate) servers: Servers,
    /// The election node, an absolute path; `run` creates it if it does not exist.
    #[arg(long, value_name = "PATH")]
    pub(crate) election: String,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    #[command(flatten)]
    pub(crate) identity: IdentityArgs,
}

impl ElectionArgs {
    /// A client of the servers.
    pub(crate) fn client(&self) -> Result<ClientBuilder, Failure> {
        self.identity.apply(self.tls.apply(Client::builder(self.servers.connect_string())))
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use core::time::Duration;

    use clap::CommandFactory as _;

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Cli, clap::Error> {
        Cli::try_parse_from([&["zkelect"], arguments].concat())
    }

    fn run_args(arguments: &[&str]) -> RunArgs {
        match parse(arguments).expect("it parses").subcommand {
            Subcommand::Run(args) => args,
            other => panic!("not run: {other:?}"),
        }
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn run_has_the_documented_defaults() {
        let args = run_args(&["run", "--servers", "a,b/app", "--election", "/e", "--", "true"]);
        assert_eq!(args.election.servers.connect_string(), "a,b/app");
        assert_eq!(args.election.servers.chroot(), "/app");
        assert_eq!(args.session_timeout, SessionTimeout(Duration::from_secs(10)));
        assert_eq!(*args.grace, Duration::from_secs(5));
        assert_eq!((args.once, args.events, args.id), (false, None, None));
    }

    #[test]
    fn server_has_the_documented_defaults() {
        let Subcommand::Server(args) = parse(&["server"]).expect("it parses").subcommand else {
            panic!("not server");
        };
        assert_eq!(args.listen.0.to_string(), "127.0.0.1:2181");
        assert_eq!(args.tick_time.0, Duration::from_secs(2));
        let ServerOptions { max_connections_per_address, extended_types, super_digest } =
            args.options;
        assert_eq!(max_connections_per_address, 60);
        assert_eq!((extended_types, super_digest), (false, None));
    }

    #[test]
    fn every_subcommand_for_people_has_examples() {
        for subcommand in Cli::command().get_subcommands_mut().filter(|it| !it.is_hide_set()) {
            let help = subcommand.render_long_help().to_string();
            assert!(help.contains("\nExamples:\n  zkelect "), "{help}");
            assert!(help.contains("\nExit codes of "), "{help}");
        }
    }

    #[test]
    fn the_commands_own_options_stay_its_own() {
        let line = ["run", "--servers=a", "--election=/e", "--", "ls", "--once", "-v"];
        let args = run_args(&line);
        assert!(!args.once);
        assert_eq!(args.command, ["ls", "--once", "-v"]);
    }

    #[cfg(feature = "tls")]
    #[test]
    fn options_of_tls_that_need_each_other_come_together() {
        const LIST: [&str; 3] = ["list", "--servers=a", "--election=/e"];
        let cases: [(&[&str], &str); 5] = [
            (&["--tls-cert=c"], "--tls-key"),
            (&["--tls-key=k"], "--tls-cert"),
            (&["--tls-dangerously-accept-any-host-name"], "--tls-ca"),
            (
                &["--tls-dangerously-accept-any-host-name", "--tls-ca=a", "--tls-server-name=b"],
                "--tls-server-name",
            ),
            (&["--tls", "--tls-ca"], "FILE"),
        ];
        for (options, reason) in cases {
            let error = parse(&[&LIST, options].concat()).expect_err("it is refused");
            assert!(error.to_string().contains(reason), "{reason:?} is not in: {error}");
        }
        let error = parse(&["demo", "--tls"]).expect_err("it is refused");
        assert!(error.to_string().contains("--servers"), "{error}");
        assert!(parse(&["demo", "--tls", "--servers=a"]).is_ok());
    }

    #[test]
    fn a_dash_means_standard_output() {
        let line = ["run", "--servers=a", "--election=/e", "--events", "-", "--", "true"];
        assert_eq!(run_args(&line).events, Some(EventsTo::StandardOutput));
        assert_eq!(EventsTo::from("x"), EventsTo::File("x".into()));
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_the_reason() {
        let cases: [(&[&str], &str); 12] = [
            (&["run", "--servers=a", "--election=/e"], "COMMAND"),
            (&["run", "--servers=a:x", "--election=/e", "--", "true"], "port"),
            (&["list", "--servers=", "--election=/e"], "--servers"),
            (&["list", "--servers=a", "--election=/e", "--timeout=5"], "unit"),
            (
                &["run", "--servers=a", "--election=/e", "--session-timeout=0s", "--", "true"],
                "1ms at least",
            ),
            (&["demo", "--nominees=1"], "2..=50"),
            (&["server", "--listen=2181"], "such as 127.0.0.1:2181"),
            (&["server", "--tick-time=2"], "unit"),
            (&["server", "--tick-time=9ms"], "10ms at least"),
            (&["server", "--super-digest=super:secret"], "openssl sha1"),
            (&["list", "--servers=a", "--election=/e", "--sasl-user=u"], "--sasl-password-file"),
            (&["list", "--servers=a", "--election=/e", "--sasl-password-file=f"], "--sasl-user"),
        ];
        for (line, reason) in cases {
            let error = parse(line).expect_err("it is refused");
            assert_eq!(error.exit_code(), 2, "{error}");
            assert!(error.to_string().contains(reason), "{reason:?} is not in: {error}");
        }
    }
}

//! Command lines that parse, and command lines that are refused.

use core::time::Duration;

use clap::CommandFactory as _;

use super::server::ServerOptions;
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
    assert_eq!(args.servers.servers.connect_string(), "a,b/app");
    assert_eq!(args.servers.servers.chroot(), "/app");
    assert_eq!(args.command.session_timeout, SessionTimeout(Duration::from_secs(10)));
    assert_eq!(*args.command.grace, Duration::from_secs(5));
    assert_eq!((args.once, args.command.events, args.command.id), (false, None, None));
}

#[test]
fn server_has_the_documented_defaults() {
    let Subcommand::Server(args) = parse(&["server"]).expect("it parses").subcommand else {
        panic!("not server");
    };
    assert_eq!(args.listen.0.to_string(), "127.0.0.1:2181");
    assert_eq!(args.tick_time.0, Duration::from_secs(2));
    let ServerOptions {
        max_connections_per_address,
        max_connections,
        extended_types,
        super_digest,
    } = args.options;
    assert_eq!((max_connections_per_address, max_connections), (60, 1000));
    assert_eq!((extended_types, super_digest), (false, None));
}

/// Each option in the examples of the README is one of the subcommand that the line is about.
#[test]
fn the_readme_has_the_options_of_the_parser() {
    let readme = include_str!("../../README.md");
    let blocks = readme.split("```").skip(1).step_by(2).filter_map(|it| it.strip_prefix("sh\n"));
    let mut checked = 0;
    for line in blocks.flat_map(str::lines).filter(|line| line.starts_with("zkelect ")) {
        let root = Cli::command();
        let mut command = &root;
        // COMMAND follows `--`.
        for word in line.split_whitespace().skip(1).take_while(|word| *word != "--") {
            match word.strip_prefix("--").and_then(|flag| flag.split('=').next()) {
                Some(flag) => {
                    let is_there = command.get_arguments().any(|it| it.get_long() == Some(flag));
                    assert!(is_there, "`{}` has no --{flag}: {line}", command.get_name());
                    checked += 1;
                }
                None => command = command.find_subcommand(word).unwrap_or(command),
            }
        }
    }
    assert!(checked >= 20, "{checked} options");
}

#[test]
fn an_election_is_listed_in_any_format() {
    let line = ["list", "--servers=a", "--election=/e", "--format=kazoo"];
    let Subcommand::List(args) = parse(&line).expect("it parses").subcommand else {
        panic!("not list");
    };
    assert_eq!((args.path(), args.reading()), ("/e", Reading::As(FormatName::Kazoo)));
}

fn helps(subcommand: &mut clap::Command) {
    let help = subcommand.render_long_help().to_string();
    assert!(help.contains("\nExamples:\n  zkelect "), "{help}");
    assert!(help.contains("\nExit codes of "), "{help}");
}

#[test]
fn every_subcommand_for_people_has_examples() {
    for subcommand in Cli::command().get_subcommands_mut().filter(|it| !it.is_hide_set()) {
        helps(subcommand);
        subcommand.get_subcommands_mut().filter(|it| it.get_name() != "help").for_each(helps);
    }
}

#[test]
fn the_commands_own_options_stay_its_own() {
    let line = ["run", "--servers=a", "--election=/e", "--", "ls", "--once", "-v"];
    let args = run_args(&line);
    assert!(!args.once);
    assert_eq!(args.command.command, ["ls", "--once", "-v"]);
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
    assert_eq!(run_args(&line).command.events, Some(EventsTo::StandardOutput));
    assert_eq!(EventsTo::from("x"), EventsTo::File("x".into()));
}

#[test]
fn what_cannot_be_used_is_refused_with_the_reason() {
    let cases: [(&[&str], &str); 12] = [
        (&["run", "--servers=a", "--election=/e"], "COMMAND"),
        (&["run", "--servers=a:x", "--election=/e", "--", "true"], "port"),
        (&["list", "--servers=", "--election=/e"], "--servers"),
        (&["list", "--servers=a", "--election=/e", "--timeout=5x"], "unit"),
        (
            &["run", "--servers=a", "--election=/e", "--session-timeout=0s", "--", "true"],
            "1ms at least",
        ),
        (&["demo", "--nominees=1"], "2..=50"),
        (&["server", "--listen=2181"], "such as 127.0.0.1:2181"),
        (&["server", "--tick-time=2x"], "unit"),
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

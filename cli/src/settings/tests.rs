//! Command lines, completed from the environment and a file.

use std::fs;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::CommandFactory as _;

use super::*;
use crate::args::Cli;

fn with(line: &str, environment: &[(&str, &str)]) -> Result<Settled, SettingsError> {
    let arguments = line.split(' ').map(OsString::from).collect();
    settled(&Cli::command(), arguments, |name| {
        environment.iter().find(|(variable, _)| *variable == name).map(|(_, value)| value.into())
    })
}

fn line_of(line: &str, environment: &[(&str, &str)]) -> String {
    let settled = with(line, environment).expect("it is settled");
    settled.arguments.join(" ".as_ref()).into_string().expect("UTF-8")
}

/// Returns a file with this text, and its path.
fn file(text: &str) -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("zkelect-settings-{}-{number}.toml", std::process::id());
    let path = std::env::temp_dir().join(name);
    fs::write(&path, text).expect("a file");
    path.into_os_string().into_string().expect("UTF-8")
}

/// Returns the command line, or the error, that a file leads to.
fn filed(text: &str, line: &str) -> Result<String, SettingsError> {
    let path = file(text);
    let settled = with(line, &[("ZKELECT_CONFIG", &path)]);
    fs::remove_file(path).expect("it is there");
    settled.map(|settled| settled.arguments.join(" ".as_ref()).into_string().expect("UTF-8"))
}

#[test]
fn the_command_line_comes_before_the_environment() {
    let servers = [("ZKELECT_SERVERS", "a"), ("ZKELECT_ELECTION", "/e"), ("ZKELECT_JSON", "1")];
    assert_eq!(line_of("zkelect list", &servers), "zkelect list --servers=a --election=/e --json");
    assert_eq!(
        line_of("zkelect -v list --servers b --json", &servers),
        "zkelect -v list --election=/e --servers b --json"
    );
    // The command line leaves no room for it.
    assert_eq!(line_of("zkelect list --json /l", &servers), "zkelect list --servers=a --json /l");
    assert_eq!(line_of("zkelect help list", &servers), "zkelect help list");
    assert_eq!(line_of("zkelect list --help", &servers), "zkelect list --help");
    let empty = [("ZKELECT_SERVERS", ""), ("ZKELECT_JSON", "off"), ("ZKELECT_VERBOSE", "2")];
    assert_eq!(line_of("zkelect list", &empty), "zkelect list --verbose --verbose");
}

#[test]
fn what_comes_after_the_subcommand_is_its_own() {
    let servers = [("ZKELECT_SERVERS", "a"), ("ZKELECT_WAIT", "true"), ("ZKELECT_DATA", "-x")];
    assert_eq!(
        line_of("zkelect queue take /q", &servers),
        "zkelect queue take --servers=a --wait /q"
    );
    let wait = [("ZKELECT_WAIT", "30s"), ("ZKELECT_DATA", "-x")];
    assert_eq!(line_of("zkelect queue take /q", &wait), "zkelect queue take --wait=30s /q");
    assert!(line_of("zkelect members join /g", &wait).contains("--data=-x"));
    assert_eq!(line_of("zkelect demo", &servers), "zkelect demo");
    let token = [("ZKELECT_TOKEN", "5")];
    for line in ["zkelect evict", "zkelect hand-over"] {
        assert_eq!(line_of(line, &token), line);
    }
}

#[test]
fn a_variable_that_cannot_be_read_is_named_without_its_value() {
    for (variable, value) in [("ZKELECT_JSON", "geheim"), ("ZKELECT_VERBOSE", "geheim")] {
        let error = with("zkelect list", &[(variable, value)]).expect_err("it is refused");
        assert!(error.to_string().contains(variable), "{error}");
        assert!(!error.to_string().contains(value), "{error}");
    }
}

#[test]
fn the_environment_comes_before_the_file_and_near_tables_before_far_ones() {
    let text = "servers = 'a'\ntimeout = '1s'\njson = true\nverbose = 1\n[list]\ntimeout = '2s'\n\
                [queue]\nformat = 'kazoo'\n[queue.take]\nformat = 'guide'\n";
    let path = file(text);
    let environment = [("ZKELECT_CONFIG", path.as_str()), ("ZKELECT_SERVERS", "b")];
    assert_eq!(
        line_of("zkelect list /l", &environment),
        "zkelect list --servers=b --json --timeout=2s --verbose /l"
    );
    let by_option = format!("zkelect --config {path} queue take --timeout=3s /q");
    assert_eq!(
        line_of(&by_option, &[]),
        format!(
            "zkelect --config {path} queue take --servers=a --format=guide --json --verbose \
             --timeout=3s /q"
        )
    );
    let later = format!("zkelect queue put --config={path} /q x");
    assert!(line_of(&later, &[]).contains("--format=kazoo"));
    assert_eq!(line_of("zkelect demo", &environment), "zkelect demo");
    fs::remove_file(path).expect("it is there");
}

#[test]
fn each_key_of_a_file_has_to_be_an_option() {
    let cases = [
        ("servrs = 'a'", "servrs"),
        ("[list]\nelektion = '/e'", "list.elektion"),
        ("[list]\nonce = true", "list.once in the configuration file"),
        ("[lists]\njson = true", "lists"),
        ("config = 'x'", "config in"),
        ("[demo]\nservers = 'a'", "demo.servers"),
        ("json = 'geheim'", "json in the configuration file"),
        ("servers = ['geheim']", "has to be text"),
        ("servers = true", "has to be text"),
        ("verbose = 70", "a small number"),
        ("a = 1\nservers = 'geheim", "line 2 "),
        ("servers = 'geheim'\nservers = 'geheim'", "line 2 "),
    ];
    for (text, said) in cases {
        let error = filed(text, "zkelect list /l").expect_err(text).to_string();
        assert!(error.contains(said), "{said:?} is not in: {error}");
        assert!(!error.contains("geheim"), "{error}");
    }
    let none = with("zkelect --config /nonexistent list", &[]).expect_err("there is none");
    assert!(none.to_string().contains("/nonexistent cannot be read"), "{none}");
}

#[test]
fn what_is_refused_is_told_with_where_it_is_from() {
    let path = file("timeout = 'x'\n");
    let environment = [("ZKELECT_SERVERS", "a:x"), ("ZKELECT_CONFIG", path.as_str())];
    let blamed = |line: &str| {
        let settled = with(line, &environment).expect("it is settled");
        let error = Cli::command().try_get_matches_from(&settled.arguments).expect_err("refused");
        settled.blamed(&error)
    };
    let variable = blamed("zkelect list /l").expect("it is known");
    assert!(variable.contains("look at ZKELECT_SERVERS"), "{variable}");
    let in_file = blamed("zkelect list --servers a /l").expect("it is known");
    assert!(in_file.ends_with(&format!("configuration file {path}")), "{in_file}");
    assert_eq!(blamed("zkelect list --servers a:x --timeout 1s /l"), None);
    fs::remove_file(path).expect("it is there");
}

#[test]
fn the_help_of_each_option_names_its_variable() {
    let mut command = documented(Cli::command());
    for subcommand in command.get_subcommands_mut() {
        let name = subcommand.get_name().to_owned();
        let help = subcommand.render_long_help().to_string();
        let is_named = help.contains("[env: ZKELECT_SERVERS]");
        assert_eq!(is_named, help.contains("--servers <SERVERS>") && name != "demo", "{help}");
    }
    let help = command.render_long_help().to_string();
    assert!(help.contains("[env: ZKELECT_CONFIG]"), "{help}");
}

//! Options by the environment and by a configuration file.

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::served::Served;
use crate::support::{Folder, Plan, Run, text, zkelect};

fn with(environment: &[(&str, &str)], line: &[&str]) -> Output {
    zkelect().args(line).envs(environment.iter().copied()).output().expect("zkelect runs")
}

#[test]
fn servers_and_election_come_from_where_they_are_said_first() {
    let server = Served::start("settings", &[]);
    let folder = Folder::new("settings-file");
    let plan = Plan {
        servers: server.address(),
        id: "a",
        options: &[],
        // It finds the election and its token in the environment that `run` gives it.
        script: r#""$ZKELECT" verify --servers "$SERVERS" "$ZKELECT_TOKEN" >>"$LOG"; exec sleep 60"#,
    };
    let file = folder.file("zkelect.toml");
    let path = file.to_str().expect("UTF-8");
    let content = format!(
        "servers = '{}'\ntimeout = '20s'\n[list]\nelection = '/leader'\njson = true\n",
        server.address()
    );
    fs::write(&file, content).expect("a file");
    let wrapper = [
        "env",
        &format!("ZKELECT={}", env!("CARGO_BIN_EXE_zkelect")),
        &format!("SERVERS={}", server.address()),
    ];
    let run = Run::start_by(&folder, &plan, &wrapper, crate::support::Errors::ToFile);
    let elected = run.wait_for("elected", 1);
    run.wait_for_log(&format!("token {} leads", elected["token"]));

    let listed = with(&[("ZKELECT_CONFIG", path)], &["list"]);
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&listed.stdout).expect("a JSON array");
    assert_eq!(rows[0]["token"], elected["token"]);
    let table = with(&[("ZKELECT_JSON", "no")], &["list", "--config", path, "--timeout=9s"]);
    assert!(text(&table.stdout).starts_with("ROLE"), "{}", text(&table.stdout));
    let elsewhere = [("ZKELECT_SERVERS", "127.0.0.1:1"), ("ZKELECT_CONFIG", path)];
    let unreached = with(&elsewhere, &["list", "--timeout", "300ms"]);
    assert_eq!(unreached.status.code(), Some(69), "{}", text(&unreached.stderr));
    let reached = with(&elsewhere, &["list", "--servers", server.address()]);
    assert_eq!(reached.status.code(), Some(0), "{}", text(&reached.stderr));
}

#[test]
fn what_is_wrong_in_them_is_told_with_its_place_and_without_its_value() {
    let folder = Folder::new("settings-wrong");
    let file = folder.file("zkelect.toml");
    let path = file.to_str().expect("UTF-8");
    let cases = [
        ("servers = 'a'\nelektion = 'hunter2'\n", "elektion"),
        ("servers = hunter2\n", "line 1 of the configuration file"),
        ("[list]\njson = 'hunter2'\n", "list.json"),
    ];
    for (content, said) in cases {
        fs::write(&file, content).expect("a file");
        let refused = with(&[], &["list", "--config", path, "/l"]);
        let stderr = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said) && stderr.contains(path), "{said:?} is not in: {stderr}");
        assert!(!stderr.contains("hunter2"), "{stderr}");
    }
    fs::write(&file, "servers = 'a:x'\n").expect("a file");
    let refused = with(&[("ZKELECT_CONFIG", path)], &["list", "/l"]);
    let stderr = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.contains(&format!("--servers is from the configuration file {path}")),
        "{stderr}"
    );
    let refused = with(&[("ZKELECT_TIMEOUT", "soon"), ("ZKELECT_SERVERS", "a")], &["list", "/l"]);
    assert!(text(&refused.stderr).contains("look at ZKELECT_TIMEOUT"), "{refused:?}");
    // Nothing of the environment is shown where it is only described.
    let help = with(&[("ZKELECT_SASL_PASSWORD_FILE", "hunter2")], &["list", "--help"]);
    let help = text(&help.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    let is_named = help.contains("[env: ZKELECT_SASL_PASSWORD_FILE]");
    assert!(is_named && !help.contains("hunter2"), "{help}");
}

//! Objects with conditional puts, as S3 has them: a stand-in.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use zk_test_kit::failure::{TestFailure, TestResult};
use zk_test_kit::wait::{SOON, eventually};

use super::{Leaders, Started, done, program, refused, serve, shown};

/// A `curl` that stands still before a put while a file `held` is there.
const SLOW_CURL: &str = r#"#!/bin/sh
at=$(dirname "$0")
case "$*" in
  *'-X PUT'*) touch "$at/waits"; while [ -e "$at/held" ]; do sleep 0.02; done ;;
esac
PATH=${PATH#*:} exec curl "$@"
"#;

fn write(url: &str, token: election_tokio::Token) -> Command {
    let mut write = program(shown("object-write.sh"));
    write.arg(url).arg(token.to_string());
    write
}

fn content(url: &str) -> Result<String, TestFailure> {
    let object = done(program("curl").args(["-sS", url]), "")?;
    Ok(object.split_once('\n').expect("a token comes first").1.to_owned())
}

fn bucket() -> Result<(Started, String), TestFailure> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/fences/bucket.py");
    let (bucket, url) = serve(&script)?;
    Ok((bucket, url + "/ledger"))
}

#[test]
fn a_conditional_put_of_an_old_leader_is_refused() -> TestResult {
    let leaders = Leaders::elect("fence-objects")?;
    let (_bucket, url) = bucket()?;
    done(&mut write(&url, leaders.old), "old")?;
    done(&mut write(&url, leaders.new), "new")?;
    refused(&mut write(&url, leaders.old), "old", "fenced off")?;
    assert_eq!(content(&url)?, "new");
    done(&mut write(&url, leaders.new), "newer")?;
    assert_eq!(content(&url)?, "newer", "its own token passes again");
    done(program("curl").args(["-sS", "-X", "PUT", "--data", "0\nold", &url]), "")?;
    assert_eq!(content(&url)?, "old", "without the condition it is accepted");
    Ok(())
}

/// The old leader has looked before the new one's write, and puts after it.
#[test]
fn a_conditional_put_behind_another_one_is_refused() -> TestResult {
    let leaders = Leaders::elect("fence-objects-late")?;
    let (_bucket, url) = bucket()?;
    done(&mut write(&url, leaders.old), "same")?;
    let folder = TempDir::new()?;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("curl"), SLOW_CURL)?;
    fs::set_permissions(at("curl"), Permissions::from_mode(0o755))?;
    fs::write(at("held"), "")?;
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH")?);
    let mut late = write(&url, leaders.old);
    let late = late.env("PATH", path).stdin(Stdio::null()).stderr(Stdio::piped());
    let mut late = Started(late.spawn()?);
    eventually(SOON, "the old one is about to put", || at("waits").exists())?;
    done(&mut write(&url, leaders.new), "same")?;
    fs::remove_file(at("held"))?;
    assert_eq!(late.0.wait()?.code(), Some(3), "it is fenced off");
    assert_eq!(content(&url)?, "same");
    Ok(())
}

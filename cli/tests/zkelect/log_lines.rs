//! The form of the lines on standard error.

use zk_test_kit::wait::{SOON, eventually};

use crate::served::Served;
use crate::support::{output, text};

/// Returns the level and the rest of a log line, which begins with the time in UTC; `None` for a line
/// of another form.
fn logged(line: &str) -> Option<(&str, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let form: String = time.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    if form != "0000-00-00T00:00:00.000000Z" {
        return None;
    }
    let (level, rest) = (rest.get(..5)?, rest.get(5..)?.strip_prefix(' ')?);
    Some((level.trim_start(), rest))
}

#[test]
fn a_line_about_progress_has_time_and_level_like_a_trace() {
    let server = Served::start("log-lines", &[]);
    let lock = ["-v", "lock", "--servers", server.address(), "/l", "--", "sh", "-c", "kill -9 $$"];
    let stderr = text(&output(&lock).stderr);
    let lines: Vec<_> = stderr.lines().map(|line| logged(line).ok_or(line)).collect();
    assert!(lines.iter().all(Result::is_ok), "{stderr}");
    let said = |source: &str| {
        lines.iter().flatten().any(|(level, rest)| *level == "INFO" && rest.starts_with(source))
    };
    assert!(said("zkelect: "), "{stderr}");
    assert!(said("zk_client"), "the library's: {stderr}");
    assert!(stderr.contains(" INFO zkelect: connected with session 0x"), "{stderr}");
}

#[test]
fn a_problem_has_the_level_of_warnings() {
    let server = Served::start_at("0.0.0.0:0", "log-warning", &[]);
    let warned = || server.stderr().contains(" WARN zkelect: other machines may reach it");
    eventually(SOON, "a warning", warned).expect("it warns");
    let stderr = server.stderr();
    assert!(stderr.lines().all(|line| logged(line).is_some()), "{stderr}");
}

#[test]
fn what_a_command_found_and_the_error_that_ends_it_are_plain() {
    let server = Served::start("log-plain", &[]);
    let list = output(&["list", "--servers", server.address(), "/nothing"]);
    let found = text(&list.stderr);
    assert!(
        found.starts_with("zkelect: nothing is listed at /nothing: the node does not exist\n"),
        "{found}"
    );
    let failed = output(&["lock", "--servers", server.address(), "no-slash", "--", "true"]);
    let failed = text(&failed.stderr);
    assert!(failed.starts_with("zkelect: error: "), "{failed}");
}

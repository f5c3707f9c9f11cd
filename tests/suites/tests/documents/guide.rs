//! The guide: its summary, its metrics, its errors.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use crate::{Page, pages_in, top};

const GUIDE: &str = "docs/guide";
/// The files that declare the errors which the guide explains.
const ERRORS: [(&str, &str); 12] = [
    ("ConnectError", "election-tokio/src/client/failure.rs"),
    ("ElectionError", "election-tokio/src/election.rs"),
    ("EndError", "election-tokio/src/election/ending.rs"),
    ("EndReason", "election-session/src/status.rs"),
    ("ErrorKind", "election-tokio/src/error/operation.rs"),
    ("LockError", "election-tokio/src/lock/error.rs"),
    ("LostReason", "election-session/src/status.rs"),
    ("NominationError", "election-core/src/outcome.rs"),
    ("ReleaseError", "election-tokio/src/lock/error.rs"),
    ("SessionEnd", "session/src/event.rs"),
    ("TransactionError", "election-tokio/src/client/transaction.rs"),
    ("WithdrawError", "election-tokio/src/election/inner.rs"),
];

/// The summary lists each page once, and the pages it lists are there.
#[test]
fn the_summary_lists_all_pages() -> io::Result<()> {
    let summary = Page::read(PathBuf::from(GUIDE).join("src/SUMMARY.md"))?;
    for page in pages_in("docs/guide/src")? {
        let Some(name) = page.path.file_name().filter(|name| *name != "SUMMARY.md") else {
            continue;
        };
        let link = format!("({})", name.to_string_lossy());
        assert_eq!(summary.text.matches(&link).count(), 1, "{link}");
    }
    Ok(())
}

/// Alerts and the dashboard ask for metrics that the client has.
#[test]
fn metrics_that_are_asked_for_exist() -> io::Result<()> {
    let known = Page::read(PathBuf::from("docs/telemetry.md"))?;
    for file in ["alerts.yml", "dashboard.json"] {
        let text = fs::read_to_string(top().join(GUIDE).join("monitoring").join(file))?;
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let mut asked = 0;
        for name in words.filter(|word| word.starts_with("zk_")) {
            let metric = name.strip_suffix("_sum").or_else(|| name.strip_suffix("_count"));
            let metric = metric.unwrap_or(name);
            assert!(known.text.contains(&format!("`{metric}`")), "{file}: {name}");
            asked += 1;
        }
        assert!(asked >= 8, "{file}: {asked}");
    }
    Ok(())
}

/// Feeds series of metrics to the alerts, by Prometheus itself.
#[test]
fn alerts_fire_when_they_are_to() -> io::Result<()> {
    let promtool = Command::new("promtool")
        .args(["test", "rules", "alerts_test.yml"])
        .current_dir(top().join(GUIDE).join("monitoring"))
        .output();
    let output = match promtool {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            println!("skipped: promtool, of Debian's package prometheus, is not installed");
            return Ok(());
        }
        output => output?,
    };
    let said =
        [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{}", said.concat());
    Ok(())
}

/// The rules that are tried are all there are.
#[test]
fn each_alert_is_tried() -> io::Result<()> {
    let read = |file| fs::read_to_string(top().join(GUIDE).join("monitoring").join(file));
    let (rules, tests) = (read("alerts.yml")?, read("alerts_test.yml")?);
    let alerts: Vec<_> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() >= 8, "{alerts:?}");
    for alert in alerts {
        assert!(tests.contains(&format!("alertname: {alert}}}")), "{alert} is not tried");
    }
    Ok(())
}

/// Returns the variants of an enum, by its source.
fn variants<'a>(source: &'a str, name: &str) -> Vec<&'a str> {
    let declaration = format!("pub enum {name} {{\n");
    let body = source.split(&declaration).nth(1).and_then(|rest| rest.split("\n}").next());
    let lines = body.unwrap_or_default().lines();
    let variant = lines.filter_map(|line| line.strip_prefix("    "));
    variant
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next())
        .collect()
}

/// The page names each error that there is, and no other.
#[test]
fn each_error_has_advice() -> io::Result<()> {
    let page = Page::read(PathBuf::from(GUIDE).join("src/errors.md"))?;
    let named: Vec<&str> = page.text.split('`').skip(1).step_by(2).collect();
    for (name, file) in ERRORS {
        let source = fs::read_to_string(top().join(file))?;
        let variants = variants(&source, name);
        assert!(variants.len() >= 2, "{name} in {file}: {variants:?}");
        for variant in &variants {
            let error = format!("{name}::{variant}");
            assert!(named.contains(&error.as_str()), "docs/guide/src/errors.md lacks {error}");
        }
        for error in &named {
            if let Some(("", variant)) = error.split_once(name)
                && let Some(variant) = variant.strip_prefix("::")
            {
                assert!(variants.contains(&variant), "docs/guide/src/errors.md has {error}");
            }
        }
    }
    Ok(())
}

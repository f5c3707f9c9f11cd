//! Checks whether a server keeps what it acknowledges, as far as it tells: its release, and `forceSync`.

use core::time::Duration;
use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::report::{Finding, no_answer};

const STEP: &str = "durability";

/// The most bytes of an answer that are read.
const LIMIT: u64 = 256 * 1024;

/// Warns of a release that may lose what it has acknowledged.
pub(super) fn of_release(version: &str) -> Option<Finding> {
    let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
    let release = (numbers.next()?, numbers.next()?, numbers.next()?);
    let ticket = match release {
        (3, 9, 3) => "ZOOKEEPER-4925",
        (3, 9, 0 | 1) | (3, 8, 0..=4) | (3, 0..=7, _) => "ZOOKEEPER-4785",
        _ => return None,
    };
    let says =
        format!("release {version} may lose acknowledged writes where members restart ({ticket})");
    Some(Finding::warning(STEP, says).advise(
        "go to 3.8.5, or to 3.9.4: where writes are lost tokens go back, and two leaders may be valid",
    ))
}

/// Asks the server's `AdminServer` whether it forces what it acknowledges to the disk.
pub(super) async fn of_disk(host: &str, port: u16, bound: Duration) -> Finding {
    match timeout(bound, system_properties(host, port)).await {
        Ok(Ok(answer)) => of_properties(&answer),
        Ok(Err(error)) => Finding::skipped(STEP, format!("its AdminServer does not tell: {error}")),
        Err(_) => Finding::skipped(STEP, no_answer(bound)),
    }
}

async fn system_properties(host: &str, port: u16) -> io::Result<String> {
    let mut stream = TcpStream::connect((host, port)).await?;
    let request =
        format!("GET /commands/system_properties HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(LIMIT).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn of_properties(answer: &str) -> Finding {
    let Some((head, body)) = answer.split_once("\r\n\r\n") else {
        return Finding::skipped(STEP, "its AdminServer does not answer in HTTP");
    };
    let is_ok = head.lines().next().is_some_and(|status| status.contains(" 200 "));
    // A server that is no AdminServer may answer anything with 200.
    if !is_ok || !body.contains("\"java.version\"") {
        return Finding::skipped(STEP, "its AdminServer does not tell its properties");
    }
    let property = |name: &str| {
        let rest = body.split_once(&format!("\"{name}\""))?.1;
        rest.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?.split('"').next()
    };
    match property("zookeeper.forceSync") {
        Some("no") => Finding::warning(STEP, "forceSync=no: it acknowledges what its disk need not have")
            .advise(
                "remove forceSync from zoo.cfg: after a power failure tokens go back, and two leaders may be valid",
            ),
        Some(_) | None => Finding::ok(STEP, "it forces to its disk what it acknowledges"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::Verdict;
    use super::*;

    #[test]
    fn releases_with_known_losses_are_told() {
        for version in ["3.9.3", "3.9.1", "3.8.4", "3.6.3", "3.4.14"] {
            assert!(of_release(version).is_some(), "{version}");
        }
        for version in ["3.8.5", "3.9.2", "3.9.4", "3.9.5", "3.10.0", "ClickHouse Keeper", ""] {
            assert!(of_release(version).is_none(), "{version}");
        }
    }

    #[test]
    fn a_disk_that_is_not_forced_is_told() {
        let verdict = |body: &str| {
            let answer = format!("HTTP/1.1 200 OK\r\nServer: Jetty\r\n\r\n{body}");
            of_properties(&answer).verdict
        };
        let properties =
            |more: &str| format!("{{\n  \"java.version\" : \"17\"{more},\n  \"a\" : \"b\"\n}}");
        assert_eq!(verdict(&properties("")), Verdict::Ok);
        assert_eq!(verdict(&properties(",\"zookeeper.forceSync\" : \"yes\"")), Verdict::Ok);
        assert_eq!(verdict(&properties(",\"zookeeper.forceSync\" : \"no\"")), Verdict::Warning);
        assert_eq!(verdict(&properties(",\"zookeeper.forceSync\":\"no\"")), Verdict::Warning);
        assert_eq!(verdict("<html>"), Verdict::Skipped);
        assert_eq!(of_properties("HTTP/1.1 404 Not Found\r\n\r\n").verdict, Verdict::Skipped);
        assert_eq!(of_properties("").verdict, Verdict::Skipped);
    }
}

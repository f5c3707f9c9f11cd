//! Checks whether a server commits a write, how fast, and by which clock.

use core::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

use election_tokio::{Client, ConnectionState, CreateMode, Error, ErrorKind, Version};
use tokio::time::{Instant, timeout};

use super::report::{Finding, no_answer, spoken};
use crate::args::CheckArgs;

/// With a greater difference, times of znodes and of logs are hard to relate.
const CLOCKS_APART: Duration = Duration::from_secs(1);

/// Writes an ephemeral znode, beside the election if it has a place, and deletes it at once.
pub(super) async fn through(client: &Client, name: &str, args: &CheckArgs) -> Finding {
    let bound = *args.timeout;
    let finding = match written(client, args.election.as_deref(), bound).await {
        // A znode above the election does not exist yet.
        Err(Some(error)) if error.is_no_node() => written(client, None, bound).await,
        written => written,
    };
    let finding = finding.unwrap_or_else(|error| match error {
        Some(error) => not_committed(&error),
        None => Finding::failed("write", no_answer(bound)).advise(
            "the ensemble has no quorum, or is overloaded: look at the logs of its members",
        ),
    });
    finding.of(name)
}

/// Returns no error if there was no answer.
async fn written(
    client: &Client,
    election: Option<&str>,
    bound: Duration,
) -> Result<Finding, Option<Error>> {
    let path = probe(election);
    let (before, start) = (now(), Instant::now());
    let created = timeout(bound, client.create(&path, "", CreateMode::Ephemeral)).await;
    let (took, after) = (start.elapsed(), now());
    let created = created.map_err(|_| None)??;
    // Otherwise it goes with the session.
    let _ = timeout(bound, client.delete(&path, Version::ANY)).await;
    let stamped = u64::try_from(created.stat.ctime).map(Duration::from_millis);
    Ok(committed(client, took, clock(stamped.unwrap_or_default(), before, after)))
}

fn probe(election: Option<&str>) -> String {
    let unique = format!("{}-{}", std::process::id(), now().as_nanos());
    match election {
        // In the same folder: a znode below the election node would wake its watchers.
        Some(election) => format!("{election}.check-{unique}"),
        None => format!("/zkelect-check-{unique}"),
    }
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// How far the clock that stamps znodes differs from this machine's, at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// No difference beyond the round trip.
    Fits,
    Ahead(Duration),
    Behind(Duration),
}

/// Stamps are in whole milliseconds.
fn clock(stamped: Duration, before: Duration, after: Duration) -> Clock {
    let before = Duration::from_millis(u64::try_from(before.as_millis()).unwrap_or(u64::MAX));
    if stamped < before {
        Clock::Behind(before.saturating_sub(stamped))
    } else if stamped > after {
        Clock::Ahead(stamped.saturating_sub(after))
    } else {
        Clock::Fits
    }
}

fn committed(client: &Client, took: Duration, clock: Clock) -> Finding {
    let committed = format!("committed in {}", spoken(took));
    let apart = match clock {
        Clock::Ahead(by) if by > CLOCKS_APART => Some((by, "ahead of")),
        Clock::Behind(by) if by > CLOCKS_APART => Some((by, "behind")),
        _ => None,
    };
    if let Some((by, direction)) = apart {
        let by = spoken(by);
        return Finding::warning(
            "write",
            format!(
                "{committed}; the clock of the ensemble's leader, which stamps znodes, is {by} {direction} \
                 this machine's"
            ),
        )
        .advise("let NTP set both clocks; leases and tokens do not depend on them, times in logs do");
    }
    // Answers prove the lease: with slower ones there may be none.
    if let ConnectionState::Connected { timeout, .. } = client.connection_state()
        && took > timeout / 15
    {
        return Finding::warning(
            "write",
            format!(
                "{committed}, which is slow for a session timeout of {}",
                humantime::format_duration(timeout)
            ),
        )
        .advise("take a longer --session-timeout, or find out why: slow disks of members, a distant server");
    }
    let how = match clock {
        Clock::Fits => "as far as the round trip tells".to_owned(),
        Clock::Ahead(by) | Clock::Behind(by) => format!("but for {}", spoken(by)),
    };
    Finding::ok("write", format!("{committed}; the leader's clock is that of this machine, {how}"))
}

fn not_committed(error: &Error) -> Finding {
    match error.kind() {
        ErrorKind::Refused(_) if error.is_no_auth() => {
            // The steps for the election report missing permissions.
            let skipped =
                format!("not tried: {error}; give --election a place where this client may create");
            Finding::skipped("write", skipped)
        }
        _ => Finding::failed("write", error)
            .advise("a server that cannot commit is cut off from its ensemble: look at its log"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_round_trip_does_not_explain_counts() {
        let ms = Duration::from_millis;
        let of = |stamped| clock(ms(stamped), ms(1_000) + Duration::from_micros(900), ms(1_010));
        assert_eq!([of(1_000), of(1_010)], [Clock::Fits, Clock::Fits]);
        assert_eq!(of(900), Clock::Behind(ms(100)));
        assert_eq!(of(1_500), Clock::Ahead(ms(490)));
    }
}

//! The prospect of a lease, in words.

use core::time::Duration;

use election_tokio::lease::LeaseOutlook;

/// Describes what a promoted nominee waits for.
pub(super) fn in_words(outlook: LeaseOutlook) -> String {
    match outlook {
        LeaseOutlook::RoundTripTooLong { round_trip, timeout, longest } => {
            let [round_trip, timeout, longest] = [round_trip, timeout, longest].map(milliseconds);
            format!(
                "answers take {round_trip}, and with a session timeout of {timeout} have to come \
                 within {longest} for a lease to be kept; ask for a longer --session-timeout"
            )
        }
        LeaseOutlook::NoLease { family } => format!(
            "no lease holds on {family}: use Apache ZooKeeper, or --lease-grade advisory if \
             everything that COMMAND writes is guarded by the token"
        ),
        _ => "no server has proved yet that the session lives".to_owned(),
    }
}

/// Formats a time, rounded down.
fn milliseconds(time: Duration) -> humantime::FormattedDuration {
    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    humantime::format_duration(Duration::from_millis(millis))
}

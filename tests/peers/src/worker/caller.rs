//! A caller that asks every 5 ms, while servers fail.

use core::time::Duration;
use std::time::Instant;

use super::contender::Contender;
use super::nanos;
use crate::outcome::Outcome;

const PAUSE: Duration = Duration::from_millis(5);

/// Asks for so long; gives the longest time without an answer, and the errors.
pub(super) async fn ask<C: Contender>(client: &C, span: Duration) -> Outcome<Vec<u64>> {
    let start = Instant::now();
    let (mut answered, mut gap, mut errors) = (start, Duration::ZERO, 0);
    while let Some(left) = span.checked_sub(start.elapsed()) {
        match tokio::time::timeout(left, client.get_data("/zookeeper")).await {
            Ok(Ok(_)) => {
                gap = gap.max(answered.elapsed());
                answered = Instant::now();
            }
            Ok(Err(_)) => errors += 1,
            // Not answered within the span.
            Err(_) => break,
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(vec![nanos(gap.max(answered.elapsed())), errors])
}

//! Many requests, with some of them in flight at a time.

use core::future::Future;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesOrdered;

/// The requests in flight at a time, for one caller: enough to hide a round trip, and few enough to
/// leave others their share of the connection.
pub(super) const WINDOW: usize = 64;

/// Runs the futures of `next`, at most [`WINDOW`] at a time, started in order, and passes their
/// outputs to `each`, in order too. At the first error of `each` the others are dropped.
pub(super) async fn run<F: Future, E>(
    // This is no iterator: the compiler would not accept the futures of one with a closure as
    // `Send`.
    mut next: impl FnMut() -> Option<F>,
    mut each: impl FnMut(F::Output) -> Result<(), E>,
) -> Result<(), E> {
    let mut in_flight = FuturesOrdered::new();
    loop {
        while in_flight.len() < WINDOW
            && let Some(future) = next()
        {
            in_flight.push_back(future);
        }
        match in_flight.next().await {
            Some(output) => each(output)?,
            None => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;

    /// Takes its time, and longer for each third.
    async fn work(number: usize, running: &Cell<usize>, most: &Cell<usize>) -> usize {
        running.set(running.get() + 1);
        most.set(most.get().max(running.get()));
        for _ in 0..=number % 3 {
            tokio::task::yield_now().await;
        }
        running.set(running.get() - 1);
        number
    }

    #[tokio::test]
    async fn outputs_come_in_order_from_a_window_that_is_full() {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let mut outputs = Vec::new();
        let mut numbers = 0..1_000;
        let next = || numbers.next().map(|number| work(number, &running, &most));
        let done = run(next, |output| {
            outputs.push(output);
            Ok::<(), ()>(())
        });
        assert_eq!(done.await, Ok(()));
        assert_eq!(outputs, (0..1_000).collect::<Vec<_>>());
        assert_eq!(most.get(), WINDOW);
    }

    #[tokio::test]
    async fn an_error_ends_the_run() {
        let (running, most) = (Cell::new(0), Cell::new(0));
        let mut last = 0;
        let mut numbers = 0..1_000;
        let next = || numbers.next().map(|number| work(number, &running, &most));
        let done = run(next, |output| {
            last = output;
            if output == 100 { Err("enough") } else { Ok(()) }
        });
        assert_eq!(done.await, Err("enough"));
        assert_eq!(last, 100);
    }

    #[tokio::test]
    async fn nothing_to_run_is_over_at_once() {
        let done = run(|| None::<core::future::Ready<()>>, Err);
        assert_eq!(done.await, Ok(()));
    }
}

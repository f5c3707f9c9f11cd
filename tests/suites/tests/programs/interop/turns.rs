//! Turns of a relay, and what they leave.

use core::time::Duration;
use std::time::Instant;

use zk_test_kit::failure::TestResult;
use zk_test_kit::history::now;
use zk_test_kit::raw::{RawClient, RawError};
use zk_test_kit::wait::SOON;
use zk_tests::contender::{Held, Rule};

use crate::interop::contender::State;
use crate::interop::relay::{Counts, PATH, Relay, WhenDisturbed};

/// How long none must hold that is to wait.
const QUIET: Duration = Duration::from_millis(300);

/// The longest time between two looks at the znodes.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

impl Relay {
    /// Waits until this many znodes contend. Hears the contenders meanwhile: one that says only now that it releases
    /// is told to ask again.
    pub(super) fn wait_for_znodes(&mut self, count: usize) -> TestResult {
        let mut client = RawClient::connect(self.server.addr(), SOON)?;
        let path = format!("{}{PATH}", self.chroot);
        let until = Instant::now() + SOON;
        loop {
            let present = znodes(&mut client, self.pair.rule, &path);
            if present.as_ref().is_ok_and(|present| *present == count) {
                return Ok(client.close()?);
            }
            if Instant::now() > until {
                let what = format!("{present:?} contend after {SOON:?}, and {count} are to");
                return Err(self.disturbed(&what));
            }
            self.hear(Instant::now() + BETWEEN_LOOKS)?;
        }
    }

    /// Nothing is said for a while: those that are to wait do.
    pub(super) fn stays_as_it_is(&mut self) -> TestResult {
        let turns = self.counts.turns;
        let until = Instant::now() + QUIET;
        while self.hear(until)? {}
        if self.counts.turns == turns { Ok(()) } else { Err(self.disturbed("one holds too soon")) }
    }

    /// Goes on until there were as many turns: releases, kills holders and kills those that wait. A
    /// contender that has had a turn asks again, one that was killed is replaced.
    pub(super) fn run(&mut self, turns: usize) -> TestResult {
        let mut step = 0;
        self.when_disturbed = WhenDisturbed::Replace;
        while self.counts.turns < turns {
            self.wait_until("one holds whose turn it is", |relay| !relay.is_one_due())?;
            let pause = Duration::from_millis(self.random.u64(0..20));
            let until = Instant::now() + pause;
            while self.hear(until)? {}
            let Some(holder) = self.one_that(|state| matches!(state, State::Holding(..))) else {
                continue;
            };
            match step % 5 {
                1 => self.replace(holder)?,
                3 => {
                    if let Some(waiter) = self.one_that(|state| matches!(state, State::Waiting(_)))
                    {
                        self.replace(waiter)?;
                    }
                    self.release(holder)?;
                }
                _ => self.release(holder)?,
            }
            step += 1;
        }
        Ok(())
    }

    /// Ends all, and looks at what they have left and done.
    pub(super) fn finish(mut self) -> TestResult {
        let mut contenders = core::mem::take(&mut self.contenders);
        contenders.retain(|_, contender| !matches!(contender.state, State::Killed(..)));
        for contender in contenders.values_mut() {
            let held = match contender.state {
                State::Holding(access, from) => Some((access, from, now())),
                State::Releasing(access, from, until) => Some((access, from, until)),
                _ => None,
            };
            if let Some((access, from, until)) = held {
                let contender = contender.name.clone();
                self.ledger.record(Held { contender, access, from, until });
            }
            contender.end_orders();
        }
        for contender in contenders.values_mut() {
            let status = contender.wait_for_end()?;
            if !status.success() {
                let (name, log) = (&contender.name, contender.log());
                return Err(self.disturbed(&format!("{name} ends with {status}: {log}")));
            }
        }
        drop(contenders);
        self.wait_for_znodes(0)?;
        let held = self.ledger.check(self.pair.rule)?;
        let Counts { turns, between_libraries, killed_holders, killed_waiters, disturbed } =
            self.counts;
        println!(
            "{}: {turns} turns, {between_libraries} of them after one of the other library, \
             {killed_holders} holders and {killed_waiters} others killed, {disturbed} disturbed; \
             {} intervals checked",
            self.pair.name,
            held.len(),
        );
        Ok(())
    }

    fn one_that(&mut self, is: impl Fn(State) -> bool) -> Option<usize> {
        let found: Vec<usize> = self
            .contenders
            .iter()
            .filter(|(_, contender)| is(contender.state))
            .map(|(number, _)| *number)
            .collect();
        self.random.choice(found)
    }

    /// Whether a contender that waits is to hold soon.
    fn is_one_due(&self) -> bool {
        let count = |is: fn(State) -> bool| {
            self.contenders.values().filter(|contender| is(contender.state)).count()
        };
        let holding = count(|state| matches!(state, State::Holding(..)));
        match self.pair.rule {
            Rule::Lock => holding == 0,
            Rule::Permits(permits) => holding < permits,
        }
    }
}

/// Returns the number of children that contend.
fn znodes(client: &mut RawClient, rule: Rule, path: &str) -> Result<usize, RawError> {
    match rule {
        Rule::Lock => count(client, path),
        // As Curator lays a semaphore out.
        Rule::Permits(_) => {
            Ok(count(client, &format!("{path}/locks"))? + count(client, &format!("{path}/leases"))?)
        }
    }
}

/// Returns the number of children: none, if a library has removed the parent.
fn count(client: &mut RawClient, path: &str) -> Result<usize, RawError> {
    if client.exists(path)? { Ok(client.children(path)?.len()) } else { Ok(0) }
}

//! The beginning of a run's story.

use core::fmt;
use core::time::Duration;

use zk_embedded::ExpiryPace;
use zk_session::SilentServers;

use super::{Calls, Plan};
use crate::ensemble::{ReadOnlyMode, TouchLoss};
use crate::locks::Locks;
use crate::many::Many;
use crate::profile::grade_name;
use crate::reasons::Counters;
use crate::uses::Uses;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, profile {}, grade {}: {} servers (ticks of {} ms, syncLimit {}), {} clients \
             with sessions of {} ms, clocks within {} %",
            self.seed,
            self.profile,
            grade_name(self.grade),
            self.servers,
            self.tick.as_millis(),
            self.sync_limit,
            self.nominees.len(),
            self.timeout.as_millis(),
            self.drift / 10_000,
        )?;
        self.fmt_particulars(f)?;
        writeln!(f, "what happens:")?;
        for incident in &self.incidents {
            writeln!(f, "  {:>12}  {incident}", incident.at.to_string())?;
        }
        writeln!(f, "  {:>12}  everything is well again", self.calm_at.to_string())
    }
}

impl Plan {
    /// Writes the properties that are not the same in every run.
    fn fmt_particulars(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.most_ticks < 20 {
            writeln!(f, "session timeouts of {} ticks at most", self.most_ticks)?;
        }
        if let Counters::Before(left) = self.counters {
            writeln!(f, "{left} creates before the last number; then: {:?}", self.counter_end)?;
        }
        if self.pace != ExpiryPace::default() {
            writeln!(f, "{:?}", self.pace)?;
        }
        if self.touch_loss != TouchLoss::default() {
            writeln!(f, "{:?}", self.touch_loss)?;
        }
        if let Some(Calls { every, most, while_disconnected }) = &self.calls {
            let every = every.as_millis();
            writeln!(f, "calls each {every} ms, {most} at once; {while_disconnected:?}")?;
        }
        if let Some(Locks { every, longest, in_the_end }) = self.locks {
            let (every, longest) = (every.as_millis(), longest.as_millis());
            writeln!(f, "locks each {every} ms, held for {longest} ms at most; {in_the_end:?}")?;
        }
        if let Some(Uses { every, longest, participants }) = self.uses {
            let (every, longest) = (every.as_millis(), longest.as_millis());
            writeln!(
                f,
                "a recipe each {every} ms, for {longest} ms at most; {participants} enter"
            )?;
        }
        if let Some(Many { every }) = self.many {
            writeln!(f, "a write to the tree, and to each slot, each {} ms", every.as_millis())?;
        }
        if let Some(like) = self.like {
            writeln!(f, "{like:?}")?;
        }
        if let Some(operating) = self.operating {
            let look_every = self.look_every.as_millis();
            writeln!(f, "{operating:?}, a look each {look_every} ms")?;
        }
        if self.silent_servers == SilentServers::Leave {
            writeln!(f, "clients leave silent servers")?;
        }
        if self.read_only == ReadOnlyMode::On {
            writeln!(f, "members without a leader serve reads")?;
        }
        if self.latency + self.lateness > Duration::ZERO {
            let (latency, lateness) = (self.latency.as_millis(), self.lateness.as_millis());
            writeln!(f, "{latency} ms from clients to servers; {lateness} ms late at most")?;
        }
        Ok(())
    }
}

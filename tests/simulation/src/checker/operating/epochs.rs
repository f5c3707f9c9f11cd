//! The laws of epochs: they go with their election, and writes in them keep the order of tokens.

use zk_embedded::{Database, Znode};
use zk_jute::{Version, Zxid};

use crate::checker::Broken;
use crate::outcome::{Law, OperatingStats};
use crate::queue::Queue;

/// The suffix that makes the path of the epoch from that of the election node.
const SUFFIX: &str = ".epoch";

/// The path of the znode whose version is the epoch.
pub(crate) fn epoch_of(queue: Queue) -> String {
    [queue.node(), SUFFIX].concat()
}

/// The epoch of one election, as the most advanced member shows it.
#[derive(Debug, Default)]
pub(super) struct Epoch {
    /// The creation of the election node.
    life: Option<Zxid>,
    /// The last creation of it.
    latest: Option<Zxid>,
    /// The creation of the epoch's znode, and its version.
    begun: Option<(Zxid, Version)>,
    /// The last write in an epoch.
    written: Zxid,
    /// The greatest token in such a write.
    greatest: i64,
}

impl Epoch {
    /// The creation of the election node, when the epoch was last looked at.
    pub(super) const fn life(&self) -> Option<Zxid> {
        self.life
    }

    pub(super) fn take_in(
        &mut self,
        queue: Queue,
        database: &Database,
        stats: &mut OperatingStats,
    ) -> Result<(), Broken> {
        let stat = |path: &str| database.znode(path).map(Znode::stat);
        let life = stat(queue.node()).map(|stat| stat.czxid);
        let epoch = stat(&epoch_of(queue)).map(|stat| (stat.czxid, stat.version));
        let (was, last) = (core::mem::replace(&mut self.life, life), self.begun);
        (self.begun, self.latest) = (epoch, life.or(self.latest));
        stats.epochs += u64::from(epoch.is_some() && epoch != last);
        if let (Some(last), true) = (last, was.is_some() && was == life) {
            let goes_on = epoch.is_some_and(|(made, version)| made == last.0 && last.1 <= version);
            if !goes_on {
                let detail = format!("from {last:?} to {epoch:?} in one election {queue}");
                return Err((Law::EpochsInOrder, detail));
            }
        }
        self.take_in_register(queue, database, stats)
    }

    /// A write in an epoch of an election that was deleted may pass in the same one of the next.
    fn take_in_register(
        &mut self,
        queue: Queue,
        database: &Database,
        stats: &mut OperatingStats,
    ) -> Result<(), Broken> {
        let Some(register) = database.znode(queue.register()) else {
            return Ok(());
        };
        let written = register.stat().mzxid;
        if core::mem::replace(&mut self.written, written) == written {
            return Ok(());
        }
        let Some(token) = register.data().and_then(|data| data.try_into().ok()) else {
            return Ok(());
        };
        let token = i64::from_be_bytes(token);
        stats.writes_in_epochs += 1;
        if self.latest.is_some_and(|life| token < life.get()) {
            stats.writes_in_deleted += 1;
            return Ok(());
        }
        let last = core::mem::replace(&mut self.greatest, token);
        if last <= token {
            return Ok(());
        }
        Err((Law::EpochsInOrder, format!("{token} was written after {last} in {queue}")))
    }
}

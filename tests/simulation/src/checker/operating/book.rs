//! The laws of one election that is ended, handed over, or led with a lock delay.

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use election_core::election::Nominee;
use election_core::format::Format;
use election_core::name::Sequence;
use election_core::{NomineeId, Token};
use zk_embedded::{Database, Znode};
use zk_jute::Zxid;

use super::Word;
use super::epochs::Epoch;
use crate::checker::election_node::Candidate;
use crate::checker::{Broken, Candidates, name};
use crate::clock::Time;
use crate::outcome::Law;
use crate::queue::Queue;

/// What is known of one election.
#[derive(Debug)]
pub(super) struct Book {
    pub(super) queue: Queue,
    pub(super) epoch: Epoch,
    /// The sign that the election is ended.
    pub(super) sign: Option<Zxid>,
    /// When it was there last.
    pub(super) sign_gone_at: Option<Time>,
    /// When the end was acknowledged by which it stands.
    pub(super) acknowledged_at: Option<Time>,
    /// An end was asked for, and its sign was not seen: it may come and go in one step of the servers.
    pub(super) has_unseen_end: bool,
    /// The token in the mark of the leader.
    pub(super) mark: Option<Token>,
    /// Whether an operator has ever deleted a mark.
    pub(super) erasures: Erasures,
    /// Leaders whose marks an operator may have deleted.
    pub(super) erased: BTreeSet<Token>,
    /// The candidates that are gone: when, and the sign that stood then.
    pub(super) gone: BTreeMap<Token, Gone>,
    /// The leadership that was announced last.
    pub(super) last: Option<Token>,
    /// Leaders whose users have given the leadership up.
    pub(super) given_up: BTreeMap<Token, (NomineeId, Word)>,
    /// Marks of hand-overs: the places that they name, and since when those stand that do.
    pub(super) hand_overs: BTreeMap<Sequence, Option<Time>>,
    /// The leader that has stepped down last, for this candidate.
    pub(super) stepped_down: Option<(Token, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Erasures {
    Never,
    Sometimes,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Gone {
    pub(super) at: Time,
    pub(super) nominee: NomineeId,
    pub(super) sign: Option<Zxid>,
}

impl Book {
    pub(super) fn new(queue: Queue) -> Self {
        Self {
            queue,
            epoch: Epoch::default(),
            sign: None,
            sign_gone_at: None,
            acknowledged_at: None,
            has_unseen_end: false,
            mark: None,
            erasures: Erasures::Never,
            erased: BTreeSet::new(),
            gone: BTreeMap::new(),
            last: None,
            given_up: BTreeMap::new(),
            hand_overs: BTreeMap::new(),
            stepped_down: None,
        }
    }

    /// Returns how many leaders may have had their mark deleted unseen.
    pub(super) fn take_in(
        &mut self,
        now: Time,
        database: &Database,
        candidates: &Candidates,
    ) -> u64 {
        let mut unseen = 0;
        let format = Format::curator_latch();
        let sign = self.queue.child(format.end_mark().unwrap_or_default());
        let sign = database.znode(&sign).map(|znode| znode.stat().czxid);
        self.has_unseen_end &= sign.is_none();
        if sign != self.sign {
            self.sign_gone_at = self.sign.map(|_| now).or(self.sign_gone_at);
            (self.sign, self.acknowledged_at) = (sign, None);
        }
        let mark = database.znode(&mark_of(self.queue));
        let mark = mark.and_then(token_in);
        if let (Some(erased), None, Erasures::Sometimes) = (self.mark, mark, self.erasures) {
            self.erased.insert(erased);
            // The next leader may have written its own in the same step of the servers, before the
            // operator's deletion.
            let first = candidates.in_order(self.queue).first().copied();
            let next = first.and_then(|first| candidates.token_of(self.queue, first));
            unseen = u64::from(next.is_some_and(|next| self.erased.insert(next)));
        }
        let node = database.znode(self.queue.node());
        // With an election that is deleted its mark goes, and one that is left where there is none.
        let life = node.map(|node| node.stat().czxid);
        let may_go = life.is_none() || life != self.epoch.life();
        self.erased.extend(self.mark.filter(|erased| may_go && mark != Some(*erased)));
        self.mark = mark;
        let children = node.into_iter().flat_map(Znode::children);
        let asked = children.filter_map(|name| Some(format.parse_hand_over_mark(name)?.to()));
        let asked: BTreeSet<Sequence> = asked.collect();
        for (to, since) in &mut self.hand_overs {
            if !asked.contains(to) {
                *since = None;
            }
        }
        for to in asked {
            let since = self.hand_overs.entry(to).or_default();
            *since = since.or(Some(now));
        }
        unseen
    }

    /// A candidate has gone by itself. If its nominee led, and has said that it ended, the mark went with
    /// it.
    pub(super) fn check_clean_end(&self, candidate: &Candidate) -> Result<bool, Broken> {
        let token = Token::new(candidate.czxid.get());
        if !matches!(self.given_up.get(&token), Some((_, Word::Ended))) {
            return Ok(false);
        }
        if self.mark == Some(token) {
            let detail = format!("{}, which has ended, left its mark", name(candidate.nominee));
            return Err((Law::MarkOfTheLeader, detail));
        }
        Ok(true)
    }

    /// None leads by a candidate that was created while the election was ended.
    pub(super) fn check_no_sign(&self, nominee: NomineeId, token: Token) -> Result<(), Broken> {
        match self.sign {
            Some(sign) if sign.get() < token.get() => {
                let detail = format!("{} is elected although it is ended", name(nominee));
                Err((Law::EndedForAll, detail))
            }
            _ => Ok(()),
        }
    }

    /// The next one is the candidate that the leader has stepped down for, while that stands. Tells
    /// whether an excuse was made for the one that is elected: an operator has hidden its candidate, and
    /// then that was deleted. No server reports this, so it is elected by a candidate that is gone, and
    /// hears of it at its next look.
    pub(super) fn check_successor(
        &mut self,
        nominee: NomineeId,
        token: Token,
        candidates: &Candidates,
    ) -> Result<bool, Broken> {
        if candidates.is_hidden(token) && candidates.evicted_at(token).is_some() {
            return Ok(true);
        }
        let Some((_, to)) = self.stepped_down.take_if(|(from, _)| *from < token) else {
            return Ok(false);
        };
        match candidates.token_of(self.queue, &to) {
            Some(due) if due != token => {
                let detail = format!("{} is elected, and {to} was to be", name(nominee));
                Err((Law::HandedOver, detail))
            }
            _ => Ok(false),
        }
    }

    /// The leader before this one has said that it ended, or its candidate went so long ago. Tells whether
    /// it is the latter.
    pub(super) fn check_delay(
        &self,
        now: Time,
        (nominee, token): (NomineeId, Token),
        least: Duration,
    ) -> Result<bool, Broken> {
        let Some(before) = self.last.filter(|before| *before < token && !least.is_zero()) else {
            return Ok(false);
        };
        let has_said_so =
            matches!(self.given_up.get(&before), Some((_, Word::Ended | Word::EndedLate)));
        let may_be_sooner = has_said_so || self.erased.contains(&before);
        let Some(gone) = self.gone.get(&before).filter(|_| !may_be_sooner) else {
            return Ok(false);
        };
        let waited = now.since(gone.at);
        if waited >= least {
            return Ok(true);
        }
        let (waited, least) = (waited.as_millis(), least.as_millis());
        let detail = format!(
            "{} is elected {waited} ms after {} has gone, and not {least}",
            name(nominee),
            name(gone.nominee)
        );
        Err((Law::LockDelay, detail))
    }

    pub(super) fn check_told_of_an_end(
        &self,
        nominee: NomineeId,
        since: Option<Time>,
    ) -> Result<(), Broken> {
        let was_ended = self.has_unseen_end
            || self.sign.is_some()
            || self.sign_gone_at.is_some_and(|gone| since.is_none_or(|since| since <= gone));
        if was_ended {
            return Ok(());
        }
        Err((Law::EndedForAll, format!("{} is told of an end that never was", name(nominee))))
    }

    /// One whose candidate was deleted is told of the end if the sign has stood since.
    pub(super) fn check_not_told_of_an_end(&self, nominee: NomineeId) -> Result<(), Broken> {
        let gone = self.gone.values().filter(|gone| gone.nominee == nominee);
        let gone = gone.max_by_key(|gone| gone.at);
        let was_ended = gone.is_some_and(|gone| gone.sign.is_some() && gone.sign == self.sign);
        if was_ended {
            let detail = format!("{} takes the end for an eviction", name(nominee));
            return Err((Law::EndedForAll, detail));
        }
        Ok(())
    }
}

/// The path of the mark that says whose leadership has not ended cleanly.
pub(crate) fn mark_of(queue: Queue) -> String {
    [queue.node(), Nominee::LOCK_DELAY_MARK].concat()
}

fn token_in(mark: &Znode) -> Option<Token> {
    let text = core::str::from_utf8(mark.data()?).ok()?;
    Some(Token::new(text.strip_prefix("token: ")?.parse().ok()?))
}

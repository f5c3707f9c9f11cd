//! How worlds begin.

use std::rc::Rc;

use election_core::election::Policy;
use election_core::format::Format;
use election_core::lock::LockOptions;
use election_core::{SessionId, Token};

use super::budget::Budget as Faults;
use super::candidates::Candidate;
use super::candidates::nominee_id;
use super::machine::{Machine, Wish};
use super::names::Name;
use super::operators::Course;
use super::operators::Ending;
use super::{Contest, Kinds, Notes, World};
use crate::lab::{Access, Budget, NONE, Tree, Znode};

/// Of a contender that is no client of the world's.
pub const FOREIGN: SessionId = SessionId::new(900_000);

impl World {
    /// Makes a world of clients that are about to connect, each with one nominee.
    pub fn nominees(clients: usize, budget: Faults) -> Self {
        Self::with_policy(clients, budget, Policy::default())
    }

    pub fn with_policy(clients: usize, budget: Faults, policy: Policy) -> Self {
        Self::of(&vec![Wish::Leadership(policy); clients], budget)
    }

    /// Makes a world of nominees in a format of another library.
    pub fn in_format(clients: usize, format: Format, budget: Faults) -> Self {
        Self::of(&vec![Wish::LeadershipIn(format); clients], budget)
    }

    /// Contenders for one lock.
    pub fn locks(options: &[LockOptions], budget: Faults) -> Self {
        let wishes: Vec<Wish> = options.iter().copied().map(Wish::Lock).collect();
        Self::of(&wishes, budget)
    }

    /// Makes a world of connected nominees, in their order, and at rest.
    pub fn settled_nominees(clients: usize, budget: Faults) -> Self {
        Self::nominees(clients, Faults::default()).settled().facing(budget)
    }

    pub fn settled_locks(options: &[LockOptions], budget: Faults) -> Self {
        Self::locks(options, Faults::default()).settled().facing(budget)
    }

    fn of(wishes: &[Wish], budget: Faults) -> Self {
        let format = |wish: &Wish| wish.kind().format();
        let mixes_formats = wishes.windows(2).any(|two| format(&two[0]) != format(&two[1]));
        let before_all = Token::new(0);
        let model = Contest {
            kinds: Kinds {
                numbers_matter: false,
                may_fail: false,
                mixes_formats,
                knows_create2: true,
            },
            budget: Faults::default(),
            evicted: Vec::new(),
            greatest_token: before_all,
            greatest_unshared: before_all,
            written_by: before_all,
            ending: Ending::None,
            course: Course::Open,
            hand_over: None,
            has_evicted_otherwise: false,
            record: None,
        };
        let lab = Self::new(model, Tree::from([(Name::Node, Znode::new(1, 0))]), NONE);
        let wishes = wishes.iter();
        wishes.fold(lab, |lab, wish| lab.contended_by(*wish)).facing(budget)
    }

    fn contended_by(self, wish: Wish) -> Self {
        let machine = Machine::new(nominee_id(self.clients.len()), wish);
        self.client(wish, Notes::NONE, Some(machine))
    }

    /// Gives the world faults to come.
    pub fn facing(mut self, budget: Faults) -> Self {
        let Faults { losses, expiries, swaps, withdrawals, lapses, deletions, writes, .. } = budget;
        let Faults { bars, lost_watches, looks, throttles, refusals, stragglers, .. } = budget;
        let Faults { held_back, too_large, .. } = budget;
        self.budget = Budget {
            losses,
            expiries,
            swaps,
            withdrawals,
            lapses,
            looks,
            lost_watches,
            throttles,
            held_back,
            too_large,
            refusals,
            stragglers,
            deletions,
            writes,
            bars,
            ..NONE
        };
        // The laboratory has these.
        self.model.budget = Faults {
            losses: 0,
            expiries: 0,
            swaps: 0,
            withdrawals: 0,
            lapses: 0,
            deletions: 0,
            writes: 0,
            bars: 0,
            lost_watches: 0,
            looks: 0,
            throttles: 0,
            held_back: 0,
            too_large: 0,
            refusals: 0,
            stragglers: 0,
            ..budget
        };
        self.model.kinds.numbers_matter |= budget.wipes > 0;
        self.model.kinds.may_fail |= bars + refusals + too_large > 0;
        self.model.has_evicted_otherwise |= deletions + budget.wipes + budget.reopens > 0;
        self
    }

    /// Adds a contender for the lock that is about to connect.
    pub fn joined_by(self, options: LockOptions) -> Self {
        self.contended_by(Wish::Lock(options))
    }

    /// Adds a candidate to the world that no client created.
    pub fn beside(mut self, name: Candidate, owner: Option<SessionId>) -> Self {
        let znode = Znode { owner, ..Znode::new(50, 0) };
        let is_foreign = |wish: &Wish| wish.kind().format() != name.kind.format();
        self.model.kinds.mixes_formats |= self.clients.iter().any(|it| is_foreign(&it.role));
        Rc::make_mut(&mut self.server.base).insert(Name::Candidate(name), znode);
        self.server.tip_mut().insert(Name::Candidate(name), znode);
        self.server.next.insert(Name::Node, 1);
        self
    }

    /// Lets no client read the candidates that stand.
    pub fn barred(mut self) -> Self {
        let server = &mut *self.server;
        let trees = [&mut server.base, &mut server.tip].map(Rc::make_mut);
        let candidates = trees.into_iter().flatten().filter(|(name, _)| **name != Name::Node);
        candidates.for_each(|(_, znode)| znode.access = Access::Barred);
        self
    }

    pub fn without_election_node(mut self) -> Self {
        (self.server.base, self.server.tip) = (Rc::default(), Rc::default());
        self
    }

    /// Gives the world servers before 3.5: their replies to a create tell its name only.
    pub fn without_create2(mut self) -> Self {
        self.model.kinds.knows_create2 = false;
        self
    }

    /// Sets the server's counter to `next`.
    pub fn counting_from(mut self, next: i32) -> Self {
        self.server.next.insert(Name::Node, u32::try_from(next).expect("31 bits"));
        self.model.kinds.numbers_matter = true;
        self.model.kinds.may_fail = true;
        self
    }
}

//! One laboratory for all recipes: a ZooKeeper ensemble whose servers lag, lose, refuse, throttle and show half of a
//! transaction; clients with any [`Recipe`]; and a search of every state that there is.
//!
//! A [`Model`] says what is a recipe's own: the names of its znodes, what its users do, and its laws. Each world has
//! each fault by its [`Budget`].

mod actors;
mod alike;
mod budget;
mod canonical;
mod client;
mod clients;
mod either;
mod faults;
mod mix;
mod ranks;
mod reading;
mod search;
mod server;
mod shared;
mod steps;
mod take;
mod tickets;

use core::fmt::Debug;
use core::hash::Hash;

use election_core::{
    Change as Fired, Event, NewZnode, Output, Payload, Phase, Recipe, Ticket, Znode as Place,
};

pub use alike::Placed;
pub use budget::{ANY_NUMBER, Budget, NONE, spend};
pub use client::{Actor, Client, Ghost, Late, Link, Rights, Sent, Watcher};
pub use clients::Clients;
pub use either::{Either, EitherNotice};
pub use search::{explore, explore_to_a_limit, holds_against_unmerged};
pub use server::{Access, Answer, Change, Data, Effect, Request, Server, Tree, Znode};
pub use steps::Step;

use shared::Shared;

/// What is a recipe's own in a world.
pub trait Model: Clone + Debug + Hash {
    /// A znode of this world.
    type Name: Copy + Ord + Debug + Hash;
    type Machine: Recipe<Notice: Debug + Clone> + Clone + Debug + Hash + PartialEq;
    /// What a client is for.
    type Role: Clone + Debug + Hash + PartialEq;
    /// What its laws remember of a client.
    type Notes: Clone + Debug + Hash;
    /// What users and operators do, beyond what the laboratory does to any recipe.
    type Act: Copy + Debug + PartialEq;

    const NODE: Self::Name;
    /// The most watches of a machine.
    const WATCHES: usize;
    /// The most requests of a machine that are on their way.
    const REQUESTS: usize = 1;
    /// Whether the machines that are over are all that there will be.
    const ENDS_FOR_GOOD: bool = false;
    /// Whether a new session begins at a server that has applied everything, as a quorum has committed it.
    const SESSIONS_ARE_GLOBAL: bool = false;
    /// Whether a client's server is only as far as it matters: it applies what a watch or an answer waits for, and what a
    /// read is to show.
    const APPLIES_WHAT_MATTERS: bool = false;
    /// Whether a session may read its own znode that is barred, and is told of its end. It may look at it in any case.
    const OWNERS_READ: bool = true;
    /// Whether a look sets watches anew; otherwise a machine relies on those that it had.
    const WATCHES_AGAIN: bool = true;
    /// What an operator writes.
    const SCRAWL: Data = Data::Byte(99);
    /// Children that each list has, and that no recipe knows.
    const STRAYS: &'static [&'static str] = &[];

    fn name(place: Place<'_>) -> Self::Name;
    /// The znode's name below its parent.
    fn text(name: Self::Name) -> String;
    fn parent(name: Self::Name) -> Option<Self::Name>;
    /// The name of a sequential znode before it has its number, and after that.
    fn unnumbered(znode: &NewZnode<'_>) -> Self::Name {
        panic!("no sequential znodes here: {znode:?}")
    }
    fn numbered(_unnumbered: Self::Name, _number: u32) -> Option<Self::Name> {
        None
    }
    fn data(payload: Payload<'_>) -> Data {
        match payload {
            Payload::Empty | Payload::Kept(_) => Data::Byte(0),
            Payload::Bytes(&[byte]) => Data::Byte(byte),
            Payload::Bytes(other) => panic!("{other:?}"),
        }
    }
    fn bytes(data: Data) -> Vec<u8> {
        match data {
            Data::Byte(byte) => vec![byte],
            Data::Token(token) => token.get().to_string().into_bytes(),
        }
    }

    /// The same name if clients are called otherwise: client `i` is `to[i]`. Worlds in which clients of one role are
    /// exchanged are one if this is `Some`.
    fn renamed(_name: Self::Name, _to: &[u8]) -> Option<Self::Name> {
        None
    }
    /// Whether it does not matter which of the clients is which, nor how high the numbers of their znodes are.
    fn are_alike(_lab: &Lab<Self>) -> bool {
        false
    }
    /// What matters of a name where clients are alike.
    fn placed(name: Self::Name) -> Placed {
        panic!("no places here: {name:?}")
    }
    /// A name in the `Debug` form of a machine or of notes, at the beginning of this text, and its length.
    fn read_name(_text: &str) -> Option<(Self::Name, usize)> {
        None
    }

    /// The machine with which the killed process of a client starts again, if it does.
    fn restarted(_lab: &mut Lab<Self>, _i: usize) -> Option<Self::Machine> {
        None
    }
    /// Whether an operator may delete, write to or bar it.
    fn is_operators(_lab: &Lab<Self>, _name: Self::Name) -> bool {
        true
    }
    fn may_be_refused(_lab: &Lab<Self>, _i: usize, sent: &Sent<Self::Name>) -> bool {
        !matches!(sent.request, Request::Exists(..) | Request::Barrier)
    }
    /// Whether a driver may not send a request with data, for its length.
    fn may_be_too_long(lab: &Lab<Self>, i: usize, sent: &Sent<Self::Name>) -> bool {
        Self::may_be_refused(lab, i, sent)
    }
    /// Whether one that owes a deletion asks for it in vain, however often it looks.
    fn asks_in_vain(rights: Rights) -> bool {
        rights == Rights::NotTo(Right::Delete)
    }
    /// Whether a client may be told that its time is over, and be withdrawn.
    fn has_user(client: &Client<Self>) -> bool {
        !client.is_over() && client.link != Link::New
    }
    /// What may be done next, and whether it is done sooner or later.
    fn acts(_lab: &Lab<Self>) -> Vec<(Self::Act, bool)> {
        Vec::new()
    }
    fn act(_lab: &mut Lab<Self>, _act: Self::Act) {}

    fn committed(_lab: &mut Lab<Self>, _commit: &Commit<'_, Self>) {}
    fn told(
        _lab: &mut Lab<Self>,
        _i: usize,
        _actor: Actor,
        _notice: <Self::Machine as Recipe>::Notice,
    ) {
    }
    /// A client begins a session, and is about to hear of it.
    fn begun(_lab: &mut Lab<Self>, _i: usize) {}
    /// A server answers a read.
    fn answered(
        _lab: &mut Lab<Self>,
        _i: usize,
        _request: &Request<Self::Name>,
        _answer: &Answer<Self::Name>,
    ) {
    }
    /// The answer to a write comes.
    fn replied(_lab: &mut Lab<Self>, _i: usize, _answer: &Answer<Self::Name>) {}
    /// A machine has asked for something: for the client's last request.
    fn asked(_lab: &mut Lab<Self>, _i: usize) {}
    /// A connection is lost, and its client is about to hear of it.
    fn disconnected(_lab: &mut Lab<Self>, _i: usize) {}
    /// A step was taken.
    fn taken(_lab: &mut Lab<Self>) {}
    /// Whether a client needs a look for another reason than lost watches.
    fn needs_look(_lab: &Lab<Self>, _i: usize) -> bool {
        false
    }
    /// Whether a client's server tells the metadata of what it creates, as since 3.5.
    fn knows_create2(_lab: &Lab<Self>, i: usize) -> bool {
        i == 0
    }
    /// A machine has taken something in.
    fn stepped(_lab: &mut Lab<Self>, _i: usize, _actor: Actor) {}
    /// A fault has befallen a client.
    fn suffered(_lab: &mut Lab<Self>, _fault: &Step<Self>) {}
    fn check(lab: &Lab<Self>) -> Result<(), String>;
    /// The laws of a state in which nothing is on its way any more, and nothing goes wrong any more.
    fn check_rest(lab: &Lab<Self>) -> Result<(), String>;
}

/// A right, as access lists have them, and for how long it is gone: that to delete is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Right {
    Create,
    Write,
    List,
    Delete,
}

/// A commit, with the trees before and after it.
#[derive(Debug)]
pub struct Commit<'a, M: Model> {
    /// The client; none of an operator, or of the end of a session.
    pub author: Option<usize>,
    pub actor: Option<Actor>,
    pub request: &'a Request<M::Name>,
    pub before: &'a Tree<M::Name>,
    pub after: &'a Tree<M::Name>,
}

/// The output of a machine.
type Said<'a, M> = Output<'a, <<M as Model>::Machine as Recipe>::Notice>;

/// A world.
#[derive(Clone, Debug)]
pub struct Lab<M: Model> {
    pub model: M,
    pub server: Shared<Server<M::Name>>,
    pub clients: Clients<M>,
    pub ghosts: Vec<Ghost<M::Name>>,
    pub budget: Budget,
    /// The rights that may be taken.
    pub rights: &'static [Right],
    pub max_lag: usize,
    /// Whether a session begins at an older server than the last one's, as local sessions may.
    pub has_local_sessions: bool,
    /// The first law that was broken.
    pub fault: Option<String>,
}

impl<M: Model> Lab<M> {
    pub fn new(model: M, tree: Tree<M::Name>, budget: Budget) -> Self {
        Self {
            model,
            server: Server::new(tree).into(),
            clients: Clients::none(),
            ghosts: Vec::new(),
            budget,
            rights: &[Right::Write, Right::List, Right::Delete],
            max_lag: 1,
            has_local_sessions: false,
            fault: None,
        }
    }

    pub fn client(mut self, role: M::Role, notes: M::Notes, machine: Option<M::Machine>) -> Self {
        let index = u8::try_from(self.clients.len()).expect("few");
        self.clients.push(Client::new(index, role, notes, machine));
        self
    }

    pub fn lagging(mut self, max_lag: usize) -> Self {
        self.max_lag = max_lag;
        self
    }

    pub fn with_local_sessions(mut self) -> Self {
        self.has_local_sessions = true;
        self
    }

    pub fn forbidding(mut self, rights: &'static [Right]) -> Self {
        self.rights = rights;
        self
    }

    /// Adds commits that the clients' servers have not applied yet.
    pub fn after(mut self, commits: Vec<Vec<Effect<M::Name>>>) -> Self {
        for effects in commits {
            self.server.commit(effects);
        }
        self
    }

    /// Connects the clients one after the other, each until nothing of it is on its way, without a fault.
    pub fn settled(mut self) -> Self {
        let budget = core::mem::take(&mut self.budget);
        for i in 0..self.clients.len() {
            self.take(Step::Connect(i));
            let is_its = |(step, _): &(Step<M>, bool)| {
                matches!(step, Step::Execute(_) | Step::ReadAt(..) | Step::Apply(_))
            };
            while let Some((step, _)) = self.steps().into_iter().find(is_its) {
                self.take(step);
            }
        }
        self.check().expect("nothing went wrong");
        self.budget = budget;
        self
    }

    pub fn tip(&self) -> &Tree<M::Name> {
        &self.server.tip
    }

    pub fn break_with(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    /// Puts a machine of this number in the place of the one before, if there was one.
    pub fn begin(&mut self, i: usize, actor: Actor, machine: M::Machine) {
        let client = &mut self.clients[i];
        client.machines.insert(actor, machine);
        let session = client.session;
        if client.is_up() {
            self.feed(i, actor, Event::Connected { session });
        }
    }

    /// Has a machine go on under another number; without one, its late answers go to nobody.
    pub fn renumber(&mut self, i: usize, from: Actor, to: Option<Actor>) {
        const GONE: Actor = Actor::MAX;
        let client = &mut self.clients[i];
        let machine = client.machines.remove(from);
        if let (Some(to), Some(machine)) = (to, machine) {
            client.machines.insert(to, machine);
        }
        let rename = |actor: &mut Actor| {
            if *actor == from {
                *actor = to.unwrap_or(GONE);
            }
        };
        client.requests.iter_mut().for_each(|sent| rename(&mut sent.actor));
        client.due.iter_mut().for_each(|due| rename(&mut due.actor));
        client.watches.iter_mut().for_each(|watch| rename(&mut watch.actor));
        client.late.iter_mut().for_each(|late| match late {
            Late::Answer(actor, ..) | Late::Changed(actor, ..) => rename(actor),
        });
        drop(client.drop_watches());
    }

    pub fn feed(&mut self, i: usize, actor: Actor, event: Event<'_>) {
        self.drive(i, actor, |machine, then| then(machine.handle_event(event)));
    }

    pub fn withdraw(&mut self, i: usize, actor: Actor) {
        self.drive(i, actor, |machine, then| then(machine.withdraw()));
    }

    /// Has a machine take something in.
    pub fn drive(
        &mut self,
        i: usize,
        actor: Actor,
        act: impl FnOnce(&mut M::Machine, &mut dyn FnMut(Said<'_, M>)),
    ) {
        let client = &mut self.clients[i];
        let session = client.session;
        let Some(machine) = client.machines.get_mut(actor) else { return };
        let was_over = machine.phase() == Phase::Over;
        let mut asked: Option<(Ticket, Request<M::Name>)> = None;
        let mut notice = None;
        act(machine, &mut |output| {
            asked = output.command.map(|sent| (sent.ticket, Request::of::<M>(&sent.op, session)));
            notice = output.notice;
        });
        let is_over = machine.phase() == Phase::Over;
        // What a straggler tells of is deleted even then.
        let asks = asked.as_ref().is_some_and(|(ticket, _)| !ticket.is_cleanup());
        if was_over && (!is_over || asks || notice.is_some()) {
            self.break_with(format!("{i}: goes on after it was over: {asked:?}, {notice:?}"));
        }
        if let Some((ticket, request)) = asked {
            let client = &mut self.clients[i];
            let is_early = client.asked(actor) >= M::REQUESTS || !client.is_up();
            if is_early {
                self.break_with(format!("{i}: asks for {request:?} too early"));
            } else {
                client.requests.push_back(Sent { actor, ticket, request });
                M::asked(self, i);
            }
        }
        self.take_down_watches(i);
        M::stepped(self, i, actor);
        if let Some(notice) = notice {
            M::told(self, i, actor, notice);
        }
    }

    /// Takes down each watch that nothing awaits any more. A change may be on its way all the same, and must not matter.
    fn take_down_watches(&mut self, i: usize) {
        for Watcher { actor, ticket, .. } in self.clients[i].drop_watches() {
            let Some(machine) = self.clients[i].machines.get(actor) else { continue };
            for change in [Fired::Deleted, Fired::Data, Fired::Children, Fired::Lost] {
                let mut late = machine.clone();
                let Output { command, notice } =
                    late.handle_event(Event::Changed { ticket, change });
                let is_silent = command.is_none() && notice.is_none();
                if !is_silent || late != *machine {
                    let fault = format!("{i}: {change:?} of {ticket} matters, and is not awaited");
                    return self.break_with(fault);
                }
            }
        }
    }

    /// Checks the laws of any recipe, and the model's own.
    pub fn check(&self) -> Result<(), String> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        for client in self.clients.iter() {
            for (actor, machine) in client.machines.iter() {
                let watches = client.watches.iter().filter(|watch| watch.actor == *actor).count();
                let is_at_end = matches!(machine.phase(), Phase::CleaningUp | Phase::Over);
                let most = if is_at_end { 0 } else { M::WATCHES };
                if watches > most {
                    return Err(format!("{}: {watches} watches", client.index));
                }
            }
        }
        M::check(self)
    }
}

//! A contender for a permit, with events fed by hand.

use super::*;

/// A contender with what it last asked for.
pub(super) struct Script {
    pub(super) semaphore: Semaphore,
    pub(super) ticket: Option<Ticket>,
    pub(super) asked: String,
    pub(super) notice: Option<LockNotice>,
}

impl Script {
    pub(super) fn connected(options: SemaphoreOptions) -> Self {
        let semaphore = Semaphore::new(ID, options);
        let mut script = Self { semaphore, ticket: None, asked: String::new(), notice: None };
        script.feed(Event::Connected { session: SESSION });
        assert_eq!(script.asked, format!("create locks/_c_{UUID}-lock-"));
        script
    }

    /// Makes a script of a contender that has the turn, and asks for its permit.
    pub(super) fn entering(options: SemaphoreOptions) -> Self {
        let mut script = Self::connected(options);
        script.created(&turn(3), TURN);
        assert_eq!(script.asked, "list locks");
        script.list(&[&turn(3)]);
        assert_eq!(
            (script.asked.as_str(), script.notice),
            (&*format!("create leases/_c_{UUID}-lease-"), None)
        );
        script
    }

    /// Makes a script of a contender that waits for the permit of another one.
    pub(super) fn next() -> Self {
        let mut script = Self::entering(SemaphoreOptions::new(ONE));
        script.created(&permit(5), PERMIT);
        assert_eq!(script.asked, "list leases");
        script.list(&[&permit(5), OTHER_PERMIT]);
        assert_eq!(
            (script.asked.as_str(), script.notice),
            ("watch leases", Some(LockNotice::Waiting))
        );
        script.list(&[&permit(5), OTHER_PERMIT]);
        assert_eq!(
            (script.asked.as_str(), script.notice),
            (&*format!("watch locks/{}", turn(3)), None)
        );
        script
    }

    /// Makes a script of a contender that holds a permit, and has released the turn.
    pub(super) fn holding() -> Self {
        let mut script = Self::entering(SemaphoreOptions::new(ONE));
        script.created(&permit(5), PERMIT);
        script.list(&[&permit(5)]);
        assert_eq!(script.notice, Some(LockNotice::Acquired(PERMIT)));
        assert_eq!(script.asked, format!("delete locks/{}", turn(3)));
        script.answer(Ok(Reply::Deleted));
        assert_eq!(script.asked, format!("watch leases/{}", permit(5)));
        script.read(SESSION, PERMIT);
        assert_eq!((script.asked.as_str(), script.notice), ("", None));
        script
    }

    pub(super) fn take(&mut self, output: &Output<'_, LockNotice>) {
        self.notice = output.notice;
        self.asked = output.command.map_or(String::new(), |command| describe(&command.op));
        self.ticket = output.command.map(|command| command.ticket).or(self.ticket);
    }

    pub(super) fn feed(&mut self, event: Event<'_>) {
        let mut semaphore = self.semaphore.clone();
        let output = semaphore.handle_event(event);
        self.take(&output);
        self.semaphore = semaphore;
    }

    pub(super) fn withdraw(&mut self) {
        let mut semaphore = self.semaphore.clone();
        let output = semaphore.withdraw();
        self.take(&output);
        self.semaphore = semaphore;
    }

    pub(super) fn answer(&mut self, result: Result<Reply<'_>, Failure>) {
        let ticket = self.ticket.expect("something was asked for");
        self.feed(Event::Reply { ticket, result });
    }

    pub(super) fn created(&mut self, name: &str, token: Token) {
        let stat = Stat::new(SESSION.get(), token.get(), 0);
        self.answer(Ok(Reply::Created { name, stat: Some(stat) }));
    }

    pub(super) fn read(&mut self, owner: SessionId, token: Token) {
        let stat = Stat::new(owner.get(), token.get(), 0);
        self.answer(Ok(Reply::Read { stat, data: &[] }));
    }

    pub(super) fn list(&mut self, names: &[&str]) {
        let names = &mut names.iter().copied();
        self.answer(Ok(Reply::Children(Children::listed(names))));
    }

    pub(super) fn reconnect(&mut self) {
        self.feed(Event::Disconnected);
        self.feed(Event::Connected { session: SESSION });
    }

    pub(super) fn has_ended(&self, end: LockEnd) {
        assert_eq!(self.notice, Some(LockNotice::Ended(end)));
        assert_eq!(self.semaphore.state(), SemaphoreState::Ended(end));
        assert_eq!(self.semaphore.hold(), Hold::None);
    }
}

fn place(znode: Znode<'_>) -> String {
    match znode {
        Znode::Child(child) => child.to_string(),
        Znode::Grandchild { child, name } => format!("{child}/{name}"),
        other => panic!("{other:?}"),
    }
}

fn describe(op: &Op<'_>) -> String {
    match *op {
        Op::Create(Create { znode: NewZnode::Grandchild { child, prefix }, mode, .. }) => {
            assert_eq!(mode, CreateMode::EphemeralSequential);
            format!("create {child}/{prefix}")
        }
        Op::Create(Create { znode: NewZnode::Named(znode), mode, .. }) => {
            format!("create {} {mode:?}", place(znode))
        }
        Op::CreateNode => "create node".to_string(),
        Op::Barrier => "barrier".to_string(),
        Op::List { parent, watch: Watch::None } => format!("list {}", place(parent)),
        Op::List { parent, .. } => format!("watch {}", place(parent)),
        Op::Read { znode, watch: Watch::None } => format!("read {}", place(znode)),
        Op::Read { znode, .. } => format!("watch {}", place(znode)),
        Op::Delete(Delete { znode, .. }) => format!("delete {}", place(znode)),
        ref other => panic!("{other:?}"),
    }
}

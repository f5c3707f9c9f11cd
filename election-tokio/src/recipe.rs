//! Recipes of your own on a client's sessions.
//!
//! A recipe is a state machine that implements [`Recipe`]: it takes events, and commands requests
//! to the server. [`Client::stand`] executes these, over lost connections and expired sessions, and
//! reports the notices of the recipe. The elections of this crate work this way. It takes down the watches
//! that the recipe no longer awaits, and reports that it holds something only while the lease is proved.
//! A whole recipe, with the tests that drive it:
//! [toy](https://github.com/zk-election/zk-election/tree/main/election-session/tests/toy).
//!
//! ```no_run
//! # use election_tokio::{Client, recipe::{Recipe, RecipeUpdate}};
//! # async fn example<R>(client: Client, recipe: R) -> Result<(), Box<dyn std::error::Error>>
//! # where R: Recipe<Notice: core::fmt::Debug + Send> + core::fmt::Debug + Send + 'static {
//! let mut standing = client.stand("/rounds/7", recipe)?;
//! while let Some(update) = standing.next().await {
//!     match update {
//!         RecipeUpdate::Notice(notice) => println!("{notice:?}"),
//!         RecipeUpdate::Over(end) => println!("over: {end:?}"),
//!         _ => {}
//!     }
//! }
//! # Ok(()) }
//! ```

use core::fmt;
use core::future::poll_fn;
use core::marker::PhantomData;
use core::task::{Context, Poll, Waker};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use election_core::Token;
pub use election_core::{
    Applied, Change, Check, Command, Create, CreateMode, Delete, Event, ExpectedVersion, Failure,
    Hold, Incarnation, Multi, NewZnode, Op, Output, Part, Payload, Phase, Recipe, Reply, Stat,
    Ticket, Watch, Write, Znode,
};
pub use election_session::RecipeEnd;
use election_session::{GrantChange, Site, Step, View};
use tokio::time::Instant;
use zk_session::SessionEnd;

use crate::client::Client;
use crate::hub::{Face, Unlocked};
use crate::path::PathError;
use crate::standing::{RecipeHandle, StandingRecipe};

/// A recipe that stands on a client's sessions. Dropping it withdraws the recipe, which then goes
/// on until nothing of it is left.
pub struct Standing<N> {
    recipe: StandingRecipe,
    queue: Arc<Queue<N>>,
}

/// An update of a recipe for its user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecipeUpdate<N> {
    /// A notice of the machine.
    Notice(N),
    /// The recipe holds what it stands for, and the lease is proved.
    Granted {
        /// The `czxid` of the znode that holds it.
        token: Token,
    },
    /// A grant is over.
    GrantEnded {
        /// Its token.
        token: Token,
    },
    /// The recipe is over. This is the last update.
    Over(RecipeEnd),
}

impl Client {
    /// Lets a recipe stand at this node, until it is over, or its [`Standing`] is dropped. Every
    /// client may do everything with the znodes that it creates. They have no data but those of the
    /// recipe.
    ///
    /// # Errors
    ///
    /// [`PathError`] if a server would refuse the path.
    pub fn stand<R>(&self, path: &str, recipe: R) -> Result<Standing<R::Notice>, PathError>
    where
        R: Recipe<Notice: fmt::Debug + Send> + fmt::Debug + Send + 'static,
    {
        let site = Arc::new(Site::new(&path.parse()?, &self.shared().chroot));
        Ok(self.stand_at(site, recipe))
    }

    /// Lets a recipe stand at a site.
    pub(crate) fn stand_at<R>(&self, site: Arc<Site>, recipe: R) -> Standing<R::Notice>
    where
        R: Recipe<Notice: fmt::Debug + Send> + fmt::Debug + Send + 'static,
    {
        let queue = Arc::new(Queue::default());
        let face = QueueFace::<R> { queue: Arc::clone(&queue), recipe: PhantomData };
        Standing { recipe: RecipeHandle::stand(self, site, recipe, face).into(), queue }
    }
}

impl<N> Standing<N> {
    /// Waits for the next update of the recipe. Returns `None` after [`RecipeUpdate::Over`].
    ///
    /// Cancel safe: nothing is lost.
    pub async fn next(&mut self) -> Option<RecipeUpdate<N>> {
        poll_fn(|cx| self.queue.poll(cx)).await
    }

    /// Makes the recipe give up, whatever it is doing. A grant is over with this call.
    pub fn withdraw(&self) {
        self.recipe.withdraw();
    }

    /// Sets, or with `None` removes, the time at which the recipe is fed [`Event::Deadline`].
    pub fn set_deadline(&self, deadline: Option<Instant>) {
        let deadline = deadline.map(|at| self.recipe.client().shared().clock.to_session(at));
        self.recipe.with(|hub, _, key| hub.host.set_deadline(key, deadline));
    }

    /// Waits for the next notice.
    ///
    /// Cancel safe: nothing is lost.
    ///
    /// # Errors
    ///
    /// The end of the client's session, if no notice comes any more.
    pub(crate) async fn notice(&mut self) -> Result<N, SessionEnd> {
        loop {
            match self.next().await {
                Some(RecipeUpdate::Notice(notice)) => return Ok(notice),
                Some(RecipeUpdate::Over(RecipeEnd::HostEnded(end))) => return Err(end),
                Some(_) => {}
                None => return Err(SessionEnd::Abandoned),
            }
        }
    }
}

impl<N> fmt::Debug for Standing<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Standing").field("recipe", &self.recipe).finish_non_exhaustive()
    }
}

/// Updates that were not taken yet. Its lock is held only for single steps, in which no user code
/// runs.
#[derive(Debug)]
struct Queue<N>(Mutex<Untaken<N>>);

#[derive(Debug)]
struct Untaken<N> {
    told: VecDeque<RecipeUpdate<N>>,
    waker: Option<Waker>,
    has_ended: HasEnded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HasEnded {
    No,
    Yes,
}

impl<N> Default for Queue<N> {
    fn default() -> Self {
        let (told, waker, has_ended) = (VecDeque::new(), None, HasEnded::No);
        Self(Mutex::new(Untaken { told, waker, has_ended }))
    }
}

impl<N> Queue<N> {
    fn lock(&self) -> MutexGuard<'_, Untaken<N>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn push(&self, told: RecipeUpdate<N>, wakers: &mut Vec<Waker>) {
        let mut untaken = self.lock();
        if let RecipeUpdate::Over(_) = told {
            untaken.has_ended = HasEnded::Yes;
        }
        untaken.told.push_back(told);
        wakers.extend(untaken.waker.take());
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<RecipeUpdate<N>>> {
        // The waker is cloned outside of the lock, and the replaced one is dropped there, too.
        let waker = cx.waker().clone();
        let mut untaken = self.lock();
        match (untaken.told.pop_front(), untaken.has_ended) {
            (Some(told), _) => Poll::Ready(Some(told)),
            (None, HasEnded::Yes) => Poll::Ready(None),
            (None, HasEnded::No) => {
                let replaced = untaken.waker.replace(waker);
                drop(untaken);
                drop(replaced);
                Poll::Pending
            }
        }
    }
}

/// Shows a recipe to its user, as a queue of its updates.
struct QueueFace<R: Recipe> {
    queue: Arc<Queue<R::Notice>>,
    recipe: PhantomData<fn() -> R>,
}

impl<R: Recipe> fmt::Debug for QueueFace<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueFace").finish_non_exhaustive()
    }
}

impl<R: Recipe<Notice: fmt::Debug + Send> + fmt::Debug + Send> Face for QueueFace<R> {
    type Recipe = R;

    fn stepped(&mut self, _: &R, step: Step<R::Notice>, _: View<'_>, unlocked: &mut Unlocked) {
        let Step { notice, grant, .. } = step;
        let granted = grant.and_then(|grant| match grant {
            GrantChange::Announced { token, .. } => Some(RecipeUpdate::Granted { token }),
            GrantChange::Ended { token, .. } => Some(RecipeUpdate::GrantEnded { token }),
            GrantChange::AwaitsLease(_) => None,
        });
        for told in notice.map(RecipeUpdate::Notice).into_iter().chain(granted) {
            self.queue.push(told, &mut unlocked.wakers);
        }
    }

    fn over(&mut self, _: &R, end: RecipeEnd, unlocked: &mut Unlocked) {
        self.queue.push(RecipeUpdate::Over(end), &mut unlocked.wakers);
    }
}

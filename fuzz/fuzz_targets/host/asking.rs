//! Requests of callers; the host may refuse them.

use core::time::Duration;
use std::sync::Arc;

use election_core::NomineeId;
use election_core::election::{ElectionNode, NodeKind, Nominee, OnLoss, Policy};
use election_session::{RecipeKey, Site};
use zk_fuzz::session::{mode, watching};
use zk_fuzz::{Blob, Text};
use zk_jute::records::{
    CreateMode, CreateRequest, DeleteRequest, GetChildrenRequest, GetDataRequest, SetDataRequest,
};
use zk_jute::{Vector, Version};
use zk_session::{SessionEnd, SubmitError, ZnodePath};

use super::{Host, World};
use crate::laws::Freshness;
use crate::recipe::{Any, Commander};
use crate::script::{self, Ask, PATHS};

impl World {
    pub(super) fn ask(&mut self, ask: &Ask) {
        let now = self.now;
        match ask {
            Ask::StandForElection { node, id, returning, stands_again, must_exist } => {
                let policy = Policy {
                    on_loss: if *stands_again { OnLoss::StandAgain } else { OnLoss::End },
                    election_node: match must_exist {
                        true => ElectionNode::MustExist,
                        false if id % 2 == 0 => ElectionNode::Create(NodeKind::Container),
                        false => ElectionNode::Create(NodeKind::Persistent),
                    },
                    lock_delay: Duration::from_millis(u64::from(*id)),
                };
                let id = NomineeId::from_bytes([*id; 16]);
                let nominee = if *returning {
                    Nominee::returning(id, 7, policy)
                } else {
                    Nominee::new(id, policy)
                };
                self.stand(Any::Nominee(nominee), *node);
            }
            Ask::Stand { node, instructions } => {
                let commander = Commander::new(instructions.clone());
                self.stand(Any::Commander(Box::new(commander)), *node);
            }
            Ask::Withdraw { nth } => {
                if let Some(key) = self.laws.key(*nth) {
                    self.host.withdraw(now, key);
                }
            }
            Ask::Deadline { nth, millis } => {
                if let Some(key) = self.laws.key(*nth) {
                    let at = millis.map(|millis| now + Duration::from_millis(millis.into()));
                    self.host.set_deadline(key, at);
                }
            }
            Ask::Evict { nth } => {
                let key = self.laws.key(*nth);
                if let Some(recipe) = key.and_then(|key| self.host.recipe(key))
                    && let Some(candidate) = recipe.candidate()
                    && let Some(view) = key.and_then(|key| self.host.view(key))
                {
                    let path = view.site.child(candidate);
                    let version = Version::ANY;
                    self.submit(|host, tag| {
                        host.submit(now, tag, &DeleteRequest { path: &path, version })
                    });
                }
            }
            Ask::Submit { path, kind } => self.call(path.among(&PATHS), *kind),
            Ask::Watch { path, kind } => {
                let read = watching(path.among(&PATHS), *kind);
                let tag = self.next_tag();
                let watch = self.host.submit_watching(now, tag, read, tag);
                if let Some(watch) = self.admitted(watch) {
                    self.laws.watches(tag, watch, read);
                }
            }
            Ask::AddWatch { path, recursive } => {
                let watch = (path.among(&PATHS), mode(*recursive));
                let tag = self.next_tag();
                let watch = self.host.submit_persistent(now, tag, watch, tag);
                if let Some(watch) = self.admitted(watch) {
                    self.laws.watches_persistently(tag, watch);
                }
            }
            // The host may have reported the watch that is forgotten, in an event that waits to be
            // taken out.
            Ask::Forget { nth } if self.freshness == Freshness::Fresh && self.held == 0 => {
                if let Some(watch) = self.laws.forgotten(*nth) {
                    self.host.forget(now, watch);
                }
            }
            Ask::Forget { .. } => {}
            Ask::Authenticate { scheme: Text(scheme), credential: Blob(credential) } => {
                let _ = self.host.authenticate(now, scheme, credential);
            }
            Ask::Close => {
                self.host.close(now);
                self.laws.closing();
            }
            Ask::Abandon => {
                self.host.abandon(now);
                assert!(self.host.ended().is_some());
                self.laws.closing();
            }
            Ask::Detach => {
                if let Some(ticket) = self.host.detach(now) {
                    assert_eq!(self.host.ended(), Some(SessionEnd::Detached));
                    self.laws.closing();
                    self.ticket = Some(ticket);
                }
            }
            Ask::Resume { seed, fails } => self.resume((*seed).into(), *fails),
        }
    }

    fn call(&mut self, path: &str, kind: u8) {
        let (now, version) = (self.now, Version::ANY);
        self.submit(|host, tag| match kind % 5 {
            0 => host.submit(now, tag, &GetDataRequest { path, watch: false }),
            1 => host.submit(now, tag, &GetChildrenRequest { path, watch: false }),
            2 => host.submit(now, tag, &SetDataRequest { path, data: Some(&[2]), version }),
            3 => host.submit(now, tag, &DeleteRequest { path, version }),
            _ => {
                let (acl, mode) = (Vector::OPEN, CreateMode::PERSISTENT);
                let request = CreateRequest { path, data: Some(&[1]), acl, mode };
                host.submit(now, tag, &request)
            }
        });
    }

    fn submit(&mut self, submit: impl FnOnce(&mut Host, u32) -> Result<(), SubmitError>) {
        let tag = self.next_tag();
        let submitted = submit(&mut self.host, tag);
        if self.admitted(submitted).is_some() {
            self.laws.submitted(tag);
        }
    }

    /// Checks a submission: it is within the bound, and the host refuses for want of room only
    /// beyond it.
    fn admitted<X>(&self, submitted: Result<X, SubmitError>) -> Option<X> {
        let in_flight = self.laws.in_flight();
        match submitted {
            Ok(admitted) => {
                assert!(in_flight < script::MOST_CALLS);
                Some(admitted)
            }
            Err(SubmitError::Full) => {
                assert!(in_flight >= script::MOST_CALLS);
                None
            }
            Err(_) => None,
        }
    }

    fn next_tag(&mut self) -> u32 {
        self.last_tag += 1;
        self.last_tag
    }

    pub(super) fn stand(&mut self, recipe: Any, node: u8) -> RecipeKey {
        let node = ZnodePath::new(script::node(node)).expect("a path");
        let site = Site::new(&node, &self.chroot).payload(&b"fuzzed"[..]);
        let key = self.host.stand(self.now, recipe, Arc::new(site));
        self.laws.stood(key);
        key
    }
}

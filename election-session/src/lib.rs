#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod cache;
mod callers;
mod deadlines;
mod event;
mod few;
mod grant;
mod group;
mod heartbeats;
mod host;
mod key;
mod lists;
mod looks;
mod names;
mod path;
mod perform;
mod readiness;
mod replies;
mod request;
mod seat;
mod sessions;
mod set_up;
mod settings;
mod site;
pub mod slots;
mod status;
mod view;
mod window;

pub use event::{Event, RecipeEnd, Step, Wake};
pub use grant::{Grant, GrantChange, GrantEnd};
pub use group::{
    Continuity, GroupFormat, GroupMember, GroupQuestion, GroupRead, GroupRequest, GroupSnapshot,
    GroupTracker, GroupView, MemberData,
};
pub use host::RecipeHost;
pub use key::{CallerWatch, RecipeKey};
pub use path::{Chroot, child_path};
pub use request::RequestKind;
pub use set_up::TrackerWatches;
pub use settings::{Identity, IfGone, KeepReady, OnExpiry, Resumption, Settings};
pub use site::{AclList, Site};
pub use status::{EndReason, LostReason, Role, Status};
pub use view::View;

//! The requests of the keeper, which looks after the znode of an episode.

use bytes::Bytes;
use zk_test_kit::opcode::Opcode;

use crate::differential::player::SUPER;
use crate::differential::request::{AclEntry, Field, HOME, Request};
use crate::differential::seen::{Seen, Value};

pub(crate) const OPEN: AclEntry =
    AclEntry { permissions: 31, scheme: Some("world"), id: Some("anyone") };

/// Returns the request after which the keeper may do everything.
pub(crate) fn authenticate() -> Request {
    let credential = Field::Bytes(Some(Bytes::from_static(SUPER.0)));
    Request::new(Opcode::AUTH, [Field::Int(0), Field::Text(Some("digest")), credential])
}

/// Makes the episode's znode, with a quota, so that both servers count what becomes of it.
pub(crate) fn create_home() -> [Request; 4] {
    let [home, quota] = roots();
    let (limits, stats) = (format!("{quota}/zookeeper_limits"), format!("{quota}/zookeeper_stats"));
    let limit = Bytes::from_static(b"count=1,bytes=1");
    [(home, None), (quota, None), (limits, Some(limit)), (stats, None)].map(|(path, data)| {
        let acl = Field::Acl(Some(vec![OPEN]));
        let body = [Field::Path(Some(path)), Field::Bytes(data), acl, Field::Int(0)];
        Request::new(Opcode::CREATE, body)
    })
}

/// Returns the episode's znode, and the one of its quota.
pub(crate) fn roots() -> [String; 2] {
    [HOME.to_string(), format!("/zookeeper/quota{HOME}")]
}

/// Returns all questions about a znode; its children come last.
pub(crate) fn examine(path: &str) -> [Request; 3] {
    let path = || Field::Path(Some(path.to_owned()));
    [
        Request::new(Opcode::GET_DATA, [path(), Field::Flag(false)]),
        Request::new(Opcode::GET_ACL, [path()]),
        Request::new(Opcode::GET_CHILDREN2, [path(), Field::Flag(false)]),
    ]
}

pub(crate) fn list(path: &str) -> Request {
    let [.., list] = examine(path);
    list
}

pub(crate) fn delete(path: &str) -> Request {
    Request::new(Opcode::DELETE, [Field::Path(Some(path.to_owned())), Field::Int(-1)])
}

/// Returns the children of these znodes, from the replies to the requests for their lists.
pub(crate) fn next_level(level: &[String], seen: &[Seen]) -> Vec<String> {
    let bodies = seen.iter().filter_map(|seen| match seen {
        Seen::Reply { body, .. } => Some(body),
        _ => None,
    });
    let lists = bodies.filter_map(|body| match body.first() {
        Some(Value::Names(names)) => Some(names),
        _ => None,
    });
    let children = level
        .iter()
        .zip(lists)
        .flat_map(|(path, names)| names.iter().flatten().map(move |name| format!("{path}/{name}")));
    children.collect()
}

//! `zkelect cache`: prints a tree, and each change of it, until a signal comes.

use std::time::SystemTime;

use election_tokio::cache::{CacheChange, CacheChanges, CachedNode, CachedTree};
use election_tokio::{Client, Error, SessionId};
use serde::Serialize;

use crate::args::CacheArgs;
use crate::cells::cut;
use crate::data::Data;
use crate::errand::{Done, Errand, Reach};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::future::now;
use crate::stream::{Reader, print};
use crate::{connection, console};

/// How many bytes are printed at a time, more or less.
const CHUNK: usize = 64 * 1024;

/// Prints a line for each change, until a signal comes.
pub(crate) async fn cache(args: CacheArgs) -> Result<Exit, Failure> {
    connection::check_path(&args.path)
        .map_err(|error| Failure::Path { path: args.path.clone(), error })?;
    let reach = Reach::Patient { bound: None };
    let mut errand = match Errand::begin(&args.servers, reach).await? {
        Done::Output(errand) => errand,
        Done::Told(_) => return Ok(Exit::Success),
    };
    let tree = kept(&args, errand.client())?;
    let outcome = match errand.or_told(follow(tree.changes(), args.json)).await {
        Done::Output(outcome) => outcome,
        Done::Told(_) => Ok(Exit::Success),
    };
    errand.end().await;
    outcome
}

fn kept(args: &CacheArgs, client: &Client) -> Result<CachedTree, Error> {
    let mut cache = client.cache(&args.path);
    if let Some(levels) = args.depth {
        cache = cache.depth(levels);
    }
    if args.no_data {
        cache = cache.without_data();
    }
    cache.keep()
}

async fn follow(mut changes: CacheChanges, json: bool) -> Result<Exit, Failure> {
    let mut next = changes.next().await;
    while let Some(change) = next {
        let mut text = line(&change?, json);
        // All that is there now, so that a large tree takes few writes.
        next = loop {
            match now(changes.next()) {
                Some(Some(Ok(change))) if text.len() < CHUNK => text.push_str(&line(&change, json)),
                other => break other.flatten(),
            }
        };
        if print(text).await? == Reader::Gone {
            break;
        }
        if next.is_none() {
            next = changes.next().await;
        }
    }
    Ok(Exit::Success)
}

/// A change, for JSON.
#[derive(Serialize)]
struct Line<'a> {
    at: String,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zxid: Option<i64>,
    #[serde(flatten)]
    node: Option<Node>,
}

/// A znode, for JSON.
#[derive(Serialize)]
struct Node {
    version: i32,
    /// A znode that is not ephemeral has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(flatten)]
    data: Option<Data>,
}

impl From<&CachedNode> for Node {
    fn from(node: &CachedNode) -> Self {
        let owner = node.ephemeral_owner;
        Self {
            version: node.version.get(),
            session: (owner != SessionId::new(0)).then(|| owner.to_string()),
            data: node.data.as_deref().map(Data::from),
        }
    }
}

fn line(change: &CacheChange, json: bool) -> String {
    let (event, path, node) = match change {
        CacheChange::Created { path, node } => ("created", Some(path), Some(node)),
        CacheChange::Changed { path, node, .. } => ("changed", Some(path), Some(node)),
        CacheChange::Deleted { path, .. } => ("deleted", Some(path), None),
        CacheChange::Unreadable { path, .. } => ("unreadable", Some(path), None),
        CacheChange::Current(_) => ("current", None, None),
        // Of a later version of the library.
        _ => return String::new(),
    };
    let zxid = match change {
        CacheChange::Current(zxid) => Some(zxid.get()),
        _ => node.map(|node| node.mzxid.get()),
    };
    let at = humantime::format_rfc3339_millis(SystemTime::now()).to_string();
    let path = path.map(|path| &**path);
    let line = Line { at, event, path, zxid, node: node.map(|node| Node::from(&**node)) };
    let mut text = if json {
        console::for_terminal(&serde_json::to_string(&line).unwrap_or_default())
    } else {
        in_words(&line)
    };
    text.push('\n');
    text
}

fn in_words(line: &Line<'_>) -> String {
    let Line { event, path, zxid, node, .. } = line;
    match (path, node.as_ref().and_then(|node| node.data.as_ref())) {
        (None, _) => format!("{event} {}", zxid.unwrap_or_default()),
        (Some(path), Some(Data::Text(text))) if !text.is_empty() => {
            format!("{event} {} {}", cut(path), cut(text))
        }
        (Some(path), Some(Data::Hex(hex))) => {
            format!("{event} {} {}", cut(path), cut(&format!("hex:{hex}")))
        }
        (Some(path), _) => format!("{event} {}", cut(path)),
    }
}

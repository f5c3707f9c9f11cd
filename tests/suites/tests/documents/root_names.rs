//! The names that a user sees first: how many a crate has at its root, and that each has one path.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

use crate::top;

/// How many names a crate may have at its root, beside its modules.
const NAMES: usize = 40;

/// The crates that others use, with the least number that a search finds at the root of each.
const CRATES: [(&str, usize); 6] = [
    ("jute", 20),
    ("session", 25),
    ("election-core", 25),
    ("election-session", 25),
    ("election-tokio", 25),
    ("embedded", 15),
];

/// Names that two types of election-tokio have: one for all, the other within a module of its own.
const NAMESAKES: [&str; 3] = ["Access", "CreateMode", "Stat"];

/// The public names of a crate: those at the root, and those of each public module of its `lib.rs`.
#[derive(Debug, Default)]
struct Names {
    root: BTreeSet<String>,
    modules: BTreeMap<String, BTreeSet<String>>,
}

impl Names {
    fn of(package: &str) -> io::Result<Self> {
        let sources = top().join(package).join("src");
        let mut names = Self::default();
        let mut module = None;
        for item in items(&fs::read_to_string(sources.join("lib.rs"))?) {
            if item == "}" {
                module = None;
            } else if let Some(name) = item.strip_prefix("pub mod ") {
                let name = name.trim_end_matches([';', '{', ' ']).to_owned();
                let found = names.modules.entry(name.clone()).or_default();
                if item.ends_with('{') {
                    module = Some(name);
                } else {
                    let file = sources.join(format!("{name}.rs"));
                    let text = fs::read_to_string(&file)
                        .or_else(|_| fs::read_to_string(file.with_extension("").join("mod.rs")))?;
                    found.extend(items(&text).iter().flat_map(|item| public(item)));
                }
            } else {
                let within = module.as_ref().and_then(|module| names.modules.get_mut(module));
                within.unwrap_or(&mut names.root).extend(public(&item));
            }
        }
        Ok(names)
    }
}

/// Returns the items that begin at the margin, and those of modules written in place, each in one
/// line: of a declaration the first line, of a `use` all of it.
fn items(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut open: Option<String> = None;
    let mut is_in_module = false;
    for line in text.lines() {
        if let Some(mut item) = open.take() {
            item.push_str(line.trim());
            if item.ends_with(';') {
                items.push(item);
            } else {
                open = Some(item);
            }
            continue;
        }
        let depth = if is_in_module { "    " } else { "" };
        let Some(item) = line.strip_prefix(depth).filter(|item| !item.starts_with(' ')) else {
            if line == "}" {
                is_in_module = false;
                items.push(line.to_owned());
            }
            continue;
        };
        is_in_module |= item.starts_with("pub mod ") && item.ends_with('{');
        if item.starts_with("pub use ") && !item.ends_with(';') {
            open = Some(item.to_owned());
        } else if item.starts_with("pub ") {
            items.push(item.to_owned());
        }
    }
    items
}

/// Returns the names that an item makes public.
fn public(item: &str) -> Vec<String> {
    let item = item.strip_prefix("pub ").unwrap_or_default();
    if let Some(tree) = item.strip_prefix("use ") {
        let tree = tree.trim_end_matches(';');
        let leaves = match tree.split_once("::{") {
            Some((_, leaves)) => leaves.trim_end_matches('}').split(',').collect(),
            None => vec![tree],
        };
        let name = |leaf: &str| leaf.rsplit([':', ' ']).next().unwrap_or_default().to_owned();
        return leaves
            .iter()
            .map(|leaf| name(leaf.trim()))
            .filter(|leaf| !leaf.is_empty())
            .collect();
    }
    let mut words = item.split([' ', '<', '(', ';', ':', '{']).skip_while(|word| {
        matches!(*word, "struct" | "enum" | "trait" | "type" | "const" | "fn" | "async")
    });
    let name = words.next().filter(|name| !name.is_empty() && item.contains(' '));
    name.map(str::to_owned).into_iter().collect()
}

#[test]
fn each_root_has_few_names() -> io::Result<()> {
    for (package, least) in CRATES {
        let root = Names::of(package)?.root;
        assert!(root.len() <= NAMES, "{package} has {} names at its root: {root:?}", root.len());
        assert!(root.len() >= least, "the search sees only {root:?} of {package}");
    }
    Ok(())
}

#[test]
fn each_name_has_one_path() -> io::Result<()> {
    for (package, _) in CRATES {
        let names = Names::of(package)?;
        let mut places: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let modules = names.modules.iter().map(|(module, names)| (module.as_str(), names));
        for (module, names) in modules.chain([("the root", &names.root)]) {
            for name in names {
                places.entry(name).or_default().push(module);
            }
        }
        places.retain(|name, places| places.len() > 1 && !NAMESAKES.contains(name));
        assert!(places.is_empty(), "{package}: {places:?}");
    }
    Ok(())
}

/// What a reader of the front page looks for has a module.
#[test]
fn each_recipe_has_a_module() -> io::Result<()> {
    let names = Names::of("election-tokio")?;
    let expected = [
        ("election", "Leadership"),
        ("lock", "LockGuard"),
        ("semaphore", "Permit"),
        ("queue", "PriorityQueue"),
        ("barrier", "DoubleBarrier"),
        ("commit", "TwoPhaseCommit"),
        ("group", "Membership"),
        ("config", "ConfigWatch"),
        ("counter", "Counter"),
        ("names", "Names"),
        ("once", "OnceRun"),
        ("watch", "PersistentWatch"),
        ("ensemble", "EnsembleConfig"),
        ("format", "Format"),
        ("error", "SharedError"),
    ];
    for (module, name) in expected {
        let found = names.modules.get(module);
        assert!(found.is_some_and(|found| found.contains(name)), "{module}: {found:?}");
    }
    Ok(())
}

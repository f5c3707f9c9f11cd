//! Each error says its cause once: in its text, or by `source()`. A program that prints both, as `anyhow` does, would
//! say twice what is in both.

use std::fs;

use crate::{PACKAGES, files, top};

#[test]
fn each_error_has_its_cause_in_its_text_or_as_its_source() {
    let mut sources = Vec::new();
    for package in PACKAGES.iter().filter(|package| !matches!(**package, "cli" | "tests")) {
        files(&top().join(package).join("src"), "rs", &mut sources).expect("a package");
    }
    let (mut texts, mut twice) = (0, Vec::new());
    for path in sources {
        let source = fs::read_to_string(&path).expect("a source file");
        for (text, fields) in errors(&source) {
            texts += 1;
            if let Some(field) = cause(fields).filter(|field| says(text, field)) {
                twice.push(format!("{}: {field} of {text}", path.display()));
            }
        }
    }
    assert!(texts > 250, "{texts} texts of errors");
    assert!(twice.is_empty(), "in the text and as source:\n{}", twice.join("\n"));
}

/// Returns the text of each error, and what follows it: its fields, and more.
fn errors(source: &str) -> impl Iterator<Item = (&str, &str)> {
    source.split("#[error(").skip(1).filter_map(|from| {
        let (text, rest) = from.split_once(")]")?;
        Some((text, rest.split("\n}").next().unwrap_or(rest)))
    })
}

/// Returns the name of the field that is the source; `0` for one without a name.
fn cause(fields: &str) -> Option<&str> {
    let (before, marked) =
        fields.split_once("#[source]").or_else(|| fields.split_once("#[from]"))?;
    if before.trim_end().ends_with('(') {
        return Some("0");
    }
    let name = marked.trim_start().trim_start_matches("pub ").split(':').next();
    name.map(str::trim)
}

/// Returns the type that a variant of one field without a name holds.
fn inner(variant: &str) -> &str {
    let from = variant.split_once('(').map_or("", |(_, from)| from);
    from.split([')', ',']).next().unwrap_or_default().trim_start_matches("#[from] ")
}

fn says(text: &str, field: &str) -> bool {
    let names = |pattern: String| text.contains(&pattern);
    names(format!("{{{field}}}"))
        || names(format!("{{{field}:"))
        || names(format!(".{field}"))
        || (field != "0" && names(format!("{field}.")))
        || (field != "0" && names(format!("(*{field}")))
}

/// Errors whose text needs no place: it names what the caller gave, or stands within an error that has one.
const WITHOUT_PLACE: [&str; 9] = [
    "LocksError::NamesRecur",
    "LocksError::NoLocks",
    "OnceError::NotReleased",
    "RunWhileWellError::Election",
    "SlotsError::Ended",
    "SlotsError::NotApart",
    "SlotsError::NotListed",
    "SlotsError::Repeated",
    "TakeError::Unknown",
];
/// What is no recipe in `election-tokio`.
const NO_RECIPES: [&str; 8] =
    ["acl", "client", "driver", "error", "sasl", "source", "tls", "transport"];

/// Errors that name no recipe: of an operation of the client, and of a transaction.
const OF_OPERATIONS: [&str; 2] = ["Error", "TransactionError"];

/// The error of a recipe names the path: by a place, by a field, or by the error of a recipe that it passes on.
#[test]
fn each_error_of_a_recipe_has_a_place() {
    let folder = top().join("election-tokio/src");
    let mut sources = Vec::new();
    files(&folder, "rs", &mut sources).expect("a package");
    let (mut texts, mut without) = (0, Vec::new());
    for path in sources {
        let below = path.strip_prefix(&folder).expect("a path below it");
        let module = below.iter().next().unwrap_or_default().to_string_lossy();
        if NO_RECIPES.contains(&module.trim_end_matches(".rs")) {
            continue;
        }
        let source = fs::read_to_string(&path).expect("a source file");
        for declaration in source.split("pub enum ").skip(1) {
            let body = declaration.split("\n}").next().unwrap_or_default();
            let name = body.split([' ', '<']).next().unwrap_or_default();
            if !name.ends_with("Error") {
                continue;
            }
            for (text, rest) in errors(body) {
                let variant = rest.trim_start().split([' ', '(', ',']).next().unwrap_or_default();
                let says = ["{at}", "path}", "path:?}"];
                let passes_on = text == "transparent" && !OF_OPERATIONS.contains(&inner(rest));
                texts += 1;
                if !passes_on && !says.iter().any(|part| text.contains(part)) {
                    without.push(format!("{name}::{variant}"));
                }
            }
        }
    }
    without.sort_unstable();
    assert!(texts > 90, "{texts} texts of errors of recipes");
    assert_eq!(without, WITHOUT_PLACE);
}

#[test]
fn a_cause_that_is_said_twice_is_found() {
    let source = r#"
#[derive(Debug, thiserror::Error)]
enum E {
    #[error("a: {0}")]
    A(#[from] io::Error),
    #[error("b: {reason}")]
    B {
        /// Why.
        #[source]
        reason: SharedError,
    },
    #[error("c")]
    C(#[source] io::Error),
    #[error(transparent)]
    D(#[from] io::Error),
    #[error("e: {0}")]
    E(io::Error),
}
"#;
    let twice: Vec<bool> = errors(source)
        .map(|(text, fields)| cause(fields).is_some_and(|field| says(text, field)))
        .collect();
    assert_eq!(twice, [true, true, false, false, false]);
}

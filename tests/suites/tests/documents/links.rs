//! Links between pages.

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::{PACKAGES, Page, pages_in, top};

/// The address of the repository, in pages that are read elsewhere, too.
const REPOSITORY: &str = "https://github.com/zk-election/zk-election/";

/// Returns all pages that are written by hand.
pub(crate) fn pages() -> io::Result<Vec<Page>> {
    let mut pages = pages_in("docs")?;
    for folder in PACKAGES.into_iter().chain(["fuzz", "proof"]) {
        pages.extend(pages_in(folder)?);
    }
    for entry in fs::read_dir(top())? {
        let path = PathBuf::from(entry?.file_name());
        if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(Page::read(path)?);
        }
    }
    Ok(pages)
}

/// Returns the targets of the links of a page, but for those in its programs.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let prose = text.split("```").step_by(2);
    prose.flat_map(|prose| prose.split("](").skip(1).filter_map(|rest| rest.split(')').next()))
}

/// Returns the anchor of a heading, as GitHub and mdbook make it.
fn anchor(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        '-' | '_' => Some(c),
        _ => c.is_alphanumeric().then_some(c),
    });
    kept.collect()
}

#[test]
fn links_between_pages_lead_somewhere() -> io::Result<()> {
    let mut checked = 0;
    for Page { path, text } in pages()? {
        let at = path.display();
        for link in links(&text) {
            let (file, wanted) = link.split_once('#').unwrap_or((link, ""));
            let target = if let Some(rest) = file.strip_prefix(REPOSITORY) {
                let in_main = rest.split_once("/main/").map(|(_, file)| file);
                PathBuf::from(in_main.unwrap_or_default())
            } else if file.contains(':') {
                continue;
            } else if file.is_empty() {
                path.clone()
            } else {
                path.parent().map_or_else(|| PathBuf::from(file), |folder| folder.join(file))
            };
            let target = top().join(target);
            assert!(target.exists(), "{at}: {link}");
            checked += 1;
            if !wanted.is_empty() && target.is_file() {
                let target = fs::read_to_string(target)?;
                let is_wanted = |line: &str| line.starts_with('#') && anchor(line) == wanted;
                assert!(target.lines().any(is_wanted), "{at}: {link}");
            }
        }
    }
    assert!(checked >= 140, "{checked} links");
    Ok(())
}

/// A page that is a crate's documentation, too, is read where no other file of the repository is.
#[test]
fn pages_in_the_documentation_of_a_crate_link_to_nothing_beside_it() -> io::Result<()> {
    let mut checked = 0;
    for package in PACKAGES {
        let root = top().join(package).join("src/lib.rs");
        let is_read = |source: String| source.contains(r#"#![doc = include_str!("../README.md")]"#);
        if !fs::read_to_string(root).is_ok_and(is_read) {
            continue;
        }
        let page = Page::read(PathBuf::from(package).join("README.md"))?;
        for link in links(&page.text) {
            let is_elsewhere = link.contains("://");
            let is_an_item = link.starts_with('#') || link.contains("::") || !link.contains('.');
            assert!(is_elsewhere || is_an_item, "{package}/README.md: {link}");
        }
        checked += 1;
    }
    assert!(checked >= 3, "{checked} crates");
    Ok(())
}

/// Each page of `docs/` is reached from the first one.
#[test]
fn all_pages_are_listed() -> io::Result<()> {
    let pages = pages_in("docs")?;
    let first = pages.iter().find(|page| page.path.ends_with("docs/README.md"));
    let first = first.ok_or(io::ErrorKind::NotFound)?;
    for Page { path, .. } in &pages {
        let name = path.strip_prefix("docs").unwrap_or(path);
        // Those of the book are listed by its summary.
        if path != &first.path && name.components().count() == 1 {
            let link = format!("({})", name.display());
            assert!(first.text.contains(&link), "{} is not listed", path.display());
        }
    }
    Ok(())
}

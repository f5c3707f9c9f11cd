//! Makes a test of each program on the pages: `programs.rs` in the output folder, which `tests/programs` includes.
//!
//! A program is a block of Rust that rustdoc compiles and does not run (`no_run`), because it takes a server. Those
//! without that mark are run by rustdoc.
#![forbid(unsafe_code)]

#[path = "src/blocks.rs"]
#[expect(unreachable_pub, reason = "the library has it too, where it is public")]
mod blocks;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, error::Error, fs};

/// Folders of pages, and single pages, from the top of the repository.
const PAGES: [&str; 3] = ["README.md", "docs", "docs/guide/src"];
/// How the pages write the servers.
const SERVERS: [&str; 2] = ["\"zk1:2181,zk2:2181,zk3:2181\"", "\"127.0.0.1:2181\""];
/// How they write their ports for TLS.
const SECURE_SERVERS: &str = "\"zk1:2281,zk2:2281,zk3:2281\"";
/// How they write the folder of the certificates.
const CERTIFICATES: &str = "\"/etc/reports/";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/blocks.rs");
    let top = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../..");
    let mut tests = String::new();
    for page in pages(&top)? {
        println!("cargo::rerun-if-changed={}", top.join(&page).display());
        let text = fs::read_to_string(top.join(&page))?;
        for block in blocks::blocks(&text) {
            let info: Vec<&str> = block.info.split(',').collect();
            if info.contains(&"rust") && info.contains(&"no_run") {
                tests.push_str(&test_of(&page, &block)?);
            }
        }
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("programs.rs"), tests)?;
    Ok(())
}

fn pages(top: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut pages = Vec::new();
    for page in PAGES.map(PathBuf::from) {
        if page.extension().is_some() {
            pages.push(page);
            continue;
        }
        println!("cargo::rerun-if-changed={}", top.join(&page).display());
        for entry in fs::read_dir(top.join(&page))? {
            let name = entry?.file_name();
            if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
                pages.push(page.join(name));
            }
        }
    }
    pages.sort_unstable();
    Ok(pages)
}

/// Returns a module with the program as it is, but for the servers and the files, and a test that
/// runs it.
fn test_of(page: &Path, block: &blocks::Block) -> Result<String, Box<dyn Error>> {
    let place = format!("{}:{}", page.display(), block.line);
    let module: String =
        place.to_lowercase().chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    let mut program = String::new();
    for line in block.text.lines() {
        // Lines that rustdoc hides.
        let line = line.strip_prefix("# ").unwrap_or(line);
        // All features that a page names are on.
        if line.starts_with("#[cfg(feature") {
            continue;
        }
        program.push_str(line);
        program.push('\n');
    }
    for servers in SERVERS {
        program = program.replace(servers, "crate::stage::servers()");
    }
    program = program.replace(SECURE_SERVERS, "crate::stage::secure_servers()");
    program = program.replace(CERTIFICATES, "crate::stage::folder().to_owned() + \"/");

    let mut calls = Vec::new();
    for declaration in program.split("async fn ").skip(1) {
        let (name, rest) = declaration.split_once('(').ok_or("a function without parentheses")?;
        let (parameters, rest) = rest.split_once(") ->").unwrap_or_default();
        // Functions that stand in for the reader's own return nothing, or no boxed error.
        if !rest.trim_start().starts_with("Result<(), Box<dyn std::error::Error>>") {
            continue;
        }
        let kinds = parameters.split(", ").filter_map(|parameter| parameter.split_once(": "));
        let arguments: Vec<String> = kinds
            .map(|(_, kind)| match kind.rsplit("::").next() {
                Some("Client") => Ok("crate::stage::client().await?".to_owned()),
                Some("Leadership") => Ok("crate::stage::leadership().await?".to_owned()),
                Some("String") => Ok("crate::stage::PASSWORD.to_owned()".to_owned()),
                _ => Err(format!("{place}: what is a {kind}?")),
            })
            .collect::<Result<_, _>>()?;
        calls.push((name, arguments.join(", ")));
    }
    let run = match calls.as_slice() {
        [] => return Err(format!("{place}: nothing to call").into()),
        [("main", _)] => "stage.finish(main())".to_owned(),
        calls => {
            let mut programs = String::new();
            for (name, arguments) in calls {
                write!(programs, "Box::pin(async {{ {name}({arguments}).await }}), ")?;
            }
            format!("stage.block_on(vec![{programs}])")
        }
    };
    Ok(format!(
        "#[allow(unused, clippy::all, clippy::pedantic, clippy::restriction)]\n\
         mod {module} {{\n{program}\n\
         #[test]\nfn runs_as_it_stands_on_the_page() {{\n    \
         let stage = crate::stage::Stage::start({place:?});\n    {run};\n}}\n}}\n"
    ))
}

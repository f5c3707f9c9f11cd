//! The clients that are measured, and how each is started.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::outcome::{Outcome, failed};
use crate::server::java;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contender {
    /// The floor.
    Raw,
    /// The same, and the next one lists the candidates once more.
    RawList,
    /// election-tokio with its defaults.
    Ours,
    /// The same, where each heir has looked after its predecessor.
    OursSettled,
    ZookeeperClient,
    TokioZookeeper,
    ZookeeperAsync,
    Kazoo,
    Curator,
}

/// The columns of the table.
pub(crate) const COLUMNS: [Contender; 7] = [
    Contender::Raw,
    Contender::Ours,
    Contender::ZookeeperClient,
    Contender::TokioZookeeper,
    Contender::ZookeeperAsync,
    Contender::Kazoo,
    Contender::Curator,
];

impl Contender {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::RawList => "raw-list",
            Self::Ours => "ours",
            Self::OursSettled => "ours-settled",
            Self::ZookeeperClient => "zookeeper-client",
            Self::TokioZookeeper => "tokio-zookeeper",
            Self::ZookeeperAsync => "zookeeper-async",
            Self::Kazoo => "kazoo",
            Self::Curator => "Curator",
        }
    }

    /// Returns the place where its results are shown.
    pub(crate) const fn column(self) -> Self {
        match self {
            Self::RawList => Self::Raw,
            Self::OursSettled => Self::Ours,
            other => other,
        }
    }

    /// Whether it runs on a runtime of tokio's.
    pub(crate) const fn is_on_tokio(self) -> bool {
        !matches!(self, Self::Raw | Self::RawList | Self::Kazoo | Self::Curator)
    }

    pub(crate) const fn is_peer(self) -> bool {
        !matches!(self.column(), Self::Raw | Self::Ours)
    }
}

/// The programs of the workers that are here.
#[derive(Debug)]
pub(crate) struct Programs {
    python: Option<PathBuf>,
    curator: Option<String>,
}

impl Programs {
    /// No worker of another language.
    pub(crate) const RUST: Self = Self { python: None, curator: None };

    /// Makes the workers of other languages, and tells of those that cannot be had.
    pub(crate) fn make(folder: &Path, notes: &mut Vec<String>) -> Self {
        let python = python();
        let curator = curator(folder);
        for (peer, error) in [("kazoo", python.as_ref().err()), ("Curator", curator.as_ref().err())]
        {
            if let Some(error) = error {
                notes.push(format!("{peer} is left out: {error}"));
            }
        }
        Self { python: python.ok(), curator: curator.ok() }
    }

    /// Returns the command of a worker; none if it cannot be had.
    pub(crate) fn command(&self, contender: Contender) -> Outcome<Option<Command>> {
        Ok(match contender {
            Contender::Kazoo => self.python.as_ref().map(|python| {
                let mut command = Command::new(python);
                command.arg(source("kazoo_worker.py"));
                command
            }),
            Contender::Curator => self.curator.as_ref().map(|class_path| {
                let mut command = Command::new(java());
                command.arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=error");
                command.args(["-XX:-UsePerfData", "-cp", class_path, "CuratorWorker"]);
                command
            }),
            ours => {
                let mut command = Command::new(env::current_exe()?);
                command.args(["worker", ours.name()]);
                Some(command)
            }
        })
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("workers").join(name)
}

/// Makes a virtual environment with kazoo in the target folder, kept between runs.
fn python() -> Outcome<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/kazoo");
    let python = folder.join("bin/python");
    let has_kazoo = |python: &Path| {
        let found =
            Command::new(python).args(["-c", "import kazoo"]).stderr(Stdio::null()).status();
        found.is_ok_and(|status| status.success())
    };
    if has_kazoo(&python) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
    let install = ["-m", "pip", "install", "--quiet", "--require-hashes", "--requirement"];
    run(Command::new(&python).args(install).arg(source("requirements.txt")))?;
    Ok(python)
}

/// Returns the class path with the worker of Curator: by `CURATOR_CLASSPATH`, or what Debian
/// installs.
fn curator(folder: &Path) -> Outcome<String> {
    let jars = match env::var("CURATOR_CLASSPATH") {
        Ok(path) if !path.is_empty() => path,
        _ => {
            let debians = "/usr/share/java/curator-recipes.jar";
            if !Path::new(debians).exists() {
                return failed("no Curator: scripts/ensure-peers, or CURATOR_CLASSPATH");
            }
            format!("{debians}:/usr/share/java/slf4j-simple.jar")
        }
    };
    let classes = folder.join("classes");
    // The compiler is part of the runtime.
    run(Command::new(java())
        .args(["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d"])
        .arg(&classes)
        .args(["-cp", &jars])
        .arg(source("CuratorWorker.java")))?;
    Ok(format!("{jars}:{}", classes.display()))
}

fn run(command: &mut Command) -> Outcome<()> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    failed(said.lines().next_back().unwrap_or("it fails").to_owned())
}

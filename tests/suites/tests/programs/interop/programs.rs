//! The programs that contend: made of their sources by the first test that needs them.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::OnceLock;

use super::environment::{self, EnvironmentError};

/// One kind of contender: its library and recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// This library's: recipe and format.
    Ours(&'static str, &'static str),
    /// Curator's: recipe and, for a semaphore, permits.
    Curator(&'static str, &'static str),
    /// One of the recipes that ZooKeeper comes with.
    ZooKeeper(&'static str),
    /// kazoo's.
    Kazoo(&'static str),
    /// The lock of go-zookeeper.
    Go,
}

/// A program cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProgramError {
    /// A compiler cannot be started.
    #[error("{program}, which {peer} needs: `scripts/ensure-peers` installs it: {error}")]
    NoCompiler {
        /// The compiler.
        program: &'static str,
        /// The program that it compiles.
        peer: &'static str,
        /// Why.
        error: io::Error,
    },
    /// It does not compile.
    #[error("{peer} does not compile; are its libraries there (`scripts/ensure-peers`)?\n{said}")]
    NotCompiled {
        /// The program.
        peer: &'static str,
        /// The output of the compiler.
        said: String,
    },
    /// No Python with kazoo.
    #[error(transparent)]
    Kazoo(#[from] &'static EnvironmentError),
    /// Made before, in vain.
    #[error(transparent)]
    Before(#[from] &'static Self),
    /// The folder that programs are kept in.
    #[error("the folder of programs: {0}")]
    Folder(#[from] io::Error),
}

/// Debian's jars; Curator's names those that it needs.
const JARS: [&str; 4] = [
    "/usr/share/java/curator-recipes.jar",
    "/usr/share/java/zookeeper-recipes-election.jar",
    "/usr/share/java/zookeeper-recipes-lock.jar",
    "/usr/share/java/slf4j-simple.jar",
];

/// ZooKeeper's own queue.
const QUEUE_JAR: &str = "/usr/share/java/zookeeper-recipes-queue.jar";

/// The folder of Debian's sources of Go packages.
const GO_PATH: &str = "/usr/share/gocode";

impl Program {
    /// Returns its name in the names of contenders.
    pub(super) const fn library(self) -> &'static str {
        match self {
            Self::Ours(..) => "ours",
            Self::Curator(..) => "curator",
            Self::ZooKeeper(_) => "zookeeper",
            Self::Kazoo(_) => "kazoo",
            Self::Go => "go",
        }
    }

    /// Returns the command that starts a contender, given what all of them are given.
    pub(super) fn command(self, common: &[&str]) -> Result<Command, ProgramError> {
        Ok(match self {
            Self::Ours(recipe, format) => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_contender"));
                command.args(common).args([recipe, format]);
                command
            }
            Self::Curator(recipe, permits) => {
                let mut command =
                    java(&another_curator().unwrap_or_else(debians_jars), "Contender")?;
                command.args(common).args([recipe, permits]);
                command
            }
            Self::ZooKeeper(recipe) => {
                let mut command = java(&debians_jars(), "Contender")?;
                command.args(common).arg(recipe);
                command
            }
            Self::Kazoo(recipe) => {
                let mut command = Command::new(environment::python()?);
                command.arg(source("contender.py")).args(common).arg(recipe);
                command
            }
            Self::Go => {
                static MADE: OnceLock<Result<PathBuf, ProgramError>> = OnceLock::new();
                let mut command = Command::new(MADE.get_or_init(made_by_go).as_ref()?);
                command.args(common);
                command
            }
        })
    }
}

/// A program that uses barriers, queues and counters, as it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Library {
    Ours,
    /// Curator's recipes, and the queue that ZooKeeper comes with.
    Curator,
    Kazoo,
}

impl Library {
    /// Returns the command that starts one, given the servers and the session timeout.
    pub(super) fn command(self, common: &[&str]) -> Result<Command, ProgramError> {
        let mut command = match self {
            Self::Ours => Command::new(env!("CARGO_BIN_EXE_participant")),
            Self::Curator => {
                let mut class_path = another_curator().unwrap_or_else(debians_jars);
                class_path.push(":");
                class_path.push(QUEUE_JAR);
                java(&class_path, "Participant")?
            }
            Self::Kazoo => {
                let mut command = Command::new(environment::python()?);
                command.arg(source("participant.py"));
                command
            }
        };
        command.args(common);
        Ok(command)
    }
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/interop/peers").join(name)
}

/// Whether it is not Debian's, but a later one.
pub(super) fn is_another_curator() -> bool {
    another_curator().is_some()
}

fn another_curator() -> Option<OsString> {
    env::var_os("CURATOR_CLASSPATH").filter(|path| !path.is_empty())
}

fn debians_jars() -> OsString {
    JARS.join(":").into()
}

/// Starts soon, and does with little.
fn java(class_path: &OsString, class: &str) -> Result<Command, ProgramError> {
    static MADE: OnceLock<Result<PathBuf, ProgramError>> = OnceLock::new();
    let classes = MADE.get_or_init(made_by_java).as_ref()?;
    let mut class_path = class_path.clone();
    class_path.push(":");
    class_path.push(classes);
    let mut command = Command::new(java_program());
    command
        .args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-Xshare:auto"])
        .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
        .arg("-cp")
        .arg(class_path)
        .arg(class);
    Ok(command)
}

fn java_program() -> PathBuf {
    match env::var_os("JAVA_HOME") {
        Some(home) => Path::new(&home).join("bin/java"),
        None => PathBuf::from("java"),
    }
}

/// Compiles by the compiler within the runtime, so that none needs to be installed.
fn made_by_java() -> Result<PathBuf, ProgramError> {
    let folder = fresh_folder("java")?;
    let mut class_path = debians_jars();
    class_path.push(":");
    class_path.push(QUEUE_JAR);
    let mut compiler = Command::new(java_program());
    compiler
        .args(["-m", "jdk.compiler/com.sun.tools.javac.Main", "-d"])
        .arg(&folder)
        .arg("-cp")
        .arg(class_path)
        .args([source("Contender.java"), source("Participant.java")]);
    compile(compiler, "java", "Contender.java and Participant.java")?;
    Ok(folder)
}

fn made_by_go() -> Result<PathBuf, ProgramError> {
    let folder = fresh_folder("go")?;
    let program = folder.join("contender");
    let mut compiler = Command::new("go");
    compiler
        .envs([("GO111MODULE", "off"), ("CGO_ENABLED", "0"), ("GOPATH", GO_PATH), ("GOFLAGS", "")])
        .env("GOCACHE", folder.join("cache"))
        .args(["build", "-o"])
        .arg(&program)
        .arg(source("contender.go"));
    compile(compiler, "go", "contender.go")?;
    Ok(program)
}

fn compile(
    mut compiler: Command,
    program: &'static str,
    peer: &'static str,
) -> Result<(), ProgramError> {
    let output =
        compiler.output().map_err(|error| ProgramError::NoCompiler { program, peer, error })?;
    if output.status.success() {
        return Ok(());
    }
    let parts = [&output.stdout, &output.stderr];
    let said = parts.map(|part| String::from_utf8_lossy(part).into_owned()).concat();
    Err(ProgramError::NotCompiled { peer, said })
}

/// Makes a folder of this process alone: others may make the same at this time.
fn fresh_folder(of: &str) -> io::Result<PathBuf> {
    static REMOVED: OnceLock<()> = OnceLock::new();
    let folders = Path::new(env!("CARGO_TARGET_TMPDIR")).join("interop");
    REMOVED.get_or_init(|| {
        // Folders that earlier runs have left, unless they still run.
        for entry in fs::read_dir(&folders).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let process = name.split('.').next_back().unwrap_or_default().to_owned();
            if !Path::new("/proc").join(process).exists() {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    });
    let folder = folders.join(format!("{of}.{}", process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

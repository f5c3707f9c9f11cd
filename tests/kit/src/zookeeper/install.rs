//! Finds Java and the server's jars.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::InstallError;

const DEBIAN_JARS: &str = "/usr/share/java";

/// The start of a command line that runs something of Apache ZooKeeper.
#[derive(Debug)]
pub(super) struct Install {
    pub(super) java: PathBuf,
    pub(super) class_path: OsString,
}

impl Install {
    pub(super) fn find() -> Result<Self, InstallError> {
        let class_path = match env::var_os("ZOOKEEPER_CLASSPATH").filter(|path| !path.is_empty()) {
            Some(class_path) => checked(class_path)?,
            None => debian(Path::new(DEBIAN_JARS))?,
        };
        Ok(Self {
            java: java(env::var_os("JAVA_HOME"), env::var_os("PATH").as_deref())?,
            class_path,
        })
    }
}

fn checked(class_path: OsString) -> Result<OsString, InstallError> {
    for entry in env::split_paths(&class_path) {
        let present = if entry.file_name() == Some(OsStr::new("*")) {
            entry.parent().is_some_and(Path::is_dir)
        } else {
            entry.exists()
        };
        if !present {
            return Err(InstallError::NoSuchEntry(entry));
        }
    }
    Ok(class_path)
}

/// Returns the class path. The manifest of Debian's `zookeeper.jar` names every jar that the server
/// needs, except for the one that prints what it logs, and one of Netty, which does TLS.
fn debian(jars: &Path) -> Result<OsString, InstallError> {
    let server = jars.join("zookeeper.jar");
    if !server.is_file() {
        return Err(InstallError::NoZooKeeper);
    }
    let mut class_path = server.into_os_string();
    for jar in ["slf4j-simple.jar", "netty-codec.jar"] {
        class_path.push(":");
        class_path.push(jars.join(jar));
    }
    Ok(class_path)
}

fn java(home: Option<OsString>, path: Option<&OsStr>) -> Result<PathBuf, InstallError> {
    let homes = home.map(|home| Path::new(&home).join("bin"));
    let paths = path.into_iter().flat_map(env::split_paths);
    homes
        .into_iter()
        .chain(paths)
        .map(|folder| folder.join("java"))
        .find(|java| java.is_file())
        .ok_or(InstallError::NoJava)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_package_the_error_says_what_to_install() {
        let error = debian(Path::new("/nonexistent")).expect_err("nothing there");
        let text = error.to_string();
        assert!(text.contains("apt-get install libzookeeper-java"), "{text}");
        assert!(text.contains("ZOOKEEPER_CLASSPATH"), "{text}");
    }

    #[test]
    fn an_entry_that_leads_nowhere_is_named() {
        let error = checked("/nonexistent/lib/*".into()).expect_err("nothing there");
        assert!(error.to_string().contains("/nonexistent/lib/*"), "{error}");
    }

    #[test]
    fn a_star_stands_for_the_jars_of_a_folder() {
        assert!(checked("/usr/*".into()).is_ok());
    }

    #[test]
    fn without_java_the_error_says_so() {
        assert!(matches!(java(None, Some(OsStr::new("/nonexistent"))), Err(InstallError::NoJava)));
    }
}

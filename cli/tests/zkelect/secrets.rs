//! Passwords and keys stay where they belong.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use rustix::process::getuid;

use crate::served::Served;
use crate::support::{Errors, Folder, Plan, Run, output, text};

#[test]
fn a_password_file_that_every_user_may_write_gets_a_warning() {
    let server = Served::start("password", &[]);
    let folder = Folder::new("password-file");
    let file = folder.file("password");
    fs::write(&file, "secret\n").expect("a file");
    let path = file.to_str().expect("UTF-8");
    for (mode, is_told) in [(0o666, true), (0o602, true), (0o644, false), (0o600, false)] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("it is ours");
        let list = ["list", "--servers", server.address(), "--election", "/e"];
        let sasl = ["--timeout", "2s", "--sasl-user", "u", "--sasl-password-file", path];
        let stderr = text(&output(&[&list[..], &sasl].concat()).stderr);
        let told = stderr.contains("every user of this machine may write the password file");
        assert_eq!(told, is_told, "{mode:o}: {stderr}");
    }
}

#[test]
fn a_configuration_file_that_every_user_may_write_gets_a_warning() {
    let server = Served::start("open-config", &[]);
    let folder = Folder::new("open-config-file");
    let file = folder.file("config.toml");
    fs::write(&file, format!("servers = \"{}\"\n", server.address())).expect("a file");
    let path = file.to_str().expect("UTF-8");
    for (mode, is_told) in [(0o666, true), (0o644, false)] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).expect("it is ours");
        let list = output(&["list", "--config", path, "--election", "/e"]);
        let stderr = text(&list.stderr);
        assert_eq!(list.status.code(), Some(0), "{stderr}");
        let told = stderr.contains("every user of this machine may write the configuration file");
        assert_eq!(told, is_told, "{mode:o}: {stderr}");
    }
}

/// The kernel gives what it tells of a process that leaves no core dump to root.
#[test]
fn zkelect_leaves_no_core_dump_and_its_command_may() {
    let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"];
    let is_root = getuid().is_root();
    let server = Served::start("core", &[]);
    let folder = Folder::new("core-run");
    fs::set_permissions(folder.file(""), Permissions::from_mode(0o777)).expect("it is ours");
    let plan = Plan {
        servers: server.address(),
        id: "a",
        options: &[],
        script: r#"echo "up $$" >>"$LOG"; while :; do sleep 0.02; done"#,
    };
    let wrapper: &[&str] = if is_root { &nobody } else { &[] };
    let run = Run::start_by(&folder, &plan, wrapper, Errors::ToFile);
    let command = run.wait_for_log("up ");
    let owner = |pid: &str| fs::metadata(format!("/proc/{pid}/environ")).expect("it runs").uid();
    assert_eq!(owner(&run.pid().as_raw_pid().to_string()), 0);
    assert_ne!(owner(&command), 0);
}

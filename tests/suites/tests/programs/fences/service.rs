//! An HTTP service: a header, and `412`.

use std::process::Command;

use zk_test_kit::failure::TestResult;

use super::{Leaders, done, program, serve, shown};

#[test]
fn a_service_refuses_what_an_old_leader_writes() -> TestResult {
    let leaders = Leaders::elect("fence-http")?;
    let (_service, url) = serve(&shown("service.py"))?;
    let put = |headers: &[String], entry: &str| {
        let mut put: Command = program("curl");
        put.args(["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-X", "PUT", "--data", entry]);
        for header in headers {
            put.args(["-H", header]);
        }
        done(put.arg(&url), "")
    };
    let by = |token: &dyn core::fmt::Display| [format!("Fencing-Token: {token}")];
    assert_eq!(put(&by(&leaders.old), "old")?, "200");
    assert_eq!(put(&by(&leaders.new), "new")?, "200");
    assert_eq!(put(&by(&leaders.old), "old")?, "412");
    let get = || done(program("curl").args(["-sS", &url]), "");
    assert_eq!(get()?, "new");
    assert_eq!(put(&by(&leaders.new), "newer")?, "200", "its own token passes again");
    assert_eq!(get()?, "newer");
    assert_eq!(put(&[], "old")?, "428", "a write without a token is none");
    assert_eq!(put(&by(&"new"), "old")?, "428");
    assert_eq!(get()?, "newer");
    Ok(())
}

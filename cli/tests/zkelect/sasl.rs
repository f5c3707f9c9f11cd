//! Servers that demand SASL.

use std::fs;

use zk_test_kit::sasl::{BOB, options};

use crate::support::{Folder, output, text};

#[test]
fn a_user_and_a_password_file_open_servers_that_demand_sasl() {
    let server = options(&[BOB]).config_line("sessionRequireClientSASLAuth=true");
    let server = server.start_server().expect("a server");
    let folder = Folder::new("sasl");
    let file = |name: &str, password: &str| {
        let path = folder.file(name);
        fs::write(&path, password).expect("a file");
        path.into_os_string().into_string().expect("UTF-8")
    };
    let servers = server.connect_string();
    let (name, password) = BOB;
    let (right, wrong) = (file("right", &format!("{password}\n")), file("wrong", "wrongsecret"));
    let none = folder.file("none").into_os_string().into_string().expect("UTF-8");
    let place = ["--servers", &servers, "--election", "/leader"];
    let as_bob = |file| ["--sasl-user", name, "--sasl-password-file", file];
    let run = [["run"].as_slice(), &place, &as_bob(&right), &["--", "true"]].concat();
    let done = output(&run);
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    let done = output(&[["list"].as_slice(), &place, &as_bob(&right)].concat());
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));

    let cases = [
        (as_bob(&wrong).to_vec(), 77, "--sasl-password-file"),
        (Vec::new(), 77, "--sasl-user"),
        (as_bob(&none).to_vec(), 71, "cannot be read"),
    ];
    for (identity, code, said) in cases {
        for (subcommand, rest) in [("run", ["--", "true"].as_slice()), ("list", &[])] {
            let refused = output(&[&[subcommand], place.as_slice(), &identity, rest].concat());
            let stderr = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(code), "{stderr}");
            assert!(stderr.contains(said), "{stderr}");
            assert!(!stderr.contains("wrongsecret"), "{stderr}");
        }
    }
}

//! Servers that speak TLS.

use std::fs;
use std::path::Path;

use zk_test_kit::certificates::Authority;
use zk_test_kit::zookeeper::{ClientAuth, Options, SecurePort, Server};

use crate::support::{BEATING, Folder, Plan, Run, output, text};

struct Secured {
    server: Server,
    folder: Folder,
}

/// Makes one CA, a server that demands a certificate of it, and the files of a client.
fn secured() -> Secured {
    let authority = Authority::new("CA").expect("a CA");
    let [server, client] = [authority.server(&["127.0.0.1"]), authority.client("zkelect")]
        .map(|certified| certified.expect("a certificate"));
    let folder = Folder::new("tls");
    for (name, pem) in
        [("ca", &authority.pem()), ("cert", &client.certificate), ("key", &client.key)]
    {
        fs::write(folder.file(name), pem).expect("a file");
    }
    let port = SecurePort {
        key_store: format!("{}{}", server.key, server.certificate),
        trust_store: authority.pem(),
        client_auth: ClientAuth::Need,
    };
    let server = Options::new().secure_port(port).start_server().expect("a server");
    Secured { server, folder }
}

fn path(file: &Path) -> &str {
    file.to_str().expect("a path")
}

#[test]
fn elections_are_held_and_listed_by_tls() {
    let Secured { server, folder } = secured();
    let address = server.secure_addr().expect("a port for TLS").to_string();
    let [ca, cert, key] = ["ca", "cert", "key"].map(|name| folder.file(name));
    let tls = ["--tls-ca", path(&ca), "--tls-cert", path(&cert), "--tls-key", path(&key)];
    let plan = Plan { servers: &address, id: "by TLS", options: &tls, script: BEATING };
    let leader = Run::start(&folder, &plan);
    leader.wait_for("elected", 1);

    let list = ["list", "--servers", &address, "--election", "/leader", "--timeout", "10s"];
    let table = output(&[&list[..], &tls].concat());
    assert_eq!(table.status.code(), Some(0), "{}", text(&table.stderr));
    assert!(text(&table.stdout).contains("leader  by TLS"), "{}", text(&table.stdout));

    let cases: [(&[&str], i32, &str); 4] = [
        (&tls[..2], 69, "demands a client certificate"),
        (&[], 69, "wants TLS on this port"),
        (&["--tls-ca", "/nonexistent"], 2, "/nonexistent"),
        (&["--tls-ca", path(&key)], 2, "no such thing is in it"),
    ];
    for (options, code, said) in cases {
        let list = ["list", "--servers", &address, "--election", "/leader", "--timeout", "8s"];
        let refused = output(&[&list[..], options].concat());
        let stderr = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(said), "{said:?} is not in: {stderr}");
    }

    let check = ["check", "--servers", &address, "--election", "/leader", "--timeout", "8s"];
    let checked = output(&[&check[..], &tls].concat());
    let found = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(0), "{found}");
    assert!(found.contains("granted with a timeout of 10s, by TLS"), "{found}");
    assert!(found.contains("not asked: four-letter words"), "{found}");
    let checked = output(&[&check[..], &tls[..2]].concat());
    let found = text(&checked.stdout);
    assert_eq!(checked.status.code(), Some(1), "{found}");
    assert!(found.contains("failed   session 127.0.0.1:"), "{found}");
    assert!(found.contains("demands a client certificate"), "{found}");

    let demo = ["demo", "--servers", &address, "--rounds", "2", "--nominees", "2", "--pause", "0s"];
    let demo = output(&[&demo[..], &tls].concat());
    assert_eq!(demo.status.code(), Some(0), "{}", text(&demo.stderr));
}

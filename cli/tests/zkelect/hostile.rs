//! Servers that send what no ZooKeeper server does: names with control characters, and text in place of
//! answers.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;

use election_tokio::{Client, CreateMode};

use crate::served::Served;
use crate::support::{BEATING, Folder, Plan, Run, output, text};
use crate::terminal::is_fit;

/// A word of the honest server behind, and the text that is put in its place: it sets the title of a terminal, and
/// begins a line that passes for one of zkelect's.
const HONEST: &str = "abcdefghijklmnopqrstuvwxyzabcdefgh-latch-0000000000";
const FORGED: &str =
    "\u{1b}]0;x\u{7}\r\nzkelect: forged\u{202e}\u{200b}\u{2028}\u{9b}-latch-0000000000";

/// Listens, and has `serve` have each connection.
fn listen(serve: impl Fn(TcpStream) -> io::Result<()> + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("it listens").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn frame(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize];
    from.read_exact(&mut body)?;
    Ok([&length[..], &body].concat())
}

/// Passes frames on until one side ends, with one name in place of another.
fn pass_on(mut from: TcpStream, mut to: TcpStream, (name, other): (&str, &str)) -> io::Result<()> {
    loop {
        let mut frame = frame(&mut from)?;
        while let Some(at) = frame.windows(name.len()).position(|part| part == name.as_bytes()) {
            frame[at..at + name.len()].copy_from_slice(other.as_bytes());
        }
        to.write_all(&frame)?;
    }
}

/// Starts a server that has the forged name where the one behind it has the honest one; returns its
/// address.
fn forging(server: &str, honest: &str, forged: &str) -> String {
    let names = [server, honest, forged].map(str::to_owned);
    listen(move |client| {
        let [server, honest, forged] = names.clone();
        let server = TcpStream::connect(server)?;
        let (from_client, to_server) = (client.try_clone()?, server.try_clone()?);
        let back = (forged.clone(), honest.clone());
        thread::spawn(move || pass_on(from_client, to_server, (&back.0, &back.1)));
        pass_on(server, client, (&honest, &forged))
    })
}

/// Asserts that the text has nothing that a terminal acts upon, and no line that zkelect did not
/// begin.
fn assert_is_fit(shown: &str) {
    assert!(is_fit(shown), "{shown:?}");
    assert!(shown.lines().all(|line| !line.starts_with("zkelect: forged")), "{shown}");
}

async fn forged_election(label: &str) -> (Served, String) {
    forged(label, "-latch-").await
}

/// Starts a server with a forged znode; `word` is the part of a contender's name before its number.
async fn forged(label: &str, word: &str) -> (Served, String) {
    let [honest, forged] = [HONEST, FORGED].map(|name| name.replace("-latch-", word));
    assert_eq!(honest.len(), forged.len());
    let server = Served::start(label, &[]);
    let client = Client::builder(server.address()).connect().await.expect("a session");
    client.create("/leader", "", CreateMode::Persistent).await.expect("it is created");
    let name = format!("/leader/{honest}");
    client.create(&name, "", CreateMode::Persistent).await.expect("it is created");
    let servers = forging(server.address(), &honest, &forged);
    (server, servers)
}

#[tokio::test]
async fn a_forged_list_is_refused_and_shown_escaped() {
    let (_server, servers) = forged_election("forged-list").await;
    for format in [&[][..], &["--json"], &["-vvv"]] {
        let arguments = ["list", "--servers", &servers, "--election", "/leader"];
        let list = output(&[&arguments[..], format].concat());
        let (stdout, stderr) = (text(&list.stdout), text(&list.stderr));
        assert_is_fit(&stdout);
        assert_is_fit(&stderr);
        assert_eq!(list.status.code(), Some(78), "{stderr}");
        assert!(stderr.contains(r"\u{1b}]0;x\u{7}\r\nzkelect: forged\u{202e}\u{200b}"), "{stderr}");
        assert!(stderr.contains("no client create: check what answers at --servers"), "{stderr}");
    }
}

/// Whatever a forged name is taken for.
#[tokio::test]
async fn a_forged_list_of_what_is_recognised_is_shown_escaped() {
    let (_server, servers) = forged_election("forged-recognised").await;
    for options in [&[][..], &["--json"], &["-vvv"], &["--format", "kazoo"]] {
        let list = output(&[&["list", "--servers", &servers, "/leader"], options].concat());
        let (stdout, stderr) = (text(&list.stdout), text(&list.stderr));
        assert_is_fit(&stdout);
        assert_is_fit(&stderr);
        assert_eq!(list.status.code(), Some(78), "{stderr}");
    }
}

/// With `-v`, zkelect shows the name of the znode that it waits for behind.
#[tokio::test]
async fn a_forged_contender_ahead_is_shown_escaped() {
    let (_server, servers) = forged("forged-lock", "-__WRIT__").await;
    let lock = ["lock", "--servers", &servers, "/leader", "--wait", "5s", "-vvv", "--", "true"];
    let lock = output(&lock);
    let stderr = text(&lock.stderr);
    assert_eq!(lock.status.code(), Some(1), "{stderr}");
    assert_is_fit(&stderr);
    assert!(stderr.contains(r"\u{1b}]0;x\u{7}\r\nzkelect: forged\u{202e}\u{200b}"), "{stderr}");
}

/// Without `-v`, too, zkelect reports the znode that blocks the election.
#[tokio::test]
async fn a_forged_predecessor_is_shown_escaped() {
    let (_server, servers) = forged_election("forged-run").await;
    for options in [&[][..], &["-vvv"]] {
        assert_shown_escaped(&servers, options);
    }
}

fn assert_shown_escaped(servers: &str, options: &[&str]) {
    let folder = Folder::new("forged-run-folder");
    let plan = Plan { servers, id: "a", options, script: BEATING };
    let run = Run::start(&folder, &plan);
    run.wait_until_said("blocked: the candidate ahead is not ephemeral");
    let blocked = run.wait_for("blocked", 1);
    assert!(blocked["by"].as_str().is_some_and(|by| by.starts_with(FORGED)), "{blocked}");
    run.wait_until_said(r" is blocked by \u{1b}]0;x\u{7}\r\nzkelect: forged\u{202e}\u{200b}");
    assert_is_fit(&run.said());
    assert_is_fit(&std::fs::read_to_string(folder.file("a.events")).expect("events"));
}

/// Text in place of a handshake, and in the place of a reply.
#[test]
fn what_a_peer_says_that_is_no_server_is_shown_escaped() {
    const SAID: &[u8] = b"\x1b]0;x\x07\r\nzkelect: forged\n\xe2\x80\xae\x9b";
    let at_once = listen(|mut client| client.write_all(SAID));
    let in_a_frame = listen(|mut client| {
        frame(&mut client)?;
        let length = u32::try_from(SAID.len()).unwrap_or_default();
        client.write_all(&length.to_be_bytes())?;
        client.write_all(SAID)?;
        frame(&mut client).map(drop)
    });
    for servers in [at_once, in_a_frame] {
        for options in [&["--timeout", "1s"][..], &["--timeout", "1s", "-vvv"]] {
            let arguments = ["list", "--servers", &servers, "--election", "/leader"];
            let list = output(&[&arguments[..], options].concat());
            assert_eq!(list.status.code(), Some(69), "{}", text(&list.stderr));
            assert_is_fit(&text(&list.stderr));
        }
    }
}

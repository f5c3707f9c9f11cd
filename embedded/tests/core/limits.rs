//! The limits that the server sets to clients, and the requests that break their connection.

use bytes::BytesMut;
use zk_embedded::{Config, TooManyConnections, Transmit};
use zk_jute::records::{
    Acl, AddWatchRequest, CreateRequest, MultiReadOp, MultiReadRequest, Ping, SetAclRequest,
    SetDataRequest,
};
use zk_jute::{DEFAULT_MAX_FRAME, ErrorCode, OpCode, RequestHeader, Vector, Version, Xid, Zxid};

use crate::requests::{BOB, create, delete, exists, get_children, get_data, set_data};
use crate::world::{World, frame, new_session, world};

#[test]
fn a_frame_of_no_length_or_of_too_much_closes_the_connection() {
    let limit = i32::try_from(DEFAULT_MAX_FRAME).expect("a small number");
    for (length, is_closed) in [(0, true), (-1, true), (limit, false), (limit + 1, true)] {
        let mut world = world();
        let mut client = world.client();
        client.connection.send(&mut world, &length.to_be_bytes());
        assert_eq!(client.connection.is_closed, is_closed, "{length}");
        assert!(world.server.database().has_session(client.session()));
    }
}

/// Before there is a session, whatever `max_frame` is: nothing that a handshake has is long. What does not fit is
/// refused by its length, before its bytes come.
#[test]
fn a_handshake_is_no_longer_than_one_kilobyte() {
    for (length, is_closed) in [(1024_i32, false), (1025, true), (1 << 20, true), (-1, true)] {
        let mut world = world();
        let mut connection = world.open();
        connection.send(&mut world, &length.to_be_bytes());
        assert_eq!(connection.is_closed, is_closed, "{length}");
    }
    let mut config = Config::default();
    config.limits.max_frame = 100;
    let mut world = World::new(&config);
    let mut connection = world.open();
    connection.send(&mut world, &101_i32.to_be_bytes());
    assert!(connection.is_closed, "a smaller limit of frames counts, too");
}

#[test]
fn a_frame_too_short_for_a_header_closes_the_connection() {
    let mut world = world();
    let mut client = world.client();
    client.connection.send(&mut world, b"\0\0\0\x07\0\0\0\x01\0\0\0");
    assert!(client.connection.is_closed);
    let mut connection = world.open();
    assert_eq!(connection.shake_hands(&mut world, &new_session()).map(drop), Some(()));
    let mut connection = world.open();
    connection.send(&mut world, b"\0\0\0\x05hello");
    assert!(connection.is_closed);
}

/// Answered with -6 and zxid -1, then closed; among them operations that are
/// inside servers, and a check on its own (since 3.9.3).
#[test]
fn an_unknown_operation_is_answered_and_closes_the_connection() {
    for opcode in [0, 10, 13, 20, 23, 108, -1, -10, -12, i32::MAX, i32::MIN] {
        let mut world = world();
        let mut client = world.client();
        let opcode = OpCode::new(opcode);
        let (header, body) = client.raw_request(&mut world, opcode, b"");
        assert_eq!(header.zxid, Zxid::new(-1), "{opcode}");
        assert_eq!((header.error, body), (ErrorCode::UNIMPLEMENTED, Vec::new()), "{opcode}");
        assert!(client.connection.is_closed);
    }
}

#[test]
fn connections_are_counted_by_address_and_in_all() {
    let mut config = Config::default();
    config.limits.max_client_connections = 2;
    config.limits.max_connections = 3;
    let mut world = World::new(&config);
    let here = "127.0.0.1:1".parse().expect("an address");
    let there = "127.0.0.2:1".parse().expect("an address");
    let first = world.server.open(world.now, here).expect("the first");
    world.server.open(world.now, here).expect("the second");
    let too_many_here = Err(TooManyConnections::FromAddress { limit: 2 });
    assert_eq!(world.server.open(world.now, here), too_many_here);
    world.server.open(world.now, there).expect("from elsewhere");
    let too_many = Err(TooManyConnections::InTotal { limit: 3 });
    assert_eq!(world.server.open(world.now, there), too_many);
    world.server.close(first);
    world.server.close(first);
    world.server.open(world.now, here).expect("one has gone");
    assert_eq!(world.server.open(world.now, here), too_many);
}

#[test]
fn sessions_are_limited_where_asked_for() {
    let mut config = Config::default();
    config.limits.max_sessions = 1;
    let mut world = World::new(&config);
    let mut client = world.client();
    let mut second = world.open();
    assert_eq!(second.shake_hands(&mut world, &new_session()), None);
    assert!(second.is_closed);
    client.request(&mut world, &zk_jute::records::CloseSession);
    world.client();
}

/// A client that asks for more than it takes waits, however much it asks for; all is answered in
/// the end, in order.
#[test]
fn replies_that_are_not_taken_stop_the_reading() {
    let mut world = world();
    let mut client = world.client();
    let data = vec![7; 40_000];
    client.make(&mut world, &CreateRequest { data: Some(&data), ..create("/big") });
    let mut requests = BytesMut::new();
    for xid in 1..=500 {
        let header = RequestHeader { xid: Xid::new(xid), opcode: OpCode::GET_DATA };
        requests.extend_from_slice(&frame(&header, &get_data("/big", false)));
    }
    let id = client.connection.id;
    world.server.receive(world.now, id, &requests);
    assert!(!world.server.wants_input(id));
    let mut seen = 0;
    loop {
        let mut output = BytesMut::new();
        let transmit = world.server.poll_transmit(world.now, id, &mut output);
        assert_eq!(transmit, Transmit::Open);
        if output.is_empty() {
            break;
        }
        assert!(output.len() < 64 * 1024 + 41_000, "{}", output.len());
        for _ in 0..output.len() / (4 + 16 + 4 + 40_000 + 68) {
            seen += 1;
            assert_eq!(output[4..8], i32::to_be_bytes(seen));
            let _ = output.split_to(4 + 16 + 4 + 40_000 + 68);
        }
        assert_eq!(output, b""[..]);
    }
    assert_eq!(seen, 500);
    assert!(world.server.wants_input(id));
}

/// Events cannot wait; a client that does not take them loses the connection.
#[test]
fn a_watcher_that_takes_nothing_loses_its_connection() {
    let mut config = Config::default();
    config.limits.max_unread = 1000;
    let mut world = World::new(&config);
    let [mut watcher, mut writer] = [world.client(), world.client()];
    let (path, mode) = ("/", zk_jute::records::AddWatchMode::PERSISTENT_RECURSIVE);
    watcher.request(&mut world, &AddWatchRequest { path, mode });
    writer.make(&mut world, &create("/a"));
    let mut count = 0;
    while !world.server.is_closing(watcher.connection.id) {
        writer.code(&mut world, &set_data("/a", b""));
        count += 1;
    }
    assert_eq!(count, 1000 / (4 + 16 + 8 + 4 + 2));
    assert!(world.server.database().has_session(watcher.session()));
}

/// Requests that arrive in pieces, or many at a time, are the same requests.
#[test]
fn borders_of_frames_are_found_wherever_the_transport_cuts() {
    let mut bytes = BytesMut::new();
    for xid in 1..=20 {
        let header = |opcode| RequestHeader { xid: Xid::new(xid), opcode };
        let version = Version::ANY;
        let write = SetDataRequest { path: "/", data: Some(b"x"), version };
        bytes.extend_from_slice(&frame(&header(OpCode::SET_DATA), &write));
        bytes.extend_from_slice(&frame(&header(OpCode::GET_DATA), &get_data("/", false)));
        bytes.extend_from_slice(&frame(&header(OpCode::PING), &Ping));
    }
    let answers = |step| {
        let mut world = world();
        let mut client = world.client();
        for piece in bytes.chunks(step) {
            client.connection.send(&mut world, piece);
        }
        client.connection.rest()
    };
    let whole = answers(bytes.len());
    assert!(whole.len() > 20 * 3 * 20);
    for step in [1, 2, 3, 7, 64, 1000] {
        assert_eq!(answers(step), whole, "{step}");
    }
}

/// A request of a megabyte asked for 60 GB; now it is refused before the reply is made.
#[test]
fn a_reply_is_not_longer_than_the_limit() {
    let mut config = Config::default();
    config.limits.max_reply = 100_000;
    let mut world = World::new(&config);
    let mut client = world.client();
    client.make(&mut world, &CreateRequest { data: Some(&[7; 10_000]), ..create("/big") });
    let read = MultiReadOp::GetData(get_data("/big", false));
    for (count, code) in [(9, ErrorCode::OK), (10, ErrorCode::MARSHALLING_ERROR)] {
        let reads = vec![read; count];
        assert_eq!(client.code(&mut world, &MultiReadRequest::new(&reads)), code, "{count}");
    }
    for number in 0..1000 {
        client.make(&mut world, &create(&format!("/{number:0>100}")));
    }
    let list = MultiReadOp::GetChildren(get_children("/", false));
    let all = [list; 1];
    let too_long = ErrorCode::MARSHALLING_ERROR;
    assert_eq!(client.code(&mut world, &MultiReadRequest::new(&all)), too_long);
    assert_eq!(client.code(&mut world, &get_children("/", true)), too_long);
    assert_eq!(client.code(&mut world, &get_data("/big", false)), ErrorCode::OK);
    client.make(&mut world, &create("/z"));
    assert_eq!(client.events(&mut world), [], "what is refused leaves no watch");
}

/// The default limits refuse a request for 60 GB, too.
#[test]
fn sixty_thousand_reads_of_a_megabyte_are_refused() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &CreateRequest { data: Some(&vec![7; 1_000_000]), ..create("/b") });
    let reads = vec![MultiReadOp::GetData(get_data("/b", false)); 60_000];
    let too_long = ErrorCode::MARSHALLING_ERROR;
    assert_eq!(client.code(&mut world, &MultiReadRequest::new(&reads)), too_long);
    assert_eq!(client.code(&mut world, &MultiReadRequest::new(&reads[..16])), ErrorCode::OK);
}

#[test]
fn what_all_znodes_take_is_limited() {
    let mut config = Config::default();
    config.limits.max_tree_bytes = 100_000;
    let mut world = World::new(&config);
    let mut client = world.client();
    let full = ErrorCode::QUOTA_EXCEEDED;
    client.make(&mut world, &CreateRequest { data: Some(&vec![7; 90_000]), ..create("/a") });
    assert_eq!(client.code(&mut world, &set_data("/a", &vec![7; 100_000])), full);
    let acl = [BOB; 1];
    let many: Vec<String> = (0..100).map(|number| format!("{:0>100}:{number}", "")).collect();
    let many: Vec<Acl<'_>> = many.iter().map(|id| Acl { id, ..acl[0] }).collect();
    let set_acl = SetAclRequest { path: "/a", acl: Vector::new(&many), version: Version::ANY };
    assert_eq!(client.code(&mut world, &set_acl), full);
    let mut made = 0;
    while client.code(&mut world, &create(&format!("/{made}"))) == ErrorCode::OK {
        made += 1;
    }
    assert!((5..20).contains(&made), "{made}");
    assert_eq!(client.code(&mut world, &create("/one-more")), full);
    // A write that shrinks the database is executed, and so is one that does not grow it.
    assert_eq!(client.code(&mut world, &set_data("/a", &vec![8; 90_000])), ErrorCode::OK);
    assert_eq!(client.code(&mut world, &set_data("/a", b"")), ErrorCode::OK);
    client.make(&mut world, &create("/one-more"));
    assert_eq!(client.code(&mut world, &delete("/one-more")), ErrorCode::OK);
}

/// The server subtracts all bytes of a znode that is gone, however the znode changed meanwhile.
#[test]
fn the_room_of_a_znode_that_is_gone_is_free_again() {
    let mut config = Config::default();
    config.limits.max_tree_bytes = 50_000;
    let mut world = World::new(&config);
    let mut client = world.client();
    for _ in 0..100 {
        client.make(&mut world, &CreateRequest { data: Some(&vec![7; 20_000]), ..create("/a") });
        let acl = [Acl { permissions: zk_jute::records::Permissions::ALL, ..BOB }, Acl::OPEN];
        let set_acl = SetAclRequest { path: "/a", acl: Vector::new(&acl), version: Version::ANY };
        assert_eq!(client.code(&mut world, &set_acl), ErrorCode::OK);
        assert_eq!(client.code(&mut world, &set_data("/a", &vec![7; 30_000])), ErrorCode::OK);
        assert_eq!(client.code(&mut world, &delete("/a")), ErrorCode::OK);
    }
}

#[test]
fn what_all_watches_take_is_limited() {
    let mut config = Config::default();
    config.limits.max_watch_bytes = 10_000;
    let mut world = World::new(&config);
    let [mut client, mut other] = [world.client(), world.client()];
    let mut left = 0;
    while client.code(&mut world, &exists(&format!("/{left}"), true)) == ErrorCode::NO_NODE {
        left += 1;
    }
    assert!((50..100).contains(&left), "{left}");
    let full = ErrorCode::QUOTA_EXCEEDED;
    assert_eq!(other.code(&mut world, &get_data("/", true)), full);
    assert_eq!(other.code(&mut world, &get_children("/", true)), full);
    let (path, mode) = ("/", zk_jute::records::AddWatchMode::PERSISTENT);
    assert_eq!(other.code(&mut world, &AddWatchRequest { path, mode }), full);
    assert_eq!(other.code(&mut world, &get_data("/", false)), ErrorCode::OK);
    // A watch that fires makes room, and so does a client that leaves.
    client.make(&mut world, &create("/0"));
    assert_eq!(other.code(&mut world, &get_data("/", true)), ErrorCode::OK);
    assert_eq!(other.code(&mut world, &get_data("/0", true)), full);
    client.request(&mut world, &zk_jute::records::CloseSession);
    assert_eq!(other.code(&mut world, &get_data("/0", true)), ErrorCode::OK);
}

/// Clients that open a connection and say nothing, and clients that begin a session and go away: what
/// they leave goes in time, however many there are.
#[test]
#[ignore = "long form: run with --release"]
fn a_million_sessions_left_half_open_go_in_time() {
    let count = 1_000_000;
    let mut config = Config::default();
    config.limits.max_client_connections = 0;
    let mut world = World::new(&config);
    let here = "127.0.0.1:1".parse().expect("an address");
    let silent: Vec<_> = (0..count)
        .map(|_| world.server.open(world.now, here).expect("there is no limit"))
        .collect();
    let begun = std::time::Instant::now();
    world.advance(core::time::Duration::from_secs(10));
    println!("{count} silent connections end within {:?}", begun.elapsed());
    for id in silent {
        assert!(world.server.is_closing(id));
        world.server.close(id);
    }

    let begun = std::time::Instant::now();
    for _ in 0..count {
        let mut connection = world.open();
        connection.shake_hands(&mut world, &new_session()).expect("a session");
        world.server.close(connection.id);
    }
    println!("{count} sessions begin within {:?}", begun.elapsed());
    assert_eq!(world.server.database().sessions().len(), count);
    let mut one_more = world.open();
    assert_eq!(one_more.shake_hands(&mut world, &new_session()), None, "the limit");
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    println!("{memory}");
    let begun = std::time::Instant::now();
    world.advance(core::time::Duration::from_secs(12));
    println!("{count} sessions end within {:?}", begun.elapsed());
    assert_eq!(world.server.database().sessions().len(), 0);
    world.client();
}

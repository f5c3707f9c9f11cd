//! Access lists and identities, as clients see them.

use zk_jute::records::{
    Acl, AuthPacket, CheckWatchesRequest, CreateRequest, Credential, GetAclRequest, GetAclResponse,
    GetAllChildrenNumberRequest, Permissions, WatcherType, WhoAmI, WhoAmIResponse,
};
use zk_jute::{Decode, ErrorCode, OpCode, RequestHeader, Vector, Xid, Zxid};

use crate::requests::{BOB, create, delete, exists, get_children, get_data, set_data};
use crate::world::{Client, World, world};

const fn digest(credential: &[u8]) -> AuthPacket<'_> {
    AuthPacket { kind: 0, scheme: "digest", credential: Credential::new(Some(credential)) }
}

/// Authenticates with the reserved xid, as clients do.
fn authenticate(client: &mut Client, world: &mut World, packet: &AuthPacket<'_>) -> ErrorCode {
    let header = RequestHeader { xid: Xid::AUTH, opcode: OpCode::AUTH };
    client.connection.send_frame(world, &header, packet);
    let (reply, body) = client.next_reply().expect("a reply");
    assert_eq!((reply.xid, reply.zxid, body), (Xid::AUTH, Zxid::ZERO, Vec::new()));
    reply.error
}

fn identities(client: &mut Client, world: &mut World) -> Vec<String> {
    let (_, body) = client.request(world, &WhoAmI);
    let response = WhoAmIResponse::decode_exact(&body).expect("identities");
    let shown = response.client_info.iter();
    shown.map(|info| format!("{}:{}", info.auth_scheme, info.user)).collect()
}

fn acl_of(client: &mut Client, world: &mut World, path: &str) -> Result<Vec<String>, ErrorCode> {
    let (header, body) = client.request(world, &GetAclRequest { path });
    if header.error != ErrorCode::OK {
        return Err(header.error);
    }
    let response = GetAclResponse::decode_exact(&body).expect("an access list");
    let show = |acl: Acl<'_>| format!("{}:{}:{}", acl.permissions.get(), acl.scheme, acl.id);
    Ok(response.acl.iter().map(show).collect())
}

#[test]
fn identities_add_up_on_their_connection() {
    let mut world = world();
    let mut client = world.client();
    assert_eq!(identities(&mut client, &mut world), ["ip:127.0.0.1"]);
    for credential in [&b"bob:secret"[..], b"ann:other", b"bob:secret", b"nobody"] {
        assert_eq!(authenticate(&mut client, &mut world, &digest(credential)), ErrorCode::OK);
    }
    let ip = AuthPacket { scheme: "ip", ..digest(b"") };
    assert_eq!(authenticate(&mut client, &mut world, &ip), ErrorCode::OK);
    let all = ["digest:ann", "digest:bob", "digest:nobody", "ip:127.0.0.1"];
    assert_eq!(identities(&mut client, &mut world), all);
    // They do not go on with the session: each connection shows its own (kazoo #172).
    let mut again = world.open();
    again.shake_hands(&mut world, &client.granted.again()).expect("the session");
    client.connection = again;
    assert_eq!(identities(&mut client, &mut world), ["ip:127.0.0.1"]);
}

#[test]
fn the_super_user_may_do_everything() {
    let mut world = world();
    let mut client = world.client();
    client.make(&mut world, &CreateRequest { acl: Vector::new(&[BOB]), ..create("/bobs") });
    assert_eq!(client.code(&mut world, &get_data("/bobs", false)), ErrorCode::NO_AUTH);
    authenticate(&mut client, &mut world, &digest(b"super:admin"));
    assert!(identities(&mut client, &mut world).contains(&"super:".to_owned()));
    assert_eq!(client.code(&mut world, &get_data("/bobs", false)), ErrorCode::OK);
    assert_eq!(client.code(&mut world, &set_data("/zookeeper/config", b"")), ErrorCode::OK);
    assert_eq!(client.code(&mut world, &delete("/zookeeper/config")), ErrorCode::BAD_ARGUMENTS);
}

/// Refused, then closed.
#[test]
fn a_scheme_that_proves_nothing_costs_the_connection() {
    let null = AuthPacket { credential: Credential::new(None), ..digest(b"") };
    let schemes = ["sasl", "world", "super", "x509", "auth", ""];
    let packets = schemes.map(|scheme| AuthPacket { scheme, ..digest(b"bob:secret") });
    for packet in packets.iter().chain([&null]) {
        let mut world = world();
        let mut client = world.client();
        let code = authenticate(&mut client, &mut world, packet);
        assert_eq!(code, ErrorCode::AUTH_FAILED, "{packet:?}");
        assert!(client.connection.is_closed);
        assert!(world.server.database().has_session(client.session()));
    }
}

#[test]
fn creators_keep_others_out() {
    let mut world = world();
    let [mut bob, mut other] = [world.client(), world.client()];
    authenticate(&mut bob, &mut world, &digest(b"bob:secret"));
    bob.make(&mut world, &CreateRequest { acl: Vector::CREATOR_ALL, ..create("/bobs") });
    bob.make(&mut world, &create("/bobs/open"));
    let refused = [
        other.code(&mut world, &exists("/bobs", true)),
        other.code(&mut world, &get_data("/bobs", true)),
        other.code(&mut world, &get_children("/bobs", true)),
        other.code(&mut world, &GetAllChildrenNumberRequest { path: "/bobs" }),
        other.code(&mut world, &GetAclRequest { path: "/bobs" }),
        other.code(&mut world, &set_data("/bobs", b"")),
        other.code(&mut world, &create("/bobs/new")),
        other.code(&mut world, &delete("/bobs/open")),
    ];
    assert_eq!(refused, [ErrorCode::NO_AUTH; 8]);
    // Nothing is inherited.
    assert_eq!(other.code(&mut world, &get_data("/bobs/open", false)), ErrorCode::OK);
    bob.code(&mut world, &set_data("/bobs", b""));
    assert_eq!(other.events(&mut world), []);
    let any = CheckWatchesRequest { path: "/bobs", kind: WatcherType::ANY };
    assert_eq!(other.code(&mut world, &any), ErrorCode::NO_WATCHER, "no refused read left one");
    let whole = format!("31:digest:{}", BOB.id);
    assert_eq!(acl_of(&mut bob, &mut world, "/bobs"), Ok(vec![whole]));
    assert_eq!(acl_of(&mut other, &mut world, "/none"), Err(ErrorCode::NO_NODE));
}

/// A client that may not administer a znode does not see the digests.
#[test]
fn digests_are_shown_to_administrators_only() {
    let mut world = world();
    let mut client = world.client();
    let readable = Vector::new(&[BOB, Acl::READ_ONLY]);
    client.make(&mut world, &CreateRequest { acl: readable, ..create("/r") });
    let shown = vec!["31:digest:bob:x".to_owned(), "1:world:anyone".to_owned()];
    assert_eq!(acl_of(&mut client, &mut world, "/r"), Ok(shown));
    let admin = Acl { permissions: Permissions::ADMIN, ..Acl::OPEN };
    let entries = [BOB, admin];
    let acl = Vector::new(&entries);
    client.make(&mut world, &CreateRequest { acl, ..create("/a") });
    let whole = vec![format!("31:digest:{}", BOB.id), "16:world:anyone".to_owned()];
    assert_eq!(acl_of(&mut client, &mut world, "/a"), Ok(whole));
}

#[test]
fn addresses_are_matched_by_their_prefix() {
    let mut world = world();
    let entry = Acl { permissions: Permissions::ALL, scheme: "ip", id: "10.1.0.0/16" };
    let entries = [entry];
    let acl = Vector::new(&entries);
    let mut client = world.client();
    client.make(&mut world, &CreateRequest { acl, ..create("/lan") });
    assert_eq!(client.code(&mut world, &get_data("/lan", false)), ErrorCode::NO_AUTH);
    let mut inside = world.open_from("[::ffff:10.1.2.3]:50000");
    inside.shake_hands(&mut world, &client.granted.again()).expect("the session");
    client.connection = inside;
    assert_eq!(client.code(&mut world, &get_data("/lan", false)), ErrorCode::OK);
    assert_eq!(acl_of(&mut client, &mut world, "/lan"), Ok(vec!["31:ip:10.1.0.0/16".to_owned()]));
}

/// Three thousand identities and one create with an entry `auth` for each took 900 MiB.
#[test]
fn a_connection_shows_so_many_identities_and_no_more() {
    let mut world = world();
    let mut client = world.client();
    for number in 0..31 {
        let credential = format!("user{number}:x");
        let packet = digest(credential.as_bytes());
        assert_eq!(authenticate(&mut client, &mut world, &packet), ErrorCode::OK, "{number}");
    }
    let again = digest(b"user7:x");
    assert_eq!(authenticate(&mut client, &mut world, &again), ErrorCode::OK, "one it has shown");
    let auth = Acl { permissions: Permissions::ALL, scheme: "auth", id: "" };
    let ids: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let acl: Vec<Acl<'_>> = ids.iter().map(|id| Acl { id, ..auth }).collect();
    let too_long = CreateRequest { acl: Vector::new(&acl), ..create("/a") };
    assert_eq!(client.code(&mut world, &too_long), ErrorCode::INVALID_ACL);
    let short = CreateRequest { acl: Vector::new(&acl[..4]), ..create("/a") };
    assert_eq!(client.code(&mut world, &short), ErrorCode::OK);
    let one_more = authenticate(&mut client, &mut world, &digest(b"one:more"));
    assert_eq!(one_more, ErrorCode::AUTH_FAILED);
    assert!(client.connection.is_closed);

    let mut client = world.client();
    let long = format!("{:a>2000}:x", "");
    let refused = authenticate(&mut client, &mut world, &digest(long.as_bytes()));
    assert_eq!(refused, ErrorCode::AUTH_FAILED);
}

/// Each entry was compared with each other one, for seconds in which no client was served.
#[test]
fn a_long_access_list_is_refused_at_once() {
    let mut world = world();
    let mut client = world.client();
    let ids: Vec<String> = (0..40_000).map(|number| format!("u:{number}")).collect();
    let entry = |id| Acl { id, ..BOB };
    let acl: Vec<Acl<'_>> = ids.iter().map(|id| entry(id)).collect();
    // A machine that stands still for a while spoils one of them.
    let took = ["/a", "/b", "/c"].map(|path| {
        let begun = std::time::Instant::now();
        for (length, code) in [(40_000, ErrorCode::INVALID_ACL), (128, ErrorCode::OK)] {
            let request = CreateRequest { acl: Vector::new(&acl[..length]), ..create(path) };
            assert_eq!(client.code(&mut world, &request), code, "{length}");
        }
        begun.elapsed()
    });
    let bound = core::time::Duration::from_secs(2);
    assert!(took.iter().any(|took| *took < bound), "{took:?}");
}

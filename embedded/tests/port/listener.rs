//! The server behind its port: what its owner can do to it, and what clients cannot.

use core::error::Error;
use core::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use zk_embedded::{Config, Server, TooManyConnections, UnknownSession};
use zk_jute::records::{ConnectRequest, ConnectResponse, Ping};
use zk_jute::{
    DEFAULT_MAX_FRAME, Decode, Encode, OpCode, ReplyHeader, RequestHeader, SessionId, Xid, Zxid,
    put_frame,
};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// More than anything here takes on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

struct Peer {
    stream: TcpStream,
    session: SessionId,
    password: Vec<u8>,
}

impl Peer {
    async fn connect(server: &Server) -> Result<Self, Box<dyn Error + Send + Sync>> {
        Self::with(server, SessionId::NONE, &[0; 16]).await
    }

    async fn with(
        server: &Server,
        session_id: SessionId,
        password: &[u8],
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let stream = TcpStream::connect(server.addr()).await?;
        let mut peer = Self { stream, session: session_id, password: password.to_vec() };
        peer.shake_hands().await?;
        Ok(peer)
    }

    async fn shake_hands(&mut self) -> Outcome {
        let password = core::mem::take(&mut self.password);
        let request = ConnectRequest {
            protocol_version: 0,
            last_zxid_seen: Zxid::ZERO,
            timeout: 10_000,
            session_id: self.session,
            password: Some(&password),
            read_only: Some(false),
        };
        self.send(&(), &request).await?;
        let answer = self.receive().await?;
        let answer = ConnectResponse::decode_exact(&answer)?;
        self.session = answer.session_id;
        self.password = answer.password.unwrap_or_default().to_vec();
        Ok(())
    }

    async fn send(&mut self, header: &impl Encode, body: &impl Encode) -> Outcome {
        let mut bytes = bytes::BytesMut::new();
        put_frame(&mut bytes, DEFAULT_MAX_FRAME, header, body)?;
        self.stream.write_all(&bytes).await?;
        Ok(())
    }

    async fn receive(&mut self) -> Result<Vec<u8>, Box<dyn Error + Send + Sync>> {
        let length = timeout(BOUND, self.stream.read_u32()).await??;
        let mut frame = vec![0; length as usize];
        timeout(BOUND, self.stream.read_exact(&mut frame)).await??;
        Ok(frame)
    }

    async fn ping(&mut self) -> Outcome {
        let header = RequestHeader { xid: Xid::PING, opcode: OpCode::PING };
        self.send(&header, &Ping).await?;
        let reply = self.receive().await?;
        assert_eq!(ReplyHeader::decode_exact(&reply)?.xid, Xid::PING);
        Ok(())
    }

    /// Waits until the server closes the connection, without another byte; a reset will do.
    async fn is_closed(&mut self) -> bool {
        let read = timeout(BOUND, self.stream.read_u8()).await;
        read.expect("closed within a minute").is_err()
    }
}

#[tokio::test]
async fn a_server_ends_when_it_is_told_to() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let address = server.addr();
    let mut peer = Peer::connect(&server).await?;
    peer.ping().await?;
    server.shutdown().await;
    assert!(peer.is_closed().await);
    assert!(TcpStream::connect(address).await.is_err());
    // The port is free again.
    let again = Server::bind(address).await?;
    let mut peer = Peer::connect(&again).await?;
    drop(again);
    assert!(peer.is_closed().await);
    Ok(())
}

#[tokio::test]
async fn servers_do_not_share_sessions() -> Outcome {
    let [first, second] = [Server::bind("127.0.0.1:0").await?, Server::bind("127.0.0.1:0").await?];
    let peer = Peer::connect(&first).await?;
    let stranger = Peer::with(&second, peer.session, &peer.password).await?;
    assert_eq!(stranger.session, SessionId::NONE);
    assert_eq!(first.snapshot().sessions().len(), 1);
    assert_eq!(second.snapshot().sessions().len(), 0);
    Ok(())
}

#[tokio::test]
async fn an_expired_session_is_over() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let mut peer = Peer::connect(&server).await?;
    assert!(server.snapshot().has_session(peer.session));
    server.expire(peer.session)?;
    assert!(!server.snapshot().has_session(peer.session));
    assert!(peer.is_closed().await);
    let refused = Peer::with(&server, peer.session, &peer.password).await?;
    assert_eq!(refused.session, SessionId::NONE);
    assert_eq!(server.expire(peer.session), Err(UnknownSession));
    Ok(())
}

#[tokio::test]
async fn sessions_outlive_dropped_connections() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let mut peers = [Peer::connect(&server).await?, Peer::connect(&server).await?];
    server.drop_connections();
    for peer in &mut peers {
        assert!(peer.is_closed().await);
        let mut again = Peer::with(&server, peer.session, &peer.password).await?;
        assert_eq!(again.session, peer.session);
        again.ping().await?;
    }
    Ok(())
}

/// Nothing is answered and nothing expires; afterwards everything is as it was.
#[tokio::test]
async fn a_paused_server_stands_still() -> Outcome {
    let mut config = Config::with_tick_time(Duration::from_millis(10));
    config.session_timeouts = Duration::from_millis(20)..=Duration::from_secs(2);
    let server = Server::bind_with("127.0.0.1:0", config).await?;
    let mut peer = Peer::connect(&server).await?;
    server.pause();
    let header = RequestHeader { xid: Xid::PING, opcode: OpCode::PING };
    peer.send(&header, &Ping).await?;
    let mut newcomer = TcpStream::connect(server.addr()).await?;
    newcomer.write_all(b"ruok").await?;
    // Longer than the session's timeout: what is not to happen has every chance to.
    let silence = timeout(Duration::from_secs(3), peer.stream.read_u8()).await;
    assert!(silence.is_err(), "a paused server answers nothing");
    assert!(server.snapshot().has_session(peer.session));
    server.resume();
    let reply = peer.receive().await?;
    assert_eq!(ReplyHeader::decode_exact(&reply)?.xid, Xid::PING);
    let mut answer = String::new();
    timeout(BOUND, newcomer.read_to_string(&mut answer)).await??;
    assert_eq!(answer, "imok");
    // From here on time goes on, and the session ends by itself.
    assert!(peer.is_closed().await);
    assert!(!server.snapshot().has_session(peer.session));
    Ok(())
}

/// Servers of ZooKeeper forget the 51st that waits, which asks again after a second.
#[tokio::test]
async fn thousands_that_connect_at_once_wait_until_they_are_accepted() -> Outcome {
    let mut config = Config::default();
    config.limits.max_client_connections = 0;
    let server = Server::bind_with("127.0.0.1:0", config).await?;
    server.pause();
    // The system may allow fewer.
    let allowed = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    let many = allowed.trim().parse().unwrap_or(128).min(1500);
    let mut waiting = Vec::new();
    for _ in 0..many {
        waiting.push(timeout(BOUND, TcpStream::connect(server.addr())).await??);
    }
    server.resume();
    let stream = waiting.pop().ok_or("none is allowed to wait")?;
    let mut last = Peer { stream, session: SessionId::NONE, password: vec![0; 16] };
    last.shake_hands().await
}

#[tokio::test]
async fn connections_dropped_while_paused_are_gone_at_once() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let mut peer = Peer::connect(&server).await?;
    server.pause();
    server.drop_connections();
    assert!(peer.is_closed().await);
    server.resume();
    let again = Peer::with(&server, peer.session, &peer.password).await?;
    assert_eq!(again.session, peer.session);
    Ok(())
}

#[tokio::test]
async fn hostile_bytes_cost_their_connection_alone() -> Outcome {
    let server = Server::bind("127.0.0.1:0").await?;
    let mut peer = Peer::connect(&server).await?;
    let hostile: [&[u8]; 5] = [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        b"\xff\xff\xff\xff",
        b"\0\0\0\0",
        b"\0\0\0\x04\0\0\0\0",
    ];
    for bytes in hostile {
        let mut stream = TcpStream::connect(server.addr()).await?;
        stream.write_all(bytes).await?;
        let mut rest = Vec::new();
        // An error is a reset, for what was sent and not read.
        let _ = timeout(BOUND, stream.read_to_end(&mut rest)).await?;
        assert_eq!(rest, b"");
        peer.ping().await?;
    }
    Ok(())
}

/// As by real servers, without a word to the client.
#[tokio::test]
async fn one_connection_too_many_is_closed() -> Outcome {
    let mut config = Config::default();
    config.limits.max_client_connections = 1;
    let server = Server::bind_with("127.0.0.1:0", config).await?;
    let mut peer = Peer::connect(&server).await?;
    let mut refusals = server.refusals();
    let refused = TcpStream::connect(server.addr()).await?;
    let refusal = timeout(BOUND, refusals.next()).await?.ok_or("a refusal")?;
    let reason = TooManyConnections::FromAddress { limit: 1 };
    assert_eq!((refusal.peer, refusal.reason), (refused.local_addr()?, reason));
    assert!(Peer::connect(&server).await.is_err());
    let refusal = timeout(BOUND, refusals.next()).await?.ok_or("another refusal")?;
    assert_eq!(refusal.count, 2);
    let late = timeout(BOUND, server.refusals().next()).await?;
    assert_eq!(late, Some(refusal), "told to those who ask later");
    peer.ping().await?;
    drop(peer);
    // The server hears of that in its own time.
    let again = async {
        while Peer::connect(&server).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    timeout(BOUND, again).await?;
    drop(server);
    // The refusals in between come first.
    let ended = async { while refusals.next().await.is_some() {} };
    timeout(BOUND, ended).await?;
    Ok(())
}

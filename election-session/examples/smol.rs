//! A candidate for leadership on smol, which resigns after SECONDS or at ctrl-c:
//! `cargo run -p election-session --example smol -- HOST:PORT[,...][/chroot] /election SECONDS`

use std::{env, error::Error, sync::Arc, time, time::Duration};

use async_signal::{Signal, Signals};
use bytes::BytesMut;
use election_core::NomineeId;
use election_core::election::{Nominee, Policy};
use election_session::{Chroot, Event, GrantChange, RecipeHost, Settings, Site};
use smol::channel::{Receiver, Sender, bounded, unbounded};
use smol::io::{AsyncReadExt as _, AsyncWriteExt as _};
use smol::{Timer, future, future::FutureExt as _, net::TcpStream, stream::StreamExt as _};
use zk_session::{Config, ConnectString, Instant, ServerAddress, TransportCommand, ZnodePath};

type Fallible = Result<(), Box<dyn Error + Send + Sync>>;

/// An event that the loop waits for; besides, the end of a transport.
enum Happened {
    Opened,
    Received(BytesMut),
    Stopped,
    Due,
}

/// Carries bytes from and to a server, until that fails.
async fn carry(to: ServerAddress, output: Receiver<BytesMut>, tell: Sender<Happened>) -> Fallible {
    let mut writer = TcpStream::connect((&*to.host, to.port)).await?;
    writer.set_nodelay(true)?;
    tell.send(Happened::Opened).await?;
    let mut reader = writer.clone();
    let read = async {
        let mut chunk = [0; 4096];
        while let length @ 1.. = reader.read(&mut chunk).await? {
            tell.send(Happened::Received(chunk.iter().take(length).collect())).await?;
        }
        Ok(())
    };
    let write = async {
        while let Ok(bytes) = output.recv().await {
            writer.write_all(&bytes).await?;
        }
        Ok(())
    };
    read.or(write).await
}

#[expect(clippy::too_many_lines, reason = "the loop is to be read in one piece")]
async fn stand() -> Fallible {
    let args: Vec<String> = env::args().skip(1).collect();
    let [servers, path, seconds] = args.as_slice() else { return Err("see the source".into()) };
    let servers: ConnectString = servers.parse()?;
    let site = Site::new(&path.parse::<ZnodePath>()?, &Chroot::new(servers.chroot())?);
    let clock = time::Instant::now(); // Where machines sleep, take a clock that goes on meanwhile.
    let now = || Instant::since_origin(clock.elapsed());
    let settings = Settings::new(Config::new(servers.server_count()), rand::random());
    let mut host = RecipeHost::<Nominee, (), ()>::new(settings, now())?;
    let nominee = Nominee::new(NomineeId::from_bytes(rand::random()), Policy::default());
    let key = host.stand(now(), nominee, Arc::new(site));
    let time = Timer::after(Duration::from_secs(seconds.parse()?)).map(|_| Happened::Stopped);
    let mut orders = Signals::new([Signal::Int])?.map(|_| Happened::Stopped).or(time);
    let (mut transport, mut input) = (None, BytesMut::new());
    loop {
        host.handle_timeout(now());
        while let Some(event) = host.poll_event(now()) {
            match event {
                Event::Stepped(step) => match (step.lost_reason(), step.grant, step.notice) {
                    (Some(reason), ..) => println!("leads no more: {reason}"),
                    (_, Some(GrantChange::Announced { token, .. }), _) => println!("leads {token}"),
                    (.., Some(notice)) => println!("{notice:?}"),
                    _ => {}
                },
                Event::Over { .. } => host.close(now()),
                Event::Ended { .. } => return Ok(()),
                _ => {}
            }
        }
        if let Some(token) = host.held(now(), key) {
            println!("acts, fenced by {token}"); // In steps that end before the lease does.
        }
        while let Some(command) = host.poll_transport() {
            transport = match command {
                TransportCommand::Connect(server) => {
                    input.clear();
                    let server = servers.server(server).ok_or("no such server")?.clone();
                    let ((to_send, output), (tell, happens)) = (unbounded(), bounded(1));
                    Some((to_send, happens, smol::spawn(carry(server, output, tell))))
                }
                TransportCommand::Disconnect => None, // Which cancels the task.
            };
        }
        if let Some((to_send, ..)) = &transport {
            let mut output = BytesMut::new();
            host.poll_transmit(&mut output);
            to_send.try_send(output).ok(); // That it is closed is told below.
        }
        let happened = async {
            let Some((_, happens, _)) = &transport else { return future::pending().await };
            happens.recv().await.ok()
        };
        let next = host.poll_timeout().unwrap_or_default().saturating_since(now());
        let mut due = Timer::after(next).map(|_| Happened::Due);
        match orders.next().or(happened).or(due.next()).await {
            Some(Happened::Opened) => host.handle_opened(now()),
            Some(Happened::Received(bytes)) => {
                input.unsplit(bytes);
                host.handle_bytes(now(), &mut input, zk_jute::DEFAULT_MAX_FRAME);
            }
            Some(Happened::Stopped) => host.withdraw(now(), key),
            Some(Happened::Due) => {}
            None => {
                transport = None;
                host.handle_closed(now());
            }
        }
    }
}

fn main() -> Fallible {
    smol::block_on(stand())
}

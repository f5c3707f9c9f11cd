//! A candidate for leadership on a blocking socket and one thread, which resigns after SECONDS:
//! `cargo run -p election-session --example blocking -- HOST:PORT[,...][/chroot] /election SECONDS`

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::{env, error::Error, sync::Arc, thread, time, time::Duration};

use bytes::BytesMut;
use election_core::NomineeId;
use election_core::election::{Nominee, Policy};
use election_session::{Chroot, Event, GrantChange, RecipeHost, Settings, Site};
use zk_session::{Config, ConnectString, Instant, TransportCommand, ZnodePath};

#[expect(clippy::too_many_lines, reason = "the loop is to be read in one piece")]
fn main() -> Result<(), Box<dyn Error>> {
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
    let (mut link, mut end) = (None, Some(now() + Duration::from_secs(seconds.parse()?)));

    loop {
        host.handle_timeout(now());
        if end.take_if(|end| *end <= now()).is_some() {
            host.withdraw(now(), key);
        }
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
        let next = host.poll_timeout().into_iter().chain(end).min().unwrap_or_default();
        let wait = next.saturating_since(now()).max(Duration::from_millis(1));
        let mut exchange = || -> io::Result<()> {
            match (host.poll_transport(), link.take()) {
                (Some(TransportCommand::Connect(server)), _) => {
                    let to = servers.server(server).ok_or(ErrorKind::NotFound)?.to_string();
                    let dial = |at| TcpStream::connect_timeout(&at, wait).ok();
                    let socket = to.to_socket_addrs()?.find_map(dial).ok_or(ErrorKind::TimedOut)?;
                    socket.set_nodelay(true)?;
                    link = Some((socket, BytesMut::new()));
                    host.handle_opened(now());
                }
                (Some(TransportCommand::Disconnect), _) => {}
                (None, None) => thread::sleep(wait),
                (None, Some((mut socket, mut input))) => {
                    let (mut output, mut chunk) = (BytesMut::new(), [0; 4096]);
                    host.poll_transmit(&mut output);
                    socket.write_all(&output)?;
                    socket.set_read_timeout(Some(wait))?;
                    match socket.read(&mut chunk).map_err(|error| error.kind()) {
                        Ok(length @ 1..) => input.extend(chunk.iter().take(length)),
                        Err(ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                        _ => return Err(ErrorKind::NotConnected.into()),
                    }
                    host.handle_bytes(now(), &mut input, zk_jute::DEFAULT_MAX_FRAME);
                    link = Some((socket, input));
                }
            }
            Ok(())
        };
        exchange().unwrap_or_else(|_| host.handle_closed(now()));
    }
}

//! Lists of servers in DNS.

use core::fmt;
use core::net::SocketAddr;
use std::io;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
use hickory_resolver::proto::rr::rdata::SRV;
use zk_session::ServerAddress;

use super::{Locating, ServerSource};

/// The servers of a DNS service record, such as `_zookeeper._tcp.example.com`.
///
/// All of its targets count alike. Priorities and weights are ignored, because any member of an
/// ensemble serves as well as the others. Records are kept for their time to live, so asking again
/// before costs no packet. The [`Connector`](crate::transport::Connector) resolves the targets'
/// addresses, for each attempt anew.
#[derive(Clone)]
pub struct SrvRecords {
    name: String,
    resolver: TokioResolver,
}

impl SrvRecords {
    /// Names a service record, as the system's resolvers know it (`/etc/resolv.conf`, if there is
    /// one). Search domains do not complete a name that ends with a dot.
    ///
    /// # Errors
    ///
    /// If the system's configuration cannot be read.
    pub fn new(name: impl Into<String>) -> io::Result<Self> {
        let resolver = TokioResolver::builder_tokio().map_err(io::Error::other)?;
        let resolver = resolver.build().map_err(io::Error::other)?;
        Ok(Self { name: name.into(), resolver })
    }

    /// Names a service record, as this DNS server knows it: for example, a service registry with a
    /// port of its own.
    ///
    /// # Errors
    ///
    /// If no resolver can be made.
    pub fn known_to(server: SocketAddr, name: impl Into<String>) -> io::Result<Self> {
        let mut named = NameServerConfig::udp_and_tcp(server.ip());
        for connection in &mut named.connections {
            connection.port = server.port();
        }
        let config = ResolverConfig::from_name_servers(vec![named]);
        let resolver =
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()).build();
        Ok(Self { name: name.into(), resolver: resolver.map_err(io::Error::other)? })
    }
}

impl ServerSource for SrvRecords {
    fn servers(&self) -> Locating<'_> {
        Box::pin(async move {
            let named = |error| io::Error::other(format!("{}: {error}", self.name));
            let lookup = self.resolver.srv_lookup(self.name.as_str()).await.map_err(named)?;
            let records = lookup.answers().iter().filter_map(|record| match &record.data {
                // A lone dot means that the service is not offered (RFC 2782).
                RData::SRV(srv) if srv.port != 0 && !srv.target.is_root() => Some(srv),
                _ => None,
            });
            Ok(records.map(address).collect())
        })
    }
}

/// Returns the address without the dot that marks a complete name: not every resolver accepts it.
fn address(srv: &SRV) -> ServerAddress {
    let host = srv.target.to_ascii();
    ServerAddress { host: host.trim_end_matches('.').to_owned(), port: srv.port }
}

impl fmt::Debug for SrvRecords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SrvRecords").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;
    use core::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Arc;

    use hickory_resolver::proto::op::{Message, ResponseCode};
    use hickory_resolver::proto::rr::{Name, Record};
    use tokio::net::UdpSocket;

    use super::*;

    const SERVICE: &str = "_zookeeper._tcp.example.test.";

    /// Starts a DNS server that knows one service; returns its address, and the count of its
    /// questions.
    async fn dns(time_to_live: u32) -> io::Result<(SocketAddr, Arc<AtomicUsize>)> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = socket.local_addr()?;
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut buffer = [0; 1500];
            while let Ok((length, client)) = socket.recv_from(&mut buffer).await {
                let question = Message::from_vec(&buffer[..length]).unwrap();
                let mut answer = question.into_response();
                let name = answer.queries[0].name().clone();
                count.fetch_add(1, Ordering::Relaxed);
                if name == Name::from_ascii(SERVICE).unwrap() {
                    for (target, port) in [("zk1.example.test.", 2181), ("zk2.example.test.", 2182)]
                    {
                        let target = Name::from_ascii(target).unwrap();
                        let srv = SRV::new(1, 1, port, target);
                        let data = RData::SRV(srv);
                        answer.add_answer(Record::from_rdata(name.clone(), time_to_live, data));
                    }
                } else {
                    answer.metadata.response_code = ResponseCode::NXDomain;
                }
                socket.send_to(&answer.to_vec().unwrap(), client).await.unwrap();
            }
        });
        Ok((address, asked))
    }

    async fn listed(source: &SrvRecords) -> Vec<String> {
        let mut servers: Vec<_> =
            source.servers().await.unwrap().iter().map(ToString::to_string).collect();
        servers.sort();
        servers
    }

    #[tokio::test]
    async fn records_are_servers_and_are_kept_for_their_time_to_live() {
        let servers = ["zk1.example.test:2181", "zk2.example.test:2182"];
        for (time_to_live, packets) in [(3600, 1), (0, 3)] {
            let (dns, asked) = dns(time_to_live).await.unwrap();
            let source = SrvRecords::known_to(dns, SERVICE).unwrap();
            for _ in 0..3 {
                assert_eq!(listed(&source).await, servers);
            }
            assert_eq!(asked.load(Ordering::Relaxed), packets, "{time_to_live}");
        }
    }

    #[tokio::test]
    async fn a_service_that_nobody_knows_is_an_error_that_names_it() {
        let (dns, _) = dns(0).await.unwrap();
        let source = SrvRecords::known_to(dns, "_nobody._tcp.example.test.").unwrap();
        let error = source.servers().await.unwrap_err();
        assert!(error.to_string().starts_with("_nobody._tcp.example.test.: "), "{error}");
    }
}

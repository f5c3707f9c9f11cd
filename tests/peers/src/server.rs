//! The servers: Apache ZooKeeper, alone or three of them, and ours.

use core::fmt::Write as _;
use core::time::Duration;
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use crate::outcome::{Outcome, failed};
use crate::process::{Process, ending_with_us};

const START_BOUND: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// How Apache ZooKeeper is started: Java, and its jars.
#[derive(Clone, Debug)]
pub(crate) struct Install {
    pub(crate) java: PathBuf,
    class_path: String,
}

impl Install {
    /// Finds the server by `ZOOKEEPER_CLASSPATH`, or Debian's.
    pub(crate) fn find() -> Outcome<Self> {
        let java = java();
        let class_path = match env::var("ZOOKEEPER_CLASSPATH") {
            Ok(path) if !path.is_empty() => path,
            _ if Path::new("/usr/share/java/zookeeper.jar").exists() => {
                "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar".to_owned()
            }
            _ => {
                return failed(
                    "no Apache ZooKeeper: scripts/ensure-zookeeper, or ZOOKEEPER_CLASSPATH",
                );
            }
        };
        match Command::new(&java).arg("-version").stderr(Stdio::null()).status() {
            Ok(status) if status.success() => Ok(Self { java, class_path }),
            _ => failed("no Java: scripts/ensure-zookeeper, or JAVA_HOME"),
        }
    }
}

pub(crate) fn java() -> PathBuf {
    match env::var_os("JAVA_HOME") {
        Some(home) => Path::new(&home).join("bin/java"),
        None => PathBuf::from("java"),
    }
}

/// One server.
#[derive(Debug)]
pub(crate) struct Server {
    command: Command,
    process: Option<Process>,
    port: u16,
}

impl Server {
    /// Starts Apache ZooKeeper, in a folder that is made for it.
    pub(crate) fn apache(install: &Install, folder: &Path, tick: Duration) -> Outcome<Self> {
        let port = free_port()?;
        let mut server = Self::prepare(install, &folder.join("server"), port, tick, "")?;
        server.start()?;
        server.until_serving()?;
        Ok(server)
    }

    /// Starts zk-embedded, in a process of its own.
    pub(crate) fn embedded() -> Outcome<Self> {
        let mut command = ending_with_us(env::current_exe()?);
        command.arg("embedded").stdout(Stdio::piped());
        let mut process = Process(command.spawn()?);
        let output = process.0.stdout.take().ok_or("no standard output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        Ok(Self { command, process: Some(process), port: line.trim().parse()? })
    }

    fn prepare(
        install: &Install,
        folder: &Path,
        port: u16,
        tick: Duration,
        peers: &str,
    ) -> Outcome<Self> {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder.join("data"))?;
        let config = format!(
            "dataDir=./data\nclientPort={port}\nclientPortAddress=127.0.0.1\n\
             clientPortListenBacklog=4096\nmaxClientCnxns=0\ntickTime={}\ninitLimit=100\n\
             syncLimit=10\nmaxSessionTimeout=60000\n4lw.commands.whitelist=*\n\
             admin.enableServer=false\nforceSync=no\n{peers}",
            tick.as_millis()
        );
        fs::write(folder.join("zoo.cfg"), config)?;
        let mut command = ending_with_us(&install.java);
        command
            .args(["-Xmx512m", "-XX:-UsePerfData", "-Dzookeeper.jmx.log4j.disable=true"])
            .args(["-cp", &install.class_path])
            .args(["org.apache.zookeeper.server.quorum.QuorumPeerMain", "./zoo.cfg"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self { command, process: None, port })
    }

    pub(crate) fn start(&mut self) -> Outcome<()> {
        self.process = Some(Process(self.command.spawn()?));
        Ok(())
    }

    pub(crate) fn kill(&mut self) {
        self.process = None;
    }

    /// Sends `STOP` or `CONT`.
    pub(crate) fn signal(&self, name: &str) -> Outcome<()> {
        self.process.as_ref().ok_or("the server is down")?.signal(name)
    }

    pub(crate) fn until_serving(&self) -> Outcome<()> {
        let start = Instant::now();
        while start.elapsed() < START_BOUND {
            if self.four_letters("srvr").is_ok_and(|answer| answer.contains("Mode: ")) {
                return Ok(());
            }
            thread::sleep(POLL);
        }
        failed("the server does not serve")
    }

    /// Returns the address to which clients connect.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Whether it leads its ensemble.
    pub(crate) fn leads(&self) -> bool {
        self.four_letters("srvr").is_ok_and(|answer| answer.contains("Mode: leader"))
    }

    /// Returns its release.
    pub(crate) fn version(&self) -> Outcome<String> {
        let answer = self.four_letters("srvr")?;
        let version = answer.lines().find_map(|line| line.strip_prefix("Zookeeper version: "));
        Ok(version.unwrap_or_default().split(['-', ',']).next().unwrap_or_default().to_owned())
    }

    /// Returns whole numbers of `mntr`.
    pub(crate) fn metrics<const N: usize>(&self, names: [&str; N]) -> Outcome<[u64; N]> {
        let answer = self.four_letters("mntr")?;
        let mut values = [0; N];
        for (value, name) in values.iter_mut().zip(names) {
            let found = answer.lines().filter_map(|line| line.split_once('\t'));
            let found = found.filter(|(key, _)| *key == name).map(|(_, value)| value.trim()).next();
            *value = found.ok_or_else(|| format!("no {name}"))?.trim_end_matches(".0").parse()?;
        }
        Ok(values)
    }

    fn four_letters(&self, word: &str) -> Outcome<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(word.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }
}

/// Three servers that replicate.
#[derive(Debug)]
pub(crate) struct Ensemble(pub(crate) Vec<Server>);

impl Ensemble {
    pub(crate) fn start(install: &Install, folder: &Path, tick: Duration) -> Outcome<Self> {
        let mut peers = String::new();
        for id in 1..=3 {
            // Writing to a `String` cannot fail.
            let _ = writeln!(peers, "server.{id}=127.0.0.1:{}:{}", free_port()?, free_port()?);
        }
        let mut servers = Vec::new();
        for id in 1..=3 {
            let folder = folder.join(format!("member-{id}"));
            servers.push(Server::prepare(install, &folder, free_port()?, tick, &peers)?);
            fs::write(folder.join("data/myid"), id.to_string())?;
        }
        for server in &mut servers {
            server.start()?;
        }
        let ensemble = Self(servers);
        ensemble.until_serving()?;
        Ok(ensemble)
    }

    pub(crate) fn until_serving(&self) -> Outcome<()> {
        self.0.iter().try_for_each(Server::until_serving)
    }

    /// Returns all members, the followers first: a client that keeps the order comes to one of
    /// these.
    pub(crate) fn connect_string(&self) -> String {
        let (leaders, followers): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|server| server.leads());
        let all: Vec<_> = followers.into_iter().chain(leaders).map(Server::address).collect();
        all.join(",")
    }

    /// The member with the most connections, besides the one that asks.
    pub(crate) fn most_connected(&mut self) -> &mut Server {
        let mut most = (0, 0);
        for (index, server) in self.0.iter().enumerate() {
            // One that has lost its leader for a moment has no clients.
            let [connections] = server.metrics(["zk_num_alive_connections"]).unwrap_or_default();
            most = most.max((connections, index));
        }
        &mut self.0[most.1]
    }
}

/// Serves until the process is killed; the port is the first line of the standard output.
pub(crate) fn run_embedded() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut config = zk_embedded::Config::with_tick_time(Duration::from_millis(500));
        config.limits.max_client_connections = 0;
        let server = zk_embedded::Server::bind_with("127.0.0.1:0", config).await?;
        println!("{}", server.addr().port());
        core::future::pending::<()>().await;
        drop(server);
        Ok(())
    })
}

fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

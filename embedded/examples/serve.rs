//! Serves until it is stopped: `cargo run -p zk-embedded --example serve [ADDRESS]`.

use std::env;
use std::io;

use zk_embedded::{Config, ExtendedTypes, Server};

#[tokio::main]
async fn main() -> io::Result<()> {
    let address = env::args().nth(1).unwrap_or_else(|| "127.0.0.1:2181".to_owned());
    let mut config = Config::default();
    config.extended_types = ExtendedTypes::Enabled;
    let server = Server::bind_with(address, config).await?;
    println!("in memory only, for development and tests: {}", server.addr());
    core::future::pending().await
}

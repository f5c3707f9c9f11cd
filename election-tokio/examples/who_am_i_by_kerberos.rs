//! Connects by Kerberos and prints the identity that the server gives this client.
//!
//! `cargo run --features sasl-gssapi --example who_am_i_by_kerberos -- zk1:2181 [SERVER-PRINCIPAL]`

use std::env::args;
use std::error::Error;

use election_tokio::{Client, sasl::Gssapi};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let servers = args().nth(1).ok_or("the servers are missing: HOST:PORT[,HOST:PORT...]")?;
    let mechanism = match args().nth(2) {
        Some(principal) => Gssapi::new().server_principal(principal),
        None => Gssapi::new(),
    };
    let client = Client::builder(&servers).sasl(mechanism).connect().await?;
    for identity in client.who_am_i().await? {
        println!("{}:{}", identity.scheme, identity.user);
    }
    Ok(())
}

use crate::stage::*;
use election_tokio::*;
use zk_tests::certificates::Authority;
use zk_tests::failure::TestResult;
use zk_tests::zookeeper::ClientAuth;

#[tokio::test]
async fn explore() -> TestResult {
    let open = open_server();
    let demanding = demanding_server();
    let client = connect(secure_addr(open), trusting()).await?;
    println!("{:?}", client.who_am_i().await?);
    let mine = client_certificate("me");
    let client = connect(secure_addr(demanding), certified(&mine)).await?;
    println!("{:?}", client.who_am_i().await?);
    let other = Authority::new("x")?;
    println!(
        "unknown ca: {}",
        refusal(builder(secure_addr(open), TlsOptions::new().ca_pem(other.pem()))).await
    );
    println!("platform: {}", refusal(builder(secure_addr(open), TlsOptions::new())).await);
    println!("none given: {}", refusal(builder(secure_addr(demanding), trusting())).await);
    println!(
        "refused: {}",
        refusal(builder(secure_addr(demanding), certified(&other.client("x")?))).await
    );
    println!("plain port: {}", refusal(builder(open.addr(), trusting())).await);
    println!("plain client: {}", refusal(Client::builder(&secure_addr(open).to_string())).await);
    println!(
        "name: {}",
        refusal(builder(secure_addr(open), trusting().server_name("zk1.example"))).await
    );
    let s = start(port(&authorities().0.expired_server(LOOPBACK)?, ClientAuth::None))?;
    println!("expired: {}", refusal(builder(secure_addr(&s), trusting())).await);
    let s = start(port(&authorities().0.server(&[])?, ClientAuth::None))?;
    println!("no name: {}", refusal(builder(secure_addr(&s), trusting())).await);
    println!(
        "no name: {:?}",
        connect(secure_addr(&s), trusting().dangerously_accept_any_host_name()).await.map(|_| ())
    );
    Ok(())
}

//! A recipe of another crate, in memory.

use election_session::{Event, RecipeEnd, RecipeKey};

use crate::lab::Lab;
use crate::server::Answers;
use crate::toy::{Notice, Player};

fn notices(lab: &mut Lab<Player>) -> Vec<(RecipeKey, Notice)> {
    let events = lab.events().into_iter();
    let notices = events.filter_map(|event| match event {
        Event::Stepped(step) => step.notice.map(|notice| (step.key, notice)),
        _ => None,
    });
    notices.collect()
}

#[test]
fn the_first_to_write_wins_a_round() {
    let mut lab = Lab::new();
    let anna = lab.stand(Player::new("anna", 2));
    assert_eq!(notices(&mut lab), [(anna, Notice::AwaitsGo)]);
    assert_eq!(lab.server.watches(), ["/e.go"]);
    lab.server.put("/e.go", "");
    lab.run();
    assert_eq!(notices(&mut lab), [(anna, Notice::AwaitsOthers(1))]);
    assert_eq!(lab.server.watches(), ["/e"]);

    let bert = lab.stand(Player::new("bert", 2));
    let told = notices(&mut lab);
    let winner = lab.server.data("/e.winner").unwrap().to_owned();
    assert!(winner == "anna" || winner == "bert");
    let outcome = |name| if name == winner { Notice::Won } else { Notice::Lost };
    assert!(told.contains(&(anna, outcome("anna"))) && told.contains(&(bert, outcome("bert"))));
    assert_eq!(lab.server.data("/e"), Some(&*winner));
    assert_eq!(lab.server.data("/e.go"), Some(&*winner));
    assert_eq!(lab.server.children("/e"), [""; 0]);
    assert_eq!(lab.server.watches(), [""; 0]);
}

#[test]
fn a_round_goes_on_over_a_lost_connection() {
    let mut lab = Lab::new();
    lab.server.put("/e.go", "");
    // The reply to the transaction is lost.
    lab.server.answers = Answers::Held;
    let anna = lab.stand(Player::new("anna", 1));
    for _ in 0..20 {
        if lab.server.data("/e.winner").is_some() {
            break;
        }
        lab.server.answers = Answers::Sent;
        let frame = lab.server.answer();
        lab.server.answers = Answers::Held;
        lab.host.handle_frame(lab.now, frame.expect("it goes on"));
        lab.run();
    }
    assert_eq!(lab.server.data("/e.winner"), Some("anna"));
    lab.disconnect();
    lab.server.answers = Answers::Sent;
    lab.pass(1000);
    assert_eq!(notices(&mut lab), [(anna, Notice::Won)]);
}

/// It would wait for ever for the others, which have gone.
#[test]
fn a_player_that_comes_when_all_is_over_loses() {
    let mut lab = Lab::new();
    lab.server.put("/e.go", "");
    let anna = lab.stand(Player::new("anna", 1));
    assert_eq!(notices(&mut lab), [(anna, Notice::Won)]);
    let bert = lab.stand(Player::new("bert", 2));
    assert_eq!(notices(&mut lab), [(bert, Notice::AwaitsOthers(1)), (bert, Notice::Lost)]);
    assert_eq!(lab.server.children("/e"), [""; 0]);
    assert_eq!(lab.server.watches(), [""; 0]);
}

#[test]
fn a_round_goes_on_over_an_expiry() {
    let mut lab = Lab::new();
    lab.server.put("/e.go", "");
    let bert = lab.stand(Player::new("bert", 2));
    assert_eq!(notices(&mut lab), [(bert, Notice::AwaitsOthers(1))]);
    lab.server.expire_all();
    lab.disconnect();
    lab.pass(1000);
    assert_eq!(notices(&mut lab), [(bert, Notice::AwaitsOthers(1))]);
    let carl = lab.stand(Player::new("carl", 2));
    let told = notices(&mut lab);
    let winner = lab.server.data("/e.winner").unwrap().to_owned();
    let outcome = |name| if name == winner { Notice::Won } else { Notice::Lost };
    assert!(winner == "bert" || winner == "carl");
    assert!(told.contains(&(bert, outcome("bert"))) && told.contains(&(carl, outcome("carl"))));
}

#[test]
fn a_player_that_withdraws_takes_all_of_its_own_with_it() {
    let mut lab = Lab::new();
    let key = lab.stand(Player::new("anna", 2));
    lab.events();
    lab.host.withdraw(lab.now, key);
    lab.run();
    assert!(
        lab.events()
            .iter()
            .any(|event| { matches!(event, Event::Over { end: RecipeEnd::Finished, .. }) })
    );
    assert_eq!(lab.server.children("/e"), [""; 0]);
    assert_eq!(lab.server.watches(), [""; 0]);
}

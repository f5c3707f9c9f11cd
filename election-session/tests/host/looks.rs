//! The moments at which recipes look whether an event was lost.

use election_core::Phase;

use crate::lab::{Lab, millis};
use crate::puppet::{Fed, Puppet};

/// Makes a host, with recipes that look about every ten seconds.
fn lab() -> Lab<Puppet> {
    Lab::with(|settings| settings.look_interval = Some(millis(10_000)))
}

/// Also those that have told their end, and remove what they left.
#[test]
fn all_recipes_look_now_and_then() {
    let mut lab = lab();
    let standing = lab.stand(Puppet::new());
    let mut cleaning = Puppet::new();
    cleaning.phase = Phase::CleaningUp;
    let cleaning = lab.stand(cleaning);
    lab.pass(60_000);
    for key in [standing, cleaning] {
        let looks = lab.fed(key).iter().filter(|fed| **fed == Fed::Look).count();
        assert!((4..=8).contains(&looks), "{looks} in a minute");
    }
}

#[test]
fn a_recipe_whose_request_was_not_looked_at_looks_soon() {
    let mut lab = lab();
    let [key, other] = [lab.stand(Puppet::new()), lab.stand(Puppet::new())];
    lab.puppet(key).is_throttled = true;
    lab.nudge(key);
    lab.fed(key);
    lab.pass(2_000);
    assert_eq!(lab.fed(key).first(), Some(&Fed::Look));
    assert_eq!(lab.fed(other), [Fed::Connected], "it has no reason to");
}

//! `zkelect run --preference`: a leader hands over to a better candidate that has stood for a time.

use rustix::process::Signal;

use crate::support::{
    BEATING, ELECTION, Folder, Plan, Run, assert_one_at_a_time, output, servers, text, token,
};

/// No candidate goes with its session.
const OPTIONS: [&str; 4] = ["--session-timeout", "60s", "--hand-over-after", "1s"];

#[test]
fn a_leader_hands_over_to_a_better_candidate_past_others() {
    let (folder, servers) = (Folder::new("prefer"), servers("prefer"));
    let start = |id, preference| {
        let options = [&OPTIONS[..], &["--preference", preference]].concat();
        Run::start(&folder, &Plan { servers: &servers, id, options: &options, script: BEATING })
    };
    let first = start("a", "0");
    let led = token(&first.wait_for("elected", 1));
    first.wait_for_log(&format!("beat {led}"));
    let worse = start("b", "-5");
    worse.wait_for("following", 1);
    let better = start("c", "5");
    let elected = better.wait_for("elected", 1);
    better.wait_for_log(&format!("beat {}", token(&elected)));
    let asked = first.wait_for("better_candidate", 1);
    assert_eq!((&asked["better"], &asked["preference"]), (&elected["candidate"], &5.into()));
    first.wait_for("stepped_down", 1);
    first.wait_for("following", 1);
    assert_eq!(worse.count("elected"), 0, "{:?}", worse.events());
    assert_one_at_a_time(&first.log());
    let listed = output(&["list", "--servers", &servers, "--election", ELECTION]);
    assert!(text(&listed.stdout).contains("c preference=5"), "{listed:?}");

    // An operator names it without its preference; and it comes back to the lead by itself.
    let args = ["hand-over", "--servers", &servers, "--election", ELECTION, "b"];
    let _handed = output(&args);
    worse.wait_for("elected", 1);
    better.wait_for("elected", 2);
    worse.wait_for("better_candidate", 1);
    better.signal(Signal::TERM);
    better.wait_for("ended", 1);
    assert_one_at_a_time(&first.log());
}

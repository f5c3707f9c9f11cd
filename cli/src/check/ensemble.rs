//! Checks whether the servers on the command line are one ensemble, and all of it.

use core::time::Duration;

use election_tokio::Client;
use election_tokio::ensemble::{EnsembleMember, EnsembleMemberRole};
use tokio::time::timeout;

use super::four_letter::Member;
use super::report::{Finding, no_answer};

const STEP: &str = "ensemble";

pub(super) async fn findings(
    client: &Client,
    servers: &[(String, Option<Member>)],
    bound: Duration,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(of_versions(servers));
    findings.push(match timeout(bound, client.get_config()).await {
        Ok(Ok(config)) => of_members(&config.members, &config.connect_string(), servers.len()),
        Ok(Err(error)) if error.is_no_auth() => Finding::skipped(
            STEP,
            "its members are not told: this client may not read /zookeeper/config",
        ),
        Ok(Err(error)) => Finding::skipped(STEP, format!("its members are not told: {error}")),
        Err(_) => Finding::skipped(STEP, no_answer(bound)),
    });
    findings
}

/// Compares the versions that the servers report.
fn of_versions(servers: &[(String, Option<Member>)]) -> Option<Finding> {
    let told: Vec<&Member> = servers.iter().filter_map(|(_, member)| member.as_ref()).collect();
    let alone = told.iter().filter(|member| member.mode == "standalone").count();
    if alone > 0 && servers.len() > 1 {
        return Some(
            Finding::failed(STEP, format!("{alone} of the servers stand alone: they share nothing")).advise(
                "name the members of one ensemble in --servers; each has to have all of them in its zoo.cfg",
            ),
        );
    }
    if told.iter().filter(|member| member.mode == "leader").count() > 1 {
        return Some(
            Finding::failed(
                STEP,
                "several of the servers lead: one was left by the others and does not know it yet, or they are \
                 of several ensembles",
            )
            .advise(
                "run it again in a minute; if several lead then, name the members of one ensemble in --servers",
            ),
        );
    }
    let mut versions: Vec<&str> = told.iter().map(|member| member.version.as_str()).collect();
    versions.sort_unstable();
    versions.dedup();
    (versions.len() > 1).then(|| {
        let versions = versions.join(", ");
        Finding::warning(STEP, format!("its members have several versions: {versions}"))
            .advise("that is as it should be during an upgrade only")
    })
}

fn of_members(members: &[EnsembleMember], connect_string: &str, named: usize) -> Finding {
    let voters = |role| members.iter().filter(|member| member.role() == role).count();
    let participants = voters(EnsembleMemberRole::Participant);
    let all = members.len();
    if all == 0 {
        return Finding::ok(STEP, "the server stands alone: while it is down, no lead is held");
    }
    if named < all {
        return Finding::warning(STEP, format!("--servers has {named} of its {all} members"))
            .advise(format!(
                "name all of them: no client tries a member that --servers leaves out: {connect_string}"
            ));
    }
    if participants % 2 == 0 {
        return Finding::warning(STEP, format!("it has {participants} members that vote"))
            .advise("an odd number bears as many failures with one machine less");
    }
    let failures = participants.saturating_sub(1) / 2;
    Finding::ok(STEP, format!("{participants} members vote: it bears the failure of {failures}"))
}

#[cfg(test)]
mod tests {
    use super::super::report::Verdict;
    use super::*;

    fn servers(told: &[(&str, &str)]) -> Vec<(String, Option<Member>)> {
        let member = |(version, mode): &(&str, &str)| Member {
            version: (*version).to_owned(),
            mode: (*mode).to_owned(),
        };
        told.iter().map(|told| (String::new(), Some(member(told)))).collect()
    }

    #[test]
    fn servers_of_several_ensembles_are_told_apart() {
        let verdict = |told: &[(&str, &str)]| {
            of_versions(&servers(told)).map(|finding| (finding.verdict, finding.says))
        };
        assert_eq!(verdict(&[("3.9.3", "leader"), ("3.9.3", "follower")]), None);
        assert_eq!(verdict(&[("3.9.3", "standalone")]), None);
        let failed = |told: &[(&str, &str)]| verdict(told).expect("it is told").0;
        assert_eq!(failed(&[("3.9.3", "standalone"), ("3.9.3", "leader")]), Verdict::Failed);
        assert_eq!(failed(&[("3.9.3", "leader"), ("3.9.3", "leader")]), Verdict::Failed);
        let (upgrade, says) = verdict(&[("3.9.3", "leader"), ("3.8.4", "follower")]).expect("told");
        assert_eq!(upgrade, Verdict::Warning);
        assert!(says.ends_with("3.8.4, 3.9.3"), "{says}");
    }

    #[test]
    fn members_that_are_not_named_and_even_numbers_are_told() {
        let member = |id: u64| format!("server.{id}=h{id}:2888:3888:participant;0.0.0.0:2181");
        let of = |count, named| {
            let members: Vec<_> =
                (1..=count).map(|id| member(id).parse().expect("a member")).collect();
            of_members(&members, "h1:2181", named)
        };
        assert_eq!(of(3, 3).says, "3 members vote: it bears the failure of 1");
        assert_eq!(of(3, 1).verdict, Verdict::Warning);
        assert_eq!(of(4, 4).verdict, Verdict::Warning);
        assert_eq!(of(0, 1).verdict, Verdict::Ok);
    }
}

//! Options of the lease: its grade and its margin.

use core::str::FromStr;

use clap::{Args, ValueEnum};
use election_tokio::ClientBuilder;
use election_tokio::lease::{LeaseGrade, LeaseMargin};

#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct LeaseArgs {
    /// How strong the proof is that no other machine holds it.
    #[arg(long, value_name = "GRADE", value_enum, default_value_t, help_heading = HEADING)]
    lease_grade: GradeName,
    /// The part of the session timeout that is kept back because clocks differ in speed, in
    /// hundredths: at most 20, except with --lease-grade contact.
    #[arg(long, value_name = "PERCENT", default_value = "10%", help_heading = HEADING)]
    lease_margin: Margin,
}

const HEADING: &str = "Lease";

impl LeaseArgs {
    pub(crate) fn apply(self, builder: ClientBuilder) -> ClientBuilder {
        builder.lease_grade(self.lease_grade.grade()).lease_margin(self.lease_margin.0)
    }
}

/// A [`LeaseGrade`] by its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum GradeName {
    /// A majority of the servers commits it: holds whatever fails in the ensemble and its network.
    #[default]
    Quorum,
    /// The ensemble's leader answers: fewer writes; may be wrong while that leader is cut off from
    /// the others and does not know yet.
    Sync,
    /// Any server answers: the cheapest; may be wrong while that server is cut off. Right for a
    /// single server.
    Contact,
    /// No proof: two machines may hold it at once. For `ClickHouse` Keeper and `RaftKeeper`, where
    /// nothing better can be had: let the token protect each write.
    Advisory,
}

impl GradeName {
    const fn grade(self) -> LeaseGrade {
        match self {
            Self::Quorum => LeaseGrade::Quorum,
            Self::Sync => LeaseGrade::Sync,
            Self::Contact => LeaseGrade::Contact,
            Self::Advisory => LeaseGrade::Advisory,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Margin(LeaseMargin);

#[derive(Debug, thiserror::Error)]
#[error("write a whole number from 0 to 90, such as 10%")]
struct MarginError;

impl FromStr for Margin {
    type Err = MarginError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let percent = text.strip_suffix('%').unwrap_or(text).parse().map_err(|_| MarginError)?;
        if percent > 90 {
            return Err(MarginError);
        }
        Ok(Self(LeaseMargin::percent(percent)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_a_part_of_the_timeout_in_hundredths() {
        let cases = [("10%", Some(10)), ("0", Some(0)), ("90", Some(90)), ("91%", None)];
        for (text, percent) in cases {
            let expected = percent.map(|percent| Margin(LeaseMargin::percent(percent)));
            assert_eq!(text.parse().ok(), expected, "{text}");
        }
        for other in ["", "%", "1s", "-1", "10%%"] {
            assert!(other.parse::<Margin>().is_err(), "{other}");
        }
    }
}

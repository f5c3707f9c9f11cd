//! The figures that a recorder has recorded.

use std::collections::BTreeMap;

use metrics::LocalRecorderGuard;
use metrics_util::MetricKind;
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use zk_test_kit::election::Arena;
use zk_test_kit::failure::TestFailure;
use zk_test_kit::server::ServerKind;

const PAGE: &str = include_str!("../../../../../docs/telemetry.md");

/// A recorder of everything that this thread measures, until it is dropped.
pub(crate) struct Recording {
    snapshotter: Snapshotter,
    _recorder: LocalRecorderGuard<'static>,
}

impl Recording {
    pub(crate) fn begin() -> Self {
        // The guard borrows the recorder, so that lives as long as the process.
        let recorder: &DebuggingRecorder = Box::leak(Box::new(DebuggingRecorder::new()));
        let snapshotter = recorder.snapshotter();
        Self { snapshotter, _recorder: metrics::set_default_local_recorder(recorder) }
    }

    /// Begins to record, and then makes an arena.
    pub(crate) async fn with_arena(server: ServerKind) -> Result<(Self, Arena), TestFailure> {
        let recording = Self::begin();
        Ok((recording, Arena::new(server, "metrics").await?))
    }

    /// Returns the figures since the last look.
    pub(crate) fn figures(&self) -> Figures {
        Figures::of(&self.snapshotter)
    }
}

/// The counts since the last look, as `name{label=value,…}`; of a gauge, its change; of a
/// histogram, the number of values.
pub(crate) struct Figures(BTreeMap<String, f64>);

impl Figures {
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn of(snapshotter: &Snapshotter) -> Self {
        let mut figures = BTreeMap::new();
        for (key, _, _, value) in snapshotter.snapshot().into_vec() {
            let kind = key.kind();
            let key = key.key();
            let labels: Vec<_> =
                key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
            assert!(PAGE.contains(&format!("`{}`", key.name())), "not in docs/telemetry.md: {key}");
            for label in key.labels() {
                assert!(
                    [
                        "operation",
                        "outcome",
                        "state",
                        "kind",
                        "step",
                        "reason",
                        "election",
                        "seen_by"
                    ]
                    .contains(&label.key())
                );
                assert!(!label.value().contains('/'), "a path: {key}");
            }
            let value = match value {
                DebugValue::Counter(count) => count as f64,
                DebugValue::Gauge(value) => value.into_inner(),
                DebugValue::Histogram(values) => values.len() as f64,
            };
            assert_eq!(kind == MetricKind::Counter, key.name().ends_with("_total"), "{key}");
            figures.insert(format!("{}{{{}}}", key.name(), labels.join(",")), value);
        }
        Self(figures)
    }

    pub(crate) fn get(&self, figure: &str) -> f64 {
        self.0.get(figure).copied().unwrap_or_default()
    }

    /// Whether it is there, be it at 0.
    pub(crate) fn has(&self, figure: &str) -> bool {
        self.0.contains_key(figure)
    }

    /// Compares all of these.
    pub(crate) fn assert(&self, expected: &[(&str, f64)]) {
        for &(figure, value) in expected {
            let difference = (self.get(figure) - value).abs();
            assert!(difference < 0.5, "{figure} is not {value}: {:#?}", self.0);
        }
    }

    /// Adds what was counted later.
    pub(crate) fn add(&mut self, later: Self) {
        for (figure, value) in later.0 {
            *self.0.entry(figure).or_default() += value;
        }
    }
}

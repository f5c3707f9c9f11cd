//! Answers probes, Prometheus, and clients that look for the leader.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use election_tokio::election::{NominationProbe, Observation, Observer};
use election_tokio::{Client, SessionId};
use metrics_exporter_prometheus::PrometheusHandle;

#[derive(Clone)]
pub(crate) struct Web {
    client: Client,
    probe: NominationProbe,
    observer: Arc<Observer>,
    metrics: PrometheusHandle,
}

type Answer = (StatusCode, String);

impl Web {
    pub(crate) fn new(
        client: &Client,
        probe: NominationProbe,
        observer: Observer,
        metrics: PrometheusHandle,
    ) -> Self {
        Self { client: client.clone(), probe, observer: Arc::new(observer), metrics }
    }

    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/healthz", get(async |State(web): State<Self>| web.healthz()))
            .route("/readyz", get(async |State(web): State<Self>| web.readyz()))
            .route("/leader", get(async |State(web): State<Self>| web.leader()))
            .route("/metrics", get(async |State(web): State<Self>| web.metrics.render()))
            .with_state(self)
    }

    /// Answers the liveness probe: with a failure if only a restart would help.
    pub(crate) fn healthz(&self) -> Answer {
        let health = self.probe.health();
        answer(health.is_live(), &health)
    }

    /// Answers the readiness probe: this copy is connected and knows of a leader. So a follower is
    /// ready, too.
    pub(crate) fn readyz(&self) -> Answer {
        let health = self.probe.health();
        answer(health.is_ready(), &health)
    }

    /// Which copy leads.
    pub(crate) fn leader(&self) -> Answer {
        // The observer's last word stays without a connection, when another copy may lead already.
        let connection = self.client.connection_state();
        if !connection.is_connected() {
            return answer(false, &connection);
        }
        match self.observer.latest() {
            // Without a session it is a znode that is in the way, and leads nothing.
            Observation::Led(leader) if leader.session != SessionId::NONE => {
                let name = String::from_utf8_lossy(&leader.data);
                answer(true, &format_args!("{name} token {}", leader.token))
            }
            _ => answer(false, &"no leader"),
        }
    }
}

fn answer(is_so: bool, text: &impl ToString) -> Answer {
    let code = if is_so { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, text.to_string() + "\n")
}

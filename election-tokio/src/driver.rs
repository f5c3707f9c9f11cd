//! The task of a client: moves bytes between the transport and the session, and reports the time.

mod alarm;
mod frames;
mod inputs;
mod link;
mod lookup;
mod outputs;
mod pace;
mod probe;
mod requests;
mod slack;

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::sync::Arc;

use futures_sink::Sink;
use zk_jute::Frames;
use zk_session::ServerIndex;
use zk_session::sasl::{SaslAnswer, SaslChallenge};

use crate::clock::Reading;
use crate::codec::{FrameCodec, Framing, Outgoing, framed};
use crate::hub::{Hub, Order, Shared, Unlocked};
use crate::sasl::{Exchange, SaslError, SaslMechanism};
use crate::source::ServerSource;
use crate::telemetry::metrics;
use crate::transport::Connector;
use alarm::Alarm;
use frames::{BATCH, count};
use inputs::Inputs;
use link::{Arrived, DriverLink};
use lookup::ServerLookup;
use outputs::Outputs;
use pace::Pace;
use probe::Probe;
use requests::Sending;
use slack::Slack;

pub(crate) struct Driver {
    shared: Arc<Shared>,
    dialer: Dialer,
    lookup: ServerLookup,
    probe: Probe,
    link: DriverLink,
    exchange: Exchange,
    alarm: Alarm,
    /// The inputs that wake it, once it was polled.
    inputs: Option<Inputs>,
    /// When the driver was woken, or looked again: it reads its clock once for all that it does then,
    /// after it has read from the transport.
    now: Reading,
    /// Frames that have come in, and go to the session before anything else.
    frames: Vec<Frames>,
    unlocked: Unlocked,
    /// The order of the last turn.
    order: Order,
    pace: Pace,
    slack: Slack,
}

/// Connects a client to a server.
pub(crate) struct Dialer {
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) sasl: Option<Arc<dyn SaslMechanism>>,
}

/// The progress of a part of the driver: after some, the driver polls all parts again. Outputs are
/// polled last in each round, so work that concerns only them does not count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    None,
    Some,
    Ended,
}

impl Driver {
    pub(crate) fn new(
        shared: Arc<Shared>,
        source: Option<Arc<dyn ServerSource>>,
        dialer: Dialer,
    ) -> Self {
        let now = shared.clock.read();
        Self {
            alarm: Alarm::new(&shared.clock),
            inputs: None,
            now,
            shared,
            dialer,
            lookup: ServerLookup::new(source),
            probe: Probe::default(),
            link: DriverLink::Down,
            exchange: Exchange::None,
            frames: Vec::new(),
            unlocked: Unlocked::default(),
            order: Order::SendFirst,
            pace: Pace::new(),
            slack: Slack::default(),
        }
    }

    /// Works on the hub, after it has taken in the frames.
    fn drive<T>(&mut self, work: impl FnOnce(&mut Hub, zk_session::Instant) -> T) -> T {
        let frames = &mut self.frames;
        self.shared.drive(self.now.time(), &mut self.unlocked, |hub, now| {
            take_in(hub, now, frames);
            work(hub, now)
        })
    }

    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Progress {
        if self.alarm.poll(cx, self.now).is_pending() {
            return Progress::None;
        }
        if let Some(remaining) = self.shared.lease_remaining() {
            metrics::lease_remaining(remaining);
        }
        let next = self.drive(|hub, now| {
            hub.host.handle_timeout(now);
            hub.host.poll_timeout()
        });
        next.map_or(Progress::None, |next| self.set_alarm(cx, next))
    }

    /// Sets the alarm. If the time has come already, all parts are polled again.
    fn set_alarm(&mut self, cx: &mut Context<'_>, at: zk_session::Instant) -> Progress {
        match self.alarm.set(cx, &self.shared.clock, at, self.now) {
            Poll::Pending => Progress::None,
            Poll::Ready(()) => Progress::Some,
        }
    }

    fn handle_arrived(&mut self, cx: &mut Context<'_>, arrived: Arrived) -> Progress {
        match arrived {
            Arrived::Nothing => Progress::None,
            Arrived::Transport(Ok(transport)) => {
                let framing = framed(transport, self.shared.max_reply);
                self.link = DriverLink::Up(Box::new(framing));
                self.slack.was_taken(cx);
                self.drive(|hub, now| hub.host.handle_opened(now));
                Progress::Some
            }
            Arrived::Transport(Err(error)) => self.link_failed(Some(error)),
            Arrived::Frames(end) => {
                // The transport wakes the driver for more, unless it was not polled to the end.
                self.note_part();
                let arrived = count(&self.frames);
                let progress = if arrived < BATCH { Progress::None } else { Progress::Some };
                if !self.frames.is_empty() {
                    self.slack.was_used();
                    if let DriverLink::Up(framing) = &self.link
                        && FrameCodec::is_large(framing)
                    {
                        self.slack.was_taken(cx);
                    }
                    self.pace.have_come(arrived);
                    metrics::received(&self.frames);
                }
                match end {
                    Poll::Pending => progress,
                    Poll::Ready(error) => self.link_failed(error),
                }
            }
        }
    }

    /// Reports that a part of a frame has come in, and nothing else.
    fn note_part(&mut self) {
        if let DriverLink::Up(framing) = &mut self.link
            && FrameCodec::take_part(framing)
            && self.frames.is_empty()
        {
            self.drive(|hub, now| hub.host.handle_progress(now));
        }
    }

    fn poll_exchange(&mut self, cx: &mut Context<'_>) -> Progress {
        match self.exchange.poll(cx) {
            Poll::Pending => return Progress::None,
            Poll::Ready(Ok(answer)) => self.answer_sasl(answer.as_ref()),
            Poll::Ready(Err(SaslError::Failed(failure))) => {
                self.answer_sasl(SaslAnswer::Failed(failure));
            }
            Poll::Ready(Err(error @ SaslError::Unavailable(_))) => {
                return self.link_failed(Some(io::Error::other(error)));
            }
        }
        Progress::Some
    }

    fn answer_sasl(&mut self, answer: SaslAnswer<'_>) {
        self.drive(|hub, now| hub.host.handle_sasl(now, answer));
    }

    fn go_on_with_sasl(&mut self, challenge: SaslChallenge) -> Progress {
        match challenge {
            // The index would be wrong if there is another list since the attempt began.
            SaslChallenge::Begin(_) => {
                let tried = self.drive(|hub, _| hub.servers.tried().cloned());
                let Some(server) = tried else {
                    return self.link_failed(None);
                };
                self.exchange = Exchange::begin(self.dialer.sasl.as_ref(), &server);
            }
            SaslChallenge::Token(token) => self.exchange.handle_token(token),
        }
        Progress::Some
    }

    /// Sends what callers have submitted, if that is all that the driver was woken for.
    fn send_requests(&mut self, inputs: &Inputs) -> Progress {
        if inputs.take() {
            return Progress::Some;
        }
        let Self { shared, link: DriverLink::Up(framing), now, alarm, .. } = self else {
            return Progress::Some;
        };
        match requests::send(shared, framing, *now, alarm, inputs) {
            Sending::NotAlone => Progress::Some,
            Sending::Done { sent, is_large, flushed } => {
                self.was_sent(&mut Context::from_waker(inputs.waker()), sent, is_large);
                match flushed {
                    Ok(()) => Progress::None,
                    Err(error) => self.link_failed(Some(error)),
                }
            }
        }
    }

    fn was_sent(&mut self, cx: &mut Context<'_>, sent: usize, is_large: bool) {
        if sent > 0 {
            self.slack.was_used();
            if is_large {
                self.slack.was_taken(cx);
            }
            metrics::sent(sent);
        }
    }

    /// Takes what the session wants done, and sends what it has. From here on a caller that submits
    /// something wakes the driver.
    fn poll_outputs(&mut self, inputs: &Inputs, cx: &mut Context<'_>) -> Progress {
        let mut ready = match &mut self.link {
            DriverLink::Up(framing) => match sink(framing).poll_ready(cx) {
                Poll::Pending => None,
                Poll::Ready(Ok(())) => Some(framing),
                Poll::Ready(Err(error)) => return self.link_failed(Some(error)),
            },
            DriverLink::Down | DriverLink::Opening(_) => None,
        };
        let mut sent = 0;
        let Self { shared, unlocked, frames, now, order, .. } = self;
        let (outputs, timeout, encoded) = shared.drive(now.time(), unlocked, |hub, now| {
            take_in(hub, now, frames);
            // Never twice in a row: what is encoded goes out in the next turn, whatever that brings.
            *order = match *order {
                Order::SendFirst => hub.order_of_sending(),
                Order::CallersFirst => Order::SendFirst,
            };
            let encoded = match &mut ready {
                Some(framing) => {
                    let outgoing = Outgoing { host: &mut hub.host, sent: &mut sent };
                    sink(framing).start_send(outgoing)
                }
                None => Ok(()),
            };
            hub.driver_sleeps(inputs.driver());
            (Outputs::poll(hub), hub.host.poll_timeout(), encoded)
        });
        let is_large = ready.as_deref().is_some_and(|framing| FrameCodec::is_large(framing));
        let flushed = match (encoded, ready) {
            (Ok(()), Some(_)) if sent > 0 && *order == Order::CallersFirst => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            (Ok(()), Some(framing)) => sink(framing).poll_flush(cx),
            (Ok(()), None) => Poll::Pending,
            (Err(error), _) => Poll::Ready(Err(error)),
        };
        self.was_sent(cx, sent, is_large);
        let brought_forward = self.bring_alarm_forward(cx, timeout);
        match (outputs, flushed) {
            (None, Poll::Ready(Ok(())) | Poll::Pending) => brought_forward,
            (None, Poll::Ready(Err(error))) => self.link_failed(Some(error)),
            (Some(outputs), flushed) => self.serve(*outputs, flushed, brought_forward),
        }
    }

    /// Does what the session wants done.
    #[cold]
    fn serve(
        &mut self,
        outputs: Outputs,
        flushed: Poll<io::Result<()>>,
        brought_forward: Progress,
    ) -> Progress {
        if outputs.ended.is_some() {
            return Progress::Ended;
        }
        let probed = match outputs.probe {
            Some((index, server)) => {
                self.probe.ask(Arc::clone(&self.dialer.connector), index, server);
                Progress::Some
            }
            None => brought_forward,
        };
        match (outputs.transport, flushed) {
            (Some(zk_session::TransportCommand::Connect(server)), _) => self.open(server),
            (Some(zk_session::TransportCommand::Disconnect), _) => {
                self.link = DriverLink::Down;
                self.exchange = Exchange::None;
                self.probe.forget();
                Progress::Some
            }
            (None, Poll::Ready(Err(error))) => self.link_failed(Some(error)),
            (None, Poll::Ready(Ok(())) | Poll::Pending) => match outputs.challenge {
                Some(challenge) => self.go_on_with_sasl(challenge),
                None => probed,
            },
        }
    }

    fn bring_alarm_forward(
        &mut self,
        cx: &mut Context<'_>,
        next: Option<zk_session::Instant>,
    ) -> Progress {
        match next {
            Some(next) if self.alarm.is_late_for(next, self.now) => self.set_alarm(cx, next),
            Some(_) | None => Progress::None,
        }
    }

    fn poll_probe(&mut self, cx: &mut Context<'_>) -> Progress {
        let Poll::Ready((server, answer)) = self.probe.poll(cx) else {
            return Progress::None;
        };
        self.drive(|hub, now| {
            hub.host.handle_probed(now, server, answer);
        });
        Progress::Some
    }

    /// Frees memory that a burst has taken.
    fn poll_slack(&mut self, cx: &mut Context<'_>) -> Progress {
        if self.slack.poll(cx).is_ready() {
            if let DriverLink::Up(framing) = &mut self.link {
                FrameCodec::give_back(framing);
            }
            self.frames.shrink_to_fit();
            self.unlocked.shrink_to_fit();
            self.shared.look(|hub| (hub.shrink_to_fit(), None));
        }
        Progress::None
    }

    fn poll_lookup(&mut self, cx: &mut Context<'_>) -> Progress {
        let Poll::Ready(answer) = self.lookup.poll(cx) else {
            return Progress::None;
        };
        self.drive(|hub, now| match answer {
            Ok(servers) => hub.replace_servers(now, servers),
            Err(error) => hub.keep_servers(now, error.into()),
        });
        Progress::Some
    }

    /// Opens a transport. If no server is known yet, the session waits for the source's answer as
    /// for a transport.
    fn open(&mut self, server: ServerIndex) -> Progress {
        let (begins_round, server) =
            self.drive(|hub, _| (hub.servers.begins_round(), hub.servers.attempt(server)));
        self.probe.forget();
        if begins_round {
            self.lookup.ask();
        }
        let Some(server) = server else {
            self.link = DriverLink::Down;
            return Progress::Some;
        };
        let connector = Arc::clone(&self.dialer.connector);
        self.exchange = Exchange::None;
        self.link = DriverLink::Opening(Box::pin(async move { connector.connect(&server).await }));
        Progress::Some
    }

    fn link_failed(&mut self, error: Option<io::Error>) -> Progress {
        self.link = DriverLink::Down;
        self.exchange = Exchange::None;
        self.drive(|hub, now| hub.transport_closed(now, error));
        Progress::Some
    }
}

/// Passes these frames to the session, and dispatches the events: recipes may have something to
/// send.
fn take_in(hub: &mut Hub, now: zk_session::Instant, frames: &mut Vec<Frames>) {
    if !frames.is_empty() {
        hub.take_in(now, frames);
    }
}

fn sink(framing: &mut Framing) -> Pin<&mut Framing> {
    Pin::new(framing)
}

impl Driver {
    /// Asks all inputs and outputs, until none goes on.
    fn poll_all(&mut self, inputs: &Inputs) -> Poll<()> {
        let cx = &mut Context::from_waker(inputs.waker());
        loop {
            let arrived = self.link.poll(&mut self.frames, cx);
            // After the read: an answer may have come until then, although the process has stood still
            // for long. A heartbeat proves an earlier one by being sent long enough after its answer.
            self.now = self.shared.clock.read();
            // What has come in first: after a pause it may show that the connection is alive. That the
            // lease has lapsed meanwhile is noticed all the same, before it is taken in.
            let progress = [
                self.handle_arrived(cx, arrived),
                self.poll_clock(cx),
                self.poll_exchange(cx),
                self.poll_lookup(cx),
                self.poll_probe(cx),
                self.poll_slack(cx),
            ];
            match self.poll_outputs(inputs, cx) {
                Progress::Ended => return Poll::Ready(()),
                Progress::None if progress == [Progress::None; 6] => {
                    let due = self.shared.clock.awake(self.alarm.deadline());
                    self.shared.vitals.driver_is_due(due);
                    return Poll::Pending;
                }
                Progress::None | Progress::Some => {}
            }
        }
    }
}

impl Future for Driver {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let span = self.shared.span.clone();
        let _entered = span.enter();
        let inputs = match self.inputs.take() {
            Some(inputs) if inputs.are_of(cx.waker()) => inputs,
            _ => Inputs::of(cx.waker()),
        };
        let progress = if self.pace.lets_callers_run(&inputs) {
            Progress::None
        } else {
            self.send_requests(&inputs)
        };
        let poll = match progress {
            Progress::Ended => Poll::Ready(()),
            Progress::Some => self.poll_all(&inputs),
            Progress::None => Poll::Pending,
        };
        self.inputs = Some(inputs);
        poll
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.shared.driver_is_gone();
    }
}

//! Answers to what a nominee has asked for, as the nominee takes them in.

use bytes::Bytes;
use election_core::{Event, Failure, Nominee, Notice, Reply, Ticket};
use zk_jute::Decode;
use zk_jute::records::{CreateResponse, GetChildrenResponse, GetDataResponse, Stat};

use super::Target;
use super::lists::Listed;
use super::perform::{NotSent, Performer, Step};

/// What a step of the nominee led to.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) notice: Option<Notice>,
    pub(super) not_sent: Option<NotSent>,
}

pub(super) fn react<'a>(
    nominee: &'a mut Nominee,
    performer: Performer<'_>,
    event: Event<'a>,
) -> Outcome {
    let output = nominee.handle_event(event);
    Outcome { notice: output.notice, not_sent: performer.carry_out(&output) }
}

pub(super) fn list(
    nominee: &mut Nominee,
    performer: Performer<'_>,
    ticket: Ticket,
    listed: Listed,
) -> Outcome {
    let body = match listed {
        Ok(body) => body,
        Err(failure) => {
            let result = Err(core_failure(failure));
            return react(nominee, performer, Event::Reply { ticket, result });
        }
    };
    let response = GetChildrenResponse::decode_prefix(&body);
    let mut names = response.ok().into_iter().flat_map(|response| response.children);
    let result = match response {
        Ok(_) => Ok(Reply::Children(&mut names)),
        Err(_) => Err(Failure::Unreadable),
    };
    react(nominee, performer, Event::Reply { ticket, result })
}

pub(super) fn created(
    nominee: &mut Nominee,
    performer: Performer<'_>,
    ticket: Ticket,
    body: &Bytes,
) -> Outcome {
    let result = match CreateResponse::decode_prefix(body) {
        Ok(response) => Ok(Reply::Created { name: Target::name_of(response.path) }),
        Err(_) => Err(Failure::Unreadable),
    };
    react(nominee, performer, Event::Reply { ticket, result })
}

pub(super) fn read_reply<'a>(step: Step, body: &Bytes) -> Result<Reply<'a>, Failure> {
    match step {
        Step::ElectionNode | Step::Ancestor => Ok(Reply::ElectionNodeCreated),
        // Whatever became of its check, a multi that is answered was committed.
        Step::Barrier => Ok(Reply::BarrierPassed),
        Step::Delete => Ok(Reply::Deleted),
        Step::Read => match GetDataResponse::decode_prefix(body) {
            Ok(response) => Ok(Reply::Read(core_stat(&response.stat))),
            Err(_) => Err(Failure::Unreadable),
        },
        Step::Create => Err(Failure::Unreadable),
    }
}

fn core_stat(stat: &Stat) -> election_core::Stat {
    let owner = stat.ephemeral_owner.get();
    election_core::Stat::new(owner, stat.czxid.get(), stat.version.get())
}

pub(super) fn core_failure(failure: zk_session::Failure) -> Failure {
    match failure {
        zk_session::Failure::Refused(code) => Failure::from_code(code.get()),
        zk_session::Failure::ReplyTooLarge { .. } => Failure::Unreadable,
        zk_session::Failure::ConnectionLoss | zk_session::Failure::NotSent => {
            Failure::ConnectionLoss
        }
    }
}

//! What the in-memory server does to its tree.

use bytes::BytesMut;
use election_tokio::{ErrorCode, SessionId, Stat};
use zk_jute::records::{
    CheckVersionRequest, Create2Response, CreateRequest, CreateResponse, DeleteRequest, MultiOp,
    MultiRequest, MultiResponse, MultiResult, SetDataRequest, SetDataResponse,
};
use zk_jute::{Decode, DecodeError, Encode, OpCode};

use crate::tree::{Change, Tree};

/// One change.
pub(crate) fn write(
    tree: &mut Tree,
    session: SessionId,
    opcode: OpCode,
    body: &[u8],
    answer: &mut BytesMut,
) -> Result<Result<Change, ErrorCode>, DecodeError> {
    Ok(match opcode {
        OpCode::CREATE | OpCode::CREATE2 | OpCode::CREATE_CONTAINER => {
            let request = CreateRequest::decode_exact(body)?;
            tree.create(request.path, request.data, request.mode, session).map(
                |((path, stat), change)| {
                    put_created(opcode, &path, stat, answer);
                    change
                },
            )
        }
        OpCode::DELETE => {
            let request = DeleteRequest::decode_exact(body)?;
            tree.delete(request.path, request.version).map(|((), change)| change)
        }
        OpCode::SET_DATA => {
            let request = SetDataRequest::decode_exact(body)?;
            tree.set_data(request.path, request.data, request.version).map(|(stat, change)| {
                SetDataResponse { stat }.encode(answer);
                change
            })
        }
        _ => Err(ErrorCode::UNIMPLEMENTED),
    })
}

fn put_created(opcode: OpCode, path: &str, stat: Stat, answer: &mut BytesMut) {
    if opcode == OpCode::CREATE {
        CreateResponse { path }.encode(answer);
    } else {
        Create2Response { path, stat }.encode(answer);
    }
}

/// All or nothing.
pub(crate) fn multi(
    tree: &mut Tree,
    session: SessionId,
    request: MultiRequest<'_>,
    answer: &mut BytesMut,
) -> Vec<Change> {
    enum Done {
        Created(String),
        Deleted,
        DataSet(Stat),
        Checked,
    }
    let mut after = tree.clone();
    let mut changes = Vec::new();
    let done: Result<Vec<Done>, (usize, ErrorCode)> = request
        .iter()
        .enumerate()
        .map(|(index, operation)| {
            let done = match operation {
                MultiOp::Create(create) => after
                    .create(create.path, create.data, create.mode, session)
                    .map(|((path, _), change)| (Done::Created(path), Some(change))),
                MultiOp::Delete(DeleteRequest { path, version }) => {
                    after.delete(path, version).map(|((), change)| (Done::Deleted, Some(change)))
                }
                MultiOp::SetData(set) => after
                    .set_data(set.path, set.data, set.version)
                    .map(|(stat, change)| (Done::DataSet(stat), Some(change))),
                MultiOp::Check(CheckVersionRequest { path, version }) => {
                    after.check(path, version).map(|()| (Done::Checked, None))
                }
                _ => Err(ErrorCode::UNIMPLEMENTED),
            };
            let (done, change) = done.map_err(|code| (index, code))?;
            changes.extend(change);
            Ok(done)
        })
        .collect();
    let results: Vec<MultiResult<'_>> = match &done {
        Ok(done) => done
            .iter()
            .map(|done| match done {
                Done::Created(path) => MultiResult::Create(CreateResponse { path }),
                Done::Deleted => MultiResult::Delete,
                Done::DataSet(stat) => MultiResult::SetData(SetDataResponse { stat: *stat }),
                Done::Checked => MultiResult::Check,
            })
            .collect(),
        Err((failed, code)) => (0..request.iter().count())
            .map(|index| match index.cmp(failed) {
                core::cmp::Ordering::Less => MultiResult::Error(ErrorCode::OK),
                core::cmp::Ordering::Equal => MultiResult::Error(*code),
                core::cmp::Ordering::Greater => {
                    MultiResult::Error(ErrorCode::RUNTIME_INCONSISTENCY)
                }
            })
            .collect(),
    };
    MultiResponse::new(&results).encode(answer);
    if done.is_err() {
        return Vec::new();
    }
    *tree = after;
    changes
}

//! Several creations at once: in a pipeline, and in a transaction.

use super::{Body, CreateMode, Message, RawClient, RawError, create_request};
use crate::opcode::Opcode;

/// The outcome of one creation: the path, or the error code.
pub type Created = Result<String, i32>;

impl RawClient {
    /// Sends all requests before it reads the first reply.
    pub fn create_in_a_row(
        &mut self,
        paths: &[&str],
        mode: CreateMode,
    ) -> Result<Vec<Created>, RawError> {
        let mut xids = Vec::new();
        for path in paths {
            let xid = self.next_xid();
            self.send(xid, Opcode::CREATE, &create_request(path, mode))?;
            xids.push(xid);
        }
        xids.into_iter().map(|xid| self.created(xid)).collect()
    }

    /// Creates all or none, in one transaction.
    pub fn create_together(
        &mut self,
        paths: &[&str],
        mode: CreateMode,
    ) -> Result<Vec<Created>, RawError> {
        let mut body = Vec::new();
        for path in paths {
            put_header(&mut body, Opcode::CREATE.0, 0);
            body.extend(create_request(path, mode));
        }
        put_header(&mut body, -1, 1);
        let reply = self.request(Opcode::MULTI, &body)?;
        let mut reply = Body(&reply);
        paths.iter().map(|_| result(&mut reply)).collect()
    }

    fn created(&mut self, expected: i32) -> Result<Created, RawError> {
        loop {
            match self.receive()? {
                Message::Notified => {}
                Message::Reply { xid, .. } if xid != expected => {
                    return Err(RawError::WrongReply { expected, received: xid });
                }
                Message::Reply { code: 0, body, .. } => {
                    return Ok(Ok(text(Body(&body).buffer("path")?)));
                }
                Message::Reply { code, .. } => return Ok(Err(code)),
            }
        }
    }
}

fn put_header(into: &mut Vec<u8>, opcode: i32, done: u8) {
    into.extend(opcode.to_be_bytes());
    into.push(done);
    into.extend((-1_i32).to_be_bytes());
}

fn result(reply: &mut Body<'_>) -> Result<Created, RawError> {
    let opcode = reply.int("type of a result")?;
    reply.array::<1>("end of the results")?;
    reply.int("error code of a result")?;
    if opcode == Opcode::CREATE.0 {
        Ok(Ok(text(reply.buffer("path")?)))
    } else {
        Ok(Err(reply.int("error code")?))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

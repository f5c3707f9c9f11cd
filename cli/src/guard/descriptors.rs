//! Sends descriptors to COMMAND: the processes in between have a socket in place of its standard
//! input.

use core::mem::MaybeUninit;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::cmsg_space;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

/// A descriptor travels with a byte.
const CARRIER: [u8; 1] = [0];

/// Hands a descriptor to the other side.
pub(crate) fn send_descriptor(socket: &UnixStream, descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let descriptors = [descriptor];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("there is no room for a descriptor"));
    }
    sendmsg(socket, &[IoSlice::new(&CARRIER)], &mut control, SendFlags::empty())?;
    Ok(())
}

/// Receives a descriptor from [`send_descriptor`].
pub(crate) fn receive_descriptor(socket: &UnixStream) -> io::Result<OwnedFd> {
    let mut carrier = CARRIER;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    recvmsg(socket, &mut [IoSliceMut::new(&mut carrier)], &mut control, RecvFlags::CMSG_CLOEXEC)?;
    let descriptor = control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    descriptor.ok_or_else(|| io::Error::other("no descriptor came"))
}

//! An account of this host in whose name a session is opened, as `peer` authentication sees it.

use std::io;

use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemUser {
    pub uid: u32,
    pub gid: u32,
}

impl SystemUser {
    /// Makes this thread, and no other, the account's: the server asks the kernel who connected.
    pub(super) fn take_thread(self) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        set_thread_groups(&[])?;
        set_thread_res_gid(gid, gid, gid)?;
        set_thread_res_uid(uid, uid, uid)?;
        Ok(())
    }
}

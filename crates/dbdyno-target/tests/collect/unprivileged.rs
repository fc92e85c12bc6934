//! The host's collectors as an account that is neither root nor the server's.

use dbdyno_model::host::Host;
use dbdyno_target::host::{HostOptions, Root, collect};
use dbdyno_testing::{Running, binaries};
use rustix::thread::{Gid, Uid, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

/// Nobody has that number.
const STRANGER: u32 = 64_999;

/// Where the tests run as root, on a thread that is the stranger's.
fn as_stranger(work: impl FnOnce() -> Host + Send + 'static) -> Host {
    let is_root = rustix::process::geteuid().is_root();
    let reader = std::thread::spawn(move || {
        if is_root {
            let (uid, gid) = (Uid::from_raw(STRANGER), Gid::from_raw(STRANGER));
            set_thread_groups(&[]).unwrap();
            set_thread_res_gid(gid, gid, gid).unwrap();
            set_thread_res_uid(uid, uid, uid).unwrap();
        }
        work()
    });
    reader.join().unwrap()
}

#[test]
fn what_may_be_read_is_told_and_the_rest_names_who_may() {
    let running = Running::start(binaries(), &[]);
    let data = running.server.data().to_path_buf();
    // Who runs the server may see all of it; then the first process stands in for a server.
    let is_root = rustix::process::geteuid().is_root();
    let pid = if is_root { running.server.pid() } else { 1 };
    let options = HostOptions {
        wal_directory: Some(data.join("pg_wal")),
        data_directory: Some(data),
        server_pid: Some(pid),
        ..HostOptions::default()
    };
    let host = as_stranger(move || collect(&Root::host(), &options));

    assert!(host.memory.total_bytes.get().is_some());
    assert!(host.cpu.online.get().is_some() && host.kernel_release.value().is_some());
    assert!(host.sysctl["vm.swappiness"].get().is_some());
    let server = host.server_process.value().unwrap();
    assert!(server.limits.contains_key("Max open files"), "{server:?}");
    assert!(server.uid.get().is_some() && server.oom_score_adj.get().is_some());
    for why in [
        server.shared_memory_bytes.why_unknown(),
        server.libc.why_unknown(),
    ] {
        assert!(why.unwrap().contains("root or its owner"), "{why:?}");
    }
    if is_root {
        let why = host.wal.why_unknown().unwrap();
        assert!(
            why.contains("pg_wal") && why.contains("root or its owner"),
            "{why}"
        );
    }
}

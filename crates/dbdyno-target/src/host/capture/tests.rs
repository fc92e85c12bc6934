//! Captured trees tell the same as the machine that they were captured from, and nothing more.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use dbdyno_model::Facts;
use dbdyno_model::host::{Host, Storage};

use super::Capture;
use crate::host::{HostOptions, Root, collect, sample, traffic};
use crate::names::{self, Names};

fn options(data: &str, wal: Option<&str>, server_pid: Option<u32>) -> HostOptions {
    HostOptions {
        data_directory: Some(PathBuf::from(data)),
        wal_directory: wal.map(PathBuf::from),
        server_pid,
        ..HostOptions::default()
    }
}

/// The facts as they may stand in a document.
fn read(root: &Root, options: &HostOptions) -> Host {
    let (vmstat, cpu_time) = sample(root);
    let mut host = collect(root, options);
    host.vmstat.before = vmstat;
    host.cpu_time.before = cpu_time;
    host.traffic.before = traffic(root, options);
    let facts = Facts {
        host: Some(host),
        ..Facts::default()
    };
    let hidden = names::hidden(&facts, Some(&Names::default())).unwrap();
    hidden.host.unwrap()
}

/// Captures, asserts that the tree tells the same, and returns it.
fn captured(root: Root, options: &HostOptions) -> (tempfile::TempDir, Host) {
    let capture = Capture::default();
    let live = read(&root.recorded(&capture), options);
    let tree = tempfile::tempdir().unwrap();
    capture.write(tree.path(), &Names::default()).unwrap();
    let again = read(&Root::new(tree.path()), options);
    assert_eq!(again, live);
    (tree, live)
}

/// Every file of a tree with its content, lossily.
fn contents(directory: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&path));
        } else if entry.file_type().unwrap().is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            found.push((path, text));
        }
    }
    found
}

fn write(tree: &Path, path: &str, text: &str) {
    let path = tree.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn storage(host: &Host) -> &Storage {
    host.data.value().unwrap()
}

#[test]
fn this_machine_is_captured_whole() {
    let own = std::process::id();
    let (tree, host) = captured(Root::host(), &options("/", None, Some(own)));
    assert!(host.memory.total_bytes.get().is_some());
    assert!(storage(&host).total_bytes.get().is_some());
    assert!(host.server_process.value().is_some());
    // What is not read is not there, and nothing is large.
    assert!(!tree.path().join("proc/version").exists());
    for (path, text) in contents(tree.path()) {
        assert!(text.len() <= 1 << 20, "{}", path.display());
    }
}

#[test]
fn trees_of_other_machines_are_captured_whole() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hosts");
    for (name, data, wal, pid) in [
        ("cgroup2-oom", "/", None, Some(900)),
        (
            "container-cgroup2",
            "/var/lib/postgresql/data",
            None,
            Some(701),
        ),
        ("damaged", "/data", None, None),
        ("damaged", "/data", None, Some(4242)),
        ("ec2-nvme", "/pgdata/16", None, None),
        ("lvm-on-md", "/data/pg", None, None),
        ("no-sys", "/var/lib/postgresql/data", Some("/srv/wal"), None),
        (
            "numa-md-raid",
            "/var/lib/my data/16/main",
            Some("/wal/pg"),
            None,
        ),
        ("rhel-tuned", "/var/lib/pgsql/16/data", None, Some(700)),
        ("vm-2cpu-cgroup1", "/var/lib/postgresql", None, Some(4242)),
    ] {
        let root = Root::new(fixtures.join(name));
        let (tree, host) = captured(root, &options(data, wal, pid));
        // And what was captured can be captured again.
        let (_, again) = captured(Root::new(tree.path()), &options(data, wal, pid));
        assert_eq!(again, host, "{name}");
    }
}

#[test]
fn a_link_to_another_disk_leads_there_in_the_tree() {
    let machine = tempfile::tempdir().unwrap();
    let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /wal rw - xfs /dev/sdb1 rw\n";
    write(machine.path(), "proc/self/mountinfo", mounts);
    write(machine.path(), "wal/16/x", "");
    write(machine.path(), "var/lib/pg/x", "");
    symlink("../../../wal/16", machine.path().join("var/lib/pg/pg_wal")).unwrap();
    let options = options("/var/lib/pg", Some("/var/lib/pg/pg_wal"), None);
    let (tree, host) = captured(Root::new(machine.path()), &options);
    let wal = host.wal.value().unwrap();
    assert_eq!(
        (wal.path.as_str(), wal.mount_point.as_str()),
        ("/wal/16", "/wal")
    );
    assert!(!tree.path().join("wal/16/x").exists());
    // Without a file in it, the directory would not outlive a commit.
    assert!(tree.path().join("wal/16/.keep").exists());
}

#[test]
fn failed_reads_and_system_calls_stand_beside_the_files() {
    let machine = tempfile::tempdir().unwrap();
    let mounts = "1 0 8:1 / / rw - btrfs /dev/sda1 rw\n";
    write(machine.path(), "proc/self/mountinfo", mounts);
    let answers = r#"{
        "failed": {"/proc/meminfo": "denied", "/proc/swaps": {"io": 22}},
        "calls": {
            "statvfs /": {"numbers": [4096, 100, 50, 0, 0]},
            "FS_IOC_GETFLAGS /": {"failed": "Inappropriate ioctl for device"}
        }
    }"#;
    write(machine.path(), "captured.json", answers);
    let (_, host) = captured(Root::new(machine.path()), &options("/", None, None));
    let why = host.memory.total_bytes.why_unknown();
    assert_eq!(
        why,
        Some("permission denied: root or its owner may read it")
    );
    let why = host.memory.swap_devices.why_unknown().unwrap();
    assert!(why.contains("os error 22"), "{why}");
    let data = storage(&host);
    assert_eq!(data.total_bytes.get(), Some(409_600));
    assert_eq!(data.free_bytes.get(), Some(204_800));
    // A file system that makes its inodes as it goes says so by having none.
    assert_eq!(data.total_inodes.get(), Some(0));
    let why = data.no_copy_on_write.why_unknown();
    assert_eq!(why, Some("Inappropriate ioctl for device"));

    write(machine.path(), "captured.json", "{\"failed\"");
    let host = read(&Root::new(machine.path()), &options("/", None, None));
    let why = storage(&host).total_bytes.why_unknown().unwrap();
    assert!(why.starts_with("captured.json: "), "{why}");
}

#[test]
fn no_secret_and_no_name_is_captured() {
    let machine = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("proc/1/comm", "canary-init\n"),
        ("proc/77/comm", "canary-daemon\n"),
        ("proc/cmdline", "root=/dev/canary tsc=reliable\n"),
        ("proc/self/cgroup", "0::/system.slice/pg.service\n"),
        (
            "proc/self/mountinfo",
            "1 0 0:9 / / rw - nfs canary.example:/pg rw,addr=10.1.2.3\n",
        ),
        ("etc/fstab", "//canary/pg / cifs rw,password=canary 0 0\n"),
        (
            "etc/systemd/logind.conf",
            "[Login]\nRemoveIPC=no\nX=canary\n",
        ),
        (
            "etc/sysctl.d/a.conf",
            "kernel.hostname = canary\nvm.swappiness = 1\n",
        ),
        ("run/systemd/system/x", "canary"),
    ] {
        write(machine.path(), path, text);
    }
    let (tree, host) = captured(Root::new(machine.path()), &options("/", None, None));
    assert_eq!(host.sysctl_lines.value().unwrap()[0].line, 2);
    assert_eq!(host.removes_ipc.get(), Some(false));
    for (path, text) in contents(tree.path()) {
        let shown = path.display();
        assert!(!text.contains("canary"), "{shown}: {text}");
        assert!(!text.contains("10.1.2.3"), "{shown}: {text}");
    }
}

#[test]
fn a_directory_in_the_way_is_an_error() {
    let capture = Capture::default();
    let root = Root::host().recorded(&capture);
    read(&root, &options("/", None, None));
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("proc/meminfo")).unwrap();
    assert!(capture.write(tree.path(), &Names::default()).is_err());
}

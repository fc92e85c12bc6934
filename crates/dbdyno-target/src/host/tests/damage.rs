//! Every file of every tree, damaged in every way: it costs its own facts and stops nothing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use dbdyno_model::host::Host;

use super::{HostOptions, collect, options, sample, tree};
use crate::host::{Root, postmasters, traffic};

/// A captured or constructed tree, with what a server would say of itself there.
const TREES: [(&str, &str, Option<u32>); 8] = [
    ("cgroup2-oom", "/", Some(900)),
    ("container-cgroup2", "/var/lib/postgresql/data", Some(701)),
    ("ec2-nvme", "/pgdata/16", None),
    ("lvm-on-md", "/data/pg", None),
    ("no-sys", "/var/lib/postgresql/data", None),
    ("numa-md-raid", "/var/lib/my data/16/main", None),
    ("rhel-tuned", "/var/lib/pgsql/16/data", Some(700)),
    ("vm-2cpu-cgroup1", "/var/lib/postgresql", Some(4242)),
];

#[derive(Debug, Clone, Copy)]
enum Damage {
    Gone,
    Empty,
    NotText,
    Huge,
    Directory,
    Dangling,
}

const DAMAGES: [Damage; 6] = [
    Damage::Gone,
    Damage::Empty,
    Damage::NotText,
    Damage::Huge,
    Damage::Directory,
    Damage::Dangling,
];

impl Damage {
    fn at(self, path: &Path) {
        match self {
            Self::Gone => {}
            Self::Empty => fs::write(path, "").unwrap(),
            Self::NotText => fs::write(path, b"\xff\xfe\0\x80\n").unwrap(),
            Self::Huge => File::create(path).unwrap().set_len(3 << 20).unwrap(),
            Self::Directory => fs::create_dir(path).unwrap(),
            Self::Dangling => std::os::unix::fs::symlink("no-such-file", path).unwrap(),
        }
    }

    fn undo(self, path: &Path) {
        match self {
            Self::Gone => {}
            Self::Directory => fs::remove_dir(path).unwrap(),
            _ => fs::remove_file(path).unwrap(),
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

fn read(root: &Root, options: &HostOptions) -> Host {
    sample(root);
    traffic(root, options);
    postmasters(root);
    collect(root, options)
}

#[test]
fn one_damaged_file_costs_its_own_facts_and_stops_nothing() {
    for (name, data, pid) in TREES {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().join("tree");
        let options = options(data, None, pid);
        let healthy = read(&tree(name), &options);
        let copied = Command::new("cp")
            .args(["-a", "--"])
            .arg(fixture(name))
            .arg(&place)
            .status();
        assert!(copied.unwrap().success());
        let root = Root::new(&place);
        assert_eq!(read(&root, &options), healthy, "{name}: the copy");
        let aside = directory.path().join("aside");
        for path in files(&place) {
            fs::rename(&path, &aside).unwrap();
            for damage in DAMAGES {
                damage.at(&path);
                let host = read(&root, &options);
                let what = format!("{name}: {} {damage:?}", path.display());
                let is = |file: &str| path == place.join(file);
                if !is("proc/sys/kernel/osrelease") {
                    assert_eq!(host.kernel_release, healthy.kernel_release, "{what}");
                }
                if !is("proc/meminfo") {
                    assert_eq!(
                        host.memory.total_bytes, healthy.memory.total_bytes,
                        "{what}"
                    );
                }
                if !is("proc/cmdline") {
                    assert_eq!(host.kernel_options, healthy.kernel_options, "{what}");
                }
                damage.undo(&path);
            }
            fs::rename(&aside, &path).unwrap();
        }
        assert_eq!(read(&root, &options), healthy, "{name}: mended");
    }
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/hosts")
        .join(name)
}

/// What would take minutes if it were read line against line.
#[test]
fn the_longest_files_that_are_taken_are_read_at_once() {
    use crate::host::parse;

    let begun = std::time::Instant::now();
    let fill = |line: &str| line.repeat((1 << 20) / line.len());
    assert!(parse::cpu_list(&fill("0-65535,")).is_err());
    assert_eq!(parse::entries(&fill("a\\\n")), []);
    assert!(!parse::entries(&fill("a=1\n")).is_empty());
    assert!(parse::memberships(&fill("0::/a\n")).len() <= 64);
    let options: Vec<String> = (0..150_000).map(|number| number.to_string()).collect();
    let line = format!("22 1 8:1 / / {} - ext4 /dev/sda1 rw\n", options.join(","));
    let mounts = parse::mountinfo(&line);
    assert_eq!(mounts[0].all_options().len(), 150_001);
    let directory = tempfile::tempdir().unwrap();
    let profile = directory.path().join("etc/tuned/a");
    fs::create_dir_all(&profile).unwrap();
    fs::write(directory.path().join("etc/tuned/active_profile"), "a\n").unwrap();
    let settings: String = (0..50_000)
        .map(|number| format!("vm.x{number}=1\n"))
        .collect();
    fs::write(profile.join("tuned.conf"), format!("[sysctl]\n{settings}")).unwrap();
    let host = collect(&Root::new(directory.path()), &HostOptions::default());
    assert_eq!(host.tuned.value().unwrap().settings.len(), 1024);
    assert!(begun.elapsed() < std::time::Duration::from_secs(30));
}

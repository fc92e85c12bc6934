//! The mount table, `/proc/PID/mountinfo`.

use std::collections::BTreeSet;
use std::path::Path;

use dbdyno_model::Fact;
use dbdyno_model::host::MountPoint;

use super::root::Root;

/// More are those of many containers on one machine.
const MOST_POINTS: usize = 1024;

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub major: u32,
    pub minor: u32,
    /// Which directory of the file system is mounted.
    pub root: String,
    pub mount_point: String,
    pub options: Vec<String>,
    pub filesystem: String,
    pub source: String,
    pub super_options: Vec<String>,
}

impl Mount {
    /// Mount options with those of the file system itself, each once.
    pub(super) fn all_options(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        let all = self.options.iter().chain(&self.super_options);
        all.filter(|option| seen.insert(option.as_str()))
            .cloned()
            .collect()
    }
}

/// Mounts in order; a line that does not parse is left out.
pub fn mountinfo(text: &str) -> Vec<Mount> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<Mount> {
    // The number of optional fields varies; a lone hyphen ends them.
    let (left, right) = line.split_once(" - ")?;
    let mut left = left.split(' ').skip(2);
    let (major, minor) = left.next()?.split_once(':')?;
    let (root, mount_point, options) = (left.next()?, left.next()?, left.next()?);
    let mut right = right.split(' ');
    let (filesystem, source) = (right.next()?, right.next()?);
    Some(Mount {
        major: major.parse().ok()?,
        minor: minor.parse().ok()?,
        root: unescape(root),
        mount_point: unescape(mount_point),
        options: list(options),
        filesystem: filesystem.to_owned(),
        source: unescape(source),
        super_options: list(right.next().unwrap_or_default()),
    })
}

fn list(options: &str) -> Vec<String> {
    options
        .split(',')
        .filter(|option| !option.is_empty())
        .map(unescape)
        .collect()
}

/// The kernel writes space, tab, newline and backslash as three octal digits.
pub(super) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        plain.push_str(&rest[..at]);
        let code = rest
            .get(at + 1..at + 4)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code.filter(u8::is_ascii) {
            Some(code) => {
                plain.push(char::from(code));
                rest = &rest[at + 4..];
            }
            None => {
                plain.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// The mount that holds a path: the deepest, and of several at one point the last.
pub(super) fn of_path<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.mount_point))
        .max_by_key(|mount| Path::new(&mount.mount_point).components().count())
}

/// The mounts that a process sees.
pub(super) fn read(root: &Root, process: &str) -> Result<Vec<Mount>, String> {
    let path = format!("/proc/{process}/mountinfo");
    let text = root
        .table(&path)
        .map_err(|error| format!("{path}: {error}"))?;
    let mounts = mountinfo(&text);
    if mounts.is_empty() {
        return Err(format!("{path}: it names no mount"));
    }
    Ok(mounts)
}

/// Mount points with their file systems, of several at one point the last.
pub(super) fn points(root: &Root, process: &str) -> Fact<Vec<MountPoint>> {
    let points = read(root, process).map(|mounts| {
        let mut points: Vec<MountPoint> = Vec::new();
        for mount in mounts.into_iter().take(MOST_POINTS) {
            points.retain(|known| known.path != mount.mount_point);
            points.push(MountPoint {
                path: mount.mount_point,
                filesystem: mount.filesystem,
            });
        }
        points
    });
    Fact::from_result(points, format!("/proc/{process}/mountinfo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_the_deepest_last_mount_wins() {
        let text = "27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,discard\n\
                    nonsense\n\
                    28 27 8:1 /a\\040b /my\\040data rw - xfs /dev/sda1 rw,noquota\n\
                    29 27 8:2 / /my\\040data rw - xfs /dev/sda2 rw\n\
                    30 27 0:9 / /my rw - tmpfs none rw\n\
                    31 27 0:9 / /bare rw - tmpfs none\n";
        let mounts = mountinfo(text);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[0].all_options(), ["rw", "relatime", "discard"]);
        assert_eq!(mounts[1].root, "/a b");
        let of = |path: &str| of_path(&mounts, Path::new(path)).unwrap().source.clone();
        assert_eq!(of("/my data/pg"), "/dev/sda2");
        assert_eq!(of("/my/x"), "none");
        assert_eq!(of("/mystery"), "/dev/vda");
    }

    #[test]
    fn escapes_that_are_none_stay() {
        assert_eq!(unescape("a\\040b\\134\\9x\\"), "a b\\\\9x\\");
        assert_eq!(unescape("\\é12"), "\\é12");
        assert_eq!(unescape("\\777"), "\\777");
    }
}

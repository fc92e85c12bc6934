//! What a process has mapped, /proc/PID/maps: its shared memory and its C library.

use dbdyno_model::Fact;
use dbdyno_model::host::Libc;

use super::root::Root;

const DELETED: &str = " (deleted)";
/// glibc's file is about 2 MB.
const LARGEST_LIBRARY_BYTES: u64 = 8 << 20;
/// Stands in glibc in front of its version.
const BANNER: &[u8] = b" release version ";

struct Mapping {
    bytes: u64,
    is_shared: bool,
    path: String,
}

/// One line: addresses, permissions, offset, device, inode, path.
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let from = u64::from_str_radix(from, 16).ok()?;
    let to = u64::from_str_radix(to, 16).ok()?;
    let permissions = words.next()?;
    Some(Mapping {
        bytes: to.checked_sub(from)?,
        is_shared: permissions.ends_with('s'),
        path: words.skip(3).collect::<Vec<_>>().join(" "),
    })
}

/// Size of the largest shared mapping that no file backs: a server's shared memory.
pub fn shared_memory(text: &str) -> Result<u64, String> {
    text.lines()
        .filter_map(mapping)
        .filter(|mapping| mapping.is_shared)
        .filter(|mapping| {
            let path = mapping.path.as_str();
            path.starts_with("/SYSV")
                || ["/dev/zero (deleted)", "/anon_hugepage (deleted)"].contains(&path)
        })
        .map(|mapping| mapping.bytes)
        .max()
        .ok_or_else(|| "the process has no shared memory".to_owned())
}

/// The C library's file, and whether it is gone by now.
pub fn libc(text: &str) -> Result<(String, bool), String> {
    text.lines()
        .filter_map(mapping)
        .map(|mapping| mapping.path)
        .find_map(|path| {
            let (file, replaced) = match path.strip_suffix(DELETED) {
                Some(file) => (file, true),
                None => (path.as_str(), false),
            };
            is_libc(file).then(|| (file.to_owned(), replaced))
        })
        .ok_or_else(|| "no C library is mapped".to_owned())
}

fn is_libc(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == "libc.so.6"
        || (name.starts_with("libc-") && name.ends_with(".so"))
        || name.starts_with("ld-musl-")
}

/// The version in a file's name (`libc-2.31.so`).
pub fn libc_name_version(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let version = name.strip_prefix("libc-")?.strip_suffix(".so")?;
    is_version(version).then(|| version.to_owned())
}

/// The version that glibc's file says of itself.
pub fn libc_banner_version(content: &[u8]) -> Option<String> {
    let rest = banner(content)?.get(BANNER.len()..)?;
    let version: String = rest
        .iter()
        .map(|byte| char::from(*byte))
        .take_while(|character| character.is_ascii_digit() || *character == '.')
        .collect();
    let version = version.trim_end_matches('.');
    is_version(version).then(|| version.to_owned())
}

/// The banner with the version behind it.
fn banner(content: &[u8]) -> Option<&[u8]> {
    const VERSION_BYTES: usize = 16;
    let at = content
        .windows(BANNER.len())
        .position(|window| window == BANNER)?;
    let rest = content.get(at..)?;
    Some(&rest[..rest.len().min(BANNER.len() + VERSION_BYTES)])
}

fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|character| character.is_ascii_digit() || character == '.')
}

/// Both facts from one reading.
pub(super) fn collect(root: &Root, pid: u32) -> (Fact<u64>, Fact<Libc>) {
    let path = format!("/proc/{pid}/maps");
    let maps = root.lossy_text(&path).map_err(|error| error.to_string());
    let memory = maps.clone().and_then(|maps| shared_memory(&maps));
    let library = maps.and_then(|maps| libc(&maps)).map(|(file, replaced)| {
        let version = libc_name_version(&file).or_else(|| {
            // What stands under the name of a replaced file is not what runs.
            (!replaced)
                .then(|| content_version(root, pid, &file))
                .flatten()
        });
        Libc {
            path: file,
            version,
            replaced,
        }
    });
    (
        Fact::from_result(memory, path.clone()),
        Fact::from_result(library, path),
    )
}

fn content_version(root: &Root, pid: u32, file: &str) -> Option<String> {
    // The process may live among other mounts; its own root shows them, to those who may look.
    let inside = format!("/proc/{pid}/root{file}");
    let banner = root
        .excerpt(&inside, LARGEST_LIBRARY_BYTES, banner)
        .or_else(|_| root.excerpt(file, LARGEST_LIBRARY_BYTES, banner))
        .ok()??;
    libc_banner_version(&banner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "55d0-55d2 r--p 00000000 fe:00 247026   /usr/lib/postgresql/15/bin/postgres\n\
        7f00000000-7f08b00000 rw-s 00000000 00:01 1031    /dev/zero (deleted)\n\
        7f10000000-7f10001000 rw-s 00000000 00:05 3       /SYSV0052e2c1 (deleted)\n\
        7f20000000-7f20026000 r--p 00000000 fe:00 9       /usr/lib/x86_64-linux-gnu/libc.so.6\n\
        nonsense\n\
        7f30000000-7f20000000 rw-s 00000000 00:01 1       /dev/zero (deleted)\n";

    #[test]
    fn the_largest_anonymous_shared_mapping_is_the_servers() {
        assert_eq!(shared_memory(MAPS), Ok(0x8b0_0000));
        assert!(shared_memory("7f00-7f10 rw-s 0 0:1 1 /dev/shm/a\n").is_err());
        assert!(shared_memory("").is_err());
    }

    #[test]
    fn the_library_and_its_version_are_found() {
        let expected = "/usr/lib/x86_64-linux-gnu/libc.so.6";
        assert_eq!(libc(MAPS), Ok((expected.to_owned(), false)));
        let replaced = "7f00-7f10 r-xp 0 0:1 1 /lib/libc-2.31.so (deleted)\n";
        assert_eq!(libc(replaced), Ok(("/lib/libc-2.31.so".to_owned(), true)));
        assert_eq!(
            libc_name_version("/lib/libc-2.31.so").as_deref(),
            Some("2.31")
        );
        assert_eq!(libc_name_version(expected), None);
        let banner = b"\0GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\nCopy";
        assert_eq!(libc_banner_version(banner).as_deref(), Some("2.36"));
        assert_eq!(libc_banner_version(b" release version "), None);
    }
}

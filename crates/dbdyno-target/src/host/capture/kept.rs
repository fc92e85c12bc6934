//! What a captured tree keeps of a file: the lines that facts are made of, without names and secrets.

use crate::host::ini::{self, Entry};
use crate::host::{boot, fstab, programs, sysctl_files, tuned, unit};
use crate::names::{self, Names};

/// A comment in every kind of file that has comments.
const NOTHING: &str = "#";
/// Stands where nothing was kept of a line that must not be empty.
const HIDDEN: &str = "(hidden)";

/// The content as it may be kept; `None` where no fact depends on the file.
pub(super) fn kept(path: &str, content: &[u8], names: &Names) -> Option<Vec<u8>> {
    // An empty file says that it is empty.
    if content.iter().all(u8::is_ascii_whitespace) {
        return Some(content.to_vec());
    }
    let text = String::from_utf8_lossy(content);
    let lines = match path {
        "/proc/cmdline" => Some(command_line(&text)),
        "/etc/fstab" => Some(file_systems(&text)),
        _ if path.starts_with("/etc/lvm/backup/") => Some(volume_group(&text)),
        _ if path.ends_with(".conf") || path.ends_with(".service") => Some(assignments(&text)),
        _ => match process_file(path) {
            Some((pid, "comm")) => Some(program(pid, text.trim())?),
            Some((_, "maps")) => Some(mappings(&text)),
            _ => None,
        },
    };
    Some(match lines {
        Some(lines) => without_names(path, lines.as_bytes(), names),
        None => without_names(path, content, names),
    })
}

/// The process and the name of a file right under its directory.
fn process_file(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix("/proc/")?.split_once('/')
}

/// Names of programs that no fact depends on tell what else runs here.
fn program(pid: &str, name: &str) -> Option<String> {
    if programs::is_of_interest(name) {
        return Some(format!("{name}\n"));
    }
    // That the first process is seen at all says that the others are not hidden.
    (pid == "1").then(|| "init\n".to_owned())
}

fn command_line(text: &str) -> String {
    let options = boot::kernel_options(text);
    let kept = std::iter::once(HIDDEN).chain(options.iter().map(String::as_str));
    kept.collect::<Vec<_>>().join(" ") + "\n"
}

fn file_systems(text: &str) -> String {
    let mut kept = format!("{NOTHING}\n");
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [_, point, filesystem, options, ..] = fields[..] else {
            continue;
        };
        let options: Vec<&str> = options
            .split(',')
            .filter(|option| !fstab::SECRET.iter().any(|start| option.starts_with(start)))
            .collect();
        let options = match options[..] {
            // A field that is left out as well when it is read.
            [] => "user".to_owned(),
            _ => options.join(","),
        };
        kept += &format!("none {point} {filesystem} {options}\n");
    }
    kept
}

fn volume_group(text: &str) -> String {
    let mut kept = format!("{NOTHING}\n");
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        let name = line.split('=').next().unwrap_or_default().trim();
        if line.ends_with('{') || line == "}" || ["device", "pe_start"].contains(&name) {
            kept += &format!("{line}\n");
        }
    }
    kept
}

/// Files with headings and assignments: each that is used stays on its line, under its heading.
fn assignments(text: &str) -> String {
    let original: Vec<&str> = text.lines().map(str::trim).collect();
    let mut kept: Vec<String> = original
        .iter()
        .map(|line| {
            // logind's default stands in a comment.
            let is_default = line.starts_with("#RemoveIPC=");
            let kept = if is_default { *line } else { NOTHING };
            kept.to_owned()
        })
        .collect();
    for entry in ini::entries(text).into_iter().filter(is_used) {
        let at = entry.line as usize - 1;
        let heading = format!("[{}]", entry.section);
        if let Some(above) = original[..at].iter().rposition(|line| *line == heading) {
            kept[above] = heading;
        }
        kept[at] = format!("{} = {}", entry.name, entry.value);
    }
    kept.join("\n") + "\n"
}

/// Whether systemd's units, logind, sysctl.d or tuned are read for it.
fn is_used(entry: &Entry) -> bool {
    let name = entry.name.as_str();
    match entry.section.as_str() {
        "Service" => unit::DIRECTIVES.contains(&name),
        "Login" => name == "RemoveIPC",
        "main" => ["include", "reapply_sysctl"].contains(&name),
        section if section != "sysctl" && tuned::SECTIONS.contains(&section) => true,
        _ => {
            name == "reapply_sysctl"
                || sysctl_files::is_of_interest(&sysctl_files::sysctl_name(name))
        }
    }
}

/// Shared memory and the C library, of all that a process has mapped.
fn mappings(text: &str) -> String {
    const USED: [&str; 6] = [
        "/SYSV",
        "/dev/zero (deleted)",
        "/anon_hugepage (deleted)",
        "/libc.so.6",
        "/libc-",
        "/ld-musl-",
    ];
    let used = text
        .lines()
        .filter(|line| USED.iter().any(|part| line.contains(part)));
    let kept = std::iter::once(HIDDEN).chain(used);
    kept.collect::<Vec<_>>().join("\n") + "\n"
}

/// Names go from what is text; damage stays, since it is what a parser has to live with.
fn without_names(path: &str, content: &[u8], names: &Names) -> Vec<u8> {
    let mut shown = Vec::new();
    for chunk in content.utf8_chunks() {
        shown.extend(text_without_names(path, chunk.valid(), names).into_bytes());
        shown.extend(chunk.invalid());
    }
    shown
}

fn text_without_names(path: &str, text: &str, names: &Names) -> String {
    // Four numbers in a row are a version there.
    if path == "/proc/sys/kernel/osrelease" {
        return names::hidden_text(text, None);
    }
    // What is mounted from another machine is known as one word only.
    if path.ends_with("/mountinfo") {
        let words = text.split_inclusive(char::is_whitespace);
        return words
            .map(|piece| {
                let word = piece.trim_end_matches(char::is_whitespace);
                names::hidden_text(word, Some(names)) + &piece[word.len()..]
            })
            .collect();
    }
    names::hidden_text(text, Some(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str, text: &str) -> String {
        let kept = kept(path, text.as_bytes(), &Names::default());
        String::from_utf8(kept.unwrap()).unwrap()
    }

    #[test]
    fn assignments_stay_on_their_lines_under_their_headings() {
        let text = "[Unit]\nDescription=x\n[Service]\nEnvironment=PGPASSWORD=secret\n\
                    LimitNOFILE=\\\n  1024\n\n[Install]\nAlias=db1\n";
        let kept = shown("/etc/systemd/system/a.service", text);
        assert_eq!(kept, "#\n#\n[Service]\n#\nLimitNOFILE = 1024\n#\n#\n#\n#\n");
        let used = |text: &str| -> Vec<Entry> {
            let entries = ini::entries(text).into_iter();
            entries.filter(is_used).collect()
        };
        assert_eq!(used(&kept), used(text));
        let text = "kernel.hostname = db1\n-vm/swappiness = 1\n";
        assert_eq!(
            shown("/etc/sysctl.d/a.conf", text),
            "#\n-vm/swappiness = 1\n"
        );
        let text = "[Login]\n#RemoveIPC=no\n#KillUserProcesses=no\n";
        assert_eq!(
            shown("/etc/systemd/logind.conf", text),
            "#\n#RemoveIPC=no\n#\n"
        );
    }

    #[test]
    fn only_what_is_read_stays_of_other_files() {
        assert_eq!(
            shown("/proc/cmdline", "root=UUID=1 ip=10.0.0.1 tsc=reliable\n"),
            "(hidden) tsc=reliable\n"
        );
        let text = "# db1\n//nas/pg /pg cifs rw,password=secret 0 0\n//nas/b /b cifs user=x\n";
        assert_eq!(
            shown("/etc/fstab", text),
            "#\nnone /pg cifs rw\nnone /b cifs user\n"
        );
        let text = "7f00-7f10 rw-s 0 0:1 1 /dev/zero (deleted)\n7f20-7f30 r--p 0 0:1 1 /opt/x\n";
        let kept = shown("/proc/7/maps", text);
        assert_eq!(
            kept,
            "(hidden)\n7f00-7f10 rw-s 0 0:1 1 /dev/zero (deleted)\n"
        );
        let text =
            "1 0 0:9 / /pg rw - nfs nas7:/export rw,addr=10.1.2.3\n2 0 0:7 / /x rw - tmpfs a rw\n";
        assert_eq!(
            shown("/proc/self/mountinfo", text),
            "1 0 0:9 / /pg rw - nfs (host):/export rw,addr=(address)\n2 0 0:7 / /x rw - tmpfs a rw\n"
        );
        assert_eq!(shown("/proc/self/cgroup", "0::/a\n"), "0::/a\n");
        assert_eq!(
            shown("/proc/sys/kernel/osrelease", "6.1.0.2\n"),
            "6.1.0.2\n"
        );
        assert_eq!(shown("/etc/fstab", ""), "");
    }

    #[test]
    fn programs_that_no_fact_needs_are_left_out() {
        assert_eq!(shown("/proc/9/comm", "postgres\n"), "postgres\n");
        assert_eq!(shown("/proc/1/comm", "our-init\n"), "init\n");
        assert_eq!(kept("/proc/9/comm", b"crm\n", &Names::default()), None);
        let binary = kept(
            "/sys/firmware/acpi/tables/FACP",
            b"\xffx",
            &Names::default(),
        );
        assert_eq!(binary.as_deref(), Some(&b"\xffx"[..]));
    }
}

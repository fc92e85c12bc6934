//! MariaDB and MySQL for the tests: packages of Debian's, unpacked into directories of the build.
//!
//! MariaDB is this machine's own release. MySQL is in Debian's unstable release alone, with libraries
//! as new as itself: they are unpacked beside it, the dynamic linker too, so that nothing of the
//! machine's is used but its kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Missing, apt, directory, note, options};
use crate::command;

/// What is tested of MySQL: unstable moves on, and another major is another subject.
const MYSQL_MAJOR: &str = "9.7";
const UNSTABLE: &str = "sid";

/// Where Debian keeps the keys that its releases are signed with.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Roots of unpacked packages, fetched once. What cannot be had is said, noted, and left out.
pub(super) fn fetch(missing: &mut Vec<Missing>) -> Vec<PathBuf> {
    let place = |name| directory().join(name);
    let fetched = [
        ("MariaDB", mariadb(&place("mariadb"))),
        ("MySQL", mysql(&place("mysql"))),
    ];
    let noted = fetched.map(|(name, fetched)| note(name, fetched, missing));
    noted.into_iter().flatten().collect()
}

/// Debian's MariaDB with those of its libraries that are missing here.
fn mariadb(place: &Path) -> Result<PathBuf, String> {
    let root = place.join("root");
    if root.join("usr/sbin/mariadbd").exists() {
        return Ok(root);
    }
    println!("fetching MariaDB from Debian (once)");
    update(place, &[])?;
    let packages = ["mariadb-server-core", "mariadb-client-core"];
    download(place, &[], &packages)?;
    unpack(place, &root)?;
    Ok(root)
}

/// MySQL of Debian's unstable release with all of its libraries.
fn mysql(place: &Path) -> Result<PathBuf, String> {
    let root = place.join("root");
    if root.join("usr/sbin/mysqld").exists() {
        return Ok(root);
    }
    let machine = place.join("machine");
    update(&machine, &[])?;
    let unstable = point_at_unstable(place, &mirror(&machine)?)?;
    update(place, &unstable)?;
    check_major(&offered(place, &unstable)?)?;
    println!("fetching MySQL {MYSQL_MAJOR} from Debian {UNSTABLE} (once)");
    let packages = ["mysql-server-core", "mysql-client-core"];
    download(place, &unstable, &packages)?;
    unpack(place, &root)?;
    Ok(root)
}

fn update(place: &Path, more: &[String]) -> Result<(), String> {
    for directory in ["lists/partial", "cache/archives/partial"] {
        let directory = place.join(directory);
        fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    }
    apt(place, &words(more, &["update"]))
}

fn download(place: &Path, more: &[String], packages: &[&str]) -> Result<(), String> {
    let install = [
        "--download-only",
        "--reinstall",
        "--no-install-recommends",
        "install",
    ];
    apt(place, &words(more, &[&install[..], packages].concat()))
}

fn words<'a>(options: &'a [String], words: &[&'a str]) -> Vec<&'a str> {
    let options = options.iter().map(String::as_str);
    options.chain(words.iter().copied()).collect()
}

/// Where this machine gets Debian from.
fn mirror(machine: &Path) -> Result<String, String> {
    let mut targets = Command::new("apt-get");
    targets.args(options(machine)).args([
        "indextargets",
        "--format",
        "$(ORIGIN) $(RELEASE) $(REPO_URI)",
        "Created-By: Packages",
    ]);
    find_mirror(&command::read(&mut targets)?)
        .ok_or_else(|| "this machine's package sources have no Debian".to_owned())
}

/// Security updates come from a place of their own, which has no unstable release.
fn find_mirror(targets: &str) -> Option<String> {
    targets.lines().find_map(|line| {
        let (release, address) = line.strip_prefix("Debian ")?.split_once(' ')?;
        (!release.contains("security")).then(|| address.to_owned())
    })
}

/// Options under which apt knows nothing but that release, and nothing as installed.
fn point_at_unstable(place: &Path, mirror: &str) -> Result<Vec<String>, String> {
    let signed = if Path::new(KEYRING).exists() {
        format!("[signed-by={KEYRING}] ")
    } else {
        String::new()
    };
    let (sources, status) = (place.join("sources.list"), place.join("status"));
    let write = |path: &Path, text: &str| {
        fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    write(&sources, &format!("deb {signed}{mirror} {UNSTABLE} main\n"))?;
    write(&status, "")?;
    let option =
        |name: &str, value: &Path| ["-o".to_owned(), format!("{name}={}", value.display())];
    Ok([
        option("Dir::Etc::sourcelist", &sources),
        option("Dir::Etc::sourceparts", Path::new("/dev/null")),
        option("Dir::State::status", &status),
    ]
    .concat())
}

/// The version of MySQL that the release has now.
fn offered(place: &Path, more: &[String]) -> Result<String, String> {
    let mut show = Command::new("apt-cache");
    show.args(options(place)).args(more);
    show.args(["show", "--no-all-versions", "mysql-server-core"]);
    let text = command::read(&mut show)?;
    let version = text.lines().find_map(|line| line.strip_prefix("Version: "));
    version
        .map(str::to_owned)
        .ok_or_else(|| format!("Debian {UNSTABLE} has no MySQL"))
}

fn check_major(version: &str) -> Result<(), String> {
    let rest = version.strip_prefix(MYSQL_MAJOR);
    if rest.is_some_and(|rest| rest.starts_with('.')) {
        return Ok(());
    }
    Err(format!(
        "Debian {UNSTABLE} has MySQL {version}, and {MYSQL_MAJOR} is what is tested: raise it in \
         xtask/src/servers/mysql.rs"
    ))
}

/// Unpacks what was downloaded; a directory that is there is whole.
fn unpack(place: &Path, root: &Path) -> Result<(), String> {
    let partial = place.join("partial");
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(failed(&partial))?;
    }
    fs::create_dir_all(&partial).map_err(failed(&partial))?;
    let archives = place.join("cache/archives");
    for entry in fs::read_dir(&archives)
        .map_err(failed(&archives))?
        .flatten()
    {
        if is_wanted(&entry.file_name().to_string_lossy()) {
            command::read(
                Command::new("dpkg-deb")
                    .arg("-x")
                    .arg(entry.path())
                    .arg(&partial),
            )?;
        }
    }
    fs::rename(&partial, root).map_err(failed(root))
}

/// The servers and libraries, not the base system that a package manager would want beside them.
fn is_wanted(archive: &str) -> bool {
    const BEGINNINGS: [&str; 4] = ["lib", "mariadb", "mysql", "zlib"];
    archive.ends_with(".deb") && BEGINNINGS.iter().any(|name| archive.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_that_of_the_release_itself() {
        let targets = "Google cloud-sdk http://packages.example/apt/\n\
            Debian bookworm-security http://mirror.example/debian-security/\n\
            Debian bookworm http://mirror.example/debian/\n";
        let mirror = find_mirror(targets);
        assert_eq!(mirror.as_deref(), Some("http://mirror.example/debian/"));
        assert_eq!(find_mirror("$(ORIGIN) sid http://x/\n"), None);
    }

    #[test]
    fn another_major_is_named() {
        assert_eq!(check_major("9.7.4-1"), Ok(()));
        let error = check_major("9.70.0-1").unwrap_err();
        assert!(error.contains("MySQL 9.70.0-1"), "{error}");
        assert!(check_major("10.0.1-1").is_err());
    }

    #[test]
    fn the_base_system_stays_packed() {
        assert!(is_wanted("libc6_2.42-1_amd64.deb"));
        assert!(is_wanted("mysql-server-core_9.7.4-1_amd64.deb"));
        assert!(!is_wanted("perl-base_5.40_amd64.deb"));
        assert!(!is_wanted("lock") && !is_wanted("libx.deb.tmp"));
    }
}

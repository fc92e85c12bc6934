//! Where lab servers and downloaded binaries live: never inside anything of the user's.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::LabError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    pub labs: PathBuf,
    pub binaries: PathBuf,
}

impl Home {
    /// `DBDYNO_DATA_DIR`, else /var/lib/dbdyno for root (the unprivileged account of the server
    /// has to reach it), else the XDG data directory.
    pub fn find(environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, LabError> {
        let own = environment("DBDYNO_DATA_DIR").map(PathBuf::from);
        let data = match own {
            Some(directory) => directory,
            None if rustix::process::geteuid().is_root() => PathBuf::from("/var/lib/dbdyno"),
            None => xdg_data(environment)?.join("dbdyno"),
        };
        let data = std::path::absolute(&data).map_err(LabError::io("resolve", &data))?;
        let cache = environment("DBDYNO_CACHE_DIR").map_or_else(|| data.clone(), PathBuf::from);
        Ok(Self {
            labs: data.join("labs"),
            binaries: cache.join("binaries"),
        })
    }

    /// The directory of everything that dbdyno keeps for this user.
    pub fn data(&self) -> &Path {
        self.labs.parent().unwrap_or(&self.labs)
    }

    /// Makes the directories, open to the account that servers run as.
    pub fn prepare(&self) -> Result<(), LabError> {
        Self::make(&self.labs)?;
        Self::make(&self.binaries)
    }

    /// Makes a directory that others may pass through, whatever the umask.
    pub(crate) fn make(directory: &Path) -> Result<(), LabError> {
        let mut missing = Vec::new();
        let mut at = Some(directory);
        while let Some(path) = at.filter(|path| !path.exists()) {
            missing.push(path);
            at = path.parent();
        }
        for path in missing.into_iter().rev() {
            match std::fs::create_dir(path) {
                Ok(()) => {}
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(LabError::io("create", path)(error)),
            }
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(path, mode).map_err(LabError::io("set the mode of", path))?;
        }
        Ok(())
    }
}

fn xdg_data(environment: &dyn Fn(&str) -> Option<String>) -> Result<PathBuf, LabError> {
    if let Some(directory) = environment("XDG_DATA_HOME").filter(|d| d.starts_with('/')) {
        return Ok(PathBuf::from(directory));
    }
    let home = environment("HOME")
        .filter(|home| home.starts_with('/'))
        .ok_or(LabError::NoHome)?;
    Ok(PathBuf::from(home).join(".local/share"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_directory_wins() {
        let environment =
            |name: &str| (name == "DBDYNO_DATA_DIR").then(|| "/somewhere/else".to_owned());
        let home = Home::find(&environment).unwrap();
        assert_eq!(home.labs, Path::new("/somewhere/else/labs"));
        assert_eq!(home.binaries, Path::new("/somewhere/else/binaries"));
    }

    #[test]
    fn made_directories_can_be_passed_through() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("a/b");
        Home::make(&directory).unwrap();
        Home::make(&directory).unwrap();
        let mode = std::fs::metadata(&directory).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
    }
}

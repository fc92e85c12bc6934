//! A disk that can be filled without harm: a tmpfs, which only root can mount.

use std::ffi::CString;
use std::fs::File;
use std::io::{ErrorKind, Write as _};

use dbdyno_target::lab::Home;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::Place;
use crate::place::home_below;

/// Mounted until it is unmounted, or dropped as when its test panics.
#[derive(Debug)]
pub struct SmallDisk {
    place: Place,
    mounted: bool,
}

impl SmallDisk {
    pub fn mount(name: &str, mib: u32) -> Self {
        let place = Place::new(name);
        let options = CString::new(format!("size={mib}m,mode=0755")).unwrap();
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        mount("tmpfs", &place.root, "tmpfs", flags, options.as_c_str())
            .expect("mounting takes CAP_SYS_ADMIN");
        Self {
            place,
            mounted: true,
        }
    }

    pub fn home(&self) -> Home {
        home_below(&self.place.root)
    }

    /// Takes what is free, to the last block, as anybody else on the machine might.
    pub fn fill(&self) {
        let mut file = File::create(self.place.root.join("filler")).unwrap();
        for chunk in [vec![0; 1 << 20], vec![0; 1 << 12]] {
            let error = loop {
                if let Err(error) = file.write_all(&chunk) {
                    break error;
                }
            };
            assert_eq!(error.kind(), ErrorKind::StorageFull, "{error}");
        }
    }

    /// Fails where anything still runs on it or has a file of it open.
    pub fn unmount(mut self) {
        unmount(&self.place.root, UnmountFlags::empty()).expect("nothing uses the disk any more");
        self.mounted = false;
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if self.mounted {
            // Whatever still uses it may do so until it ends.
            let _ = unmount(&self.place.root, UnmountFlags::DETACH);
        }
    }
}

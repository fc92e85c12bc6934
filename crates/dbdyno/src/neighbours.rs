//! Servers that run here and are not read: what they hold of the memory is not there for one that is.

use dbdyno_model::facts::Unreached;
use dbdyno_target::found;
use dbdyno_target::host::{self, OtherServer, Postmaster, Root};
use dbdyno_target::names::Names;

use crate::exit::Failure;

/// All servers of this host but the one with this main process. None of them is asked anything; the
/// accounts that run them, which may stand in their paths, go to the names.
pub(crate) fn of(named: u32, names: Option<&mut Names>) -> Vec<Unreached> {
    let root = Root::host();
    let mut postmasters = host::postmasters(&root);
    postmasters.retain(|postmaster| postmaster.pid != named);
    if let Some(names) = names {
        for account in postmasters.iter().filter_map(found::account) {
            names.add_user(&account);
        }
    }
    let mut beside: Vec<Unreached> = postmasters.iter().map(not_named).collect();
    // One that ended meanwhile.
    beside.retain(|server| server.resident_bytes != Some(0));
    beside.extend(host::other_servers(&root).into_iter().map(not_readable));
    beside
}

fn not_named(postmaster: &Postmaster) -> Unreached {
    Unreached {
        why: "another server was named: of this one only the memory that it holds was looked at"
            .into(),
        next: Some("without a target every server that runs here is read".into()),
        ..found_here(postmaster)
    }
}

/// One that was asked in vain.
pub(crate) fn not_read(postmaster: &Postmaster, failure: Failure) -> Unreached {
    Unreached {
        why: failure.message,
        next: failure.hint,
        ..found_here(postmaster)
    }
}

fn found_here(postmaster: &Postmaster) -> Unreached {
    let directory = postmaster.data_directory.as_ref();
    Unreached {
        port: postmaster.port,
        data_directory: directory.map(|directory| directory.display().to_string()),
        resident_bytes: host::held_bytes(&Root::host(), postmaster.pid),
        ..Unreached::default()
    }
}

/// A server of another engine is named, so that nobody takes it for judged.
pub(crate) fn not_readable(server: OtherServer) -> Unreached {
    let directory = server.data_directory.as_ref();
    Unreached {
        engine: Some(server.engine.to_owned()),
        port: server.port,
        data_directory: directory.map(|directory| directory.display().to_string()),
        resident_bytes: host::resident_bytes(&Root::host(), server.pid),
        why: "dbdyno reads PostgreSQL alone so far: only the host of this one was judged".into(),
        next: None,
    }
}

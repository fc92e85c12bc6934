//! The server's systemd unit, for rules whose action goes into it.

use dbdyno_model::host::{Host, UnitDirective};

/// Where a setting of the server's unit belongs: a drop-in of its own, by name where it is known.
pub(super) fn drop_in(host: &Host) -> String {
    let unit = host
        .server_process
        .value()
        .and_then(|process| process.unit.value());
    match unit {
        Some(unit) => format!("[Service] of {}", unit.drop_in()),
        None => "a drop-in of the server's systemd unit (systemctl edit)".to_owned(),
    }
}

/// What the unit's files say already: a value that the running process does not have yet.
pub(super) fn directive<'a>(host: &'a Host, name: &str) -> Option<&'a UnitDirective> {
    host.server_process.value()?.unit.value()?.directive(name)
}

//! Which part a server has in replication, and who is connected to it.

use dbdyno_model::Outcome;
use dbdyno_model::postgres::{Postgres, ReplicationRole, ReplicationSlot, Sender};

use crate::rule::{need, need_ref};

pub(super) fn role(postgres: &Postgres) -> Result<ReplicationRole, Outcome> {
    need(&postgres.role, "whether the server is a standby")
}

/// Stops a check on a standby.
pub(super) fn primary(postgres: &Postgres) -> Result<(), Outcome> {
    match role(postgres)? {
        ReplicationRole::Primary => Ok(()),
        ReplicationRole::Standby => {
            Err(Outcome::NotApplicable("the server is a standby".to_owned()))
        }
    }
}

/// Stops a check on a primary.
pub(super) fn standby(postgres: &Postgres) -> Result<(), Outcome> {
    match role(postgres)? {
        ReplicationRole::Standby => Ok(()),
        ReplicationRole::Primary => Err(Outcome::NotApplicable(
            "the server is no standby".to_owned(),
        )),
    }
}

pub(super) fn senders(postgres: &Postgres) -> Result<&[Sender], Outcome> {
    need_ref(&postgres.replication.senders, "who the log is sent to").map(Vec::as_slice)
}

pub(super) fn slots(postgres: &Postgres) -> Result<&[ReplicationSlot], Outcome> {
    need_ref(&postgres.slots, "replication slots").map(Vec::as_slice)
}

/// Whether the slot is of no more use: the server then keeps neither log nor rows for it, although it
/// may still show the position from which it once did.
///
/// Source: `ReplicationSlotsComputeRequiredLSN()` of PostgreSQL 16 to 18.
pub(super) fn is_lost(slot: &ReplicationSlot) -> bool {
    slot.wal_status.as_deref() == Some("lost") || slot.invalidation_reason.is_some()
}

/// Log that the server keeps because of the slot; none where it keeps none.
pub(super) fn kept_bytes(slot: &ReplicationSlot) -> Option<u64> {
    slot.retained_bytes.filter(|_| !is_lost(slot))
}

/// Follows the log as it is written, and does not copy the data directory once.
pub(super) fn is_following(sender: &Sender) -> bool {
    matches!(sender.state.as_str(), "catchup" | "streaming")
}

/// A name that tells a reader which one is meant.
pub(super) fn name(sender: &Sender) -> &str {
    if sender.application_name.is_empty() {
        "a client without a name"
    } else {
        &sender.application_name
    }
}

#[cfg(test)]
pub(super) mod testing {
    //! Facts of a primary with standbys, and of a standby.

    use dbdyno_model::postgres::{Receiver, Replay, ReplicationRole, ReplicationSlot, Sender};
    use dbdyno_model::{Fact, Facts};

    use crate::testing::{healthy, postgres};

    pub(in crate::replication) fn streaming(name: &str) -> Sender {
        Sender {
            application_name: name.into(),
            state: "streaming".into(),
            sync_state: "async".into(),
            unsent_bytes: Some(0),
            unflushed_bytes: Some(0),
            unreplayed_bytes: Some(0),
            ..Sender::default()
        }
    }

    pub(in crate::replication) fn primary_with(senders: Vec<Sender>) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).replication.senders = Fact::known(senders, "pg_stat_replication");
        facts
    }

    pub(in crate::replication) fn with_slots(slots: Vec<ReplicationSlot>) -> Facts {
        let mut facts = healthy();
        postgres(&mut facts).slots = Fact::known(slots, "pg_replication_slots");
        facts
    }

    /// A standby that streams, has replayed everything and is not paused.
    pub(in crate::replication) fn standby() -> Facts {
        let mut facts = primary_with(Vec::new());
        let server = postgres(&mut facts);
        server.role = Fact::known(ReplicationRole::Standby, "pg_is_in_recovery()");
        server.replication.receiver = Fact::known(
            Receiver {
                status: Some("streaming".into()),
                slot: Some("standby_1".into()),
                silent_s: Some(1.0),
            },
            "pg_stat_wal_receiver",
        );
        server.replication.replay = Fact::known(
            Replay {
                unreplayed_bytes: Some(0),
                newest_transaction_s: Some(1.0),
                pause: "not paused".into(),
            },
            "pg_last_wal_replay_lsn()",
        );
        facts
    }
}

//! What a standby says of itself: whether it receives, and how far it has replayed.

use ::postgres::{Client, Error};
use dbdyno_model::Fact;
use dbdyno_model::postgres::{Receiver, Replay, ReplicationRole};

use super::error::CollectError;
use super::reader::{Reader, Subject, count_or_none};

const RECEIVER: Subject = Subject::new("postgres.receiver", "pg_stat_wal_receiver");
const REPLAY: Subject = Subject::new("postgres.replay", "pg_last_wal_replay_lsn()");

/// On a primary both are unknown: the functions of recovery fail there.
pub(super) fn read(
    reader: &mut Reader<'_>,
    role: &Fact<ReplicationRole>,
) -> Result<(Fact<Receiver>, Fact<Replay>), CollectError> {
    let why = match role.get() {
        Some(ReplicationRole::Standby) => None,
        Some(ReplicationRole::Primary) => Some("the server is no standby"),
        None => Some("it is not known whether the server is a standby"),
    };
    if let Some(why) = why {
        return Ok((
            Fact::unknown(why, RECEIVER.origin),
            Fact::unknown(why, REPLAY.origin),
        ));
    }
    let receiver = if reader.sees_all_sessions {
        reader.read(&RECEIVER, read_receiver)?
    } else {
        reader.unseen(&RECEIVER)
    };
    Ok((receiver, reader.read(&REPLAY, read_replay)?))
}

fn read_receiver(client: &mut Client, _version: u32) -> Result<Receiver, Error> {
    const SQL: &str = "SELECT status, nullif(slot_name, ''), \
         extract(epoch FROM clock_timestamp() - last_msg_receipt_time)::float8 \
         FROM pg_stat_wal_receiver";
    let Some(row) = client.query_opt(SQL, &[])? else {
        return Ok(Receiver::default());
    };
    Ok(Receiver {
        status: row.try_get(0)?,
        slot: row.try_get(1)?,
        silent_s: row.try_get(2)?,
    })
}

fn read_replay(client: &mut Client, version: u32) -> Result<Replay, Error> {
    // Before 14 the server tells only that a pause was asked for.
    let pause = if version < 140_000 {
        "CASE WHEN pg_is_wal_replay_paused() THEN 'paused' ELSE 'not paused' END"
    } else {
        "pg_get_wal_replay_pause_state()"
    };
    let sql = format!(
        "SELECT pg_wal_lsn_diff(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn())::int8, \
         extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp())::float8, {pause}"
    );
    let row = client.query_one(&sql, &[])?;
    Ok(Replay {
        unreplayed_bytes: count_or_none(row.try_get(0)?),
        newest_transaction_s: row.try_get(1)?,
        pause: row.try_get(2)?,
    })
}

//! A primary with a streaming standby, a slot that nobody uses, and an archive that fails.

use dbdyno_model::postgres::ReplicationRole;
use dbdyno_testing::{Running, every_major};
use postgres::Client;

use crate::{facts, wait_until};

#[test]
fn both_ends_of_a_stream_tell_how_far_they_are() {
    for binaries in every_major() {
        let major = binaries.version.major;
        let (primary, standby) =
            Running::start(binaries, &[]).with_standby(&[], &[("primary_slot_name", "standby_1")]);
        let mut client = primary.client();
        for slot in ["standby_1", "unused"] {
            let create = format!("SELECT pg_create_physical_replication_slot('{slot}', true)");
            client.batch_execute(&create).unwrap();
        }
        wait_until(
            &mut client,
            "SELECT count(*) = 1 FROM pg_stat_replication WHERE state = 'streaming'",
        );
        client
            .batch_execute("CREATE TABLE t AS SELECT generate_series(1, 1000) AS a")
            .unwrap();
        wait_until(&mut standby.client(), "SELECT to_regclass('t') IS NOT NULL");

        let told = facts(&mut client);
        assert_eq!(told.role.get(), Some(ReplicationRole::Primary));
        let senders = told.replication.senders.value().unwrap();
        assert_eq!(senders.len(), 1, "{senders:?}");
        let sender = &senders[0];
        assert_eq!(sender.application_name, "standby_1");
        assert_eq!(
            (sender.state.as_str(), sender.sync_state.as_str()),
            ("streaming", "async")
        );
        assert_eq!(sender.slot.as_deref(), Some("standby_1"));
        assert!(!sender.logical);
        for bytes in [
            sender.unsent_bytes,
            sender.unflushed_bytes,
            sender.unreplayed_bytes,
        ] {
            assert!(bytes.unwrap() < 16 << 20, "{sender:?}");
        }
        assert!(told.replication.receiver.why_unknown().is_some());
        assert!(told.replication.replay.why_unknown().is_some());
        let slots = told.slots.value().unwrap();
        let used: Vec<(&str, bool)> = slots
            .iter()
            .map(|slot| (slot.name.as_str(), slot.active))
            .collect();
        assert_eq!(used, [("standby_1", true), ("unused", false)]);
        let unused = &slots[1];
        assert!(unused.retained_bytes.is_some() && unused.safe_wal_bytes.is_none());
        assert!(!unused.logical && !unused.temporary && !unused.synced);
        assert_eq!(unused.invalidation_reason, None);
        assert_eq!(unused.inactive_s.is_some(), major >= 17, "{unused:?}");

        let mut follower = standby.client();
        let told = facts(&mut follower);
        assert_eq!(told.role.get(), Some(ReplicationRole::Standby));
        assert!(told.replication.senders.value().unwrap().is_empty());
        let receiver = told.replication.receiver.value().unwrap();
        assert_eq!(receiver.status.as_deref(), Some("streaming"));
        assert_eq!(receiver.slot.as_deref(), Some("standby_1"));
        assert!(receiver.silent_s.unwrap() < 60.0, "{receiver:?}");
        let replay = told.replication.replay.value().unwrap();
        assert_eq!(replay.pause, "not paused");
        assert!(replay.unreplayed_bytes.is_some() && replay.newest_transaction_s.is_some());
        assert!(told.waits.value().unwrap().looks >= 1);

        follower
            .batch_execute("SELECT pg_wal_replay_pause()")
            .unwrap();
        let paused = facts(&mut follower).replication.replay;
        assert_ne!(paused.value().unwrap().pause, "not paused");
    }
}

fn promoted_s(client: &mut Client) -> Option<f64> {
    facts(client).replication.promotion.value().unwrap().age_s
}

#[test]
fn what_was_a_standby_tells_since_when_it_is_none() {
    for binaries in every_major() {
        let (primary, standby) = Running::start(binaries, &[]).with_standby(&[], &[]);
        let mut client = standby.client();
        assert_eq!(promoted_s(&mut client), None);
        client.batch_execute("SELECT pg_promote()").unwrap();
        wait_until(&mut client, "SELECT NOT pg_is_in_recovery()");
        let age_s = promoted_s(&mut client).unwrap();
        assert!((-1.0..60.0).contains(&age_s), "{age_s}");
        assert_eq!(promoted_s(&mut primary.client()), None);
    }
}

#[test]
fn a_limit_on_slots_shows_what_is_left_and_what_was_lost() {
    for binaries in every_major() {
        let set = [
            ("max_slot_wal_keep_size", "16MB"),
            ("max_wal_size", "32MB"),
            ("min_wal_size", "32MB"),
        ];
        let running = Running::start(binaries, &set);
        let mut client = running.client();
        client
            .batch_execute("SELECT pg_create_physical_replication_slot('left_behind', true)")
            .unwrap();
        let slots = facts(&mut client).slots;
        assert!(slots.value().unwrap()[0].safe_wal_bytes.is_some());
        client.batch_execute("CREATE TABLE t (a int)").unwrap();
        for _ in 0..6 {
            client.batch_execute("INSERT INTO t VALUES (1)").unwrap();
            client.batch_execute("SELECT pg_switch_wal()").unwrap();
        }
        client.batch_execute("CHECKPOINT").unwrap();
        let slots = facts(&mut client).slots;
        let lost = &slots.value().unwrap()[0];
        assert_eq!(lost.wal_status.as_deref(), Some("lost"), "{lost:?}");
    }
}

#[test]
fn an_archive_that_fails_is_told_with_what_waits_for_it() {
    for binaries in every_major() {
        let running = Running::start(
            binaries,
            &[("archive_mode", "on"), ("archive_command", "false")],
        );
        let mut client = running.client();
        client.batch_execute("CREATE TABLE t (a int)").unwrap();
        client.batch_execute("SELECT pg_switch_wal()").unwrap();
        wait_until(&mut client, "SELECT failed_count > 0 FROM pg_stat_archiver");
        let archiver = facts(&mut client).replication.archiver;
        let archiver = archiver.value().unwrap();
        assert_eq!((archiver.archived, archiver.last_archived_s), (0, None));
        assert!(archiver.failed > 0 && archiver.last_failed_s.unwrap() < 60.0);
        assert!(archiver.last_failed_wal.is_some());
        assert!(archiver.waiting.unwrap() >= 1, "{archiver:?}");
    }
}

//! Whose sessions are open and what their programs call themselves: names, whatever they are.

use std::mem;

use dbdyno_model::facts::Facts;
use dbdyno_model::postgres::{HolderKind, LockWaits, OpenTransaction, Postgres, XminHolder};

use super::NAME;
use super::text::USER;

pub(super) fn hide(facts: &mut Facts) {
    if let Some(server) = &mut facts.postgres {
        hide_of_server(server);
    }
    for other in &mut facts.others {
        hide(other);
    }
}

fn hide_of_server(server: &mut Postgres) {
    server.open_transactions =
        mem::take(&mut server.open_transactions).map(|mut all: Vec<OpenTransaction>| {
            for one in &mut all {
                replace(&mut one.role, USER);
                replace(&mut one.application, NAME);
            }
            all
        });
    server.xmin_holders = mem::take(&mut server.xmin_holders).map(|mut all: Vec<XminHolder>| {
        for one in &mut all {
            match one.kind {
                HolderKind::Session | HolderKind::PreparedTransaction => {
                    replace(&mut one.who, USER);
                }
                // Their names are those of standbys, which have stand-ins of their own.
                HolderKind::Standby | HolderKind::ReplicationSlot => {}
            }
        }
        all
    });
    server.lock_waits = mem::take(&mut server.lock_waits).map(|mut all: LockWaits| {
        for one in &mut all.listed {
            replace(&mut one.role, USER);
        }
        all
    });
}

/// What is empty names nobody.
fn replace(text: &mut String, with: &str) {
    if !text.is_empty() {
        *text = with.to_owned();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_model::Fact;
    use dbdyno_model::postgres::LockWait;

    fn facts() -> Facts {
        let holder = |kind, name: &str, who: &str| XminHolder {
            kind,
            name: name.to_owned(),
            who: who.to_owned(),
            xid_age: 7,
            held_s: None,
            database: None,
            catalogs_only: false,
        };
        let transaction = OpenTransaction {
            role: "carol".to_owned(),
            application: "crm on north2".to_owned(),
            state: "active".to_owned(),
            ..OpenTransaction::default()
        };
        let wait = LockWait {
            role: "carol".to_owned(),
            ..LockWait::default()
        };
        let server = Postgres {
            open_transactions: Fact::known(vec![transaction], "pg_stat_activity"),
            xmin_holders: Fact::known(
                vec![
                    holder(HolderKind::Session, "4711", "carol crm"),
                    holder(HolderKind::Standby, "walreceiver", "streaming"),
                    holder(HolderKind::ReplicationSlot, "cdc", "inactive"),
                ],
                "pg_stat_activity",
            ),
            lock_waits: Fact::known(
                LockWaits {
                    waiting: 1,
                    listed: vec![wait],
                },
                "pg_locks",
            ),
            ..Postgres::default()
        };
        Facts {
            postgres: Some(server),
            ..Facts::default()
        }
    }

    #[test]
    fn nobody_is_named_and_what_is_needed_to_act_stays() {
        let mut all = facts();
        all.others = vec![facts()];
        hide(&mut all);
        let once = serde_json::to_string(&all).unwrap();
        for name in ["carol", "crm", "north2"] {
            assert!(!once.contains(name), "{name} in {once}");
        }
        for kept in ["4711", "cdc", "inactive", "streaming", "active"] {
            assert!(once.contains(kept), "no {kept} in {once}");
        }
        hide(&mut all);
        assert_eq!(serde_json::to_string(&all).unwrap(), once);
    }
}

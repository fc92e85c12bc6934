//! Names of standbys, most often those of their hosts: each has a stand-in of its own, since rules compare them.

use std::collections::BTreeMap;
use std::mem;

use dbdyno_model::facts::Facts;
use dbdyno_model::postgres::standby_names::{Token, tokens};
use dbdyno_model::postgres::{HolderKind, Postgres, Receiver, ReplicationSlot, Sender, XminHolder};

use super::NAME;

const SETTING: &str = "synchronous_standby_names";

/// What programs call themselves, and the words of the setting.
const GENERAL: &[&str] = &[
    "*",
    "any",
    "first",
    "pg_basebackup",
    "pg_receivewal",
    "pg_recvlogical",
    "walreceiver",
];

pub(super) fn hide(facts: &mut Facts) {
    if let Some(server) = &mut facts.postgres {
        hide_of_server(server);
    }
    for other in &mut facts.others {
        hide(other);
    }
}

fn hide_of_server(server: &mut Postgres) {
    let mut stand_ins = StandIns::default();
    if let Some(setting) = server.settings.get_mut(SETTING) {
        let hidden = list(&setting.value, &mut stand_ins);
        setting.value = hidden.unwrap_or_else(|| NAME.to_owned());
    }
    let replication = &mut server.replication;
    replication.senders = mem::take(&mut replication.senders).map(|mut all: Vec<Sender>| {
        for one in &mut all {
            one.application_name = stand_ins.of(&one.application_name);
        }
        for slot in all.iter_mut().filter_map(|one| one.slot.as_mut()) {
            *slot = stand_ins.of_slot(slot);
        }
        all
    });
    // Its own slot on the sending server: primary_slot_name, which is hidden too.
    replication.receiver = mem::take(&mut replication.receiver).map(|mut receiver: Receiver| {
        receiver.slot = receiver.slot.map(|_| NAME.to_owned());
        receiver
    });
    server.xmin_holders = mem::take(&mut server.xmin_holders).map(|mut all: Vec<XminHolder>| {
        for one in &mut all {
            match one.kind {
                HolderKind::Standby => one.name = stand_ins.of(&one.name),
                HolderKind::ReplicationSlot => one.name = stand_ins.of_slot(&one.name),
                HolderKind::Session | HolderKind::PreparedTransaction => {}
            }
        }
        all
    });
    server.slots = mem::take(&mut server.slots).map(|mut all: Vec<ReplicationSlot>| {
        for one in &mut all {
            one.name = stand_ins.of_slot(&one.name);
        }
        all
    });
}

/// Numbers of the names in the order in which they are met; the server compares without regard to case.
#[derive(Debug, Default)]
struct StandIns {
    numbers: BTreeMap<String, usize>,
}

impl StandIns {
    fn of(&mut self, name: &str) -> String {
        let name_in_lower_case = name.to_lowercase();
        // A process id stands where a standby has no name.
        let is_number = name.bytes().all(|byte| byte.is_ascii_digit());
        if is_number || GENERAL.contains(&name_in_lower_case.as_str()) {
            return name.to_owned();
        }
        let next = self.numbers.len() + 1;
        let number = self.numbers.entry(name_in_lower_case).or_insert(next);
        stand_in(*number)
    }

    /// A slot keeps its name, without which nobody can act on it, but where it is called like a
    /// standby: with `_` for what a slot's name may not hold.
    fn of_slot(&self, slot: &str) -> String {
        let found = self
            .numbers
            .iter()
            .find(|(name, _)| as_slot(name) == as_slot(slot));
        found.map_or_else(|| slot.to_owned(), |(_, number)| stand_in(*number))
    }
}

fn stand_in(number: usize) -> String {
    format!("(standby {number})")
}

fn as_slot(name: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    name.chars().map(fits).collect()
}

/// `ANY 1 (north2, *)` as `ANY 1 ("(standby 1)", *)`; none where a quote is left open.
fn list(setting: &str, stand_ins: &mut StandIns) -> Option<String> {
    let mut shown = String::new();
    for token in tokens(setting)? {
        match token {
            Token::Quoted(name) => push_quoted(&mut shown, &stand_ins.of(&name)),
            Token::Word(word) => {
                let other = stand_ins.of(&word);
                if other == word {
                    shown.push_str(&word);
                } else {
                    push_quoted(&mut shown, &other);
                }
            }
            Token::Sign(sign) => shown.push(sign),
        }
    }
    Some(shown)
}

/// Two quotes in a row would be one within a name.
fn push_quoted(shown: &mut String, name: &str) {
    if shown.ends_with('"') {
        shown.push(' ');
    }
    shown.push_str(&format!("\"{}\"", name.replace('"', "\"\"")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use dbdyno_model::Fact;
    use dbdyno_model::postgres::{Replication, Setting};
    use proptest::prelude::*;

    fn shown(setting: &str) -> Option<String> {
        list(setting, &mut StandIns::default())
    }

    #[test]
    fn a_list_keeps_its_form() {
        for (setting, expected) in [
            ("", ""),
            ("*", "*"),
            ("ANY 1 (north2, *)", "ANY 1 (\"(standby 1)\", *)"),
            (
                "FIRST 2 (\"db-1\", b, DB-1)",
                "FIRST 2 (\"(standby 1)\", \"(standby 2)\", \"(standby 1)\")",
            ),
            ("walreceiver", "walreceiver"),
        ] {
            assert_eq!(shown(setting).as_deref(), Some(expected));
        }
        assert_eq!(shown("\"open"), None);
    }

    fn facts() -> Facts {
        let sender = Sender {
            application_name: "north-2".to_owned(),
            slot: Some("north_2".to_owned()),
            ..Sender::default()
        };
        let receiver = Receiver {
            slot: Some("south_9".to_owned()),
            ..Receiver::default()
        };
        let holder = |kind, name: &str| XminHolder {
            kind,
            name: name.to_owned(),
            who: String::new(),
            xid_age: 7,
            held_s: None,
            database: None,
            catalogs_only: false,
        };
        let slot = |name: &str| ReplicationSlot {
            name: name.to_owned(),
            ..ReplicationSlot::default()
        };
        let setting = Setting {
            value: "NORTH-2, east4".to_owned(),
            ..Setting::default()
        };
        let server = Postgres {
            settings: [(SETTING.to_owned(), setting)].into(),
            replication: Replication {
                senders: Fact::known(vec![sender], "pg_stat_replication"),
                receiver: Fact::known(receiver, "pg_stat_wal_receiver"),
                ..Replication::default()
            },
            xmin_holders: Fact::known(
                vec![
                    holder(HolderKind::Standby, "north-2"),
                    holder(HolderKind::Standby, "4711"),
                    holder(HolderKind::ReplicationSlot, "cdc"),
                ],
                "pg_stat_replication",
            ),
            slots: Fact::known(vec![slot("north_2"), slot("cdc")], "pg_replication_slots"),
            ..Postgres::default()
        };
        Facts {
            postgres: Some(server),
            ..Facts::default()
        }
    }

    #[test]
    fn one_standby_has_one_stand_in_wherever_it_is_named() {
        let mut all = facts();
        all.others = vec![facts()];
        hide(&mut all);
        let once = serde_json::to_string(&all).unwrap();
        for name in ["north", "NORTH", "east4", "south_9"] {
            assert!(!once.contains(name), "{name} in {once}");
        }
        let server = all.postgres.as_ref().unwrap();
        assert_eq!(
            server.settings[SETTING].value,
            "\"(standby 1)\", \"(standby 2)\""
        );
        let sender = &server.replication.senders.value().unwrap()[0];
        assert_eq!(sender.application_name, "(standby 1)");
        assert_eq!(sender.slot.as_deref(), Some("(standby 1)"));
        // What nobody could act on otherwise stays.
        let slots = server.slots.value().unwrap();
        assert_eq!(slots[1].name, "cdc");
        assert_eq!(server.xmin_holders.value().unwrap()[1].name, "4711");
        hide(&mut all);
        assert_eq!(serde_json::to_string(&all).unwrap(), once);
    }

    proptest! {
        #[test]
        fn no_setting_is_too_odd(setting in "([a-b\"(), *0-9]|ANY |\\PC){0,30}") {
            if let Some(once) = shown(&setting) {
                prop_assert_eq!(shown(&once), Some(once));
            }
        }
    }
}

//! What a routine is made of: its definition, the call that runs it, and the mark that tells it as ours.

use crate::tpcc::names::Names;
use crate::tpcc::sql::repeated;
use crate::wire::Engine;

/// The comments of our routines begin like this.
const OURS: &str = "dbdyno ";

/// A routine as one engine has it.
#[derive(Debug)]
pub(super) struct Routine {
    /// The transaction that it is, by the name that results have it under.
    pub(super) transaction: &'static str,
    /// How many arguments a call has.
    pub(super) arguments: usize,
    /// What stands between its name and its body.
    pub(super) head: &'static str,
    /// Templates, to be read one behind the other.
    pub(super) body: &'static [&'static str],
}

impl Routine {
    /// That for one set of tables, whose number it has behind it as they do.
    pub(super) fn name(&self, names: &Names) -> String {
        names.sql(&format!("dbdyno_{}{{set}}", self.transaction))
    }

    /// The statement that runs it, with `?` for each argument.
    pub(super) fn call(&self, names: &Names, engine: Engine) -> String {
        let (name, arguments) = (self.name(names), repeated("?", self.arguments));
        match engine {
            Engine::Postgres => format!("SELECT * FROM {name}({arguments})"),
            Engine::MySql => format!("CALL {name}({arguments})"),
        }
    }

    /// The comment that it is given: another definition has another one.
    pub(super) fn mark(&self, names: &Names, engine: Engine) -> String {
        let unmarked = self.create(names, engine, "");
        format!("{OURS}{:016x}", fingerprint(&unmarked))
    }

    /// What makes it, with this comment.
    pub(super) fn create(&self, names: &Names, engine: Engine, mark: &str) -> String {
        let (name, head) = (self.name(names), self.head);
        let body = names.sql(&self.body.concat());
        match engine {
            Engine::Postgres => format!(
                "CREATE FUNCTION {name}{head} AS $dbdyno${body}$dbdyno$;
                 COMMENT ON FUNCTION {name} IS '{mark}'"
            ),
            Engine::MySql => format!(
                "CREATE PROCEDURE {name}{head} SQL SECURITY INVOKER COMMENT '{mark}' {body}"
            ),
        }
    }
}

/// Whether a routine of this comment was made by us.
pub(super) fn is_ours(comment: &str) -> bool {
    comment.starts_with(OURS)
}

/// FNV-1a, which is the same on every machine and release.
fn fingerprint(text: &str) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(PRIME);
    text.bytes().fold(BASIS, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tpcc::Layout;

    const ENGINES: [Engine; 2] = [Engine::Postgres, Engine::MySql];

    fn plain() -> Names {
        Names::new(Layout::Own, 1, 1)
    }

    fn routine(body: &'static [&'static str]) -> Routine {
        Routine {
            transaction: "pay",
            arguments: 2,
            head: "(in_a integer, in_b integer)",
            body,
        }
    }

    #[test]
    fn the_fingerprint_is_the_published_one() {
        assert_eq!(fingerprint(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fingerprint("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fingerprint("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn each_engine_has_its_own_words() {
        let pay = routine(&["BEGIN ", "END"]);
        assert_eq!(
            ENGINES.map(|engine| pay.call(&plain(), engine)),
            ["SELECT * FROM dbdyno_pay(?, ?)", "CALL dbdyno_pay(?, ?)"]
        );
        let [function, procedure] = ENGINES.map(|engine| pay.create(&plain(), engine, "dbdyno 1"));
        let begin = "CREATE FUNCTION dbdyno_pay(in_a integer, in_b integer) \
                     AS $dbdyno$BEGIN END$dbdyno$;";
        assert!(function.starts_with(begin), "{function}");
        let end = "COMMENT ON FUNCTION dbdyno_pay IS 'dbdyno 1'";
        assert!(function.ends_with(end), "{function}");
        assert_eq!(
            procedure,
            "CREATE PROCEDURE dbdyno_pay(in_a integer, in_b integer) SQL SECURITY INVOKER \
             COMMENT 'dbdyno 1' BEGIN END"
        );
    }

    #[test]
    fn each_set_has_its_own() {
        let pay = routine(&["BEGIN SELECT 1 FROM {new_order}; ", "END"]);
        let second = Names::new(Layout::Sysbench, 2, 2);
        for engine in ENGINES {
            assert!(pay.call(&second, engine).contains(" dbdyno_pay2("));
            let create = pay.create(&second, engine, "");
            assert!(create.contains("FROM new_orders2;"), "{create}");
            assert_ne!(pay.mark(&second, engine), pay.mark(&plain(), engine));
        }
    }

    #[test]
    fn another_body_has_another_mark() {
        for engine in ENGINES {
            let mark = routine(&["BEGIN ", "END"]).mark(&plain(), engine);
            assert_eq!(mark, routine(&["BEGIN END"]).mark(&plain(), engine));
            assert_ne!(mark, routine(&["BEGIN  END"]).mark(&plain(), engine));
            assert!(is_ours(&mark), "{mark}");
        }
        assert!(!is_ours("") && !is_ours("pays dbdyno "));
    }
}

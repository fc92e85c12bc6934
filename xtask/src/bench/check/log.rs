//! What the server's log says of a session: its statements, their time, its errors and waits for locks.

/// The application, its process, and the moment in seconds since 1970.
pub(super) const PREFIX: &str = "bench|%a|%p|%n|";
const MARK: &str = "bench|";

/// One statement by the server's own watch.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    /// As it was prepared; none for one that was sent as text.
    name: Option<String>,
    pub(super) text: String,
    /// To parse, plan and execute it.
    pub(super) ms: f64,
    began_s: f64,
    ended_s: f64,
    is_executed: bool,
}

/// All that one application did.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Session {
    pub(super) statements: Vec<Statement>,
    pub(super) errors: Vec<String>,
    /// Modes of the locks that it had to wait for: `RowShareLock`.
    pub(super) awaited: Vec<String>,
}

/// What it set, and how many statements came before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limit {
    pub(super) value: String,
    pub(super) before: usize,
}

impl Session {
    pub(super) fn parse(log: &str, application: &str) -> Self {
        let mut session = Self::default();
        for entry in entries(log, application) {
            session.add(&entry);
        }
        session
    }

    fn add(&mut self, entry: &Entry<'_>) {
        const SERIOUS: [&str; 3] = ["ERROR:  ", "FATAL:  ", "PANIC:  "];
        if let Some(step) = entry
            .message
            .strip_prefix("LOG:  duration: ")
            .and_then(Step::parse)
        {
            self.add_step(entry.at_s, &step);
        } else if let Some((_, rest)) = entry.message.split_once(" still waiting for ") {
            let mode = rest.split(' ').next().unwrap_or_default();
            self.awaited.push(mode.to_owned());
        } else if SERIOUS.iter().any(|level| entry.message.starts_with(level)) {
            self.errors.push(entry.message.clone());
        }
    }

    fn add_step(&mut self, at_s: f64, step: &Step<'_>) {
        // One that is executed again is another one.
        let begun = self.statements.iter_mut().rfind(|statement| {
            step.name.is_some()
                && statement.name.as_deref() == step.name
                && statement.text == step.text
                && !statement.is_executed
        });
        let is_executed = !matches!(step.what, "parse" | "bind");
        if let Some(statement) = begun {
            statement.ms += step.ms;
            statement.ended_s = at_s;
            statement.is_executed = is_executed;
            return;
        }
        self.statements.push(Statement {
            name: step.name.map(str::to_owned),
            text: step.text.to_owned(),
            ms: step.ms,
            began_s: at_s - step.ms / 1e3,
            ended_s: at_s,
            is_executed,
        });
    }

    pub(super) fn longest(&self) -> Option<&Statement> {
        let by_time = |a: &&Statement, b: &&Statement| a.ms.total_cmp(&b.ms);
        self.statements.iter().max_by(by_time)
    }

    pub(super) fn all_ms(&self) -> f64 {
        self.statements.iter().map(|statement| statement.ms).sum()
    }

    /// Between two runs of one statement without another in between: only a sample that passes the
    /// time asks the same again.
    pub(super) fn waited_s(&self) -> f64 {
        let pairs = self.statements.windows(2).filter_map(|pair| match pair {
            [one, next] if one.text == next.text => Some(next.began_s - one.ended_s),
            _ => None,
        });
        pairs.map(|gap| gap.max(0.0)).sum()
    }

    /// None where the session never set a statement_timeout.
    pub(super) fn limit(&self) -> Option<Limit> {
        let value = |statement: &Statement| {
            let (_, rest) = statement.text.split_once("SET statement_timeout = '")?;
            Some(rest.split('\'').next()?.to_owned())
        };
        let mut statements = self.statements.iter().enumerate();
        statements.find_map(|(before, statement)| {
            let value = value(statement)?;
            Some(Limit { value, before })
        })
    }
}

/// One message, whole.
#[derive(Debug)]
struct Entry<'a> {
    application: &'a str,
    at_s: f64,
    message: String,
}

/// Further lines of a message begin with a tab.
fn entries<'a>(log: &'a str, application: &str) -> Vec<Entry<'a>> {
    let mut all: Vec<Entry<'a>> = Vec::new();
    for line in log.lines() {
        if let Some(entry) = Entry::parse(line) {
            all.push(entry);
        } else if let (Some(rest), Some(last)) = (line.strip_prefix('\t'), all.last_mut()) {
            last.message.push('\n');
            last.message.push_str(rest);
        }
    }
    all.retain(|entry| entry.application == application);
    all
}

impl<'a> Entry<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.strip_prefix(MARK)?.splitn(4, '|');
        let (application, _process) = (fields.next()?, fields.next()?);
        Some(Self {
            application,
            at_s: fields.next()?.parse().ok()?,
            message: fields.next()?.to_owned(),
        })
    }
}

/// What was done with a statement: `12.3 ms  bind s1: SELECT …`.
#[derive(Debug)]
struct Step<'a> {
    ms: f64,
    what: &'a str,
    name: Option<&'a str>,
    text: &'a str,
}

impl<'a> Step<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (ms, rest) = text.split_once(" ms  ")?;
        let (step, text) = rest.split_once(": ")?;
        let mut words = step.split(' ');
        let what = words.next()?;
        Some(Self {
            ms: ms.parse().ok()?,
            what,
            name: words.next(),
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
initdb: what stands before
bench|dbdyno|7|100.010|LOG:  duration: 1.000 ms  parse s0: SELECT a,
\tb: 1 ms  c
bench|other|8|100.011|LOG:  duration: 900.000 ms  statement: SELECT slow
bench|dbdyno|7|100.012|LOG:  duration: 0.500 ms  parse s1: SELECT type
bench|dbdyno|7|100.013|LOG:  duration: 0.250 ms  bind s1: SELECT type
bench|dbdyno|7|100.014|LOG:  duration: 0.250 ms  execute s1: SELECT type
bench|dbdyno|7|100.020|LOG:  duration: 4.000 ms  bind s0: SELECT a,
\tb: 1 ms  c
bench|dbdyno|7|100.030|LOG:  duration: 5.000 ms  execute s0: SELECT a,
\tb: 1 ms  c
bench|dbdyno|7|100.040|LOG:  duration: 0.100 ms  statement: SET statement_timeout = '5s'; SET jit = off
bench||9|100.045|LOG:  checkpoint starting: time
bench|dbdyno|7|100.050|LOG:  duration: 1.000 ms  execute s2: SELECT look
bench|dbdyno|7|100.151|LOG:  duration: 1.000 ms  execute s3: SELECT look
bench|dbdyno|7|100.160|LOG:  process 7 still waiting for RowShareLock on relation 16400 of database 5 after 1.012 ms
bench|dbdyno|7|100.170|ERROR:  canceling statement due to lock timeout
bench|dbdyno|7|100.170|STATEMENT:  LOCK TABLE t
";

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-6
    }

    #[test]
    fn a_statement_is_all_of_its_steps_even_where_another_comes_between() {
        let session = Session::parse(LOG, "dbdyno");
        let told: Vec<(&str, f64)> = session
            .statements
            .iter()
            .map(|statement| (statement.text.as_str(), statement.ms))
            .collect();
        assert_eq!(
            told,
            [
                ("SELECT a,\nb: 1 ms  c", 10.0),
                ("SELECT type", 1.0),
                ("SET statement_timeout = '5s'; SET jit = off", 0.1),
                ("SELECT look", 1.0),
                ("SELECT look", 1.0),
            ]
        );
        assert_eq!(session.longest().map(|statement| statement.ms), Some(10.0));
        assert!(near(session.all_ms(), 13.1), "{}", session.all_ms());
        let other = Session::parse(LOG, "other");
        assert_eq!((other.statements.len(), other.errors.len()), (1, 0));
    }

    #[test]
    fn a_prepared_statement_that_is_run_twice_is_two() {
        let log = "bench|dbdyno|7|1.0|LOG:  duration: 1.0 ms  parse s1: SELECT a\n\
             bench|dbdyno|7|1.1|LOG:  duration: 1.0 ms  bind s1: SELECT a\n\
             bench|dbdyno|7|1.2|LOG:  duration: 1.0 ms  execute s1: SELECT a\n\
             bench|dbdyno|7|1.3|LOG:  duration: 1.0 ms  bind s1: SELECT a\n\
             bench|dbdyno|7|1.4|LOG:  duration: 1.0 ms  execute s1: SELECT a\n";
        let session = Session::parse(log, "dbdyno");
        let times: Vec<f64> = session.statements.iter().map(|one| one.ms).collect();
        assert_eq!(times, [3.0, 2.0]);
    }

    #[test]
    fn waiting_limits_errors_and_locks_are_told() {
        let session = Session::parse(LOG, "dbdyno");
        assert!(near(session.waited_s(), 0.1), "{}", session.waited_s());
        let limit = session.limit().unwrap();
        assert_eq!((limit.value.as_str(), limit.before), ("5s", 2));
        assert_eq!(
            session.errors,
            ["ERROR:  canceling statement due to lock timeout"]
        );
        assert_eq!(session.awaited, ["RowShareLock"]);
        assert_eq!(Session::parse(LOG, "other").limit(), None);
        assert_eq!(Session::parse("", "dbdyno"), Session::default());
    }
}

//! The floor of a load: psql copying ready files into the same tables, then the same keys, foreign
//! keys, vacuum and ANALYZE, with as many sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use dbdyno_model::{Address, Connection};
use dbdyno_target::connection::connect;

use crate::command;

/// How many copy, and make keys, at once.
pub(super) const SESSIONS: u32 = 2;

/// Each table and the column by which it is shared out over the sessions.
const TABLES: [(&str, &str); 9] = [
    ("item", "i_id"),
    ("warehouse", "w_id"),
    ("district", "d_w_id"),
    ("customer", "c_w_id"),
    ("history", "h_w_id"),
    ("orders", "o_w_id"),
    ("new_order", "no_w_id"),
    ("order_line", "ol_w_id"),
    ("stock", "s_w_id"),
];

/// What the files hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Format {
    Text,
    Binary,
}

impl Format {
    /// As COPY takes it.
    fn options(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::Binary => " (FORMAT binary)",
        }
    }
}

#[derive(Debug)]
pub(super) struct Floor {
    /// Of psql, pg_dump and vacuumdb.
    pub(super) bin: PathBuf,
    /// The server's account writes here, and reads again.
    pub(super) files: PathBuf,
    pub(super) server: Connection,
    /// Libraries of the programs, where the machine lacks them.
    pub(super) library_path: Option<PathBuf>,
    pub(super) format: Format,
}

impl Floor {
    pub(super) fn sql(&self, database: &str, sql: &str) -> Result<(), String> {
        let to = Connection {
            database: database.into(),
            ..self.server.clone()
        };
        let mut client = connect(&to).map_err(|error| error.to_string())?;
        client
            .batch_execute(sql)
            .map_err(|error| format!("{sql}: {error:?}"))
    }

    pub(super) fn fresh(&self, database: &str) -> Result<(), String> {
        self.sql("postgres", &format!("DROP DATABASE IF EXISTS {database}"))?;
        self.sql("postgres", &format!("CREATE DATABASE {database}"))?;
        self.sql("postgres", "CHECKPOINT")
    }

    fn client(&self, program: &str, database: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        if let Address::Socket(directory) = &self.server.address {
            command.arg("-h").arg(directory);
        }
        let port = self.server.port.to_string();
        command.args(["-p", &port, "-U", "postgres", "-d", database]);
        if let Some(libraries) = &self.library_path {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        command
    }

    fn file(&self, table: &str, part: u32) -> PathBuf {
        self.files.join(format!("{table}.{part}"))
    }

    pub(super) fn export(&self, database: &str) -> Result<(), String> {
        for (table, column) in TABLES {
            for part in 0..SESSIONS {
                let sql = format!(
                    "COPY (SELECT * FROM {table} WHERE {column} % {SESSIONS} = {part}) TO '{}'{}",
                    self.file(table, part).display(),
                    self.format.options()
                );
                self.sql(database, &sql)?;
            }
        }
        for section in ["pre-data", "post-data"] {
            let mut dump = self.client("pg_dump", database);
            dump.arg(format!("--section={section}"));
            let text = command::read(&mut dump)?;
            fs::write(self.files.join(section), text).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    pub(super) fn load(&self, database: &str) -> Result<f64, String> {
        self.fresh(database)?;
        let tables = self.statements("pre-data")?;
        self.sql(database, &tables.join(";\n"))?;
        let begun = Instant::now();
        let copies = |part: u32| {
            let copy = |(table, _): &(&str, &str)| {
                let file = self.file(table, part);
                format!(
                    "COPY {table} FROM '{}'{}",
                    file.display(),
                    self.format.options()
                )
            };
            TABLES.iter().map(copy).collect::<Vec<_>>()
        };
        self.in_sessions(database, (0..SESSIONS).map(copies).collect())?;
        let (foreign, keys): (Vec<_>, Vec<_>) = self
            .statements("post-data")?
            .into_iter()
            .partition(|statement| statement.contains("FOREIGN KEY"));
        // An ALTER TABLE locks its table: one session a table, the large ones apart.
        self.in_sessions(database, deal(keys))?;
        self.in_sessions(database, deal(foreign))?;
        let mut analyze = self.client("vacuumdb", database);
        analyze
            .args(["--analyze", "--quiet", "--jobs"])
            .arg(SESSIONS.to_string());
        command::read(&mut analyze)?;
        Ok(begun.elapsed().as_secs_f64())
    }

    /// Statements of a dump, without its settings.
    fn statements(&self, section: &str) -> Result<Vec<String>, String> {
        let path = self.files.join(section);
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let code: Vec<&str> = text
            .lines()
            .filter(|l| !l.starts_with("--") && !l.starts_with('\\'))
            .collect();
        let statements = code.join("\n");
        let kept = statements
            .split(";\n")
            .map(str::trim)
            .filter(|s| s.starts_with("CREATE") || s.starts_with("ALTER TABLE ONLY"))
            .filter(|s| !s.contains("dbdyno_tpcc"));
        Ok(kept.map(str::to_owned).collect())
    }

    fn in_sessions(&self, database: &str, sessions: Vec<Vec<String>>) -> Result<(), String> {
        let mut children: Vec<Child> = Vec::new();
        for (index, statements) in sessions.iter().enumerate() {
            let script = self.files.with_file_name(format!("session-{index}.sql"));
            write(&script, &(statements.join(";\n") + ";\n"))?;
            let mut psql = self.client("psql", database);
            psql.args(["-q", "-X", "-v", "ON_ERROR_STOP=1", "-f"])
                .arg(&script);
            psql.stdout(Stdio::null());
            children.push(psql.spawn().map_err(|error| format!("psql: {error}"))?);
        }
        for mut child in children {
            let status = child.wait().map_err(|error| error.to_string())?;
            if !status.success() {
                return Err(format!("psql: {status}"));
            }
        }
        Ok(())
    }
}

fn deal(statements: Vec<String>) -> Vec<Vec<String>> {
    let mut sessions = vec![Vec::new(); SESSIONS as usize];
    for statement in statements {
        // A table's statements stay together; order lines and stock fall to different sessions.
        let heavy = statement.contains("order_line") || statement.contains("history");
        sessions[usize::from(!heavy)].push(statement);
    }
    sessions
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

//! Loading TPC-C against the floor: psql copying ready files into the same tables, then the same
//! keys, foreign keys and ANALYZE, with as many sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use dbdyno_bench::tpcc;
use dbdyno_model::{Address, Connection};
use dbdyno_target::connection::connect;
use dbdyno_target::lab::{Binaries, Home, Lab, LabOptions};

use super::{data_directory, median};
use crate::{command, servers};

const WAREHOUSES: u32 = 10;
const SESSIONS: u32 = 2;
const REPEATS: usize = 3;
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

struct Floor {
    bin: PathBuf,
    files: PathBuf,
    server: Connection,
}

pub(super) fn run() -> Result<(), String> {
    let servers = servers::fetch()?;
    let bin = servers
        .bin_directories
        .first()
        .cloned()
        .ok_or("no server")?;
    if !bin.join("psql").exists() {
        return Err(format!("{} has no psql", bin.display()));
    }
    let place = data_directory();
    let home = Home {
        labs: place.join("labs"),
        binaries: place.join("binaries"),
    };
    home.prepare().map_err(|error| error.to_string())?;
    let binaries = Binaries::at(&bin).map_err(|error| error.to_string())?;
    let lab = Lab::create(&home, binaries, &LabOptions::default()).map_err(|e| e.to_string())?;
    let template = lab.init().map_err(|error| error.to_string())?;
    let settings = dbdyno_trial::template::load_settings(24 << 30);
    let server = lab
        .start(&template, &settings)
        .map_err(|error| error.to_string())?;
    let floor = Floor {
        bin,
        files: lab.directory().join("template/files"),
        server: server.connection(),
    };
    // The server writes the files, and so has to own their directory.
    let sql = format!(
        "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; mkdir {}'",
        floor.files.display()
    );
    floor.sql("postgres", &sql)?;
    ours(&floor, "source")?;
    floor.export("source")?;
    let mut pairs = Vec::new();
    for repeat in 0..REPEATS {
        let (mut own, mut best) = (None, None);
        for step in 0..2 {
            if (repeat + step) % 2 == 0 {
                own = Some(ours(&floor, "ours")?);
            } else {
                best = Some(floor.load("floor")?);
            }
        }
        pairs.extend(own.zip(best));
    }
    let rows = pairs.first().map_or(0, |(own, _)| own.1);
    let seconds = median(pairs.iter().map(|(own, _)| own.0).collect());
    let best = median(pairs.iter().map(|(_, floor)| *floor).collect());
    let ratio = median(pairs.iter().map(|(own, floor)| own.0 / floor).collect());
    println!(
        "load: {WAREHOUSES} warehouses ready in {seconds:.1} s, {:.0} rows/s",
        rows as f64 / seconds
    );
    println!(
        "      floor {best:.1} s, ratio {ratio:.2} (median of {REPEATS}, alternated, {SESSIONS} sessions)"
    );
    Ok(())
}

fn ours(floor: &Floor, database: &str) -> Result<(f64, u64), String> {
    floor.fresh(database)?;
    let to = Connection {
        database: database.into(),
        ..floor.server.clone()
    };
    let config = tpcc::Config {
        warehouses: WAREHOUSES,
        ..tpcc::Config::default()
    };
    let stop = AtomicBool::new(false);
    let begun = Instant::now();
    let loaded = tpcc::load(&to, &config, SESSIONS as usize, &|_| {}, &stop)
        .map_err(|error| error.to_string())?;
    Ok((begun.elapsed().as_secs_f64(), loaded.rows))
}

impl Floor {
    fn sql(&self, database: &str, sql: &str) -> Result<(), String> {
        let to = Connection {
            database: database.into(),
            ..self.server.clone()
        };
        let mut client = connect(&to).map_err(|error| error.to_string())?;
        client
            .batch_execute(sql)
            .map_err(|error| format!("{sql}: {error:?}"))
    }

    fn fresh(&self, database: &str) -> Result<(), String> {
        self.sql("postgres", &format!("DROP DATABASE IF EXISTS {database}"))?;
        self.sql("postgres", &format!("CREATE DATABASE {database}"))?;
        self.sql("postgres", "CHECKPOINT")
    }

    fn client(&self, program: &str, database: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        if let Address::Socket(directory) = &self.server.address {
            command.arg("-h").arg(directory);
        }
        command.args(["-U", "postgres", "-d", database]);
        command
    }

    fn file(&self, table: &str, part: u32) -> PathBuf {
        self.files.join(format!("{table}.{part}"))
    }

    fn export(&self, database: &str) -> Result<(), String> {
        for (table, column) in TABLES {
            for part in 0..SESSIONS {
                let sql = format!(
                    "COPY (SELECT * FROM {table} WHERE {column} % {SESSIONS} = {part}) TO '{}'",
                    self.file(table, part).display()
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

    fn load(&self, database: &str) -> Result<f64, String> {
        self.fresh(database)?;
        let tables = self.statements("pre-data")?;
        self.sql(database, &tables.join(";\n"))?;
        let begun = Instant::now();
        let copies = |part: u32| {
            let copy = |(table, _): &(&str, &str)| {
                format!("COPY {table} FROM '{}'", self.file(table, part).display())
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

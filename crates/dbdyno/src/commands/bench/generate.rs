//! `bench load --generate-only`: the rows of a load, made and encoded, and sent nowhere.

use dbdyno_bench::Workload;
use dbdyno_bench::generate::Generated;
use dbdyno_bench::workload::LoadError;
use dbdyno_model::connection::Engine;
use dbdyno_model::words::plural;
use dbdyno_report::number;
use dbdyno_target::process;

use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::loading::Loading;
use crate::printer::Printer;

pub(super) fn run(
    workload: &Workload,
    engine: Engine,
    threads: usize,
    printer: &Printer,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    // The generator looks at the flag.
    interrupt.watches(true);
    let loading = Loading::new(printer);
    let tell = |progress| loading.tell(progress);
    let generated = workload.generate(engine, threads, &tell, interrupt.flag());
    interrupt.watches(false);
    printer.clear();
    let generated = generated.map_err(|error| failure(&error, interrupt))?;
    let peak = process::own_peak_rss_bytes();
    printer.result(&text(&generated, engine, threads, peak))
}

fn failure(error: &LoadError, interrupt: &Interrupt) -> Failure {
    if interrupt.is_set() {
        return Failure::interrupted();
    }
    Failure::new(
        Exit::Usage,
        error.to_string(),
        error.hint().map(str::to_owned),
    )
}

fn text(generated: &Generated, engine: Engine, threads: usize, peak: Option<u64>) -> String {
    let (rows, bytes) = (generated.rows(), generated.bytes());
    let per_second = |amount: u64| amount as f64 / generated.seconds.max(f64::MIN_POSITIVE);
    let form = match engine {
        Engine::Postgres => "as PostgreSQL's COPY takes them in binary",
        Engine::MySql => "as LOAD DATA takes them on MySQL and MariaDB",
    };
    let mut text = format!(
        "{} rows, {}, {form}, sent nowhere\n\
         {} on {}: {} rows/s, {}/s; {} of memory at most\n",
        number::count(rows),
        number::bytes(bytes),
        number::duration(generated.seconds),
        plural(threads as u64, "thread"),
        number::measured(per_second(rows)),
        number::bytes(per_second(bytes) as u64),
        number::or_missing(peak, number::bytes),
    );
    let widest = generated.tables.iter().map(|one| one.table.len()).max();
    for one in &generated.tables {
        text.push_str(&format!(
            "  {:<width$}  {:>15} rows  {:>10}\n",
            one.table,
            number::count(one.rows),
            number::bytes(one.bytes),
            width = widest.unwrap_or(0)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use dbdyno_bench::generate::TableBytes;

    use super::*;

    #[test]
    fn rates_and_memory_are_told_beside_the_tables() {
        let table = |table: &str, rows, bytes| TableBytes {
            table: table.to_owned(),
            rows,
            bytes,
        };
        let generated = Generated {
            tables: vec![
                table("item", 100_000, 8 << 20),
                table("stock", 300_000, 92 << 20),
            ],
            seconds: 2.0,
        };
        let text = text(&generated, Engine::Postgres, 2, Some(20 << 20));
        assert_eq!(
            text,
            "400,000 rows, 100 MiB, as PostgreSQL's COPY takes them in binary, sent nowhere\n\
             2.0 s on 2 threads: 200,000 rows/s, 50 MiB/s; 20 MiB of memory at most\n\
             \x20 item           100,000 rows       8 MiB\n\
             \x20 stock          300,000 rows      92 MiB\n"
        );
    }
}

//! When the pages of inserts, selects and friends do not tell what they are asked for.

use dbdyno_model::Bench;
use dbdyno_model::bench::Warning;
use dbdyno_report::number;

use super::trust::warn;

/// Times the cache that data have to be for most reads at random to miss it.
const BEYOND_CACHE: f64 = 4.0;

/// The SQLSTATE behind the server's words, which may be of any language.
const INSUFFICIENT_PRIVILEGE: &str = "(42501)";

pub(super) fn warnings(run: &Bench) -> Vec<Warning> {
    [cached(run), fill(run)].into_iter().flatten().collect()
}

/// What a kind of key or its order costs is shown by the pages that have to be read and written.
fn cached(run: &Bench) -> Option<Warning> {
    let footprint = run.footprint.as_ref()?;
    let (stored, cache) = footprint.stored_bytes().zip(footprint.cache_bytes)?;
    if stored == 0 || stored > cache {
        return None;
    }
    let rows = footprint.rows as f64 * BEYOND_CACHE * cache as f64 / stored as f64;
    let next = format!(
        "load --rows {:.0} to read from the disk, or give the server a smaller cache",
        rows.ceil()
    );
    warn(
        format!(
            "table and indexes, {}, fit into the server's cache of {}: what is measured is memory",
            number::bytes(stored),
            number::bytes(cache)
        ),
        &next,
    )
}

fn fill(run: &Bench) -> Option<Warning> {
    let footprint = run.footprint.as_ref()?;
    if run.target.engine != "PostgreSQL" {
        return None;
    }
    let mut fills = footprint.fills.iter().map(|fill| &fill.fill);
    let (fact, why) = fills.find_map(|fact| Some((fact, fact.why_unknown()?)))?;
    let next = if why.contains("not installed") {
        "run CREATE EXTENSION pgstattuple in the database; where the server has no such \
         extension, its package is the one of PostgreSQL's contrib modules"
            .to_owned()
    } else if why.contains(INSUFFICIENT_PRIVILEGE) {
        "GRANT pg_stat_scan_tables to the user of the run".to_owned()
    } else {
        format!(
            "call {} in psql as the user of the run, to see what is in its way",
            fact.origin
        )
    };
    let what = format!("how full the pages are is not known: {why}");
    warn(what, &next)
}

#[cfg(test)]
mod tests {
    use dbdyno_model::bench::Target;
    use dbdyno_model::footprint::Fill;
    use dbdyno_model::{Fact, Footprint};

    use super::*;

    /// On PostgreSQL, with 128 MiB of cache and what is known of how full the pages are.
    fn sized(bytes: u64, fill: Fact<f64>) -> Bench {
        Bench {
            target: Target {
                engine: "PostgreSQL".into(),
                ..Target::default()
            },
            footprint: Some(Footprint {
                rows: 1_000,
                table_bytes: Fact::default(),
                index_bytes: Fact::default(),
                total_bytes: Fact::known(bytes, "test"),
                allocated_bytes: Fact::default(),
                fills: vec![Fill {
                    name: "dbdyno_keys".into(),
                    pages: Fact::default(),
                    fill,
                }],
                cache_bytes: Some(128 << 20),
            }),
            ..Bench::default()
        }
    }

    #[test]
    fn data_that_fit_into_the_cache_are_named_with_how_many_rows_do_not() {
        let known = || Fact::known(0.7, "test");
        assert_eq!(warnings(&sized((128 << 20) + 1, known())), []);
        let fits = warnings(&sized(64 << 20, known())).remove(0);
        assert!(fits.what.contains("64 MiB") && fits.what.contains("128 MiB"));
        assert!(fits.next.contains("--rows 8000 "), "{}", fits.next);
        let mut untold = sized(64 << 20, known());
        untold.footprint.as_mut().unwrap().cache_bytes = None;
        assert_eq!(warnings(&untold), []);
    }

    #[test]
    fn what_hides_how_full_pages_are_is_told_with_the_next_step() {
        let next = |why: &str| {
            let run = sized(1 << 30, Fact::unknown(why, "pgstattuple"));
            warnings(&run).remove(0).next
        };
        let absent = next("extension pgstattuple is not installed");
        assert!(absent.contains("CREATE EXTENSION pgstattuple"), "{absent}");
        let refused = next("permission denied for function pgstattuple (42501)");
        assert!(refused.contains("pg_stat_scan_tables"), "{refused}");
        let cancelled = next("canceling statement due to statement timeout (57014)");
        assert!(cancelled.contains("call pgstattuple"), "{cancelled}");
    }
}

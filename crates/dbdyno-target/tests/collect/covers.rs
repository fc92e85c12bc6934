//! Which indexes another one makes superfluous, where only their options or uses tell them apart.

use dbdyno_testing::{Running, every_major};

use crate::facts;

/// Coarse and fine ranges, short and long signatures, and an index that `CLUSTER` goes by.
const PLANTED: &str = "CREATE TABLE t (a int, b int, c tsvector, d int); \
     CREATE INDEX coarse ON t USING brin (a); \
     CREATE INDEX fine ON t USING brin (a) WITH (pages_per_range = 4); \
     CREATE INDEX fine_again ON t USING brin (a) WITH (pages_per_range = 4); \
     CREATE INDEX short ON t USING gist (c tsvector_ops (siglen = 100)); \
     CREATE INDEX long ON t USING gist (c tsvector_ops (siglen = 1000)); \
     CREATE INDEX loose ON t (b) WITH (fillfactor = 50); \
     CREATE INDEX tight ON t (b); \
     CREATE INDEX ordered ON t (d); \
     CREATE INDEX ordered_more ON t (d, b); \
     ALTER TABLE t CLUSTER ON ordered";

#[test]
fn options_of_methods_that_decide_how_well_they_serve_are_compared() {
    for binaries in every_major() {
        let running = Running::start(binaries, &[("autovacuum", "off")]);
        running.client().batch_execute(PLANTED).unwrap();
        let told = facts(&mut running.client());
        let indexes = told.indexes.value().unwrap();
        let mut covered: Vec<(&str, &str)> = indexes
            .listed
            .iter()
            .filter_map(|index| {
                let cover = index.covered_by.as_ref()?;
                Some((index.name.as_str(), cover.index.as_str()))
            })
            .collect();
        covered.sort_unstable();
        // Of equal ones the first that was made is kept.
        let expected = [("fine_again", "fine"), ("tight", "loose")];
        assert_eq!(covered, expected, "{}", told.version);
        assert_eq!(indexes.redundant, 2);
        let clustered = indexes.listed.iter().filter(|index| index.clustered);
        let names: Vec<&str> = clustered.map(|index| index.name.as_str()).collect();
        assert_eq!(names, ["ordered"]);
    }
}

/// What `ADD PRIMARY KEY USING INDEX` refuses beside one that it takes.
const UNIQUE: &str = "CREATE TABLE u (a int, b text); \
     CREATE UNIQUE INDEX takes ON u (a, b); \
     CREATE UNIQUE INDEX backwards ON u (a DESC); \
     CREATE UNIQUE INDEX collated ON u (b COLLATE \"C\"); \
     CREATE UNIQUE INDEX patterns ON u (b text_pattern_ops)";

#[test]
fn what_a_primary_key_cannot_take_over_is_told() {
    for binaries in every_major() {
        let major = binaries.version.major;
        let running = Running::start(binaries, &[("autovacuum", "off")]);
        running.client().batch_execute(UNIQUE).unwrap();
        if major >= 15 {
            let distinct = "CREATE UNIQUE INDEX one_null ON u (b) NULLS NOT DISTINCT";
            running.client().batch_execute(distinct).unwrap();
        }
        let told = facts(&mut running.client());
        let listed = &told.indexes.value().unwrap().listed;
        assert_eq!(listed.len(), if major >= 15 { 5 } else { 4 });
        for index in listed {
            let sql = format!("ALTER TABLE u ADD PRIMARY KEY USING INDEX {}", index.name);
            let mut client = running.client();
            client.batch_execute("BEGIN").unwrap();
            let is_taken = client.batch_execute(&sql).is_ok();
            // 15 still takes what 16 and later refuse.
            let is_fit = is_taken && index.name != "one_null";
            assert_eq!(index.fit_for_key, Some(is_fit), "{major}: {}", index.name);
        }
    }
}

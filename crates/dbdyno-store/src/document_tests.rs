//! What a document is taken for, and what is refused.

use dbdyno_model::Facts;
use dbdyno_model::run::Segment;
use proptest::prelude::*;

use super::*;

fn tune() -> Tune {
    let json = serde_json::json!({
        "schema": "dbdyno.tune/1", "name": "tune-20261121T214640Z-k3f9", "dbdyno_version": "0.1.0",
        "command": ["dbdyno", "tune"], "started_at": "2026-11-21T21:46:40Z", "finished_at": null,
        "complete": false, "machine": {"summary": "2 CPUs", "cpus": 2, "cpu_model": null,
        "memory_bytes": null, "kernel": null, "storage": null, "virtualisation": null},
        "server": {"engine": "PostgreSQL", "version": "15.18", "binaries": null, "transport": ""},
        "target": null, "workload": null, "budget": "quick", "findings": [],
        "plan": dbdyno_model::Plan::default(), "arms": [], "verdict": null, "prices": [],
        "consistency": [], "load": null, "runs": [], "notes": [], "facts": Facts::default(),
    });
    serde_json::from_value(json).unwrap()
}

fn json(tune: &Tune) -> Vec<u8> {
    serde_json::to_vec(tune).unwrap()
}

/// The words of a refusal and the next step.
fn refusal(bytes: &[u8]) -> (String, String) {
    let error = read_document(bytes).unwrap_err();
    assert!(matches!(error, StoreError::Document { .. }), "{error}");
    (error.to_string(), error.hint().unwrap_or_default())
}

#[test]
fn what_was_exported_is_read() {
    let mut wanted = tune();
    wanted.runs.push(Run {
        number: 1,
        tps: 1_234.567_891_234_5,
        ..Run::default()
    });
    assert_eq!(read_document(&json(&wanted)).unwrap(), wanted);
}

#[test]
fn a_trial_from_before_names_is_named_after_its_start() {
    let mut old = serde_json::to_value(tune()).unwrap();
    old.as_object_mut().unwrap().remove("name");
    let read = read_document(old.to_string().as_bytes()).unwrap();
    assert_eq!(read.name, "tune-20261121T214640Z");
}

#[test]
fn each_wrong_file_is_told_what_it_is() {
    for (bytes, wanted) in [
        (&b""[..], "the document: it is empty"),
        (b"  \n", "it is empty"),
        (b"\x1f\x8b\x08", "it is not JSON"),
        (
            b"{\"schema\": \"dbdyno.tune/1\",",
            "it ends too early, at line 1",
        ),
        (b"[1, 2]", "it is JSON, but not a document of dbdyno"),
        (
            b"[\"dbdyno.tune/1\", \"0.1.0\"]",
            "it is JSON, but not a document of dbdyno",
        ),
        (b"7", "it is JSON, but not a document of dbdyno"),
        (b"{\"tps\": 3}", "it has no `schema`"),
        (b"{\"schema\": 1}", "it has no `schema`"),
        (
            b"{\"schema\": \"dbdyno.facts/1\"}",
            "it is \"dbdyno.facts/1\", not a trial",
        ),
        (b"{\"schema\": \"https://k6.io\"}", "not a trial"),
        (
            b"{\"schema\": \"dbdyno.tune/1\"}",
            "it says that it is dbdyno.tune/1, and is not",
        ),
    ] {
        let (said, hint) = refusal(bytes);
        assert!(said.contains(wanted), "{said}");
        assert!(hint.contains("can be imported"), "{hint}");
    }
}

#[test]
fn a_newer_document_names_the_dbdyno_that_wrote_it() {
    // Fields that this version does not know may be of any kind.
    let (said, hint) = refusal(
        b"{\"schema\": \"dbdyno.tune/2\", \"dbdyno_version\": \"0.7.0\", \"runs\": {\"a\": 1}}",
    );
    assert_eq!(
        said,
        "the document: it is dbdyno.tune/2, and this dbdyno reads dbdyno.tune/1"
    );
    assert_eq!(hint, "dbdyno 0.7.0 wrote it: use that or a newer one");
}

#[test]
fn a_name_can_be_that_of_a_file_and_stand_before_an_arm() {
    let named = |name: &str| {
        let tune = Tune {
            name: name.to_owned(),
            ..tune()
        };
        read_document(&json(&tune))
    };
    for good in [
        "a",
        "7",
        "before_15.4-upgrade",
        "tune-20261121T214640Z-k3f9",
    ] {
        assert!(named(good).is_ok(), "{good}");
    }
    for bad in [
        "../x",
        ".hidden",
        "a/b",
        "a:b",
        "a b",
        "-x",
        "é",
        "a\0",
        "latest",
        &"x".repeat(101),
    ] {
        let error = named(bad).unwrap_err();
        assert!(
            error.to_string().contains("is no name for a trial"),
            "{error}"
        );
    }
}

#[test]
fn two_runs_of_one_number_are_refused() {
    let run = Run {
        number: 3,
        ..Run::default()
    };
    let mut twice = tune();
    twice.runs = vec![run.clone(), run];
    assert!(
        refusal(&json(&twice))
            .0
            .contains("two runs have the number 3")
    );
}

#[test]
fn what_json_cannot_hold_is_refused_when_it_is_saved() {
    let run = Run {
        tps: f64::NAN,
        ..Run::default()
    };
    let error = pack("run 1 of x", &run).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("run 1 of x: it could not be read again"),
        "{error}"
    );
    let unknown = Run {
        slope: None,
        ..Run::default()
    };
    let packed = pack("run 1 of x", &unknown).unwrap();
    assert_eq!(unpack_run(&packed).unwrap(), unknown);
}

#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let run = Run {
        arm: "recommended".into(),
        window: Segment {
            seconds: 60.0,
            transactions: 98_765,
        },
        ..Run::default()
    };
    let packed = pack("run", &run).unwrap();
    assert_eq!(unpack_run(&packed).unwrap(), run);
    // The second byte holds the level of the compression and a check of itself.
    for at in 0..packed.len() {
        for bit in 0..8 {
            let mut flipped = packed.clone();
            flipped[at] ^= 1 << bit;
            if let Ok(read) = unpack_run(&flipped) {
                assert!(read == run, "byte {at}, bit {bit}: another run was read");
            }
        }
    }
    assert!(unpack_run(&packed[..packed.len() - 1]).is_err());
    assert!(unpack_run(b"").is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_refused_and_do_not_panic(bytes: Vec<u8>) {
        prop_assert!(read_document(&bytes).is_err());
        prop_assert!(unpack_run(&bytes).is_err());
    }
}

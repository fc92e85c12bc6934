//! What InnoDB wrote back during a run, and what it left for later.

use dbdyno_model::run::ServerUse;

use crate::number;

/// Part by part; what the server does not tell is named as such.
pub(super) fn parts(server: &ServerUse) -> Vec<String> {
    let counted = |count: Option<u64>, of: &str| match count {
        Some(count) => format!("{} {of}", number::count(count)),
        None => format!("{of} not known"),
    };
    let checkpoint = match server.checkpoint_moved_bytes {
        Some(0) => "checkpoint not moved".to_owned(),
        Some(bytes) => format!("checkpoint moved on by {}", number::bytes(bytes)),
        None => "checkpoint not known".to_owned(),
    };
    let behind = server.checkpoint_age_bytes;
    vec![
        match behind {
            Some(bytes) => format!("{checkpoint} and {} behind at the end", number::bytes(bytes)),
            None => checkpoint,
        },
        counted(server.pages_flushed, "pages flushed"),
        counted(server.dirty_pages, "pages dirty at the end"),
        counted(server.fsyncs, "fsyncs"),
    ]
}

#[cfg(test)]
mod tests {
    use dbdyno_model::Bench;
    use dbdyno_model::bench::Target;

    use super::*;
    use crate::bench::{bench_page, fixtures};
    use crate::style::Style;

    fn page(server: ServerUse) -> String {
        let run = Bench {
            target: Target {
                engine: "MariaDB".into(),
                ..fixtures::closed().target
            },
            server,
            ..fixtures::closed()
        };
        let page = bench_page(&run, 80, Style::Plain);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_was_written_back_is_told_and_what_is_unknown_named() {
        let known = page(ServerUse {
            checkpoint_moved_bytes: Some(0),
            checkpoint_age_bytes: Some(0),
            pages_flushed: Some(1_200),
            dirty_pages: Some(7),
            fsyncs: Some(90),
            ..ServerUse::default()
        });
        for part in [
            "checkpoint not moved and",
            "1,200 pages flushed",
            "7 pages dirty at the end",
            "90 fsyncs",
        ] {
            assert!(known.contains(part), "{part}: {known}");
        }
        let unknown = page(ServerUse::default());
        for part in [
            "checkpoint not known",
            "pages flushed not known",
            "fsyncs not known",
        ] {
            assert!(unknown.contains(part), "{part}: {unknown}");
        }
    }
}

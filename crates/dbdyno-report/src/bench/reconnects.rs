//! Why connections that were lost could not be made again.

use dbdyno_model::Bench;

use crate::number;
use crate::style::{Role, Style};
use crate::text::{clean, hang};

pub(super) fn failed(run: &Bench, width: usize, style: Style) -> Vec<String> {
    let mut lines = Vec::new();
    for failed in &run.reconnects_failed {
        let text = format!(
            "{} × not connected again{}: {}",
            number::count(failed.count),
            match &failed.code {
                Some(code) => format!(", {}", clean(code)),
                None => String::new(),
            },
            clean(&failed.message)
        );
        let painted = hang("            ", &text, width);
        lines.extend(painted.iter().map(|line| style.paint(Role::Bad, line)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use dbdyno_model::bench::FailedReconnects;

    use super::*;
    use crate::bench::{bench_page, fixtures};

    #[test]
    fn why_a_connection_was_not_made_again_is_told() {
        let failed = |code: Option<&str>, message: &str| FailedReconnects {
            code: code.map(str::to_owned),
            message: message.to_owned(),
            count: 7,
        };
        let run = Bench {
            reconnects_failed: vec![
                failed(Some("28P01"), "password authentication failed"),
                failed(None, "cannot connect: refused"),
            ],
            ..fixtures::closed()
        };
        let page = bench_page(&run, 80, Style::Plain);
        for line in [
            "7 × not connected again, 28P01: password authentication failed",
            "7 × not connected again: cannot connect: refused",
        ] {
            assert!(page.contains(line), "{page}");
        }
    }
}

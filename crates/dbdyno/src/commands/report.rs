//! `dbdyno report`: a stored trial again, in any form.

use dbdyno_model::Tune;
use dbdyno_report::{pairs_svg, report_html, report_markdown, to_json, verdict_page};

use crate::cli::{self, Format};
use crate::exit::{Exit, Failure};
use crate::printer::Printer;
use crate::report_files::ReportFiles;
use crate::{selection, store};

pub(crate) fn run(arguments: &cli::Report, printer: &Printer) -> Result<(), Failure> {
    let mut open = || store::open(arguments.store.store.as_deref(), printer);
    let tune = selection::load(&arguments.trial, &mut open)?;
    if let Some(directory) = &arguments.output {
        let files = ReportFiles::prepare(directory, Some(&tune.name))?;
        let page = files.write(&tune)?;
        printer.say(&format!("wrote {} and its .md and .json", page.display()));
        return if arguments.open {
            show(&page, printer)
        } else {
            Ok(())
        };
    }
    if arguments.open {
        let directory = store::data_directory()?.join("reports").join(&tune.name);
        let page = ReportFiles::prepare(&directory, Some(&tune.name))?.write(&tune)?;
        return show(&page, printer);
    }
    let text = rendered(&tune, arguments.format, printer)?;
    printer.result(&text)
}

fn rendered(tune: &Tune, format: Format, printer: &Printer) -> Result<String, Failure> {
    Ok(match format {
        Format::Text => verdict_page(tune, None, printer.width(), printer.style()),
        Format::Html => report_html(tune),
        Format::Markdown => report_markdown(tune),
        Format::Json => to_json(tune),
        Format::Svg => pairs_svg(tune).ok_or_else(|| {
            Failure::usage(
                format!("{} has no finished pair to draw", tune.name),
                "--format html shows what there is",
            )
        })?,
    })
}

/// Hands the page to the user's browser.
fn show(page: &std::path::Path, printer: &Printer) -> Result<(), Failure> {
    let opened = std::process::Command::new("xdg-open")
        .arg(page)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    if opened.is_ok_and(|status| status.success()) {
        printer.say(&format!("opened {}", page.display()));
        return Ok(());
    }
    Err(Failure::new(
        Exit::Surroundings,
        format!("no browser could be opened here for {}", page.display()),
        Some(
            "open that file in a browser; on another machine copy it there, it needs nothing else"
                .into(),
        ),
    ))
}

//! A reader of pages that is stricter than a browser: it accepts only what we write.

use std::collections::BTreeSet;

/// Elements that may stand in the page; none of them loads or runs anything.
const ELEMENTS: [&str; 50] = [
    "a",
    "b",
    "body",
    "caption",
    "circle",
    "code",
    "dd",
    "desc",
    "details",
    "div",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "footer",
    "g",
    "h1",
    "h2",
    "h3",
    "head",
    "header",
    "html",
    "li",
    "line",
    "main",
    "meta",
    "nav",
    "ol",
    "p",
    "path",
    "polygon",
    "polyline",
    "pre",
    "rect",
    "section",
    "span",
    "style",
    "summary",
    "svg",
    "table",
    "tbody",
    "td",
    "text",
    "th",
    "thead",
    "title",
    "tr",
    "tspan",
    "ul",
    "defs",
];

/// Attributes that load or run something.
const FORBIDDEN: [&str; 8] = [
    "action",
    "background",
    "data",
    "formaction",
    "ping",
    "poster",
    "src",
    "srcdoc",
];

/// Whether all tags close in order, ids and regions have names of their own, and nothing loads or
/// runs anything.
pub(super) fn check(page: &str) -> Result<(), String> {
    skeleton(page).map(|_| ())
}

/// The elements of a page with the names of their attributes, where it is whole.
pub(super) fn skeleton(page: &str) -> Result<Vec<String>, String> {
    let body = page.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    let mut open: Vec<&str> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut labels = BTreeSet::new();
    let mut skeleton = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find('<') {
        if rest[..at].contains('>') && open.last() != Some(&"style") {
            return Err(format!("a bare > in {}", &rest[..at]));
        }
        let end = at + tag_end(&rest[at..])?;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("</{name}> closes another element"));
            }
            continue;
        }
        let (tag, closed) = match tag.strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (tag, false),
        };
        let name = tag.split(' ').next().unwrap_or_default();
        if !ELEMENTS.contains(&name) {
            return Err(format!("<{name}> is not ours"));
        }
        // Only a source without odd characters becomes a link.
        let mut bones = vec![if name == "a" { "span" } else { name }];
        for (attribute, value) in attributes(&tag[name.len()..])? {
            if name != "a" {
                bones.push(attribute);
            }
            match attribute {
                "id" if !ids.insert(value) => return Err(format!("id {value} twice")),
                "aria-label" if !labels.insert(value) => {
                    return Err(format!("two regions named {value}"));
                }
                "href" if !value.starts_with('#') && !value.starts_with("http") => {
                    return Err(format!("a link to {value}"));
                }
                _ if attribute.starts_with("on") || FORBIDDEN.contains(&attribute) => {
                    return Err(format!("attribute {attribute} is not ours"));
                }
                _ => {}
            }
        }
        skeleton.push(bones.join(" "));
        if !closed && name != "meta" && name != "br" {
            open.push(name);
        }
    }
    match open.pop() {
        None => Ok(skeleton),
        Some(name) => Err(format!("<{name}> is never closed")),
    }
}

/// Where the tag ends that the text begins with: a > within quotes is text.
fn tag_end(text: &str) -> Result<usize, String> {
    let mut quoted = false;
    for (at, char) in text.char_indices() {
        match char {
            '"' => quoted = !quoted,
            '>' if !quoted => return Ok(at),
            '<' if at > 0 => return Err("a bare < in a tag".to_owned()),
            _ => {}
        }
    }
    Err("a tag that never ends".to_owned())
}

fn attributes(mut text: &str) -> Result<Vec<(&str, &str)>, String> {
    let mut found = Vec::new();
    loop {
        text = text.trim_start();
        if text.is_empty() {
            return Ok(found);
        }
        if let Some(after) = text.strip_prefix("open") {
            found.push(("open", ""));
            text = after;
            continue;
        }
        let (name, after) = text
            .split_once("=\"")
            .ok_or(format!("odd attribute: {text}"))?;
        let (value, after) = after.split_once('"').ok_or("a value that never ends")?;
        found.push((name, value));
        text = after;
    }
}

#[test]
fn a_break_out_would_be_seen() {
    let page = |body: &str| format!("<!DOCTYPE html><html><body>{body}</body></html>");
    assert_eq!(check(&page("<p class=\"a\">b</p>")), Ok(()));
    for body in [
        "<p>",
        "</p>",
        "<p>a > b</p>",
        "<p>a < b</p>",
        "<script></script>",
        "<p onclick=\"x\"></p>",
        "<p class=\"a\"b\"></p>",
        "<a href=\"javascript:x\"></a>",
        "<p id=\"a\"></p><p id=\"a\"></p>",
    ] {
        assert!(check(&page(body)).is_err(), "{body}");
    }
}

//! A small writer of SVG: elements, attributes, text, and numbers that are the same everywhere.

use std::fmt::Write;

/// An element with its attributes and children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Element(Element),
    Text(String),
}

impl Element {
    /// An empty element; `name` must be a name of SVG's.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: Vec::new(),
            children: Vec::new(),
        }
    }

    /// An attribute with a text value.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    /// An attribute with a number.
    #[must_use]
    pub fn at(self, name: &'static str, value: f64) -> Self {
        self.with(name, coordinate(value))
    }

    /// Text between the tags.
    #[must_use]
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.children.push(Node::Text(text.into()));
        self
    }

    /// A child, after those that are there.
    #[must_use]
    pub fn child(mut self, child: Self) -> Self {
        self.push(child);
        self
    }

    /// The same in place.
    pub fn push(&mut self, child: Self) {
        self.children.push(Node::Element(child));
    }

    /// The element as a document, a line for each element that holds no text.
    #[must_use]
    pub fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0);
        out
    }

    fn write(&self, out: &mut String, depth: usize) {
        let indent = "  ".repeat(depth);
        let _ = write!(out, "{indent}<{}", self.name);
        for (name, value) in &self.attributes {
            let _ = write!(out, " {name}=\"{}\"", escape(value));
        }
        if self.children.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push('>');
        // Blanks beside text would be drawn, so an element that holds text stays on one line.
        let inline = self
            .children
            .iter()
            .any(|node| matches!(node, Node::Text(_)));
        if !inline {
            out.push('\n');
        }
        for node in &self.children {
            match node {
                Node::Text(text) => out.push_str(&escape(text)),
                Node::Element(element) if inline => {
                    let mut text = String::new();
                    element.write(&mut text, 0);
                    out.push_str(text.trim_end());
                }
                Node::Element(element) => element.write(out, depth + 1),
            }
        }
        if !inline {
            out.push_str(&indent);
        }
        let _ = writeln!(out, "</{}>", self.name);
    }
}

/// A coordinate with at most two decimals: a hundredth of a pixel is never seen.
#[must_use]
pub fn coordinate(value: f64) -> String {
    let value = if value.is_finite() { value } else { 0.0 };
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// Text for content and attributes; characters that XML forbids become a replacement mark.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(' '),
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ if char.is_control() => escaped.push('\u{fffd}'),
            _ => escaped.push(char),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{Element, coordinate};
    use proptest::prelude::*;

    #[test]
    fn elements_nest_and_escape() {
        let svg = Element::new("g")
            .with("class", "a\"b")
            .child(Element::new("circle").at("cx", 1.0).at("cy", 2.345))
            .child(Element::new("text").text("x < y & z"));
        assert_eq!(
            svg.render(),
            "<g class=\"a&quot;b\">\n  <circle cx=\"1\" cy=\"2.35\"/>\n  \
             <text>x &lt; y &amp; z</text>\n</g>\n"
        );
    }

    #[test]
    fn coordinates() {
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(10.0), "10");
        assert_eq!(coordinate(f64::NAN), "0");
    }

    proptest! {
        #[test]
        fn no_text_becomes_markup(text in any::<String>()) {
            let svg = Element::new("text").with("id", text.clone()).text(text).render();
            let tags = svg.matches('<').count();
            prop_assert!(tags <= 2 && svg.matches('"').count() == 2, "{}", svg);
        }
    }
}

//! A small writer of HTML: elements always close, and text is always escaped.

use crate::svg;

/// An element with its attributes and children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Html {
    name: &'static str,
    attributes: Vec<(&'static str, String)>,
    children: Vec<Node>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Element(Html),
    Text(String),
    Svg(svg::Element),
    /// Text of ours that is not escaped: the style sheet.
    Style(&'static str),
}

/// Elements that never have content.
const VOID: [&str; 2] = ["br", "meta"];

/// Elements within text: blanks around them would be seen.
const INLINE: [&str; 8] = ["a", "b", "br", "code", "span", "strong", "dfn", "time"];

/// An empty element; `name` must be a name of HTML's.
pub(super) fn el(name: &'static str) -> Html {
    Html {
        name,
        attributes: Vec::new(),
        children: Vec::new(),
    }
}

impl Html {
    pub(super) fn attr(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.attributes.push((name, value.into()));
        self
    }

    pub(super) fn class(self, value: impl Into<String>) -> Self {
        self.attr("class", value)
    }

    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.children.push(Node::Text(text.into()));
        self
    }

    pub(super) fn child(mut self, child: Html) -> Self {
        self.children.push(Node::Element(child));
        self
    }

    pub(super) fn children(mut self, children: impl IntoIterator<Item = Html>) -> Self {
        self.children
            .extend(children.into_iter().map(Node::Element));
        self
    }

    pub(super) fn svg(mut self, svg: svg::Element) -> Self {
        self.children.push(Node::Svg(svg));
        self
    }

    pub(super) fn style(mut self, style: &'static str) -> Self {
        self.children.push(Node::Style(style));
        self
    }

    pub(super) fn render(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push('<');
        out.push_str(self.name);
        for (name, value) in &self.attributes {
            out.push(' ');
            out.push_str(name);
            // What is true by standing there has no value.
            if *name != "open" {
                out.push_str("=\"");
                escape(value, true, out);
                out.push('"');
            }
        }
        out.push('>');
        for node in &self.children {
            match node {
                Node::Element(element) => element.write(out),
                Node::Text(text) => escape(text, false, out),
                Node::Svg(svg) => out.push_str(svg.render().trim_end()),
                Node::Style(style) => out.push_str(style),
            }
        }
        if !VOID.contains(&self.name) {
            out.push_str("</");
            out.push_str(self.name);
            out.push('>');
        }
        // A line for each block, so that two pages can be compared.
        if !INLINE.contains(&self.name) {
            out.push('\n');
        }
    }
}

/// Text for content or for a value in double quotes. What HTML forbids, and what would turn the
/// direction of the text around it, becomes a replacement mark.
fn escape(text: &str, attribute: bool, out: &mut String) {
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' if !attribute => out.push('\n'),
            '\n' | '\r' | '\t' => out.push(' '),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            '\u{fdd0}'..='\u{fdef}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ if char.is_control() => out.push('\u{fffd}'),
            _ => out.push(char),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_close_and_text_is_escaped() {
        let html = el("p")
            .class("a\"b'c<d>\n")
            .text("1 < 2 & \"x\"\u{0}\u{202e}")
            .child(el("br"))
            .child(el("b").text("</p>"));
        assert_eq!(
            html.render(),
            "<p class=\"a&quot;b&#39;c&lt;d&gt; \">1 &lt; 2 &amp; &quot;x&quot;\u{fffd}\u{fffd}\
             <br><b>&lt;/p&gt;</b></p>\n"
        );
    }

    #[test]
    fn an_empty_element_still_closes() {
        assert_eq!(el("td").render(), "<td></td>\n");
        assert_eq!(
            el("meta").attr("charset", "utf-8").render(),
            "<meta charset=\"utf-8\">\n"
        );
    }
}

//! Sentences with values in them.

use std::borrow::Cow;

/// A piece of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part<'a> {
    Text(&'a str),
    /// A value, which the page shows in bold and isolates: its letters may run from right to left.
    Value(Cow<'a, str>),
}

/// A sentence of the table of texts with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence<'a>(pub(crate) Vec<Part<'a>>);

impl<'a> Sentence<'a> {
    /// Puts values in the place of their names: `"by {publisher}"`. A name without a value stays as it is.
    pub(crate) fn new(text: &'a str, values: &[(&str, &'a str)]) -> Self {
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some((before, name, after)) = next(rest) {
            let Some((_, value)) = values.iter().find(|(own, _)| *own == name) else { break };
            parts.extend(Some(Part::Text(before)).filter(|_| !before.is_empty()));
            parts.push(Part::Value(Cow::Borrowed(value)));
            rest = after;
        }
        parts.extend(Some(Part::Text(rest)).filter(|_| !rest.is_empty()));
        Self(parts)
    }

    /// As [`new`](Self::new), with one value that is not set off: it is a claim, which must not look like a fact.
    pub(crate) fn modest(text: &'a str, name: &str, value: &'a str) -> Self {
        let own = Self::new(text, &[(name, value)]);
        let plain = |part| match part {
            Part::Value(Cow::Borrowed(value)) => Part::Text(value),
            part @ (Part::Text(_) | Part::Value(Cow::Owned(_))) => part,
        };
        Self(own.0.into_iter().map(plain).collect())
    }

    /// Returns the sentence as plain text.
    pub(crate) fn plain(&self) -> String {
        let text = |part: &Part<'a>| match part {
            Part::Text(text) => (*text).to_owned(),
            Part::Value(value) => value.to_string(),
        };
        self.0.iter().map(text).collect()
    }
}

/// Splits a text at its first name in braces.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_replace_their_names_and_are_not_read_again() {
        let values = [("client", "A {host}"), ("host", "b.example")];
        let sentence = Sentence::new("{client} goes to {host}.", &values);
        let value = |text| Part::Value(Cow::Borrowed(text));
        assert_eq!(sentence.0, [value("A {host}"), Part::Text(" goes to "), value("b.example"), Part::Text(".")]);
        assert_eq!(sentence.plain(), "A {host} goes to b.example.");
        assert_eq!(Sentence::new("{other} {", &values).plain(), "{other} {");
        assert_eq!(Sentence::new("", &values).0, []);
    }
}

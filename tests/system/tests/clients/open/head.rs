//! The head of an HTTP message, unparsed.

/// The first line, and the header lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    first: String,
    lines: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.split("\r\n");
        let first = lines.next().unwrap().to_owned();
        let lines = lines.filter_map(|line| line.split_once(':'));
        Self { first, lines: lines.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect() }
    }

    /// Method and target of a request.
    pub(crate) fn request_line(&self) -> (String, String) {
        let mut words = self.first.split(' ').map(str::to_owned);
        (words.next().unwrap(), words.next().unwrap())
    }

    /// The status of an answer.
    pub(crate) fn status(&self) -> u16 {
        self.first.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }

    /// The value of the first line with this name, in any case.
    pub(crate) fn value(&self, name: &str) -> Option<&str> {
        self.lines.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The same, with `Connection: close`.
    pub(crate) fn closing(&self) -> Self {
        let mut closing = self.clone();
        closing.lines.retain(|(name, _)| !name.eq_ignore_ascii_case("connection"));
        closing.lines.push(("Connection".to_owned(), "close".to_owned()));
        closing
    }

    /// Removes an attribute from a challenge.
    pub(crate) fn remove_attribute(&mut self, header: &str, attribute: &str) {
        let found = self.lines.iter_mut().filter(|(name, _)| name.eq_ignore_ascii_case(header));
        for (_, value) in found {
            let kept: Vec<_> = value.split(", ").filter(|part| !part.contains(&format!("{attribute}="))).collect();
            *value = kept.join(", ");
        }
    }

    /// The message with this body.
    pub(crate) fn bytes(&self, body: &[u8]) -> Vec<u8> {
        let lines: String = self.lines.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        [format!("{}\r\n{lines}\r\n", self.first).as_bytes(), body].concat()
    }
}

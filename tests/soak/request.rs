//! A request as the load writes it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Method and target, and what goes with them.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    line: String,
    headers: String,
    form: Option<String>,
}

impl Request {
    pub(crate) fn get(target: &str) -> Self {
        Self { line: format!("GET {target} HTTP/1.1"), headers: String::new(), form: None }
    }

    pub(crate) fn post(target: &str, form: &[(&str, &str)]) -> Self {
        let form = Some(serde_urlencoded::to_string(form).unwrap());
        Self { line: format!("POST {target} HTTP/1.1"), headers: String::new(), form }
    }

    pub(crate) fn bearer(self, token: &str) -> Self {
        self.header("Authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn basic(self, id: &str, secret: &str) -> Self {
        self.header("Authorization", &format!("Basic {}", STANDARD.encode(format!("{id}:{secret}"))))
    }

    pub(crate) fn cookies(self, cookies: &str) -> Self {
        if cookies.is_empty() { self } else { self.header("Cookie", cookies) }
    }

    fn header(mut self, name: &str, value: &str) -> Self {
        self.headers += &format!("{name}: {value}\r\n");
        self
    }

    /// The octets on the wire.
    pub(crate) fn octets(&self, host: &str) -> Vec<u8> {
        let Self { line, headers, form } = self;
        let body = form.as_ref().map_or_else(
            || "\r\n".to_owned(),
            |form| {
                let length = form.len();
                format!("Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{form}")
            },
        );
        format!("{line}\r\nHost: {host}\r\n{headers}{body}").into_bytes()
    }
}

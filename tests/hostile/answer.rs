//! Answers as they stand on the wire; what is not well-formed is told in words.

/// One answer; header names in lower case.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Reads all answers of a connection; interim ones are left out.
    pub(crate) fn read_all(mut octets: &[u8]) -> Result<Vec<Self>, String> {
        let mut answers = Vec::new();
        while !octets.is_empty() {
            let end = octets.windows(4).position(|window| window == b"\r\n\r\n").ok_or("a head without an end")?;
            let mut answer = Self::head(&octets[..end])?;
            octets = &octets[end + 4..];
            if answer.status == 100 {
                continue;
            }
            let length = answer.header("content-length").ok_or("no Content-Length")?;
            let length: usize = length.parse().map_err(|_| format!("a length of {length}"))?;
            let (body, rest) = octets.split_at_checked(length).ok_or("a body that breaks off")?;
            answer.body = body.to_vec();
            octets = rest;
            answers.push(answer);
        }
        Ok(answers)
    }

    /// The first value of that name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn head(octets: &[u8]) -> Result<Self, String> {
        let mut lines = str::from_utf8(octets).map_err(|_| "a head that is not UTF-8")?.split("\r\n");
        let first = lines.next().unwrap_or_default();
        let version = first.strip_prefix("HTTP/1.1 ").or_else(|| first.strip_prefix("HTTP/1.0 "));
        let status = version.and_then(|rest| rest.get(..3)?.parse().ok());
        let status = status.ok_or_else(|| format!("a status line {first:?}"))?;
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(':').ok_or_else(|| format!("a header line {line:?}"))?;
            let is_name = name.bytes().all(|octet| octet.is_ascii_alphanumeric() || octet == b'-');
            let is_clean = value.bytes().all(|octet| (b' '..=b'~').contains(&octet));
            match is_name && is_clean {
                true => Ok((name.to_lowercase(), value.trim().to_owned())),
                false => Err(format!("a header line {line:?}")),
            }
        });
        Ok(Self { status, headers: headers.collect::<Result<_, String>>()?, body: Vec::new() })
    }
}

//! The challenge of a resource [RFC 6750 section 3].

/// Writes the value of `WWW-Authenticate`: the scheme, then each attribute that has a value, once and quoted.
///
/// Values are free of quotes, backslashes and control characters.
pub(crate) fn bearer_challenge(attributes: &[(&str, &str)]) -> String {
    let mut challenge = String::from("Bearer");
    let mut separator = ' ';
    // Some clients read an empty value as two quotes.
    for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
        challenge.push(separator);
        if separator == ',' {
            challenge.push(' ');
        }
        separator = ',';
        for part in [*name, "=\"", value, "\""] {
            challenge.push_str(part);
        }
    }
    challenge
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_without_a_value_are_left_out() {
        assert_eq!(
            bearer_challenge(&[("realm", "r"), ("scope", ""), ("error", "e")]),
            r#"Bearer realm="r", error="e""#
        );
        assert_eq!(bearer_challenge(&[("scope", "a b")]), r#"Bearer scope="a b""#);
        assert_eq!(bearer_challenge(&[("scope", "")]), "Bearer");
    }
}

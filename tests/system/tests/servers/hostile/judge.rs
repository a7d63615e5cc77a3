//! What holds for every answer, whatever the request.

use url::Url;

use crate::hostile::values::MARK;
use support_servers::http::Answer;

/// Names the first rule that an answer breaks.
pub(crate) fn judge(answer: &Answer, base: &Url, redirect_uri: &str) -> Result<(), String> {
    let broken = |rule: &str| Err(format!("{rule}: {} {:?} {}", answer.status, answer.headers, answer.text()));
    if answer.status >= 500 {
        return broken("the server blames itself");
    }
    let body = without_return_to(&answer.text().to_lowercase());
    let body = without(&body, "<input id=\"user-code\" name=\"user_code\" value=\"");
    if body.contains(MARK) || body.contains("<script") || body.contains("onerror=") {
        return broken("the body has something of the request");
    }
    for (name, value) in &answer.headers {
        let is_good = match name.as_str() {
            "location" => leads_home(value, base, redirect_uri),
            "set-cookie" => is_browser(value),
            "content-type" => TYPES.contains(&value.as_str()),
            name => HEADERS.contains(&name) && !value.to_lowercase().contains(MARK),
        };
        if !is_good {
            return broken(&format!("the header {name}"));
        }
    }
    if answer.body.is_empty() || answer.header("content-type").is_some() {
        Ok(())
    } else {
        broken("a body without a type")
    }
}

/// A browser that follows it comes to the registered origin, with nothing but escaped values added.
fn leads_home(location: &str, base: &Url, redirect_uri: &str) -> bool {
    let Ok(there) = base.join(location) else { return false };
    let is_plain = there.username().is_empty() && there.password().is_none() && there.fragment().is_none();
    let escaped = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?=&%+@".contains(&byte);
    let home = Url::parse(redirect_uri).unwrap();
    let same = match home.host_str() {
        // The port of a loopback address is the client's own choice.
        Some("127.0.0.1") => (there.scheme(), there.host()) == (home.scheme(), home.host()),
        _ => there.origin() == home.origin(),
    };
    // A client's own path and its `state` are all that may come back.
    let own = ["error", "error_description", "error_uri", "iss", "code"];
    let reflects =
        there.query_pairs().any(|(name, value)| own.contains(&&*name) && value.to_lowercase().contains(MARK));
    is_plain && same && !reflects && location.bytes().all(escaped)
}

/// A body without the field that holds the address of the request.
fn without_return_to(body: &str) -> String {
    without(body, "<input type=\"hidden\" name=\"return_to\" value=\"")
}

/// A body without the value of a field, which ends at the next quotation mark.
fn without(body: &str, field: &str) -> String {
    let Some((before, rest)) = body.split_once(field) else { return body.to_owned() };
    format!("{before}{}", rest.split_once('"').map_or(rest, |(_, after)| after))
}

fn is_browser(cookie: &str) -> bool {
    let cookie = cookie.strip_prefix("grantor-").and_then(|rest| rest.strip_suffix("; Path=/; HttpOnly; SameSite=Lax"));
    let Some((issuer, value)) = cookie.and_then(|cookie| cookie.split_once('=')) else { return false };
    let is_digest = issuer.len() == 8 && issuer.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_digest && value.len() == 32 && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

const HEADERS: [&str; 14] = [
    "allow",
    "cache-control",
    "connection",
    "content-length",
    "content-security-policy",
    "date",
    "document-policy",
    "pragma",
    "referrer-policy",
    "retry-after",
    "upgrade",
    "www-authenticate",
    "x-content-type-options",
    "x-frame-options",
];
const TYPES: [&str; 4] =
    ["application/json", "application/json;charset=UTF-8", "text/html;charset=UTF-8", "text/html; charset=utf-8"];

#[test]
fn every_rule_is_noticed_when_it_is_broken() {
    let base = Url::parse("http://127.0.0.1:8080").unwrap();
    let judged = |bytes: &str, redirect_uri: &str| {
        let answers = Answer::read_all(bytes.as_bytes(), false)?;
        answers.iter().try_for_each(|answer| judge(answer, &base, redirect_uri))
    };
    let answer = |status: u16, lines: &str, body: &str| {
        format!("HTTP/1.1 {status} X\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let html = |body: &str| answer(200, "Content-Type: text/html;charset=UTF-8\r\n", body);
    let to = |location: &str| answer(302, &format!("Location: {location}\r\n"), "");
    let field = "<input type=\"hidden\" name=\"return_to\" value=\"/?state=h0st1le\">";
    let good =
        [html("a page"), html(field), answer(404, "", ""), to("https://app.example.com/callback?state=%22h0st1le")];
    let bad = [
        answer(500, "", ""),
        answer(200, "", "a page without a type"),
        html("h0st1le"),
        html("<input type=\"hidden\" name=\"return_to\" value=\"/?state=\"h0st1le\">"),
        html("<Script src=x>"),
        html("<img onerror=x>"),
        answer(200, "X-Hostile: x\r\n", ""),
        answer(200, "Allow: h0st1le\r\n", ""),
        answer(200, "Set-Cookie: grantor-0a1b2c3d=x\r\n", ""),
        answer(200, "Allow: a\nb\r\n", ""),
        answer(200, "not a line\r\n", ""),
        to("/"),
        to("//h0st1le.example"),
        to("http://app.example.com/callback"),
        to("https://app.example.com:444/callback"),
        to("https://user@app.example.com/callback"),
        to("https://app.example.com/callback#x"),
        to("https://app.example.com/callback?state=<h0st1le>"),
        to("https://app.example.com\\.h0st1le.example/"),
        "HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\na".to_owned(),
        "HTTP/1.1 200 X\r\n\r\n".to_owned(),
        "HTTP/1.1 200 X\r\n".to_owned(),
    ];
    let home = "https://app.example.com/callback";
    assert!(good.iter().all(|bytes| judged(bytes, home).is_ok()), "{good:?}");
    for bytes in bad {
        assert!(judged(&bytes, home).is_err(), "{bytes}");
    }
    let loopback = "http://127.0.0.1/callback";
    assert!(judged(&to("http://127.0.0.1:5000/callback"), loopback).is_ok());
    assert!(judged(&to("http://127.0.0.1@h0st1le.example/callback"), loopback).is_err());
    assert!(judged(&to("http://127.0.0.1.h0st1le.example/callback"), loopback).is_err());
}

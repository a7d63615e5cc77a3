//! Misleading addresses and texts.

use serde_json::json;

use super::{registration, with};
use crate::hostile::case::Case;

/// Redirect URIs that would go to another party, or run code.
pub(super) fn redirect_uris() -> Vec<Case> {
    let uris = [
        "h0st1le",
        "",
        " ",
        "/h0st1le",
        "//h0st1le.example/",
        "javascript:h0st1le()",
        "JaVaScRiPt:h0st1le()",
        "java\tscript:h0st1le()",
        " javascript:h0st1le()",
        "data:text/html,<script>h0st1le()</script>",
        "vbscript:h0st1le",
        "file:///etc/h0st1le",
        "blob:https://h0st1le.example/x",
        "about:h0st1le",
        "ftp://h0st1le.example/",
        "http://h0st1le.example/",
        "http://127.0.0.1@h0st1le.example/",
        "https://user:h0st1le@app.example.com/",
        "https://app.example.com/#h0st1le",
        "https://app.example.com/#",
        "https://app.example.com\\@h0st1le.example/",
        "https://app.example.com/\r\nX-Hostile: h0st1le",
        "https://app.example.com/\u{0}h0st1le",
        "https://*.h0st1le.example/",
        "https://h0st1le.example:99999/",
        "https://[h0st1le]/",
        "https://h0st1le\u{3002}example/",
        "https://h0st1le.example/\u{202e}",
        "urn:ietf:wg:oauth:2.0:oob",
    ];
    let mut cases = Vec::new();
    for uri in uris {
        cases.push(registration(&with("redirect_uris", json!([uri])), &[400]));
        // Beside a valid one, a URI that a browser neither runs nor opens is dropped.
        cases.push(registration(&with("redirect_uris", json!(["https://app.example.com/cb", uri])), &[201, 400]));
    }
    let many =
        |count: usize| (0..count).map(|number| json!(format!("https://app.example.com/{number}"))).collect::<Vec<_>>();
    cases.extend([10, 11, 400].map(|count| {
        registration(&with("redirect_uris", json!(many(count))), if count == 10 { &[201] } else { &[400] })
    }));
    let long = format!("https://app.example.com/{}", "h0st1le".repeat(1_000));
    cases.push(registration(&with("redirect_uris", json!([long])), &[400]));
    cases
}

/// Texts that users would read, and links that pages would show.
pub(super) fn texts() -> Vec<Case> {
    let texts = [
        "\u{202e}h0st1le",
        "h0st1le\u{200b}",
        "h0st1le\u{0}",
        "h0st1le\nh0st1le",
        "\t",
        " ",
        "\u{feff}h0st1le",
        "h0st1le\u{ad}",
        "\u{3164}",
        "h0st1le\u{85}h0st1le",
        "h0st1le\u{2028}h0st1le",
        "\u{fffe}h0st1le",
    ];
    let mut cases = Vec::new();
    for text in texts {
        cases.push(registration(&with("client_name", json!(text)), &[400]));
        // What few people read is left out.
        for name in ["software_id", "software_version"] {
            cases.push(registration(&with(name, json!(text)), &[201]));
        }
        cases.push(registration(&with("contacts", json!([text])), &[201]));
    }
    for name in ["client_name", "software_id", "software_version"] {
        cases.push(registration(&with(name, json!("x".repeat(700))), &[201]));
    }
    cases.push(registration(&with("contacts", json!(vec!["x"; 11])), &[201]));
    for link in [
        "h0st1le",
        "/h0st1le",
        "javascript:h0st1le()",
        "data:text/html,<script>h0st1le()</script>",
        "file:///h0st1le",
        "https://u:h0st1le@app.example.com/",
        "https://app.example.com/\u{202e}h0st1le",
        "https://app.example.com/\r\nh0st1le",
        "https://h0st1le\u{3002}example/",
        "\\\\h0st1le\\x",
        "https:h0st1le",
    ] {
        for name in ["client_uri", "logo_uri", "tos_uri", "policy_uri"] {
            // What a browser runs is refused; any other link that leads nowhere is left out.
            let status = if link.starts_with("javascript:") { 400 } else { 201 };
            cases.push(registration(&with(name, json!(link)), &[status]));
        }
    }
    cases
}

//! A whole request to a resource that requires an access token.

use grantor::scope::{Permission, Resource};
use grantor::wire::Response;

use super::answer;
use super::request::{self, Written};
use super::stage::{at_once, play};

pub(super) fn check(input: &[u8]) -> String {
    play(request::profile(input), |stage| {
        let written = Written::read(input, stage);
        let before = stage.contents();
        let found = at_once(stage.world.server.resource().authenticate(&written.request()));
        assert!(stage.contents() == before, "a check changes nothing");
        let token = match found {
            Ok(token) => token,
            Err(error) => return refused(&error.into_response()),
        };
        let access = stage.prop("access");
        assert!(presented(&written).any(|own| own == access.as_bytes() || own == stage.prop("foreign").as_bytes()));
        assert_eq!(token.subject(), Some(&stage.world.alice));
        // The scope that is needed is the resource's own, and comes back in the challenge.
        let scope = if written.in_query("scope").is_empty() { "repo-code" } else { "repo-delete" };
        let required = stage.world.server.resource().require(&token, scope, Permission::Read, Resource::Public("a/b"));
        match required {
            Ok(()) => "permitted".to_owned(),
            Err(error) => {
                let response = error.into_response();
                answer::check(&response, &[403]);
                "open".to_owned()
            }
        }
    })
}

fn refused(response: &Response) -> String {
    answer::check(response, &[400, 401]);
    answer::is_not_stored(response);
    assert_eq!(response.body(), b"");
    let challenge = response.header("WWW-Authenticate").unwrap();
    assert!(challenge.starts_with("Bearer realm=\"https://auth.example\""), "{challenge}");
    if let Some((_, rest)) = challenge.split_once("error_description=\"") {
        answer::is_fixed_sentence(rest.trim_end_matches('"'));
    }
    response.status().to_string()
}

/// The texts after a scheme, and the token in the form.
fn presented(written: &Written) -> impl Iterator<Item = Vec<u8>> {
    let headers = written.headers("Authorization").filter_map(|value| {
        let (scheme, token) = value.trim_ascii().split_at_checked("bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"bearer ").then(|| token.trim_ascii().to_vec())
    });
    headers.chain(written.in_body("access_token"))
}

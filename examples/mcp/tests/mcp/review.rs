//! Clients that await a review, and the administrator's page.

use support_servers::http::{Answer, Page, Request, value_after};
use url::Url;

use crate::{Client, Server, said, text};

/// Signs the administrator in; returns the cookie.
pub(crate) async fn sign_in(server: &Server) -> String {
    let form = [("user", server.about("username")), ("password", server.about("password"))];
    let answer = Request::to("POST", server.url("/review/sign-in")).fields(&form).send().await;
    assert_eq!(answer.status, 303, "{answer:?}");
    answer.cookies()
}

pub(crate) async fn list(server: &Server, cookies: &str) -> String {
    Request::to("GET", server.about("review_url")).cookies(cookies).send().await.text()
}

pub(crate) async fn decide(server: &Server, cookies: &str, form: &[(&str, &str)]) -> Answer {
    Request::to("POST", server.url("/review/decide")).cookies(cookies).fields(form).send().await
}

async fn ask(server: &Server, client: &Client) -> Answer {
    Request::to("GET", server.question(client, &[])).send().await
}

/// 7591-3.2.1-02
#[tokio::test]
async fn a_client_waits_until_it_is_approved() {
    let server = Server::start(&["--review"]);
    let client = server.register().await;
    let waiting = ask(&server, &client).await;
    assert_eq!(waiting.status, 400);
    assert!(waiting.text().contains("awaits review"), "{waiting:?}");

    let cookies = sign_in(&server).await;
    let page = list(&server, &cookies).await;
    assert!(page.contains(&client.id) && page.contains("127.0.0.1:9/callback"), "{page}");
    let form_token = value_after(&page, "name=\"form_token\"");
    let version = value_after(&page, "name=\"version\"");
    let own = [("form_token", form_token), ("id", client.id.as_str()), ("version", version), ("decision", "approve")];
    // An approval needs a website, and the client gave none.
    let refused = decide(&server, &cookies, &[&own[..], &[("name", "Command Line"), ("website", "")]].concat()).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    let words = [("name", "Command Line"), ("website", "https://client.example/")];
    let approved = decide(&server, &cookies, &[&own[..], &words].concat()).await;
    assert_eq!(approved.status, 303, "{approved:?}");
    assert!(list(&server, &cookies).await.contains("Nothing awaits review."));

    let page = Page::open(&server.question(&client, &[]), "").await.html;
    assert!(page.contains("<h1><strong><bdi>Command Line</bdi></strong> wants to access"), "{page}");
    assert!(!page.contains("has reviewed"), "{page}");
    let tokens = server.tokens(&client, &[]).await;
    assert!(
        said(&server.call(text(&tokens, "access_token"), "list_notes", serde_json::json!({})).await).contains("alice")
    );
}

#[tokio::test]
async fn a_rejected_client_stays_out() {
    let server = Server::start(&["--review"]);
    let client = server.register().await;
    let cookies = sign_in(&server).await;
    let page = list(&server, &cookies).await;
    let form_token = value_after(&page, "name=\"form_token\"");
    let version = value_after(&page, "name=\"version\"");
    let form = [("form_token", form_token), ("id", client.id.as_str()), ("version", version), ("decision", "reject")];
    assert_eq!(decide(&server, &cookies, &form).await.status, 303);
    assert_eq!(ask(&server, &client).await.status, 400);
    assert_eq!(decide(&server, &cookies, &form).await.status, 409, "it was decided already");
}

#[tokio::test]
async fn only_the_administrator_decides_and_only_from_the_page() {
    let server = Server::start(&["--review"]);
    let client = server.register().await;
    for password in ["", "guess", &server.about("password")[1..]] {
        let form = [("user", server.about("username")), ("password", password)];
        let answer = Request::to("POST", server.url("/review/sign-in")).fields(&form).send().await;
        assert_eq!((answer.status, answer.header("set-cookie")), (401, None), "{password}");
    }
    let page = list(&server, "").await;
    assert!(!page.contains(&client.id) && page.contains("Sign in"), "{page}");
    let form = [("id", client.id.as_str()), ("version", "1"), ("decision", "reject")];
    let signed_out = decide(&server, "review=0", &form).await;
    assert_eq!(signed_out.location(server.about("issuer")), Url::parse(server.about("review_url")).unwrap());
    let cookies = sign_in(&server).await;
    assert_eq!(decide(&server, &cookies, &form).await.status, 403, "a form without the token of the session");
    let other = [&form[..], &[("form_token", "0")]].concat();
    assert_eq!(decide(&server, &cookies, &other).await.status, 403);
    assert!(list(&server, &cookies).await.contains(&client.id), "nothing was decided");
    // A later sign-in ends this one.
    sign_in(&server).await;
    assert!(!list(&server, &cookies).await.contains(&client.id));
}

#[tokio::test]
async fn without_a_review_there_is_no_such_page() {
    let server = Server::start(&[]);
    assert_eq!(Request::to("GET", server.url("/review")).send().await.status, 404);
}

//! Which requests the library's throttle slows down here.

use reqwest::StatusCode;

use crate::http;
use crate::started::Example;

#[tokio::test]
async fn the_loopback_is_slowed_down_only_if_it_is_told() {
    for (options, expected) in
        [(&["--throttle"][..], StatusCode::TOO_MANY_REQUESTS), (&[][..], StatusCode::UNAUTHORIZED)]
    {
        let platform = Example::platform_with("throttle", options);
        let form = [("client_id", platform.about("client_id")), ("client_secret", "wrong"), ("token", "x")];
        let mut status = StatusCode::OK;
        for _ in 0..50 {
            let request = http().post(platform.url("/oauth2/introspect")).form(&form);
            status = request.send().await.unwrap().status();
        }
        assert_eq!(status, expected, "{options:?}");
    }
}

//! Which requests the library's throttle slows down here.

use crate::start_with;
use support_servers::http::Request;

#[tokio::test]
async fn the_loopback_is_slowed_down_only_if_it_is_told() {
    for (options, expected) in [(&["--throttle"][..], 429), (&[][..], 401)] {
        let platform = start_with("throttle", options);
        let form = [("client_id", platform.about("client_id")), ("client_secret", "wrong"), ("token", "x")];
        let mut status = 200;
        for _ in 0..50 {
            let request = Request::to("POST", platform.url("/oauth2/introspect")).fields(&form);
            status = request.send().await.status;
        }
        assert_eq!(status, expected, "{options:?}");
    }
}

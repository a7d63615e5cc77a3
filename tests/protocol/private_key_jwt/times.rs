//! When the assertion is valid.

use serde_json::{Value, json};

use super::{Scene, start};

/// An assertion with these times, relative to the start.
fn at(scene: &Scene, times: &[(&str, i64)]) -> String {
    let claims =
        times.iter().map(|(name, after)| ((*name).to_owned(), json!(start().checked_add_signed(*after).unwrap())));
    scene.changed(|_, own| {
        super::set(own, &json!({"iat": null, "nbf": null}));
        super::set(own, &Value::Object(claims.collect()));
    })
}

async fn accepted(scene: &Scene, cases: &[(&[(&str, i64)], bool)]) {
    for (times, is_accepted) in cases {
        assert_eq!(scene.accepts(&at(scene, times)).await, *is_accepted, "{times:?}");
    }
}

/// 7523-3-05
#[tokio::test]
async fn an_assertion_ends_in_time() {
    for (scene, longest) in [(Scene::fapi().await, 600), (Scene::new().await, 3600)] {
        let cases: [(&[(&str, i64)], bool); 8] = [
            (&[("exp", 60)], true),
            (&[("exp", 0)], true),
            (&[("exp", -29)], true),
            (&[("exp", -30)], false),
            (&[("exp", -300)], false),
            (&[("exp", longest + 30)], true),
            (&[("exp", longest + 31)], false),
            (&[], true),
        ];
        accepted(&scene, &cases).await;
        assert!(!scene.accepts(&scene.claiming(json!({"exp": null}))).await);
    }
}

/// 7523-3-06, FAPI-5.3.2.1-13
#[tokio::test]
async fn clocks_may_differ_within_the_skew() {
    let scene = Scene::new().await;
    for name in ["iat", "nbf"] {
        for (ahead, is_accepted) in
            [(0, true), (8, true), (10, true), (30, true), (31, false), (61, false), (62, false)]
        {
            assert_eq!(scene.accepts(&at(&scene, &[(name, ahead), ("exp", 120)])).await, is_accepted, "{name} {ahead}");
        }
        let cases: [(&[(&str, i64)], bool); 3] = [
            (&[(name, 20), ("exp", 20)], false),
            (&[(name, 20), ("exp", 19)], false),
            (&[(name, 20), ("exp", 21)], true),
        ];
        accepted(&scene, &cases).await;
    }
    let cases: [(&[(&str, i64)], bool); 4] = [
        (&[("iat", -3600), ("exp", 60)], true),
        (&[("iat", -3601), ("exp", 60)], false),
        (&[("iat", -7200), ("exp", 60)], false),
        (&[("nbf", -7200), ("exp", 60)], true),
    ];
    accepted(&scene, &cases).await;
}

/// 7523-3-06
#[tokio::test]
async fn the_skew_is_a_setting() {
    for (skew, ahead, is_accepted) in [(0, 0, true), (0, 1, false), (60, 60, true), (60, 61, false), (10, 10, true)] {
        let scene =
            Scene::with(|config| config.client_authentication.clock_skew = std::time::Duration::from_secs(skew)).await;
        let ahead_by = at(&scene, &[("iat", ahead), ("nbf", ahead), ("exp", 120)]);
        assert_eq!(scene.accepts(&ahead_by).await, is_accepted, "{skew} {ahead}");
        let skew = i64::try_from(skew).unwrap();
        assert!(!scene.accepts(&at(&scene, &[("exp", -skew)])).await);
        assert!(skew == 0 || scene.accepts(&at(&scene, &[("exp", 1 - skew)])).await);
    }
}

/// 7519-4.1-01
#[tokio::test]
async fn times_are_numbers() {
    let scene = Scene::new().await;
    let seconds = start() + 60;
    for exp in
        [json!("1999999999"), json!(-1), json!(true), json!([seconds]), json!({}), json!(9_007_199_254_740_993_u64)]
    {
        assert!(!scene.accepts(&scene.claiming(json!({"exp": exp}))).await, "{exp}");
    }
    for name in ["iat", "nbf"] {
        assert!(!scene.accepts(&scene.claiming(json!({name: "1"}))).await);
        assert!(!scene.accepts(&scene.claiming(json!({name: -1}))).await);
    }
    assert!(scene.accepts(&scene.claiming(json!({"exp": seconds}))).await);
}

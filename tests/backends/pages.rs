//! The pages of the dashboard, as a browser asks for them.

use reqwest::Method;
use serde_json::{Value as Json, json};

use crate::api::{Answer, Api, run, send, with};
use crate::support::harness::Context;

const HOSTILE: &str = "<script>alert(1)</script>\"'&😀 \u{5d0}";

/// A run of the series with names that would break a page which took them for markup.
fn hostile(number: u64) -> Json {
    let value = if number < 12 { 1_000_000 } else { 1_300_000 };
    with(
        run(number),
        json!({
            "branch": HOSTILE,
            "repo": HOSTILE,
            "subject": format!("{HOSTILE} subject"),
            "metrics": [{"metric_key": HOSTILE, "dim_key": HOSTILE, "value": value + number}],
        }),
    )
}

fn is_guarded(answer: &Answer) {
    let policy = answer.header("content-security-policy");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(
        !policy.contains("unsafe") && !policy.contains("http"),
        "{policy}"
    );
    assert_eq!(answer.header("x-content-type-options"), "nosniff");
}

/// A page that holds no name as markup, no style and script of its own, and no other origin.
fn is_clean(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    is_guarded(answer);
    for forbidden in [
        "<script>",
        "alert(1)</script>",
        " style=",
        "<style",
        " onclick",
        "href=\"http",
        "src=\"http",
    ] {
        assert!(
            !answer.text.contains(forbidden),
            "{forbidden}: {}",
            answer.text
        );
    }
}

pub(crate) async fn show_hostile_names_as_text(context: &Context) {
    let api = Api::start_with(context, &["--public-read"]).await;
    let empty = api.get("/").await;
    is_clean(&empty);
    assert!(empty.text.contains("No run is stored yet"));
    let mut last = 0;
    for number in 1..24 {
        last = api.create(&hostile(number)).await;
    }
    let metric = [
        ("workload", "perf"),
        ("branch", HOSTILE),
        ("arch", "amd64"),
        ("distro", "trixie"),
        ("metric", HOSTILE),
        ("dim", HOSTILE),
    ];
    let overview = api.get("/").await;
    let changes = api.get("/changes").await;
    let metric_page = api.query("/metric", &metric).await;
    let run = api.get(&format!("/run/{last}")).await;
    let sides = [("base", "run:1"), ("head", &format!("run:{last}"))];
    let compare = api.query("/compare", &sides).await;
    for page in [&overview, &changes, &metric_page, &run, &compare] {
        is_clean(page);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        assert!(
            page.text.contains("&#60;script&#62;alert(1)"),
            "{}",
            page.text
        );
    }
    // The step of 30 % is what moved, on every page that tells of it.
    for page in [&overview, &changes, &metric_page] {
        assert!(page.text.contains("+30.0 %"), "{}", page.text);
    }
    assert!(compare.text.contains("1.00 M") && compare.text.contains("1.30 M"));
    for path in ["/chart.svg", "/badge.svg"] {
        let picture = api.query(path, &metric).await;
        is_clean(&picture);
        assert_eq!(
            picture.header("content-type"),
            "image/svg+xml; charset=utf-8"
        );
        assert!(picture.text.starts_with("<svg xmlns=") && picture.text.ends_with("</svg>"));
    }
}

pub(crate) async fn are_made_again_only_when_something_changed(context: &Context) {
    let api = Api::start_with(context, &["--public-read"]).await;
    for number in 1..4 {
        api.create(&run(number)).await;
    }
    let metric = "workload=perf&branch=main&arch=amd64&distro=trixie&metric=callgrind.ir";
    let chart = format!("/chart.svg?{metric}&width=400");
    let paths = ["/", &chart, "/changes", "/run/1"];
    for path in paths {
        let first = api.get(path).await;
        let tag = first.header("etag").to_owned();
        let again = api.request(Method::GET, path).header("if-none-match", &tag);
        let again = send(again).await;
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        assert_eq!(again.header("etag"), tag);
        is_guarded(&again);
    }
    assert!(
        api.get(&chart)
            .await
            .header("cache-control")
            .contains("max-age=60")
    );
    let before = api.get(&chart).await;
    let id = api.create(&run(9)).await;
    let after = api.get(&chart).await;
    assert_ne!(before.header("etag"), after.header("etag"));
    let body = json!({"reason": "a wrong machine"});
    let void = api.service.token("runs:void").await;
    let voided = api.anonymous(Method::POST, &format!("/v1/runs/{id}/void"));
    let voided = send(voided.bearer_auth(void).json(&body)).await;
    assert!(voided.status < 300, "{}", voided.text);
    assert_eq!(api.get(&chart).await.text, before.text);
    let run = api.get(&format!("/run/{id}")).await;
    assert!(run.text.contains("a wrong machine"), "{}", run.text);
}

pub(crate) async fn tell_what_does_not_fit_an_address(context: &Context) {
    let api = Api::start_with(context, &["--public-read"]).await;
    for (path, status, told) in [
        ("/metric", 400, "is needed"),
        ("/?page=0", 400, "must be a whole number from 1"),
        ("/?colour=red", 400, "is not a parameter"),
        ("/changes?since=yesterday", 400, "RFC 3339"),
        ("/compare?base=x&head=y", 400, "must be a commit"),
        ("/run/999", 404, "there is no run"),
        ("/run/x", 404, "there is no run"),
    ] {
        let answer = api.get(path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert!(answer.text.contains(told), "{path}: {}", answer.text);
        assert_eq!(answer.header("content-type"), "text/html; charset=utf-8");
        is_guarded(&answer);
    }
    // A form sends the fields that nobody filled in.
    is_clean(&api.get("/?find=&repo=&workload=").await);
    is_clean(&api.get("/changes?since=&find=").await);
    for path in ["/chart.svg?width=9", "/assets/none.css"] {
        assert!(api.get(path).await.status >= 400);
    }
    for name in ["style.css", "page.js", "icon.svg"] {
        is_guarded(&api.get(&format!("/assets/{name}")).await);
    }
}

pub(crate) async fn take_a_token_from_a_cookie_that_is_good_for_nothing_else(context: &Context) {
    let api = Api::start(context).await;
    let id = api.create(&run(1)).await;
    let asked = send(api.anonymous(Method::GET, "/changes")).await;
    assert!(asked.text.contains("<h1>Sign in</h1>"), "{}", asked.text);
    assert!(asked.text.contains("value=\"/changes\""), "{}", asked.text);
    let picture = send(api.anonymous(Method::GET, "/chart.svg?a=b")).await;
    picture.problem(401, "unauthorized");

    let sign_in = async |token: &str, site: &str| {
        let form = url::form_urlencoded::Serializer::new(String::new())
            .append_pair("next", "//evil.example/")
            .append_pair("token", token)
            .finish();
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .unwrap();
        let request = client
            .post(format!("{}/sign-in", api.service.url()))
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", site)
            .header("x-forwarded-proto", "https")
            .body(form);
        send(request).await
    };
    let writer = api.service.token("runs:write").await;
    for (token, told) in [("nonsense", "not accepted"), (&writer, "runs:read")] {
        let answer = sign_in(token, "same-origin").await;
        assert_eq!(answer.status, 401);
        assert!(answer.text.contains(told), "{}", answer.text);
        assert_eq!(answer.header("set-cookie"), "");
    }
    assert_eq!(sign_in(&api.token, "cross-site").await.status, 403);
    let answer = sign_in(&api.token, "same-origin").await;
    assert_eq!((answer.status, answer.header("location")), (303, "/"));
    let cookie = answer.header("set-cookie").to_owned();
    for part in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    let with_cookie = |method, path: &str| api.anonymous(method, path).header("cookie", cookie);
    let page = send(with_cookie(Method::GET, "/")).await;
    assert!(page.text.contains("callgrind.ir") && page.text.contains("Sign out"));
    for path in ["/v1/runs", "/v1/series", &format!("/v1/runs/{id}")] {
        send(with_cookie(Method::GET, path))
            .await
            .problem(401, "unauthorized");
    }
    send(with_cookie(Method::POST, "/v1/runs").json(&run(2)))
        .await
        .problem(401, "unauthorized");
    let out = send(with_cookie(Method::POST, "/sign-out")).await;
    assert!(out.text.contains("<h1>Sign in</h1>"), "{}", out.text);
    let wrong = api
        .anonymous(Method::GET, "/")
        .header("cookie", "perf_tracking_pages=old");
    assert!(send(wrong).await.text.contains("no longer good"));
}

//! Servers, networks and proxies that do not do what they should.

use std::time::{Duration, Instant};

use crate::fake::{Fake, Reply};
use crate::shell::{Left, RUN, Shell};
use crate::support::ports;

/// Shaped as a token, so that whatever hides tokens has to hide it.
const TOKEN: &str = "eyJhbGciOiJIUzI1NiJ9.c2VjcmV0LWNsYWltcw.c2VjcmV0LXNpZ25hdHVyZQ";

const CREATED: &str = "created run 17: perf on main, amd64, trixie at 0123456789ab\n";

const BUSY: &str = r#"{"type":"database-unreachable","title":"The database cannot be reached","status":503,"detail":"nothing was stored; try again"}"#;

fn shell(fake: &Fake) -> Shell {
    Shell::at(&fake.url).token(TOKEN)
}

/// Uploads the sample to `fake` once.
async fn upload(fake: &Fake) -> Left {
    shell(fake).upload(&[], RUN).await
}

#[tokio::test]
async fn an_upload_waits_as_long_as_it_is_asked_to_and_ends_stored() {
    let headers = ["Content-Type: application/problem+json", "Retry-After: 1"];
    let busy = Reply::new("503 Service Unavailable", &headers, BUSY);
    let fake = Fake::start(vec![busy.clone(), busy, Reply::created()]).await;
    let started = Instant::now();
    let left = shell(&fake).upload(&["--retry-for=1m"], RUN).await;
    let note = "503 The database cannot be reached: nothing was stored; try again; trying again in 1.0 s\n";
    left.is(0, CREATED, &format!("{note}{note}"));
    assert!(started.elapsed() >= Duration::from_secs(2));
    let requests = fake.requests();
    assert_eq!(requests.len(), 3);
    let bodies: Vec<&str> = requests
        .iter()
        .map(|request| request.split_once("\r\n\r\n").unwrap().1)
        .collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "{bodies:?}");
}

#[tokio::test]
async fn a_wait_that_is_too_long_is_not_begun() {
    let headers = ["Content-Type: application/problem+json", "Retry-After: 120"];
    let busy = Reply::new("503 Service Unavailable", &headers, BUSY);
    let fake = Fake::start(vec![busy]).await;
    let left = shell(&fake).upload(&["--retry-for=1m"], RUN).await;
    let url = &fake.url;
    left.is(
        2,
        "",
        &format!("error: {url}/v1/runs: 503 The database cannot be reached: nothing was stored; try again\n"),
    );
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "the binary goes by the real clock"
)]
async fn a_date_to_come_back_at_is_understood() {
    let date = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(7200));
    let header = format!("Retry-After: {date}");
    let busy = Reply::new("429 Too Many Requests", &[&header], "slower");
    let fake = Fake::start(vec![busy]).await;
    let left = shell(&fake).upload(&["--retry-for=1m"], RUN).await;
    assert_eq!(left.code, 2);
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_answer_is_made_again() {
    let cut = Reply::Bytes(
        "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 33\r\n\r\n{\"run_id\""
            .to_owned(),
    );
    let nothing = Reply::Bytes(String::new());
    let fake = Fake::start(vec![cut, nothing, Reply::created()]).await;
    let left = shell(&fake).upload(&["--retry-for=1m"], RUN).await;
    assert_eq!((left.code, left.stdout.as_str()), (0, CREATED), "{left:?}");
    let notes: Vec<&str> = left.stderr.lines().collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    for note in notes {
        assert!(note.starts_with("the connection broke: "), "{note}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up() {
    let fake = Fake::start(vec![Reply::Silence]).await;
    let left = shell(&fake).upload(&["--timeout=500ms"], RUN).await;
    let url = &fake.url;
    left.is(
        2,
        "",
        &format!("error: {url}/v1/runs: no whole answer within 500ms\n"),
    );
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_and_how_often_it_was_tried() {
    let url = format!("http://127.0.0.1:{}", ports::free());
    let left = Shell::at(&url).token(TOKEN).upload(&[], RUN).await;
    left.is(
        2,
        "",
        &format!(
            "error: {url}/v1/runs: cannot be reached: Connection refused (os error 111)\n\
             check --server (PERF_TRACKING_URL), and that the service runs\n"
        ),
    );
    let left = Shell::at(&url)
        .token(TOKEN)
        .upload(&["--retry-for=100ms"], RUN)
        .await;
    left.is(
        2,
        "",
        &format!(
            "cannot be reached: Connection refused (os error 111); trying again in 0.1 s\n\
             error: {url}/v1/runs: cannot be reached: Connection refused (os error 111) (after 2 tries)\n\
             check --server (PERF_TRACKING_URL), and that the service runs\n"
        ),
    );
}

#[tokio::test]
async fn the_page_of_a_proxy_is_told_from_the_service() {
    let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\u{1b}[31m\n<body>\n<center><h1>502 Bad Gateway</h1></center>\n<hr><center>nginx</center></body></html>";
    let advice = "check --server (PERF_TRACKING_URL), and the proxies in front of the service\n";
    let lost = "the address of the service is perhaps wrong: check --server (PERF_TRACKING_URL), and the path in it, and the proxies in front of the service\n";
    let start = "<html> <head><title>502 Bad Gateway</title></head> [31m <body> <center><h1>502 Bad Gateway</h1></cen…";
    for (status, headers, said) in [
        (
            "502 Bad Gateway",
            &["Content-Type: text/html"][..],
            "502 Bad Gateway with an answer that is not the service's, text/html: ",
        ),
        (
            "200 OK",
            &[],
            "200 OK with an answer that is not the service's: ",
        ),
        (
            "404 Not Found",
            &[],
            "404 Not Found with an answer that is not the service's: ",
        ),
    ] {
        let fake = Fake::start(vec![Reply::new(status, headers, page)]).await;
        let left = upload(&fake).await;
        let url = &fake.url;
        let advice = match status {
            "404 Not Found" => lost,
            _ => advice,
        };
        left.is(
            2,
            "",
            &format!("error: {url}/v1/runs: {said}{start}\n{advice}"),
        );
    }
}

#[tokio::test]
async fn a_redirect_is_told_and_nobody_else_is_asked() {
    let elsewhere = Fake::start(vec![Reply::created()]).await;
    for status in [
        "301 Moved Permanently",
        "302 Found",
        "307 Temporary Redirect",
    ] {
        let location = format!("Location: {}/login?from=x", elsewhere.url);
        let fake = Fake::start(vec![Reply::new(status, &[&location], "")]).await;
        let left = shell(&fake).upload(&["--retry-for=1m"], RUN).await;
        let code = status.split(' ').next().unwrap();
        let expected = format!(
            "error: {}/v1/runs: {code} points to {}/login\n\
             redirects are not followed, so that a token goes to one host alone; name the \
             service's own address with --server (PERF_TRACKING_URL)\n",
            fake.url, elsewhere.url,
        );
        left.is(2, "", &expected);
        let left = shell(&fake).history(&[]).await;
        assert_eq!((left.code, left.stdout.as_str()), (2, ""));
    }
    assert_eq!(elsewhere.requests(), [""; 0]);
}

#[tokio::test]
async fn what_the_service_refuses_is_not_sent_again_and_its_faults_are_listed() {
    let body = r#"{"type":"a-kind-of-tomorrow","title":"The run does not fit","status":422,"detail":"2 things do not fit; `errors` lists them","errors":[{"pointer":"/metrics/0/value","detail":"must be a number"},{"pointer":"","detail":"is odd"}]}"#;
    let headers = ["Content-Type: application/problem+json"];
    let fake = Fake::start(vec![Reply::new("422 Unprocessable Entity", &headers, body)]).await;
    let left = shell(&fake).upload(&["--retry-for=1m"], RUN).await;
    let url = &fake.url;
    left.is(
        2,
        "",
        &format!(
            "error: {url}/v1/runs: 422 The run does not fit\n  \
             /metrics/0/value: must be a number\n  the body: is odd\n"
        ),
    );
    assert_eq!(fake.requests().len(), 1);
}

#[tokio::test]
async fn a_proxy_is_heeded_except_on_this_machine() {
    let fake = Fake::start(vec![Reply::created()]).await;
    let through = |proxy: &str| {
        shell(&fake)
            .with("HTTP_PROXY", proxy)
            .with("http_proxy", proxy)
    };
    let left = through("http://127.0.0.1:1").upload(&[], RUN).await;
    left.is(0, CREATED, "");
    let args = ["--server=http://perf.invalid/below"];
    let left = through(&fake.url).upload(&args, RUN).await;
    let warning =
        "warning: the token goes to http://perf.invalid/below without encryption; use https://\n";
    left.is(0, CREATED, warning);
    let request = fake.requests().pop().unwrap();
    let line = "POST http://perf.invalid/below/v1/runs HTTP/1.1\r\n";
    assert!(request.starts_with(line), "{request}");
}

#[tokio::test]
async fn a_request_says_who_it_is_of_and_what_it_asks() {
    let fake = Fake::start(vec![Reply::new("404 Not Found", &[], "")]).await;
    let args = [
        "--metric=a&b",
        "--metric=c",
        "--dim=",
        "--dim=threads=16",
        "--limit=5",
        "--since=2026-01-01",
        "--before=2026-11-30T10:00:00.5+01:00",
        "--repo=r",
        "--host-class=h",
        "--tag=*",
        "--pipeline=check",
        "--include-failed",
    ];
    for (path, more) in [("history", None), ("baseline", Some("--baseline"))] {
        let args: Vec<&str> = args.into_iter().chain(more).collect();
        let server = format!("{}/below/", fake.url);
        let left = shell(&fake)
            .with("PERF_TRACKING_URL", &server)
            .history(&args)
            .await;
        assert_eq!(left.code, 2);
        let request = fake.requests().pop().unwrap();
        let mut lines = request.lines();
        assert_eq!(
            lines.next().unwrap(),
            format!(
                "GET /below/v1/{path}?workload=perf&branch=main&arch=amd64&distro=trixie&limit=5\
                 &metric_key=a%26b&metric_key=c&dim_key=&dim_key=threads%3D16\
                 &repo=r&host_class=h\
                 &since=2026-01-01T00%3A00%3A00Z&before=2026-11-30T10%3A00%3A00.5%2B01%3A00&tag=*&pipeline=check&include_failed=true HTTP/1.1"
            )
        );
        let head = request.to_ascii_lowercase();
        let agent = concat!("user-agent: perf-tracking/", env!("CARGO_PKG_VERSION"));
        assert!(lines.any(|line| line.eq_ignore_ascii_case(agent)), "{head}");
        assert!(head.contains("authorization: bearer eyj"), "{head}");
    }
}

#[tokio::test]
async fn no_token_shows_whatever_happens_and_however_much_is_logged() {
    let replies = [
        Reply::created(),
        Reply::new("401 Unauthorized", &[], ""),
        Reply::new("302 Found", &["Location: http://127.0.0.1:1/"], ""),
        Reply::new("502 Bad Gateway", &[], "<html>"),
        Reply::Bytes("nonsense\r\n\r\n".to_owned()),
        Reply::Silence,
    ];
    for reply in replies {
        let shown = format!("{reply:?}");
        let fake = Fake::start(vec![reply]).await;
        let args = ["--log=trace", "--retry-for=400ms", "--timeout=300ms"];
        let left = shell(&fake).upload(&args, RUN).await;
        let all = format!("{}{}", left.stdout, left.stderr);
        for piece in TOKEN.split('.') {
            assert!(!all.contains(piece), "{shown}: {all}");
        }
        assert!(fake.requests()[0].contains(TOKEN));
    }
}

#[tokio::test]
async fn what_a_stranger_answers_cannot_write_to_the_terminal() {
    let headers = ["Content-Type: application/problem+json"];
    let body =
        r#"{"title":"t","detail":"d","errors":[{"pointer":"/\u001b[2J","detail":"a\nb\u009bc"}]}"#;
    let fake = Fake::start(vec![Reply::new("422 Unprocessable Entity", &headers, body)]).await;
    let left = shell(&fake).upload(&[], RUN).await;
    let expected = format!(
        "error: {}/v1/runs: 422 t\n  /\u{fffd}[2J: a\u{fffd}b\u{fffd}c\n",
        fake.url
    );
    left.is(2, "", &expected);
    let body = r#"{"title":"t","run_id":1,"fields":[{"field":"re\u001bpo","stored":"a\u0007","sent":"b\n"}]}"#;
    let fake = Fake::start(vec![Reply::new("409 Conflict", &headers, body)]).await;
    let left = shell(&fake).upload(&[], RUN).await;
    let shown = left.stderr.replace('\n', "");
    assert!(!shown.contains(char::is_control), "{shown:?}");
    assert!(left.stderr.contains("re\u{fffd}po"), "{}", left.stderr);
}

#[tokio::test]
async fn pages_that_lead_back_to_one_another_end() {
    let page = |next: &str| {
        let body = format!(
            r#"{{"series":{{"workload":"perf","branch":"main","arch":"amd64","distro":"trixie"}},"metrics":[],"next":"{next}"}}"#
        );
        Reply::new("200 OK", &["Content-Type: application/json"], &body)
    };
    for format in ["table", "csv", "json"] {
        let pages = ["a", "b", "a", "b", "a"];
        let fake = Fake::start(pages.map(page).to_vec()).await;
        let args = ["--all", "--format", format];
        let left = shell(&fake).history(&args).await;
        assert_eq!(left.code, 2);
        assert!(
            left.stderr.contains("the answer has no end"),
            "{}",
            left.stderr
        );
        assert_eq!(fake.requests().len(), 3);
    }
}

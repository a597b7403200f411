//! Runs that are taken back: no read has them, unless it asks for them.

use reqwest::Method;
use serde_json::{Value as Json, json};

use crate::api::{Answer, Api, run, send, series_and, with};
use crate::model::{Dice, Question, fill, newest_first};
use crate::support::harness::Context;

/// A token that may take back every run.
async fn voider(api: &Api) -> String {
    api.service
        .issue(&["--scope", "runs:void", "--expires", "1h"])
        .await
}

async fn void_as(api: &Api, token: &str, run_id: i64, body: &Json) -> Answer {
    let path = format!("/v1/runs/{run_id}/void");
    let request = api.anonymous(Method::POST, &path).bearer_auth(token);
    send(request.json(body)).await
}

fn why(reason: &str) -> Json {
    json!({ "reason": reason })
}

fn ids(page: &Json) -> Vec<i64> {
    let runs = page["runs"].as_array().unwrap().iter();
    runs.map(|run| run["run_id"].as_i64().unwrap()).collect()
}

pub(crate) async fn leave_every_read_as_if_the_run_had_never_been(context: &Context) {
    let api = Api::start(context).await;
    let token = voider(&api).await;
    let mut stored = fill(&api, 40).await;
    let mut dice = Dice::new(11);
    for _ in 0..12 {
        let run = stored.swap_remove(dice.roll(stored.len()));
        let answer = void_as(&api, &token, run.run_id, &why("wrong host")).await;
        assert_eq!(
            answer.ok(),
            json!({"run_id": run.run_id, "outcome": "voided"})
        );
    }
    let listed = api.read("/v1/runs", &[("limit", "100")]).await;
    assert_eq!(ids(&listed), newest_first(&stored, |_| true));
    let failed = [("limit", "100"), ("succeeded", "false")];
    let is_failed = |run: &Json| run["succeeded"] == json!(false);
    let listed = api.read("/v1/runs", &failed).await;
    assert_eq!(ids(&listed), newest_first(&stored, is_failed));
    for _ in 0..40 {
        let question = Question::random(&mut dice);
        let params: Vec<(&str, &str)> = question
            .params
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        for (path, baseline) in [("/v1/history", false), ("/v1/baseline", true)] {
            let answer = api.read(path, &series_and(&params)).await;
            let expected = question.answer(&stored, baseline);
            assert_eq!(answer["metrics"], expected, "{path} {params:?}");
        }
    }
    // The catalogue, too: of each metric the newest run that succeeded and counts.
    let series = api.get("/v1/series").await.ok()["series"][0].clone();
    assert_eq!(series["run_count"], json!(stored.len()));
    let newest = newest_first(&stored, |_| true);
    let by_id = |id: &i64| &stored.iter().find(|run| run.run_id == *id).unwrap().sent;
    assert_eq!(series["last_run_date"], by_id(&newest[0])["run_date"]);
    let oldest = newest.last().unwrap();
    assert_eq!(series["first_run_date"], by_id(oldest)["run_date"]);
    for metric in series["metrics"].as_array().unwrap() {
        let has = |run: &Json| {
            let metrics = run["metrics"].as_array().unwrap().iter();
            let mut same = metrics.filter(|known| {
                known["metric_key"] == metric["metric_key"] && known["dim_key"] == metric["dim_key"]
            });
            same.next().is_some()
        };
        let succeeded = newest_first(&stored, |run| run["succeeded"] == json!(true) && has(run));
        assert_eq!(metric["run_id"], json!(succeeded.first()), "{metric}");
        assert!(!newest_first(&stored, has).is_empty(), "{metric}");
    }
}

pub(crate) async fn take_a_metric_that_no_other_run_has_out_of_the_catalogue(context: &Context) {
    let api = Api::start(context).await;
    let token = voider(&api).await;
    api.create(&run(1)).await;
    let only = with(
        run(2),
        json!({"metrics": [{"metric_key": "only", "value": 1}, {"metric_key": "callgrind.ir", "value": 2}]}),
    );
    let only = api.create(&only).await;
    let failed = with(
        run(3),
        json!({"succeeded": false, "metrics": [{"metric_key": "half", "value": 1}]}),
    );
    let failed = api.create(&failed).await;
    for run_id in [only, failed] {
        void_as(&api, &token, run_id, &why("wrong")).await.ok();
    }
    let series = api.get("/v1/series").await.ok()["series"].clone();
    let metrics = series[0]["metrics"].as_array().unwrap().iter();
    let metrics: Vec<_> = metrics
        .map(|metric| (&metric["metric_key"], &metric["value"]))
        .collect();
    assert_eq!(json!(metrics), json!([["callgrind.ir", 1001]]));
    assert_eq!(series[0]["run_count"], json!(1));
    assert_eq!(series[0]["last_run_date"], series[0]["first_run_date"]);
    // The last run of a series takes the series with it.
    void_as(&api, &token, 1, &why("wrong")).await.ok();
    assert_eq!(api.get("/v1/series").await.ok()["series"], json!([]));
}

pub(crate) async fn are_told_to_those_who_ask(context: &Context) {
    let api = Api::start(context).await;
    let token = voider(&api).await;
    let kept = api.create(&run(1)).await;
    let voided = api.create(&run(2)).await;
    let failed = with(run(3), json!({"succeeded": false}));
    let failed = api.create(&failed).await;
    for run_id in [voided, failed] {
        void_as(&api, &token, run_id, &why("wrong host")).await.ok();
    }
    let path = format!("/v1/runs/{voided}");
    api.get(&path).await.problem(404, "not-found");
    let whole = api.get(&format!("{path}?include_voided=true")).await.ok();
    assert_eq!(whole["succeeded"], json!(true));
    assert_eq!(whole["voided"]["reason"], json!("wrong host"));
    assert!(whole["voided"]["by"].is_string() && whole["voided"]["at"].is_string());
    assert_eq!(whole["metrics"][0]["value"], json!(1002));
    let list = async |more: &[(&str, &str)]| {
        let params = [&[("include_voided", "true")], more].concat();
        ids(&api.read("/v1/runs", &params).await)
    };
    assert_eq!(list(&[]).await, [failed, voided, kept]);
    assert_eq!(list(&[("succeeded", "true")]).await, [voided, kept]);
    assert_eq!(list(&[("succeeded", "false")]).await, [failed]);
    assert_eq!(list(&[("order", "stored")]).await, [kept, voided, failed]);
    let points = async |more: &[(&str, &str)]| {
        let answer = api.read("/v1/history", &series_and(more)).await;
        let points = answer["metrics"][0]["points"].as_array().unwrap().clone();
        let points = points.iter();
        let points = points.map(|point| (point["run_id"].clone(), point.get("voided").cloned()));
        json!(points.collect::<Vec<_>>())
    };
    assert_eq!(points(&[]).await, json!([[kept, null]]));
    assert_eq!(
        points(&[("include_voided", "true")]).await,
        json!([[voided, true], [kept, null]])
    );
    let everything = [("include_voided", "true"), ("include_failed", "true")];
    assert_eq!(
        points(&everything).await,
        json!([[failed, true], [voided, true], [kept, null]])
    );
    assert_eq!(
        points(&[("include_failed", "true")]).await,
        json!([[kept, null]])
    );
}

pub(crate) async fn may_be_repeated_and_name_who_came_first(context: &Context) {
    let api = Api::start(context).await;
    let token = voider(&api).await;
    let run_id = api.create(&run(1)).await;
    let first = void_as(&api, &token, run_id, &why("wrong host")).await;
    assert_eq!(first.ok()["outcome"], json!("voided"));
    let again = void_as(&api, &token, run_id, &why("wrong host")).await;
    assert_eq!(
        again.ok(),
        json!({"run_id": run_id, "outcome": "unchanged"})
    );
    let other = void_as(&api, &token, run_id, &why("another")).await;
    let problem = other.problem(409, "run-voided");
    assert_eq!(problem["voided"]["reason"], json!("wrong host"));
    assert!(
        problem["detail"].as_str().unwrap().contains("wrong host"),
        "{problem}"
    );
    void_as(&api, &token, run_id + 1, &why("x"))
        .await
        .problem(404, "not-found");
    for (body, place) in [
        (json!({}), "/reason"),
        (why(""), "/reason"),
        (why("a\nb"), "/reason"),
        (why(&"x".repeat(501)), "/reason"),
        (json!({"reason": "x", "more": 1}), "/more"),
    ] {
        let answer = void_as(&api, &token, run_id, &body).await;
        answer.problem(422, "invalid-void");
        assert_eq!(answer.fault_places(), [place], "{body}");
    }
}

pub(crate) async fn need_their_own_scope_and_stay_within_the_claims(context: &Context) {
    let api = Api::start(context).await;
    let run_id = api.create(&run(1)).await;
    let refused = void_as(&api, &api.token, run_id, &why("x")).await;
    assert_eq!(
        refused.problem(403, "insufficient-scope")["scope"],
        json!("runs:void")
    );
    let token = voider(&api).await;
    let answer = send(api.anonymous(Method::GET, "/v1/runs").bearer_auth(&token)).await;
    answer.problem(403, "insufficient-scope");
    let request = api.anonymous(Method::POST, "/v1/runs").bearer_auth(&token);
    send(request.json(&run(2)))
        .await
        .problem(403, "insufficient-scope");
    let claims = [
        ("--repo", "drizzle"),
        ("--branch", "main"),
        ("--workload", "perf"),
        ("--pipeline", "promote"),
    ];
    for (flag, own) in claims {
        let narrowed = async |value| {
            let flags = ["--scope", "runs:void", "--expires", "1h", flag, value];
            api.service.issue(&flags).await
        };
        let outside = narrowed("other").await;
        void_as(&api, &outside, run_id, &why("x"))
            .await
            .problem(403, "outside-grant");
        let inside = narrowed(own).await;
        void_as(&api, &inside, run_id, &why("x")).await.ok();
    }
}

pub(crate) async fn make_room_for_a_new_upload(context: &Context) {
    let api = Api::start(context).await;
    let token = voider(&api).await;
    let wrong = with(run(1), json!({"repo": "fork", "subject": "Old"}));
    let run_id = api.create(&wrong).await;
    void_as(&api, &token, run_id, &why("wrong")).await.ok();
    let replaced = json!({"run_id": run_id, "outcome": "replaced"});
    let right = with(
        run(1),
        json!({"metrics": [{"metric_key": "new", "value": 7}]}),
    );
    assert_eq!(api.post(&right).await.ok(), replaced);
    assert_eq!(api.post(&right).await.ok()["outcome"], json!("unchanged"));
    let whole = api.get(&format!("/v1/runs/{run_id}")).await.ok();
    assert_eq!(whole.get("voided"), None);
    assert_eq!(whole.get("subject"), None);
    assert_eq!(whole["repo"], json!("drizzle"));
    let series = api.get("/v1/series").await.ok()["series"].clone();
    assert_eq!(series[0]["repos"], json!(["drizzle"]));
    assert_eq!(series[0]["run_count"], json!(1));
    let metrics = series[0]["metrics"].as_array().unwrap().iter();
    let metrics: Vec<_> = metrics.map(|metric| &metric["metric_key"]).collect();
    assert_eq!(json!(metrics), json!(["new"]));
    // The same content counts again, too, and so does a failed run.
    void_as(&api, &token, run_id, &why("wrong")).await.ok();
    assert_eq!(api.post(&right).await.ok(), replaced);
    void_as(&api, &token, run_id, &why("wrong")).await.ok();
    let failed = with(run(1), json!({"succeeded": false, "pipeline": "check"}));
    assert_eq!(api.post(&failed).await.ok(), replaced);
    let listed = api.read("/v1/runs", &[("succeeded", "false")]).await;
    assert_eq!(ids(&listed), [run_id]);
}

pub(crate) async fn find_all_that_one_token_wrote(context: &Context) {
    let api = Api::start(context).await;
    let leaked = api
        .service
        .issue(&["--scope", "runs:write", "--expires", "1h"])
        .await;
    let mut by_leaked = Vec::new();
    for number in 1..=6 {
        let run_id = if number % 2 == 0 {
            let request = api.anonymous(Method::POST, "/v1/runs").bearer_auth(&leaked);
            let answer = send(request.json(&run(number))).await;
            let run_id = answer.json()["run_id"].as_i64().unwrap();
            by_leaked.push(run_id);
            run_id
        } else {
            api.create(&run(number)).await
        };
        assert!(run_id > 0);
    }
    let whole = api.get(&format!("/v1/runs/{}", by_leaked[0])).await.ok();
    let id = whole["token_id"].as_str().unwrap();
    let list = async |more: &[(&str, &str)]| {
        let params = [&[("uploaded_by", id), ("order", "stored")], more].concat();
        api.read("/v1/runs", &params).await
    };
    assert_eq!(ids(&list(&[]).await), by_leaked);
    let page = list(&[("limit", "2")]).await;
    assert_eq!(ids(&page), by_leaked[..2]);
    let next = page["next"].as_str().unwrap();
    let page = list(&[("limit", "2"), ("cursor", next)]).await;
    assert_eq!(ids(&page), by_leaked[2..]);
    let at = whole["uploaded_at"].as_str().unwrap();
    assert_eq!(ids(&list(&[("uploaded_since", at)]).await), by_leaked);
    let later = list(&[("uploaded_since", "2999-01-01T00:00:00Z")]).await;
    assert_eq!(later, json!({"runs": []}));
    let name = whole["uploaded_by"].as_str().unwrap();
    let by_name = api
        .read("/v1/runs", &[("uploaded_by", name), ("order", "stored")])
        .await;
    assert!(by_leaked.iter().all(|id| ids(&by_name).contains(id)));
    let nobody = api.read("/v1/runs", &[("uploaded_by", "nobody")]).await;
    assert_eq!(nobody, json!({"runs": []}));
}

//! The jobs that write a verdict into a comment, against stand-ins for the two forges: programs called `gh` and `curl` that
//! answer from a folder and keep what they were asked.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::shell::{self, Left, Variables};

/// Answers as GitHub's own program does, and applies `--jq` with jq.
const GH: &str = r#"#!/usr/bin/env bash
set -eu
echo "$*" >>"$FORGE/asked"
filter=.
for (( at=1; at<=$#; at++ )); do
    [ "${!at}" = --jq ] && next=$((at + 1)) && filter=${!next}
done
case "$*" in
    "run download"*) [ -f "$FORGE/verdict.md" ] && mkdir verdict && cp "$FORGE/verdict.md" verdict/comment.md ;;
    *"--method GET repos/owner/project/pulls"*) jq -r "$filter" "$FORGE/pulls.json" ;;
    *"--paginate repos/owner/project/issues/"*) jq -r "$filter" "$FORGE/comments.json" ;;
    *"--method PATCH"* | *"--method POST"*) cp body.md "$FORGE/written" ;;
    *) exit 9 ;;
esac
"#;

/// Answers as GitLab's API does.
const CURL: &str = r#"#!/usr/bin/env bash
set -eu
echo "$*" >>"$FORGE/asked"
[[ "$*" == *"PRIVATE-TOKEN: secret"* ]] || exit 22
case "$*" in
    *"--request "*) cp comment.md "$FORGE/written" ;;
    */user) echo '{"id": 5}' ;;
    *"/projects/1/merge_requests?state=opened"*) echo '[{"iid": 7}]' ;;
    *"/projects/1/merge_requests/7/notes?"*"page=1") cat "$FORGE/notes.json" ;;
    *"/projects/1/merge_requests/7/notes?"*) echo '[]' ;;
    *"/projects/1/merge_requests/7") echo '{"head_pipeline": {"id": 11, "project_id": 2}}' ;;
    *"/projects/2/pipelines/11/jobs?"*) echo '[{"id": 20, "name": "measure", "finished_at": "x"}, {"id": 21, "name": "judge", "finished_at": "x"}]' ;;
    *"/projects/2/jobs/21/artifacts/comment.md") cp "$FORGE/verdict.md" verdict.md ;;
    *) exit 22 ;;
esac
"#;

struct Forge {
    folder: TempDir,
    workspace: TempDir,
}

impl Forge {
    fn new(program: &str, text: &str) -> Self {
        let forge = Self {
            folder: tempfile::tempdir().unwrap(),
            workspace: tempfile::tempdir().unwrap(),
        };
        let path = forge.folder.path().join(program);
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        forge
    }

    fn holds(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn left(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    fn run(&self, script: &str, variables: &[(&str, &str)]) -> Left {
        let folder = self.folder.path().display();
        let mut all: Variables = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        all.insert("FORGE".to_owned(), folder.to_string());
        all.insert(
            "PATH".to_owned(),
            format!("{folder}:/usr/local/bin:/usr/bin:/bin"),
        );
        // What an earlier run left is not there.
        let workspace = tempfile::tempdir_in(self.workspace.path()).unwrap();
        shell::bash(script, workspace.path(), &all)
    }
}

fn file(path: &str) -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("deploy/ci")
        .join(path);
    serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn github_writes_one_comment_and_changes_it() {
    let workflow = file("github/performance-comment.yml");
    let job = &workflow["jobs"]["comment"];
    assert_eq!(
        job["permissions"],
        json!({"actions": "read", "pull-requests": "write"})
    );
    let script = job["steps"][0]["run"].as_str().unwrap();
    let mark = job["env"]["MARK"].as_str().unwrap();
    let forge = Forge::new("gh", GH);
    let run = |sha: &str| {
        let variables = [
            ("GH_TOKEN", "secret"),
            ("REPO", "owner/project"),
            ("RUN_ID", "3"),
            ("HEAD_SHA", sha),
            ("HEAD_OWNER", "fork"),
            ("HEAD_BRANCH", "a&b"),
            ("MARK", mark),
        ];
        forge.run(script, &variables)
    };
    forge.holds("comments.json", "[]");
    forge.holds("pulls.json", r#"[{"number": 7, "head": {"sha": "new"}}]"#);
    run("new").assert(0, &["no verdict to comment"]);

    forge.holds("verdict.md", "No regression.\n");
    run("old").assert(0, &["No open pull request is at old any more"]);
    assert_eq!(forge.left("written"), "");

    run("new").assert(0, &[]);
    assert_eq!(forge.left("written"), format!("{mark}\nNo regression.\n"));
    assert!(
        forge
            .left("asked")
            .contains("--method POST repos/owner/project/issues/7/comments")
    );

    let comments = json!([
        {"id": 1, "user": {"type": "User"}, "body": format!("{mark} by a stranger")},
        {"id": 2, "user": {"type": "Bot"}, "body": "another bot"},
        {"id": 3, "user": {"type": "Bot"}, "body": format!("{mark}\nold")},
    ]);
    forge.holds("comments.json", &comments.to_string());
    forge.holds("verdict.md", &"x".repeat(100_000));
    run("new").assert(0, &[]);
    assert!(
        forge
            .left("asked")
            .contains("--method PATCH repos/owner/project/issues/comments/3")
    );
    assert!(forge.left("written").len() < 65_536);
}

#[test]
fn gitlab_writes_one_comment_and_changes_it_when_the_verdict_has() {
    let recipe = file("gitlab/.gitlab-ci.yml");
    let script = recipe["comment"]["script"][0].as_str().unwrap();
    let mark = "<!-- perf-tracking -->";
    let forge = Forge::new("curl", CURL);
    let run = || {
        let variables = [
            ("CI_API_V4_URL", "https://gitlab.example.org/api/v4"),
            ("CI_PROJECT_ID", "1"),
            ("PERF_COMMENT_TOKEN", "secret"),
        ];
        forge.run(script, &variables)
    };
    let stranger = json!({"id": 1, "author": {"id": 6}, "body": format!("{mark}\nby a stranger")});
    forge.holds("notes.json", &json!([stranger]).to_string());
    run().assert(0, &[]);
    assert_eq!(forge.left("written"), "");

    forge.holds("verdict.md", "No regression.\n");
    run().assert(0, &["merge request 7: comment written"]);
    assert_eq!(forge.left("written"), format!("{mark}\nNo regression.\n"));
    assert!(forge.left("asked").contains("--request POST"));

    let own = json!({"id": 2, "author": {"id": 5}, "body": format!("{mark}\nNo regression.")});
    forge.holds("notes.json", &json!([stranger, own]).to_string());
    fs::remove_file(forge.folder.path().join("written")).unwrap();
    run().assert(0, &[]);
    assert_eq!(forge.left("written"), "");

    forge.holds("verdict.md", "A regression.\n");
    run().assert(0, &["merge request 7: changed comment written"]);
    assert!(forge.left("asked").contains("/merge_requests/7/notes/2"));
    assert_eq!(forge.left("written"), format!("{mark}\nA regression.\n"));
}

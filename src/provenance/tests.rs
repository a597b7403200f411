//! Each system in each of its situations, as a table: what stands around, and what is made of it.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

const HEAD: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const MERGE: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
const CHANGED: &str = "cccccccccccccccccccccccccccccccccccccccc";
const ZEROS: &str = "0000000000000000000000000000000000000000";

/// A checkout of `main` at [`HEAD`], with all three commits, and no CI.
#[derive(Clone)]
struct Around {
    variables: BTreeMap<&'static str, String>,
    event: Result<String, String>,
    head: Result<String, String>,
    branch: Result<String, String>,
    remote: Result<String, String>,
    remotes: Vec<String>,
    tags: BTreeMap<&'static str, &'static str>,
    /// The parents of [`MERGE`].
    parents: Vec<String>,
    /// The commits of each branch of a remote.
    branches: BTreeMap<&'static str, Vec<&'static str>>,
}

impl Around {
    fn checkout() -> Self {
        Self {
            variables: BTreeMap::new(),
            event: Err("cannot be read: it is gone".to_owned()),
            head: Ok(HEAD.to_owned()),
            branch: Ok("main".to_owned()),
            remote: Ok("git@h:owner/name.git".to_owned()),
            remotes: vec!["origin".to_owned()],
            tags: BTreeMap::new(),
            parents: vec![HEAD.to_owned()],
            branches: BTreeMap::from([("main", vec![HEAD])]),
        }
    }

    /// A checkout in which [`MERGE`] merges [`CHANGED`] with the newest commit of `main`.
    fn with_trial_merge(self) -> Self {
        Self {
            parents: vec![HEAD.to_owned(), CHANGED.to_owned()],
            ..self
        }
    }

    /// As CI makes one: of one commit and no branch.
    fn detached() -> Self {
        Self {
            branch: Err("the checkout is at no branch".to_owned()),
            ..Self::checkout()
        }
    }

    fn nothing() -> Self {
        let none = || Err("there is no git checkout to ask".to_owned());
        Self {
            head: none(),
            branch: none(),
            remote: none(),
            ..Self::checkout()
        }
    }

    fn with(mut self, variables: &[(&'static str, &str)]) -> Self {
        let variables = variables.iter();
        self.variables
            .extend(variables.map(|(name, value)| (*name, (*value).to_owned())));
        self
    }

    fn event(mut self, event: serde_json::Value) -> Self {
        self.event = Ok(event.to_string());
        self.with(&[("GITHUB_EVENT_PATH", "event.json")])
    }

    fn detector(&self, commit: Option<&str>) -> Detector {
        let commit = commit.map(|commit| commit.parse().unwrap());
        Detector::new(Box::new(self.clone()), commit)
    }

    /// Everything that an upload looks up, in its order, with what is not known at the end.
    fn told(&self) -> Vec<String> {
        all(self.detector(None))
    }
}

fn all(mut detector: Detector) -> Vec<String> {
    detector.repo(None);
    detector.branch(None);
    detector.commit();
    detector.change(None);
    detector.patchset(None);
    detector.tag(None);
    detector.run_date(None);
    let mut told = detector.told();
    told.extend(detector.faults().iter().cloned());
    told
}

impl Outside for Around {
    fn subject(&self, commit: &CommitSha) -> Option<String> {
        self.head.as_ref().ok()?;
        Some(format!(" Fix\tit in {} ", &commit.as_str()[..4]))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    fn file(&self, path: &str) -> Result<String, String> {
        assert_eq!(path, "event.json");
        self.event.clone()
    }

    fn head(&self) -> Result<String, String> {
        self.head.clone()
    }

    fn branch(&self) -> Result<String, String> {
        self.branch.clone()
    }

    fn remote(&self) -> Result<String, String> {
        self.remote.clone()
    }

    fn date(&self, commit: &CommitSha) -> Result<String, String> {
        self.head.clone()?;
        let second = match commit.as_str() {
            HEAD => "01",
            MERGE => "02",
            CHANGED => "03",
            _ => return Err("the checkout does not have the commit".to_owned()),
        };
        Ok(format!("2026-11-30T11:00:{second}+02:00"))
    }

    fn remotes(&self) -> Result<Vec<String>, String> {
        self.head.clone()?;
        Ok(self.remotes.clone())
    }

    fn tag(&self, name: &str) -> Result<String, String> {
        let commit = self.tags.get(name).ok_or("the checkout has no such tag")?;
        Ok((*commit).to_owned())
    }

    fn whole(&self, digits: &str) -> Result<String, String> {
        let known = [HEAD, MERGE, CHANGED];
        let found = known.into_iter().find(|commit| commit.starts_with(digits));
        found
            .map(str::to_owned)
            .ok_or_else(|| "the checkout does not have it".to_owned())
    }

    fn parents(&self, commit: &str) -> Result<Vec<String>, String> {
        self.head.clone()?;
        Ok(match commit {
            MERGE => self.parents.clone(),
            _ => vec![HEAD.to_owned()],
        })
    }

    fn is_on_remote(&self, commit: &str, branch: Option<&str>) -> Result<bool, String> {
        let mut branches = self.branches.iter();
        Ok(branches.any(|(name, commits)| {
            branch.is_none_or(|branch| branch == *name) && commits.contains(&commit)
        }))
    }
}

#[track_caller]
fn assert_told(around: &Around, expected: &[&str]) {
    assert_eq!(around.told(), expected);
}

#[test]
fn without_a_ci_the_checkout_says_it() {
    let expected = [
        "repo owner/name (from git)",
        "branch main (from git)",
        "commit aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (from git)",
        "run date 2026-11-30T09:00:01Z (from git)",
    ];
    assert_told(&Around::checkout(), &expected);
    let empty = [
        ("GITHUB_ACTIONS", ""),
        ("GITHUB_SHA", MERGE),
        ("ZUUL_PROJECT", ""),
    ];
    assert_told(&Around::checkout().with(&empty), &expected);
    assert_told(
        &Around::detached(),
        &[
            expected[0],
            expected[2],
            expected[3],
            "branch: the checkout is at no branch; give --branch NAME",
        ],
    );
}

#[test]
fn all_that_nothing_says_is_told_at_once() {
    assert_told(
        &Around::nothing(),
        &[
            "repo: there is no git checkout to ask; give --repo NAME",
            "branch: there is no git checkout to ask; give --branch NAME",
            "commit: there is no git checkout to ask; give --commit SHA",
            "run date: it is the commit's, and the commit is not known; give --run-date DATE, \
             which is the commit's",
        ],
    );
}

#[test]
fn zuul() {
    let change = [
        ("ZUUL_PROJECT", "drizzle"),
        ("ZUUL_BRANCH", "main"),
        ("ZUUL_PIPELINE", "check"),
        ("ZUUL_COMMIT", MERGE),
        ("ZUUL_CHANGE", "1234"),
        ("ZUUL_PATCHSET", "2"),
    ];
    let zuul = Around::detached().with(&change);
    let expected = [
        "repo drizzle (from ZUUL_PROJECT)",
        "branch main (from ZUUL_BRANCH)",
        "commit bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb (from ZUUL_COMMIT)",
        "change 1234 (from ZUUL_CHANGE)",
        "patchset 2 (from ZUUL_PATCHSET)",
        "run date 2026-11-30T09:00:02Z (from git)",
    ];
    assert_told(&zuul, &expected);
    assert_eq!(
        zuul.detector(None).pipeline(None).unwrap().as_str(),
        "check"
    );
    // Zuul wins where it drives a Jenkins.
    let jenkins = [("JENKINS_URL", "http://j"), ("GIT_COMMIT", CHANGED)];
    assert_told(&zuul.clone().with(&jenkins), &expected);
    // A change on GitHub: the patch set is a commit, which no column holds.
    let told = zuul.with(&[("ZUUL_PATCHSET", CHANGED)]).told();
    assert!(!told.iter().any(|line| line.contains("patchset")));
}

#[test]
fn zuul_after_a_ref_was_updated() {
    let update = |name: &str| {
        let update = [
            ("ZUUL_PROJECT", "drizzle"),
            ("ZUUL_REFNAME", name),
            ("ZUUL_NEWREV", CHANGED),
            ("ZUUL_COMMIT", MERGE),
        ];
        Around::detached().with(&update)
    };
    let branch = [
        "repo drizzle (from ZUUL_PROJECT)",
        "branch main (from ZUUL_REFNAME)",
        "commit cccccccccccccccccccccccccccccccccccccccc (from ZUUL_NEWREV)",
        "run date 2026-11-30T09:00:03Z (from git)",
    ];
    assert_told(&update("refs/heads/main"), &branch);
    assert_told(&update("main"), &branch);
    let told = update("refs/tags/14.04").told();
    assert!(told.contains(&"tag 14.04 (from ZUUL_REFNAME)".to_owned()));
    assert!(told.contains(
        &"branch: a tag was pushed, and a tag is on no branch; give --branch NAME".to_owned()
    ));
    let gone = update("main").with(&[("ZUUL_NEWREV", ZEROS)]).told();
    assert!(gone[2].ends_with("(from ZUUL_COMMIT)"), "{gone:?}");
}

#[test]
fn gerrit_with_jenkins() {
    let change = [
        ("JENKINS_URL", "http://j"),
        ("GIT_COMMIT", HEAD),
        ("GERRIT_PROJECT", "drizzle"),
        ("GERRIT_BRANCH", "main"),
        ("GERRIT_EVENT_TYPE", "patchset-created"),
        ("GERRIT_PATCHSET_REVISION", CHANGED),
        ("GERRIT_CHANGE_NUMBER", "17"),
        ("GERRIT_PATCHSET_NUMBER", "3"),
    ];
    let proposed = Around::detached().with(&change);
    let mut expected = [
        "repo drizzle (from GERRIT_PROJECT)",
        "branch main (from GERRIT_BRANCH)",
        "commit cccccccccccccccccccccccccccccccccccccccc (from GERRIT_PATCHSET_REVISION)",
        "change 17 (from GERRIT_CHANGE_NUMBER)",
        "patchset 3 (from GERRIT_PATCHSET_NUMBER)",
        "run date 2026-11-30T09:00:03Z (from git)",
    ];
    assert_told(&proposed, &expected);
    assert_refuses_promote(&proposed, "GERRIT_EVENT_TYPE is patchset-created");

    let merged = proposed.with(&[
        ("GERRIT_EVENT_TYPE", "change-merged"),
        ("GERRIT_NEWREV", MERGE),
    ]);
    expected[2] = "commit bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb (from GERRIT_NEWREV)";
    expected[5] = "run date 2026-11-30T09:00:02Z (from git)";
    assert_told(&merged, &expected);
    assert_takes_promote(&merged);

    let updated = Around::detached().with(&[
        ("GERRIT_PROJECT", "drizzle"),
        ("GERRIT_EVENT_TYPE", "ref-updated"),
        ("GERRIT_REFNAME", "refs/heads/main"),
        ("GERRIT_NEWREV", MERGE),
    ]);
    let branch = "branch main (from GERRIT_REFNAME)";
    assert_told(&updated, &[expected[0], branch, expected[2], expected[5]]);
    assert_takes_promote(&updated);
}

fn github(event: &str, name: &str) -> Around {
    let short = name.strip_prefix("refs/heads/").unwrap_or(name);
    let short = short.strip_prefix("refs/tags/").unwrap_or(short);
    let short = short.strip_prefix("refs/pull/").unwrap_or(short);
    Around::detached().with(&[
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_REPOSITORY", "owner/name"),
        ("GITHUB_EVENT_NAME", event),
        ("GITHUB_REF", name),
        ("GITHUB_REF_NAME", short),
        ("GITHUB_SHA", MERGE),
    ])
}

const GITHUB_REPO: &str = "repo owner/name (from GITHUB_REPOSITORY)";
const GITHUB_COMMIT: &str = "commit bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb (from GITHUB_SHA)";

#[test]
fn github_push() {
    for event in ["push", "schedule", "workflow_dispatch"] {
        let push = github(event, "refs/heads/main");
        assert_told(
            &push,
            &[
                GITHUB_REPO,
                "branch main (from GITHUB_REF_NAME)",
                GITHUB_COMMIT,
                "run date 2026-11-30T09:00:02Z (from git)",
            ],
        );
        assert_takes_promote(&push);
    }
    assert_told(
        &github("push", "refs/tags/14.04"),
        &[
            GITHUB_REPO,
            GITHUB_COMMIT,
            "tag 14.04 (from GITHUB_REF_NAME)",
            "run date 2026-11-30T09:00:02Z (from git)",
            "branch: a tag was pushed, and a tag is on no branch; give --branch NAME",
        ],
    );
}

fn pull_request() -> serde_json::Value {
    json!({"number": 7, "pull_request": {
        "number": 7, "merged": false, "merge_commit_sha": MERGE, "base": {"ref": "main"},
        "head": {"sha": CHANGED, "repo": {"full_name": "fork/name"}},
    }})
}

#[test]
fn github_pull_request_of_a_fork() {
    for event in ["pull_request", "pull_request_target"] {
        let around = github(event, "refs/pull/7/merge")
            .with(&[("GITHUB_BASE_REF", "main"), ("GITHUB_HEAD_REF", "mine")])
            .event(pull_request());
        assert_told(
            &around,
            &[
                GITHUB_REPO,
                "branch main (from GITHUB_BASE_REF)",
                "commit cccccccccccccccccccccccccccccccccccccccc (from pull_request.head.sha in GITHUB_EVENT_PATH)",
                "change 7 (from pull_request.number in GITHUB_EVENT_PATH)",
                "run date 2026-11-30T09:00:03Z (from git)",
            ],
        );
        assert_refuses_promote(&around, &format!("GITHUB_EVENT_NAME is {event}"));
    }
}

#[test]
fn github_ref_of_a_pull_request_is_a_change_whatever_started_it() {
    for event in ["workflow_dispatch", ""] {
        let around = github(event, "refs/pull/7/merge");
        let told = around.told();
        assert!(
            told.iter().any(|line| line.contains("trial merge")),
            "{told:?}"
        );
        assert_refuses_promote(&around, "GITHUB_REF is refs/pull/7/merge");
    }
}

#[test]
fn gitlab_external_pull_request() {
    let around = Around::detached().with(&[
        ("GITLAB_CI", "true"),
        ("CI_EXTERNAL_PULL_REQUEST_IID", "7"),
        ("CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("CI_EXTERNAL_PULL_REQUEST_SOURCE_BRANCH_SHA", CHANGED),
        ("CI_COMMIT_BRANCH", "topic"),
        ("CI_COMMIT_SHA", CHANGED),
        ("CI_PROJECT_PATH", "owner/name"),
    ]);
    let told = around.told();
    assert!(
        told.contains(&"branch main (from CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME)".to_owned()),
        "{told:?}"
    );
    assert_refuses_promote(&around, "CI_EXTERNAL_PULL_REQUEST_IID is 7");
}

#[test]
fn github_pull_request_that_merged() {
    let mut event = pull_request();
    event["pull_request"]["merged"] = json!(true);
    let around = github("pull_request", "refs/heads/main")
        .with(&[("GITHUB_BASE_REF", "main")])
        .event(event);
    let told = around.told();
    assert_eq!(
        told[2],
        "commit bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb (from pull_request.merge_commit_sha in GITHUB_EVENT_PATH)"
    );
    assert_takes_promote(&around);
}

#[test]
fn a_trial_merge_is_never_taken_for_the_change() {
    let around = github("pull_request", "refs/pull/7/merge").with(&[("GITHUB_BASE_REF", "main")]);
    let commit = |around: &Around| {
        let told = around.told();
        told.into_iter()
            .find(|line| line.starts_with("commit"))
            .unwrap()
    };
    let why = "commit: GITHUB_SHA is not the commit of the change, and";
    assert_eq!(
        commit(&around),
        format!("{why} GITHUB_EVENT_PATH is not set; give --commit SHA")
    );
    let unreadable = around.clone().with(&[("GITHUB_EVENT_PATH", "event.json")]);
    assert_eq!(
        commit(&unreadable),
        format!(
            "{why} the event that GITHUB_EVENT_PATH names cannot be read: it is gone; give --commit SHA"
        )
    );
    assert_eq!(
        commit(&around.event(json!({"pull_request": {"head": {"sha": null}}}))),
        format!(
            "{why} the event that GITHUB_EVENT_PATH names has no /pull_request/head/sha; give --commit SHA"
        )
    );
}

#[test]
fn github_merge_queue_and_workflow_run() {
    let queue = github("merge_group", "refs/heads/gh-readonly-queue/main/pr-7-bbb").event(json!({
        "merge_group": {"base_ref": "refs/heads/main", "head_sha": CHANGED}
    }));
    assert_told(
        &queue,
        &[
            GITHUB_REPO,
            "branch main (from merge_group.base_ref in GITHUB_EVENT_PATH)",
            "commit cccccccccccccccccccccccccccccccccccccccc (from merge_group.head_sha in GITHUB_EVENT_PATH)",
            "run date 2026-11-30T09:00:03Z (from git)",
        ],
    );
    assert_refuses_promote(&queue, "GITHUB_EVENT_NAME is merge_group");

    let run = |event: &str, requests: serde_json::Value| {
        github("workflow_run", "refs/heads/main").event(json!({"workflow_run": {
            "event": event, "head_sha": CHANGED, "head_branch": "next", "pull_requests": requests,
        }}))
    };
    let commit = "commit cccccccccccccccccccccccccccccccccccccccc (from workflow_run.head_sha in GITHUB_EVENT_PATH)";
    let date = "run date 2026-11-30T09:00:03Z (from git)";
    let push = run("push", json!([]));
    let branch = "branch next (from workflow_run.head_branch in GITHUB_EVENT_PATH)";
    assert_told(&push, &[GITHUB_REPO, branch, commit, date]);
    assert_takes_promote(&push);
    // Of a fork's pull request GitHub names none.
    let fork = run("pull_request", json!([]));
    let unknown = "branch: nothing names the branch that the change is for; give --branch NAME";
    assert_told(&fork, &[GITHUB_REPO, commit, date, unknown]);
    assert_refuses_promote(&fork, "is of a pull_request");
    let own = run(
        "pull_request",
        json!([{"number": 7, "base": {"ref": "main"}}]),
    );
    assert_told(
        &own,
        &[
            GITHUB_REPO,
            "branch main (from workflow_run.pull_requests.0.base.ref in GITHUB_EVENT_PATH)",
            commit,
            "change 7 (from workflow_run.pull_requests.0.number in GITHUB_EVENT_PATH)",
            date,
        ],
    );
}

#[test]
fn github_comment_on_a_pull_request() {
    let comment = github("issue_comment", "refs/heads/main");
    let issue = comment.clone().event(json!({"issue": {"number": 7}}));
    assert_eq!(issue.told()[2], GITHUB_COMMIT);
    let request = json!({"issue": {"number": 7, "pull_request": {"url": "https://h"}}});
    let request = comment.event(request);
    let told = request.told();
    assert_eq!(told[1], "change 7 (from issue.number in GITHUB_EVENT_PATH)");
    assert!(told[2].starts_with("branch: nothing names"), "{told:?}");
    assert!(told[3].starts_with("commit: GITHUB_SHA is of the default branch"));
    assert_refuses_promote(&request, "GITHUB_EVENT_NAME is issue_comment");
}

#[test]
fn gitlab() {
    let common = Around::detached().with(&[
        ("GITLAB_CI", "true"),
        ("CI_PROJECT_PATH", "group/sub/name"),
        ("CI_COMMIT_SHA", MERGE),
        ("CI_COMMIT_TIMESTAMP", "2020-01-02T05:04:05+02:00"),
    ]);
    let repo = "repo group/sub/name (from CI_PROJECT_PATH)";
    let commit = "commit bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb (from CI_COMMIT_SHA)";
    let date = "run date 2020-01-02T03:04:05Z (from CI_COMMIT_TIMESTAMP)";
    let push = common.clone().with(&[("CI_COMMIT_BRANCH", "main")]);
    let branch = "branch main (from CI_COMMIT_BRANCH)";
    assert_told(&push, &[repo, branch, commit, date]);
    assert_takes_promote(&push);
    let tag = common.clone().with(&[("CI_COMMIT_TAG", "14.04")]);
    let unknown = "branch: a tag was pushed, and a tag is on no branch; give --branch NAME";
    let tagged = "tag 14.04 (from CI_COMMIT_TAG)";
    assert_told(&tag, &[repo, commit, tagged, date, unknown]);

    let request = common.with(&[
        ("CI_MERGE_REQUEST_IID", "12"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", ""),
    ]);
    let branch = "branch main (from CI_MERGE_REQUEST_TARGET_BRANCH_NAME)";
    let change = "change 12 (from CI_MERGE_REQUEST_IID)";
    assert_told(&request, &[repo, branch, commit, change, date]);
    assert_refuses_promote(&request, "CI_MERGE_REQUEST_IID is 12");
    // A trial merge, in a fork.
    let merged = request.with(&[
        ("CI_PROJECT_PATH", "fork/name"),
        ("CI_MERGE_REQUEST_PROJECT_PATH", "group/name"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", CHANGED),
    ]);
    assert_told(
        &merged,
        &[
            "repo group/name (from CI_MERGE_REQUEST_PROJECT_PATH)",
            branch,
            "commit cccccccccccccccccccccccccccccccccccccccc (from CI_MERGE_REQUEST_SOURCE_BRANCH_SHA)",
            change,
            "run date 2026-11-30T09:00:03Z (from git)",
        ],
    );
}

#[test]
fn jenkins() {
    let common = Around::detached().with(&[
        ("JENKINS_URL", "http://j"),
        ("GIT_URL", "https://u:hunter2@h/owner/name.git"),
        ("GIT_COMMIT", MERGE),
    ]);
    let repo = "repo owner/name (from GIT_URL)";
    let commit = "commit bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb (from GIT_COMMIT)";
    let date = "run date 2026-11-30T09:00:02Z (from git)";
    for name in [
        "origin/main",
        "main",
        "refs/heads/main",
        "refs/remotes/origin/main",
    ] {
        let push = common.clone().with(&[("GIT_BRANCH", name)]);
        let branch = "branch main (from GIT_BRANCH)";
        assert_told(&push, &[repo, branch, commit, date]);
        assert_takes_promote(&push);
    }
    let detached = common.clone().with(&[("GIT_BRANCH", "detached")]).told();
    assert_eq!(
        detached[3],
        "branch: the checkout is at no branch; give --branch NAME"
    );
    let many = common
        .clone()
        .with(&[("BRANCH_NAME", "release/1"), ("GIT_BRANCH", "x")]);
    let branch = "branch release/1 (from BRANCH_NAME)";
    assert_told(&many, &[repo, branch, commit, date]);
    let change = common.clone().with(&[
        ("BRANCH_NAME", "PR-7"),
        ("CHANGE_ID", "7"),
        ("CHANGE_TARGET", "main"),
    ]);
    let branch = "branch main (from CHANGE_TARGET)";
    let id = "change 7 (from CHANGE_ID)";
    assert_told(&change, &[repo, branch, commit, id, date]);
    assert_refuses_promote(&change, "CHANGE_ID is 7");
    let tag = common.with(&[("BRANCH_NAME", "14.04"), ("TAG_NAME", "14.04")]);
    assert_eq!(tag.told()[2], "tag 14.04 (from TAG_NAME)");
}

fn jenkins_job(variables: &[(&'static str, &str)]) -> Around {
    let common = [
        ("JENKINS_URL", "http://j"),
        ("GIT_URL", "https://h/owner/name.git"),
        ("GIT_COMMIT", MERGE),
        ("GIT_BRANCH", "origin/topic"),
    ];
    Around::detached().with(&common).with(variables)
}

#[test]
fn jenkins_with_the_plugins_that_build_changes() {
    let git = "repo owner/name (from GIT_URL)";
    let date = "run date 2026-11-30T09:00:03Z (from git)";
    let ghprb = jenkins_job(&[
        ("ghprbPullId", "7"),
        ("ghprbTargetBranch", "main"),
        ("ghprbActualCommit", CHANGED),
        ("ghprbGhRepository", "owner/name"),
        ("sha1", "origin/pr/7/merge"),
    ]);
    let commit = "commit cccccccccccccccccccccccccccccccccccccccc (from ghprbActualCommit)";
    assert_told(
        &ghprb,
        &[
            "repo owner/name (from ghprbGhRepository)",
            "branch main (from ghprbTargetBranch)",
            commit,
            "change 7 (from ghprbPullId)",
            date,
        ],
    );
    assert_refuses_promote(&ghprb, "ghprbPullId is 7");

    let gitlab = jenkins_job(&[
        ("gitlabActionType", "MERGE"),
        ("gitlabMergeRequestIid", "12"),
        ("gitlabTargetBranch", "main"),
        ("gitlabMergeRequestLastCommit", CHANGED),
    ]);
    assert_told(
        &gitlab,
        &[
            git,
            "branch main (from gitlabTargetBranch)",
            "commit cccccccccccccccccccccccccccccccccccccccc (from gitlabMergeRequestLastCommit)",
            "change 12 (from gitlabMergeRequestIid)",
            date,
        ],
    );
    assert_refuses_promote(&gitlab, "gitlabMergeRequestIid is 12");
    let unnumbered = jenkins_job(&[("gitlabActionType", "NOTE")]);
    assert_refuses_promote(&unnumbered, "gitlabActionType is NOTE");
    assert_takes_promote(&jenkins_job(&[("gitlabActionType", "PUSH")]));

    let bitbucket = jenkins_job(&[
        ("BITBUCKET_PULL_REQUEST_ID", "3"),
        ("BITBUCKET_TARGET_BRANCH", "main"),
    ]);
    assert_refuses_promote(&bitbucket, "BITBUCKET_PULL_REQUEST_ID is 3");
}

#[test]
fn a_trial_merge_in_git_commit_is_the_change_that_it_merges() {
    let change = [
        ("CHANGE_ID", "7"),
        ("CHANGE_TARGET", "main"),
        ("BRANCH_NAME", "PR-7"),
    ];
    let commit = |around: &Around| {
        let told = around.told();
        told.into_iter()
            .find(|line| line.starts_with("commit"))
            .unwrap()
    };
    let merged = jenkins_job(&change).with_trial_merge();
    let own =
        "commit cccccccccccccccccccccccccccccccccccccccc (from GIT_COMMIT, a trial merge of it)";
    assert_eq!(commit(&merged), own);
    // Jenkins merges the branch into the change, or the change into the branch.
    let mut turned = merged.clone();
    turned.parents.reverse();
    assert_eq!(commit(&turned), own);
    // The author merged the branch, and pushed that.
    let mut pushed = merged.clone();
    pushed.branches.insert("PR-7", vec![MERGE]);
    assert!(
        commit(&pushed).starts_with("commit bbbb"),
        "{}",
        commit(&pushed)
    );
    let mut unknown = merged;
    unknown.branches.clear();
    let said = commit(&unknown);
    assert!(
        said.starts_with("commit: GIT_COMMIT is a merge, and which of its parents"),
        "{said}"
    );
    assert!(commit(&jenkins_job(&change)).starts_with("commit bbbb"));
    assert!(commit(&jenkins_job(&[]).with_trial_merge()).starts_with("commit bbbb"));
}

#[test]
fn a_remote_is_no_part_of_a_branch() {
    for (remotes, name) in [
        (&["upstream"][..], "upstream/release/1"),
        (&["origin", "upstream"], "upstream/release/1"),
        (&[], "refs/remotes/upstream/release/1"),
        (&[], "remotes/upstream/release/1"),
        (&["upstream"], "release/1"),
        (&["upstream"], "origin/release/1"),
    ] {
        let mut around = jenkins_job(&[("GIT_BRANCH", name)]);
        around.remotes = remotes.iter().map(|remote| (*remote).to_owned()).collect();
        let told = around.told();
        assert_eq!(told[1], "branch release/1 (from GIT_BRANCH)", "{name}");
    }
    let local = jenkins_job(&[("GIT_BRANCH", "x/main"), ("GIT_LOCAL_BRANCH", "main")]);
    assert_eq!(local.told()[1], "branch main (from GIT_LOCAL_BRANCH)");
}

#[test]
fn a_workflow_run_of_a_tag_or_a_schedule_is_no_change() {
    let run = |event: &str, name: &str| {
        github("workflow_run", "refs/heads/main").event(json!({"workflow_run": {
            "event": event, "head_sha": CHANGED, "head_branch": name, "pull_requests": [],
        }}))
    };
    let mut tagged = run("push", "v1.2.0");
    tagged.tags.insert("v1.2.0", CHANGED);
    let told = tagged.told();
    let tag = "tag v1.2.0 (from workflow_run.head_branch in GITHUB_EVENT_PATH)";
    assert!(told.contains(&tag.to_owned()), "{told:?}");
    let unknown = "branch: a tag was pushed, and a tag is on no branch; give --branch NAME";
    assert!(told.contains(&unknown.to_owned()), "{told:?}");
    // A branch of the same name, at another commit.
    tagged.tags.insert("v1.2.0", HEAD);
    assert!(
        tagged.told()[1].starts_with("branch v1.2.0"),
        "{:?}",
        tagged.told()
    );
    for event in ["schedule", "workflow_dispatch", "push", "release"] {
        let nightly = run(event, "main");
        assert!(nightly.told()[1].starts_with("branch main"), "{event}");
        assert_takes_promote(&nightly);
    }
    for event in [
        "pull_request",
        "pull_request_target",
        "pull_request_review",
        "merge_group",
    ] {
        assert_refuses_promote(&run(event, "topic"), &format!("is of a {event}"));
    }
    let silent = github("workflow_run", "refs/heads/main").event(json!({"workflow_run": {}}));
    assert_refuses_promote(&silent, "does not say what started it");
}

#[test]
fn gitea_and_forgejo_build_the_change_itself() {
    for system in ["GITEA_ACTIONS", "FORGEJO_ACTIONS"] {
        let around = github("pull_request", "refs/pull/7/head")
            .with(&[
                ("GITHUB_ACTIONS", ""),
                (system, "true"),
                ("GITHUB_SHA", CHANGED),
            ])
            .with(&[("GITHUB_BASE_REF", "main")]);
        let told = around.told();
        assert_eq!(told[1], "branch main (from GITHUB_BASE_REF)", "{told:?}");
        assert!(told[2].starts_with("commit cccc"), "{told:?}");
        assert_refuses_promote(&around, "GITHUB_EVENT_NAME is pull_request");
    }
}

/// What a system says of a push, a schedule, a tag and a change: its variables and what is told.
#[test]
fn the_other_systems() {
    type Case = (&'static [(&'static str, &'static str)], &'static str);
    let cases: [Case; 21] = [
        (
            &[
                ("BUILDKITE", "true"),
                ("BUILDKITE_PULL_REQUEST", "false"),
                ("BUILDKITE_BRANCH", "main"),
                ("BUILDKITE_COMMIT", CHANGED),
                ("BUILDKITE_REPO", "git@h:o/n.git"),
            ],
            "o/n main c",
        ),
        (
            &[
                ("BUILDKITE", "true"),
                ("BUILDKITE_PULL_REQUEST", "7"),
                ("BUILDKITE_PULL_REQUEST_BASE_BRANCH", "main"),
                ("BUILDKITE_BRANCH", "topic"),
                ("BUILDKITE_COMMIT", CHANGED),
                ("BUILDKITE_REPO", "git@h:o/n.git"),
            ],
            "o/n main c change 7",
        ),
        (
            &[
                ("BUILDKITE", "true"),
                ("BUILDKITE_PULL_REQUEST", "7"),
                ("BUILDKITE_PULL_REQUEST_BASE_BRANCH", "main"),
                ("BUILDKITE_PULL_REQUEST_USING_MERGE_REFSPEC", "true"),
                ("BUILDKITE_COMMIT", MERGE),
                ("BUILDKITE_REPO", "git@h:o/n.git"),
            ],
            "o/n main c change 7",
        ),
        (
            &[
                ("BUILDKITE", "true"),
                ("BUILDKITE_PULL_REQUEST", "false"),
                ("BUILDKITE_MERGE_QUEUE_BASE_BRANCH", "main"),
                ("BUILDKITE_COMMIT", CHANGED),
                ("BUILDKITE_REPO", "git@h:o/n.git"),
            ],
            "o/n main c proposed",
        ),
        (
            &[
                ("BUILDKITE", "true"),
                ("BUILDKITE_PULL_REQUEST", "false"),
                ("BUILDKITE_TAG", "v1"),
                ("BUILDKITE_BRANCH", "v1"),
                ("BUILDKITE_COMMIT", CHANGED),
                ("BUILDKITE_REPO", "git@h:o/n.git"),
            ],
            "o/n - c tag v1",
        ),
        (
            &[
                ("CIRCLECI", "true"),
                ("CIRCLE_PROJECT_USERNAME", "o"),
                ("CIRCLE_PROJECT_REPONAME", "n"),
                ("CIRCLE_BRANCH", "main"),
                ("CIRCLE_SHA1", CHANGED),
            ],
            "o/n main c",
        ),
        (
            &[
                ("CIRCLECI", "true"),
                ("CIRCLE_REPOSITORY_URL", "git@h:o/n.git"),
                ("CIRCLE_BRANCH", "topic"),
                ("CIRCLE_PULL_REQUEST", "https://h/o/n/pull/7"),
                ("CIRCLE_SHA1", CHANGED),
            ],
            "o/n - c change 7",
        ),
        (
            &[
                ("CIRCLECI", "true"),
                ("CIRCLE_REPOSITORY_URL", "git@h:o/n.git"),
                ("CIRCLE_BRANCH", "pull/7"),
                ("CIRCLE_PR_NUMBER", "7"),
                ("CIRCLE_SHA1", CHANGED),
            ],
            "o/n - c change 7",
        ),
        (
            &[
                ("CIRCLECI", "true"),
                ("CIRCLE_REPOSITORY_URL", "git@h:o/n.git"),
                ("CIRCLE_TAG", "v1"),
                ("CIRCLE_SHA1", CHANGED),
            ],
            "o/n - c tag v1",
        ),
        (
            &[
                ("TF_BUILD", "True"),
                ("BUILD_REPOSITORY_NAME", "o/n"),
                ("BUILD_REASON", "Schedule"),
                ("BUILD_SOURCEBRANCH", "refs/heads/main"),
                ("BUILD_SOURCEVERSION", CHANGED),
            ],
            "o/n main c",
        ),
        (
            &[
                ("TF_BUILD", "True"),
                ("BUILD_REPOSITORY_NAME", "o/n"),
                ("BUILD_SOURCEBRANCH", "refs/tags/v1"),
                ("BUILD_SOURCEVERSION", CHANGED),
            ],
            "o/n - c tag v1",
        ),
        (
            &[
                ("TF_BUILD", "True"),
                ("BUILD_REPOSITORY_NAME", "o/n"),
                ("BUILD_REASON", "PullRequest"),
                ("BUILD_SOURCEBRANCH", "refs/pull/7/merge"),
                ("BUILD_SOURCEVERSION", MERGE),
                ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main"),
                ("SYSTEM_PULLREQUEST_PULLREQUESTID", "9001"),
                ("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "7"),
                ("SYSTEM_PULLREQUEST_SOURCECOMMITID", CHANGED),
            ],
            "o/n main c change 7",
        ),
        (
            &[
                ("TF_BUILD", "True"),
                ("BUILD_REPOSITORY_NAME", "o/n"),
                ("BUILD_SOURCEBRANCH", "refs/pull/7/merge"),
                ("BUILD_SOURCEVERSION", MERGE),
                ("SYSTEM_PULLREQUEST_TARGETBRANCH", "main"),
            ],
            "o/n main c proposed",
        ),
        (
            &[
                ("BITBUCKET_BUILD_NUMBER", "1"),
                ("BITBUCKET_REPO_FULL_NAME", "o/n"),
                ("BITBUCKET_BRANCH", "main"),
                ("BITBUCKET_COMMIT", CHANGED),
            ],
            "o/n main c",
        ),
        (
            &[
                ("BITBUCKET_BUILD_NUMBER", "1"),
                ("BITBUCKET_REPO_FULL_NAME", "o/n"),
                ("BITBUCKET_BRANCH", "topic"),
                ("BITBUCKET_PR_ID", "7"),
                ("BITBUCKET_PR_DESTINATION_BRANCH", "main"),
                ("BITBUCKET_COMMIT", "cccccccccccc"),
            ],
            "o/n main c change 7",
        ),
        (
            &[
                ("BITBUCKET_BUILD_NUMBER", "1"),
                ("BITBUCKET_REPO_FULL_NAME", "o/n"),
                ("BITBUCKET_TAG", "v1"),
                ("BITBUCKET_COMMIT", CHANGED),
            ],
            "o/n - c tag v1",
        ),
        (
            &[
                ("DRONE", "true"),
                ("DRONE_REPO", "o/n"),
                ("DRONE_BUILD_EVENT", "cron"),
                ("DRONE_BRANCH", "main"),
                ("DRONE_COMMIT_SHA", CHANGED),
            ],
            "o/n main c",
        ),
        (
            &[
                ("DRONE", "true"),
                ("DRONE_REPO", "o/n"),
                ("DRONE_BUILD_EVENT", "pull_request"),
                ("DRONE_PULL_REQUEST", "7"),
                ("DRONE_TARGET_BRANCH", "main"),
                ("DRONE_COMMIT_SHA", CHANGED),
            ],
            "o/n main c change 7",
        ),
        (
            &[
                ("CI", "woodpecker"),
                ("CI_REPO", "o/n"),
                ("CI_PIPELINE_EVENT", "cron"),
                ("CI_COMMIT_BRANCH", "main"),
                ("CI_COMMIT_SHA", CHANGED),
            ],
            "o/n main c",
        ),
        (
            &[
                ("CI", "woodpecker"),
                ("CI_REPO", "o/n"),
                ("CI_PIPELINE_EVENT", "pull_request"),
                ("CI_COMMIT_PULL_REQUEST", "7"),
                ("CI_COMMIT_BRANCH", "topic"),
                ("CI_COMMIT_TARGET_BRANCH", "main"),
                ("CI_COMMIT_SHA", CHANGED),
            ],
            "o/n main c change 7",
        ),
        (
            &[
                ("CI", "woodpecker"),
                ("CI_REPO", "o/n"),
                ("CI_PIPELINE_EVENT", "tag"),
                ("CI_COMMIT_TAG", "v1"),
                ("CI_COMMIT_SHA", CHANGED),
            ],
            "o/n - c tag v1",
        ),
    ];
    for (variables, expected) in cases {
        let around = Around::detached().with_trial_merge().with(variables);
        let mut detector = around.detector(None);
        let repo = detector
            .repo(None)
            .map_or("-".to_owned(), |repo| repo.to_string());
        let branch = detector
            .branch(None)
            .map_or("-".to_owned(), |branch| branch.to_string());
        let commit = detector
            .commit()
            .map_or("-".to_owned(), |commit| commit.as_str()[..1].to_owned());
        let mut told = format!("{repo} {branch} {commit}");
        if let Some(change) = detector.change(None) {
            told.push_str(&format!(" change {change}"));
        }
        match detector.tag(None).as_str() {
            "" => {}
            tag => told.push_str(&format!(" tag {tag}")),
        }
        let is_change = expected.contains("change") || expected.contains("proposed");
        assert_eq!(
            told,
            expected.trim_end_matches(" proposed"),
            "{variables:?}"
        );
        if is_change {
            assert_refuses_promote(&around, " is ");
        } else {
            assert_takes_promote(&around);
        }
    }
}

#[test]
fn a_flag_wins_and_is_said_to() {
    let mut detector = github("push", "refs/heads/main").detector(Some(HEAD));
    detector.repo(Some("other".parse().unwrap()));
    detector.branch(Some("next".parse().unwrap()));
    detector.commit();
    detector.run_date(Some("2020-01-02T03:04:05.9+00:00".parse().unwrap()));
    detector.tag(Some(Tag::live()));
    assert_eq!(
        detector.told(),
        [
            "repo other (from --repo)",
            "branch next (from --branch)",
            "commit aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa (from --commit)",
            "run date 2020-01-02T03:04:05Z (from --run-date)",
            "tag `` (from --tag)",
        ]
    );
    assert_eq!(detector.told_by_others(), [""; 0]);
}

#[test]
fn what_is_said_of_one_commit_is_not_said_of_another() {
    let gitlab = Around::checkout().with(&[
        ("GITLAB_CI", "true"),
        ("CI_PROJECT_PATH", "group/name"),
        ("CI_COMMIT_SHA", MERGE),
        ("CI_COMMIT_TAG", "14.04"),
        ("CI_COMMIT_TIMESTAMP", "2020-01-02T05:04:05+02:00"),
    ]);
    let told = all(gitlab.detector(Some(&MERGE.to_uppercase())));
    assert!(told[2].starts_with("tag 14.04"), "{told:?}");
    assert!(told[3].ends_with("(from CI_COMMIT_TIMESTAMP)"), "{told:?}");
    assert_eq!(
        all(gitlab.detector(Some(CHANGED))),
        [
            "repo group/name (from CI_PROJECT_PATH)",
            "branch main (from git)",
            "commit cccccccccccccccccccccccccccccccccccccccc (from --commit)",
            "run date 2026-11-30T09:00:03Z (from git)",
        ]
    );
    // The commit that a trial merge made is one of the change.
    let request = github("pull_request", "refs/pull/7/merge").event(pull_request());
    let told = all(request.detector(Some(MERGE)));
    assert!(told[3].starts_with("change 7"), "{told:?}");
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    let long = "x".repeat(81);
    let around = Around::checkout().with(&[
        ("GITLAB_CI", "true"),
        ("CI_PROJECT_PATH", &long),
        ("CI_COMMIT_SHA", "abc"),
        ("CI_COMMIT_BRANCH", "a\u{1b}b"),
        ("CI_COMMIT_TIMESTAMP", "yesterday"),
    ]);
    assert_told(
        &around,
        &[
            &format!(
                "repo: `{long}` (from CI_PROJECT_PATH) must be at most 80 characters long, has 81; give another with --repo"
            ),
            "branch: `a\u{fffd}b` (from CI_COMMIT_BRANCH) must not hold control characters, has U+001B; give another with --branch",
            "commit: `abc` (from CI_COMMIT_SHA) must be 40 hexadecimal digits, the whole name of a commit; give another with --commit",
            "run date: `yesterday` (from CI_COMMIT_TIMESTAMP) must be a date and time as in RFC 3339, such as 2026-11-30T09:00:00Z; give another with --run-date",
        ],
    );
}

#[test]
fn the_pipeline_is_never_guessed() {
    let named = |around: &Around, flag: Option<&str>| {
        let mut detector = around.detector(None);
        detector.pipeline(flag.map(|flag| flag.parse().unwrap()));
        let mut told = detector.told();
        told.extend(detector.faults().iter().cloned());
        told
    };
    let unknown = named(&Around::checkout().with(&[(PIPELINE_VARIABLE, "")]), None);
    assert_eq!(unknown.len(), 1);
    assert!(unknown[0].starts_with("pipeline: nothing says it; give --pipeline NAME or set"));
    assert!(unknown[0].contains("`promote` for a commit that has merged"));
    let zuul = Around::checkout().with(&[("ZUUL_PIPELINE", "gate")]);
    assert_eq!(named(&zuul, None), ["pipeline gate (from ZUUL_PIPELINE)"]);
    let both = zuul.with(&[(PIPELINE_VARIABLE, "post")]);
    assert_eq!(
        named(&both, None),
        ["pipeline post (from PERF_TRACKING_PIPELINE)"]
    );
    assert_eq!(
        named(&both, Some("promote")),
        ["pipeline promote (from --pipeline)"]
    );
}

#[track_caller]
fn assert_takes_promote(around: &Around) {
    let mut detector = around.detector(None);
    detector.pipeline(Some(Pipeline::promote()));
    assert_eq!(detector.faults(), [""; 0]);
}

/// The history is of merged commits alone.
#[track_caller]
fn assert_refuses_promote(around: &Around, why: &str) {
    for commit in [None, Some(HEAD)] {
        let mut detector = around.detector(commit);
        detector.pipeline(Some("check".parse().unwrap()));
        assert_eq!(detector.faults(), [""; 0]);
        detector.pipeline(Some(Pipeline::promote()));
        let [fault] = detector.faults() else {
            panic!("{:?}", detector.faults())
        };
        assert!(
            fault.contains("has not (") && fault.contains(why),
            "{fault}"
        );
    }
}

#[test]
fn the_subject_is_that_of_the_commit_and_made_to_fit() {
    let subject = |around: Around, commit| {
        let mut detector = around.detector(commit);
        detector.commit();
        detector.subject().map(|subject| subject.to_string())
    };
    let here = subject(Around::checkout(), None);
    assert_eq!(here.as_deref(), Some("Fix it in aaaa"));
    let other = subject(Around::checkout(), Some(CHANGED));
    assert_eq!(other.as_deref(), Some("Fix it in cccc"));
    assert_eq!(subject(Around::nothing(), Some(CHANGED)), None);
}

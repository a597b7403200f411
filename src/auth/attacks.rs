//! What an attacker would send, and what else may go wrong with a token.

use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Map, Value as Json, json};

use super::*;
use crate::domain::{JsonText, Run, Scope};

/// The key pair of RFC 8032, section 7.1, test 1.
const PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n\
    -----END PUBLIC KEY-----\n";
const PRIVATE_PEM: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
    -----END PRIVATE KEY-----\n";

const SECRET: &str = "the secret that signs: 0123456789abcdef";
const FORMER: &str = "the secret before it: 0123456789abcdefg";
const FOREIGN: &str = "a secret that is not ours: 0123456789ab";

fn secret(text: &str) -> Secret {
    Secret::new(text).unwrap()
}

fn ring() -> KeyRing {
    KeyRing::new(&secret(SECRET))
        .with_former(&secret(FORMER))
        .with_public_key("ci", PUBLIC_PEM.as_bytes())
        .unwrap()
        .with_revoked(["lost".to_owned()])
}

/// A time that the machine's clock does not show.
fn now() -> DateTime<Utc> {
    "2031-05-06T07:08:09Z".parse().unwrap()
}

fn in_seconds(seconds: i64) -> i64 {
    (now() + TimeDelta::seconds(seconds)).timestamp()
}

fn good_claims() -> Map<String, Json> {
    let Json::Object(claims) = json!({
        "iss": "perf-tracking", "aud": "perf-tracking", "sub": "gate-job",
        "exp": in_seconds(60), "iat": in_seconds(-60), "jti": "1", "scope": "runs:read",
    }) else {
        unreachable!()
    };
    claims
}

fn with(name: &str, value: Json) -> Map<String, Json> {
    let mut claims = good_claims();
    claims.insert(name.to_owned(), value);
    claims
}

fn without(name: &str) -> Map<String, Json> {
    let mut claims = good_claims();
    claims.remove(name);
    claims
}

fn header(algorithm: Algorithm, kid: Option<&str>) -> Header {
    Header {
        kid: kid.map(str::to_owned),
        ..Header::new(algorithm)
    }
}

fn hs(
    secret: &[u8],
    algorithm: Algorithm,
    kid: Option<&str>,
    claims: &Map<String, Json>,
) -> String {
    let key = EncodingKey::from_secret(secret).unwrap();
    jsonwebtoken::encode(&header(algorithm, kid), claims, &key).unwrap()
}

fn signed(claims: &Map<String, Json>) -> String {
    hs(SECRET.as_bytes(), Algorithm::HS256, None, claims)
}

fn ed(kid: Option<&str>, claims: &Map<String, Json>) -> String {
    let key = EncodingKey::from_ed_pem(PRIVATE_PEM.as_bytes()).unwrap();
    jsonwebtoken::encode(&header(Algorithm::EdDSA, kid), claims, &key).unwrap()
}

fn base64(text: impl AsRef<[u8]>) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}

/// A token whose header and claims are put down as text and then signed rightly.
fn signed_text(header: &str, claims: &str) -> String {
    let message = format!("{}.{}", base64(header), base64(claims));
    let key = EncodingKey::from_secret(SECRET.as_bytes()).unwrap();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    format!("{message}.{signature}")
}

fn verify(token: &str) -> Result<Grant, TokenError> {
    ring().verify(token, now())
}

fn bad(claims: &Map<String, Json>) -> &'static str {
    match verify(&signed(claims)) {
        Err(TokenError::BadClaim { claim, .. }) => claim,
        other => panic!("{claims:?}: {other:?}"),
    }
}

fn run(change: impl FnOnce(&mut Map<String, Json>)) -> Run {
    let Json::Object(mut body) = json!({
        "workload": "perf", "repo": "drizzle", "branch": "main", "commit_sha": "a".repeat(40),
        "pipeline": "promote", "distro": "trixie", "arch": "amd64", "host_class": "callgrind",
        "run_date": "2031-05-06T07:08:09Z", "succeeded": true,
        "metrics": [{"metric_key": "callgrind.ir", "value": 1}],
    }) else {
        unreachable!()
    };
    change(&mut body);
    let body = Json::Object(body).to_string();
    Run::parse(JsonText::parse(body.as_bytes()).unwrap()).unwrap()
}

#[test]
fn every_kind_of_key_is_accepted_for_its_own_tokens() {
    let claims = good_claims();
    let current = secret(SECRET).key_id();
    let former = secret(FORMER).key_id();
    for token in [
        signed(&claims),
        hs(SECRET.as_bytes(), Algorithm::HS256, Some(&current), &claims),
        hs(FORMER.as_bytes(), Algorithm::HS256, None, &claims),
        hs(FORMER.as_bytes(), Algorithm::HS256, Some(&former), &claims),
        ed(Some("ci"), &claims),
    ] {
        let grant = verify(&token).unwrap();
        assert_eq!(grant.subject.as_str(), "gate-job");
        assert!(grant.narrow.is_wide());
    }
}

#[test]
fn a_minted_token_is_accepted_and_names_its_key() {
    let narrow = Narrow {
        branch: Some(["main".to_owned()].into()),
        ..Narrow::default()
    };
    let request = TokenRequest {
        subject: "promote".parse().unwrap(),
        scopes: [Scope::RunsWrite].into(),
        narrow: narrow.clone(),
        expires_in: std::time::Duration::from_secs(60),
    };
    let token = ring().issue(request.clone(), now()).unwrap();
    let grant = verify(&token).unwrap();
    assert_eq!(grant.subject, request.subject);
    assert_eq!(grant.scopes, request.scopes);
    assert_eq!(grant.narrow, narrow);
    let peek = peek(&token).unwrap();
    assert_eq!(peek.algorithm, "HS256");
    assert_eq!(peek.key_id, Some(secret(SECRET).key_id()));
    let id = peek.claims["jti"].as_str().unwrap().to_owned();
    assert_eq!(uuid::Uuid::parse_str(&id).unwrap().get_version_num(), 4);
    let ring = ring().with_revoked([id]);
    assert_eq!(ring.verify(&token, now()), Err(TokenError::Revoked));
}

#[test]
fn a_token_ends_by_the_year_9999() {
    let mut request = TokenRequest {
        subject: "s".parse().unwrap(),
        scopes: [Scope::RunsRead].into(),
        narrow: Narrow::default(),
        expires_in: std::time::Duration::MAX,
    };
    assert_eq!(
        ring().issue(request.clone(), now()),
        Err(IssueError::TooFarAhead)
    );
    request.expires_in = std::time::Duration::from_secs(10_000 * 366 * 86_400);
    assert_eq!(ring().issue(request, now()), Err(IssueError::TooFarAhead));
}

#[test]
fn no_algorithm_is_nobodys() {
    let claims = serde_json::to_string(&with("scope", json!("runs:write"))).unwrap();
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let header = base64(json!({"alg": alg, "typ": "JWT"}).to_string());
        for signature in ["", "AAAA"] {
            let token = format!("{header}.{}.{signature}", base64(&claims));
            assert_eq!(verify(&token), Err(TokenError::WrongAlgorithm), "{alg:?}");
        }
    }
}

#[test]
fn a_public_key_is_no_secret() {
    let claims = good_claims();
    let pem = PUBLIC_PEM.as_bytes();
    let raw = &pem[27..87];
    for secret in [pem, pem.trim_ascii_end(), raw] {
        let named = hs(secret, Algorithm::HS256, Some("ci"), &claims);
        assert_eq!(verify(&named), Err(TokenError::WrongAlgorithm));
        let unnamed = hs(secret, Algorithm::HS256, None, &claims);
        assert_eq!(verify(&unnamed), Err(TokenError::BadSignature));
    }
}

#[test]
fn a_key_is_used_with_its_own_algorithm_alone() {
    let claims = good_claims();
    let id = secret(SECRET).key_id();
    for algorithm in [Algorithm::HS384, Algorithm::HS512] {
        for kid in [None, Some(id.as_str())] {
            let token = hs(SECRET.as_bytes(), algorithm, kid, &claims);
            assert_eq!(verify(&token), Err(TokenError::WrongAlgorithm));
        }
    }
    assert_eq!(
        verify(&ed(Some(&id), &claims)),
        Err(TokenError::WrongAlgorithm)
    );
    assert_eq!(verify(&ed(None, &claims)), Err(TokenError::WrongAlgorithm));
    let relabelled = hs(SECRET.as_bytes(), Algorithm::HS256, Some("ci"), &claims);
    assert_eq!(verify(&relabelled), Err(TokenError::WrongAlgorithm));
}

#[test]
fn a_key_that_is_not_here_is_refused() {
    let claims = good_claims();
    for kid in ["", "other", "../../etc/passwd", "0000000000000000", "CI"] {
        let token = hs(SECRET.as_bytes(), Algorithm::HS256, Some(kid), &claims);
        assert_eq!(verify(&token), Err(TokenError::UnknownKey), "{kid:?}");
    }
    let former = secret(FORMER).key_id();
    let crossed = hs(SECRET.as_bytes(), Algorithm::HS256, Some(&former), &claims);
    assert_eq!(verify(&crossed), Err(TokenError::BadSignature));
    let foreign = hs(FOREIGN.as_bytes(), Algorithm::HS256, None, &claims);
    assert_eq!(verify(&foreign), Err(TokenError::BadSignature));
}

#[test]
fn a_header_cannot_bring_its_own_key_or_its_own_rules() {
    let claims = serde_json::to_string(&good_claims()).unwrap();
    for header in [
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":"HS256","b64":false,"crit":["b64"]}"#,
        r#"{"alg":"HS256","kid":7}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":"none","alg":"HS256"}"#,
        r#"{"typ":"JWT"}"#,
        r#"["HS256"]"#,
        "",
        "{",
    ] {
        let token = signed_text(header, &claims);
        assert_eq!(verify(&token), Err(TokenError::Malformed), "{header}");
    }
    let own_key = base64(FOREIGN);
    let header = json!({"alg": "HS256", "jwk": {"kty": "oct", "k": own_key}}).to_string();
    let message = format!("{}.{}", base64(header), base64(&claims));
    let key = EncodingKey::from_secret(FOREIGN.as_bytes()).unwrap();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256).unwrap();
    assert_eq!(
        verify(&format!("{message}.{signature}")),
        Err(TokenError::BadSignature)
    );
}

#[test]
fn what_was_changed_after_signing_is_refused() {
    let token = signed(&good_claims());
    let parts: Vec<&str> = token.split('.').collect();
    let more = base64(serde_json::to_string(&with("scope", json!("runs:write"))).unwrap());
    let tampered = format!("{}.{more}.{}", parts[0], parts[2]);
    assert_eq!(verify(&tampered), Err(TokenError::BadSignature));
    let stripped = format!("{}.{}.", parts[0], parts[1]);
    assert_eq!(verify(&stripped), Err(TokenError::BadSignature));
    let cut = &token[..token.len() - 4];
    assert_eq!(verify(cut), Err(TokenError::BadSignature));
    let ed_token = ed(Some("ci"), &good_claims());
    let ed_stripped = &ed_token[..=ed_token.rfind('.').unwrap()];
    assert_eq!(verify(ed_stripped), Err(TokenError::BadSignature));
}

#[test]
fn a_shape_that_is_no_tokens_is_refused() {
    let token = signed(&good_claims());
    let parts: Vec<&str> = token.split('.').collect();
    let [header, claims, signature] = parts[..] else {
        unreachable!()
    };
    for text in [
        String::new(),
        ".".to_owned(),
        "..".to_owned(),
        "...".to_owned(),
        "not a token".to_owned(),
        format!("{header}.{claims}"),
        format!("{token}."),
        format!(".{token}"),
        format!("{token}.{signature}"),
        format!("{header}.{header}.{claims}.{signature}"),
        format!("{header}..{signature}"),
        format!("{header}=.{claims}.{signature}"),
        format!("{header}.{claims}.{signature}="),
        format!("{header}.{claims}.sig nature"),
        format!(" {token}"),
        format!("Bearer {token}"),
        format!("{token}\n"),
        format!("{header}.{claims}.ä"),
        format!("{header}\0.{claims}.{signature}"),
    ] {
        let refused = verify(&text);
        let expected = if text == format!("{header}..{signature}") {
            TokenError::BadSignature
        } else {
            TokenError::Malformed
        };
        assert_eq!(refused, Err(expected), "{text:?}");
    }
    for claims in ["", "[]", "\"a\"", "{", "null", "{\"exp\":1}x"] {
        let token = signed_text(r#"{"alg":"HS256"}"#, claims);
        assert_eq!(verify(&token), Err(TokenError::Malformed), "{claims:?}");
    }
}

#[test]
fn a_hundred_kilobytes_are_not_even_decoded() {
    let big = signed(&with("padding", json!("x".repeat(100_000))));
    assert_eq!(verify(&big), Err(TokenError::TooLong));
    assert_eq!(verify(&"é".repeat(100_000)), Err(TokenError::TooLong));
    assert_eq!(
        verify(&".".repeat(MAX_TOKEN_BYTES + 1)),
        Err(TokenError::TooLong)
    );
    assert_eq!(
        verify(&".".repeat(MAX_TOKEN_BYTES)),
        Err(TokenError::Malformed)
    );
    let deep = signed_text(r#"{"alg":"HS256"}"#, &"[".repeat(5000));
    assert_eq!(verify(&deep), Err(TokenError::Malformed));
}

#[test]
fn time_is_the_callers_and_the_leeway_is_five_seconds() {
    let expiring = |seconds| verify(&signed(&with("exp", json!(in_seconds(seconds))))).map(drop);
    assert_eq!(expiring(1), Ok(()));
    assert_eq!(expiring(-4), Ok(()));
    assert_eq!(expiring(-5), Err(TokenError::Expired));
    assert_eq!(expiring(-86_400), Err(TokenError::Expired));
    let starting = |seconds| verify(&signed(&with("nbf", json!(in_seconds(seconds))))).map(drop);
    assert_eq!(starting(-1), Ok(()));
    assert_eq!(starting(5), Ok(()));
    assert_eq!(starting(6), Err(TokenError::NotYetValid));
    assert_eq!(LEEWAY, TimeDelta::seconds(5));
}

#[test]
fn an_end_is_needed_and_is_a_time() {
    assert_eq!(verify(&signed(&without("exp"))), Err(TokenError::NoExpiry));
    let later = in_seconds(60);
    assert!(verify(&signed(&with("exp", json!(later as f64 + 0.5)))).is_ok());
    let text = |exp: &str| {
        let mut claims = serde_json::to_string(&without("exp")).unwrap();
        claims.insert_str(1, &format!("\"exp\":{exp},"));
        signed_text(r#"{"alg":"HS256"}"#, &claims)
    };
    assert!(verify(&text("253402300799")).is_ok());
    assert!(verify(&text("253402300799.9")).is_ok());
    for exp in [
        "null",
        "true",
        "\"\"",
        "\"9999999999\"",
        "-1",
        "-1.5",
        "-1e300",
        "253402300800",
        "253402300800.0",
        "9223372036854775807",
        "18446744073709551616",
        "1e300",
        "99999999999999999999999999999999999999",
    ] {
        let refused = verify(&text(exp));
        let is_bad = matches!(refused, Err(TokenError::BadClaim { claim: "exp", .. }));
        assert!(is_bad, "{exp}: {refused:?}");
    }
    // The library may lose its place in these and find no JSON, where we find no time.
    for exp in [
        "1e400",
        "[]",
        "[9999999999]",
        "{}",
        "{\"a\":1}",
        "NaN",
        "01",
    ] {
        let refused = verify(&text(exp)).unwrap_err();
        let is_bad = matches!(refused, TokenError::BadClaim { claim: "exp", .. });
        assert!(
            is_bad || refused == TokenError::Malformed,
            "{exp}: {refused:?}"
        );
    }
    assert_eq!(verify(&text("0")), Err(TokenError::Expired));
    assert_eq!(verify(&text("1e3")), Err(TokenError::Expired));
}

#[test]
fn a_token_for_or_from_another_is_refused() {
    for iss in [
        json!("other"),
        json!(""),
        json!(["perf-tracking"]),
        json!(null),
        json!("Perf-Tracking"),
    ] {
        assert_eq!(
            verify(&signed(&with("iss", iss))),
            Err(TokenError::WrongIssuer)
        );
    }
    assert_eq!(
        verify(&signed(&without("iss"))),
        Err(TokenError::WrongIssuer)
    );
    for aud in [
        json!("other"),
        json!([]),
        json!(["other"]),
        json!(7),
        json!(null),
        json!(["perf-tracking2"]),
    ] {
        assert_eq!(
            verify(&signed(&with("aud", aud))),
            Err(TokenError::WrongAudience)
        );
    }
    assert_eq!(
        verify(&signed(&without("aud"))),
        Err(TokenError::WrongAudience)
    );
    let among_others = with("aud", json!(["other", "perf-tracking"]));
    assert!(verify(&signed(&among_others)).is_ok());
}

#[test]
fn a_revoked_token_is_refused_whichever_key_signed_it() {
    let claims = with("jti", json!("lost"));
    assert_eq!(verify(&signed(&claims)), Err(TokenError::Revoked));
    assert_eq!(verify(&ed(Some("ci"), &claims)), Err(TokenError::Revoked));
    assert!(verify(&signed(&without("jti"))).is_ok());
}

#[test]
fn a_claim_of_another_kind_refuses_the_token_rather_than_widening_it() {
    assert_eq!(bad(&with("jti", json!(1))), "jti");
    assert_eq!(bad(&with("nbf", json!("0"))), "nbf");
    assert_eq!(bad(&with("iat", json!([]))), "iat");
    assert_eq!(bad(&with("scope", json!(["runs:read"]))), "scope");
    assert_eq!(bad(&without("sub")), "sub");
    for sub in [json!(""), json!(5), json!("a\nb"), json!("x".repeat(256))] {
        assert_eq!(bad(&with("sub", sub)), "sub");
    }
    for name in ["repo", "branch", "workload", "pipeline"] {
        for value in [
            json!(null),
            json!(1),
            json!({}),
            json!(["main", 1]),
            json!([["main"]]),
        ] {
            assert_eq!(bad(&with(name, value)), name);
        }
    }
}

#[test]
fn one_right_implies_no_other() {
    let grant = |scope: &str| verify(&signed(&with("scope", json!(scope)))).unwrap();
    let rights = |scope: &str| {
        let grant = grant(scope);
        (
            grant.allows(Scope::RunsRead),
            grant.allows(Scope::RunsWrite),
        )
    };
    assert_eq!(rights("runs:read"), (true, false));
    assert_eq!(rights("runs:write"), (false, true));
    assert_eq!(rights("runs:write runs:read"), (true, true));
    assert_eq!(rights("runs:write  runs:read runs:write"), (true, true));
    for nothing in [
        "",
        " ",
        "runs:*",
        "*",
        "runs",
        "admin",
        "RUNS:READ",
        "runs:read,runs:write",
        "runs:read\truns:write",
    ] {
        assert_eq!(rights(nothing), (false, false), "{nothing:?}");
    }
    assert_eq!(rights("runs:delete runs:read"), (true, false));
    let none = verify(&signed(&without("scope"))).unwrap();
    assert!(none.scopes.is_empty());
}

#[test]
fn a_narrowed_token_writes_inside_its_claims_alone() {
    let grant = |name: &str, value: Json| verify(&signed(&with(name, value))).unwrap();
    let inside = run(|_| {});
    for (name, value) in [
        ("repo", "drizzle"),
        ("branch", "main"),
        ("workload", "perf"),
        ("pipeline", "promote"),
    ] {
        assert_eq!(grant(name, json!(value)).check_write(&inside), Ok(()));
        assert_eq!(
            grant(name, json!(["x", value])).check_write(&inside),
            Ok(())
        );
        let outside = run(|body| {
            body.insert(name.to_owned(), json!("other"));
        });
        let refused = grant(name, json!(value)).check_write(&outside).unwrap_err();
        assert_eq!((refused.claim, refused.value.as_str()), (name, "other"));
        assert!(
            refused
                .to_string()
                .contains(&format!("`{name}` is `other`"))
        );
        assert!(grant(name, json!([])).check_write(&inside).is_err());
        for near in [
            value.to_uppercase(),
            format!("{value} "),
            "*".to_owned(),
            String::new(),
        ] {
            assert!(
                grant(name, json!(near)).check_write(&inside).is_err(),
                "{near:?}"
            );
        }
    }
}

#[test]
fn a_key_that_is_not_an_ed25519_public_key_is_not_taken() {
    let take = |pem: &str| {
        KeyRing::new(&secret(SECRET))
            .with_public_key("k", pem.as_bytes())
            .map(drop)
    };
    assert_eq!(take(PUBLIC_PEM), Ok(()));
    let short = PUBLIC_PEM.replace(
        "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
        "MAwwBQYDK2VwAwMAAAA=",
    );
    for pem in [PRIVATE_PEM, &short, "", "ssh-ed25519 AAAA", SECRET] {
        assert_eq!(take(pem), Err(PublicKeyError::NotEd25519), "{pem}");
    }
    let twice = ring()
        .with_public_key("ci", PUBLIC_PEM.as_bytes())
        .map(drop);
    assert_eq!(twice, Err(PublicKeyError::DuplicateId));
    let as_secret = ring().with_public_key(&secret(FORMER).key_id(), PUBLIC_PEM.as_bytes());
    assert_eq!(as_secret.map(drop), Err(PublicKeyError::DuplicateId));
}

#[test]
fn nothing_shows_a_secret_or_a_token() {
    let shown = format!("{:?}", ring());
    for part in [SECRET, FORMER, "the secret", "11qYAYKxCrfVS"] {
        assert!(!shown.contains(part), "{shown}");
    }
    for byte_list in [SECRET, FORMER].map(|text| format!("{:?}", &text.as_bytes()[..4])) {
        assert!(
            !shown.contains(byte_list.trim_matches(['[', ']'])),
            "{shown}"
        );
    }
    let token = signed(&with("jti", json!("lost")));
    for part in token.split('.') {
        let other = format!("{part}.{part}.{part}");
        let errors = [verify(&token), verify(&other), verify(part)].map(Result::unwrap_err);
        let shown = format!(
            "{errors:?} {}",
            errors.map(|error| error.to_string()).join(" ")
        );
        assert!(!shown.contains(part), "{shown}");
    }
}

mod files {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::auth::{PublicKeyFile, SecretPath, TokenSettings};

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn file(&self, name: &str, content: &str) -> PathBuf {
            use std::os::unix::fs::PermissionsExt;
            let path = self.path(name);
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            path
        }

        fn settings(&self) -> TokenSettings {
            TokenSettings::from(SecretPath::Named(self.file("secret", SECRET)))
        }
    }

    fn refusal(settings: &TokenSettings) -> String {
        let error = KeyRing::load_or_create(settings).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("the secret that"), "{shown}");
        error.to_string()
    }

    #[test]
    fn every_file_is_read_and_read_anew() {
        let folder = Folder::new();
        let settings = TokenSettings {
            former_secrets: vec![folder.file("former", FORMER)],
            public_keys: vec![PublicKeyFile {
                id: "ci".to_owned(),
                path: folder.file("ci.pem", PUBLIC_PEM),
            }],
            revoked_tokens: Some(
                folder.file("revoked", "# of 2031\n\n lost  # by the gate job\r\n"),
            ),
            ..folder.settings()
        };
        let keys = KeyRing::load(&settings).unwrap();
        assert_eq!((keys.created, keys.warnings), (None, Vec::new()));
        let claims = good_claims();
        let former = hs(FORMER.as_bytes(), Algorithm::HS256, None, &claims);
        for token in [signed(&claims), former, ed(Some("ci"), &claims)] {
            assert!(keys.ring.verify(&token, now()).is_ok());
        }
        let lost = signed(&with("jti", json!("lost")));
        assert_eq!(keys.ring.verify(&lost, now()), Err(TokenError::Revoked));

        folder.file("revoked", "1\n");
        let ring = KeyRing::load(&settings).unwrap().ring;
        assert_eq!(
            ring.verify(&signed(&claims), now()),
            Err(TokenError::Revoked)
        );
    }

    #[test]
    fn only_the_secret_in_the_data_folder_is_made() {
        let folder = Folder::new();
        let path = folder.path("data/token-secret");
        let in_data_dir = TokenSettings::from(SecretPath::InDataDir(path.clone()));
        let missing = KeyRing::load(&in_data_dir).unwrap_err().to_string();
        assert!(
            missing.contains("start `perf-tracking serve` once"),
            "{missing}"
        );
        assert!(!path.exists());
        assert_eq!(
            KeyRing::load_or_create(&in_data_dir).unwrap().created,
            Some(path)
        );
        assert_eq!(KeyRing::load_or_create(&in_data_dir).unwrap().created, None);

        let named = folder.path("named");
        let missing = refusal(&TokenSettings::from(SecretPath::Named(named.clone())));
        assert!(missing.starts_with("--token-secret-file: "), "{missing}");
        assert!(missing.contains(&named.display().to_string()), "{missing}");
        assert!(!named.exists());
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_by_setting_and_name() {
        let folder = Folder::new();
        let short = folder.file("short", "the secret that is short\n");
        let refused = refusal(&TokenSettings::from(SecretPath::Named(short)));
        assert!(refused.contains("short` is too short"), "{refused}");

        let mut settings = folder.settings();
        settings.former_secrets = vec![folder.path("gone")];
        let refused = refusal(&settings);
        assert!(
            refused.starts_with("--former-token-secret-file: "),
            "{refused}"
        );

        let mut settings = folder.settings();
        settings.public_keys = vec![PublicKeyFile {
            id: "ci".to_owned(),
            path: folder.file("private.pem", PRIVATE_PEM),
        }];
        let refused = refusal(&settings);
        assert!(
            refused.contains("private.pem` for key `ci` is not an Ed25519 public key"),
            "{refused}"
        );

        let mut settings = folder.settings();
        settings.revoked_tokens = Some(folder.file("revoked", "one\ntwo three\n"));
        let refused = refusal(&settings);
        assert!(refused.contains("line 2 of"), "{refused}");
    }

    #[test]
    fn a_byte_order_mark_takes_nobody_off_the_list_of_revoked_tokens() {
        let folder = Folder::new();
        let settings = TokenSettings {
            revoked_tokens: Some(folder.file("revoked", "\u{feff}1\nother\n")),
            ..folder.settings()
        };
        let ring = KeyRing::load(&settings).unwrap().ring;
        let revoked = ring.verify(&signed(&good_claims()), now());
        assert_eq!(revoked, Err(TokenError::Revoked));
        for text in ["a\n1\u{200b}\n", "a\n\u{202e}1\n", "a\n1\0\n"] {
            folder.file("revoked", text);
            let refused = refusal(&settings);
            assert!(refused.contains("line 2 of"), "{refused}");
        }
    }

    #[test]
    fn files_that_others_can_write_are_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        let settings = TokenSettings {
            former_secrets: vec![folder.file("former", FORMER)],
            public_keys: vec![PublicKeyFile {
                id: "ci".to_owned(),
                path: folder.file("ci.pem", PUBLIC_PEM),
            }],
            revoked_tokens: Some(folder.file("revoked", "")),
            ..folder.settings()
        };
        assert!(KeyRing::load(&settings).is_ok());
        for name in ["secret", "former", "ci.pem", "revoked"] {
            let path = folder.path(name);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
            let refused = refusal(&settings);
            assert!(refused.contains("`chmod go-w "), "{refused}");
            assert!(refused.contains(&path.display().to_string()), "{refused}");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }

    #[test]
    fn a_folder_that_others_can_write_is_warned_of() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        let settings = folder.settings();
        let path = folder.0.path().to_owned();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o770)).unwrap();
        let keys = KeyRing::load(&settings).unwrap();
        assert_eq!(keys.warnings, [KeyWarning::FolderWritableByOthers(path)]);
        assert!(keys.warnings[0].to_string().contains("chmod go-w"));
    }

    #[test]
    fn secrets_that_others_can_read_are_warned_of() {
        use std::os::unix::fs::PermissionsExt;
        let folder = Folder::new();
        let settings = folder.settings();
        let path = settings.secret.path().to_owned();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let keys = KeyRing::load(&settings).unwrap();
        assert_eq!(keys.warnings, [KeyWarning::ReadableByOthers(path)]);
        assert!(keys.warnings[0].to_string().contains("chmod 600"));
    }
}

//! The keys that tokens are signed and checked with.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, TimeDelta, Utc};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use uuid::Uuid;

use super::claims::{Claims, LATEST_EXPIRY, SERVICE};
use super::{Grant, Narrow, Secret, Subject, TokenError};
use crate::domain::Scope;

/// The longest token that is looked at, in bytes. Our own have about 500.
pub const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// The bytes of an Ed25519 public key (RFC 8032, section 5.1.5).
const ED25519_KEY_BYTES: usize = 32;

/// Every key that is accepted, and the ids of the tokens that are not.
///
/// The first secret signs; it and the former ones check HS256 tokens, the public keys check EdDSA
/// tokens. `Debug` shows the ids of the keys alone.
pub struct KeyRing {
    signing_key: EncodingKey,
    signing_id: String,
    secrets: BTreeMap<String, DecodingKey>,
    public_keys: BTreeMap<String, DecodingKey>,
    revoked: HashSet<String>,
}

/// What a new token shall say.
#[derive(Clone, Debug)]
pub struct TokenRequest {
    /// Who the token is for.
    pub subject: Subject,
    /// What it lets its bearer do.
    pub scopes: BTreeSet<Scope>,
    /// What its writes are narrowed to.
    pub narrow: Narrow,
    /// How long it counts.
    pub expires_in: Duration,
}

/// Why no token was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IssueError {
    /// Times in a token end there.
    #[error("the token would expire after the year 9999")]
    TooFarAhead,
    /// The signature could not be made.
    #[error("the token could not be signed")]
    Signing,
}

/// Why a public key was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublicKeyError {
    /// Another kind of key, a private one, or no PEM.
    #[error("is not an Ed25519 public key in PEM form (`-----BEGIN PUBLIC KEY-----`)")]
    NotEd25519,
    /// A key of this ring has that id.
    #[error("has the id of another key; each needs one of its own")]
    DuplicateId,
}

/// What a token says of itself, with nothing proved. For showing, never for deciding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peek {
    /// `alg`.
    pub algorithm: String,
    /// `kid`.
    pub key_id: Option<String>,
    /// All claims, as they stand.
    pub claims: Map<String, Json>,
}

/// Reads a token without checking anything but its shape.
///
/// # Errors
/// [`TokenError::TooLong`] and [`TokenError::Malformed`].
pub fn peek(token: &str) -> Result<Peek, TokenError> {
    let parts = Parts::of(token)?;
    let TokenHeader { alg, kid } = parts.header()?;
    Ok(Peek {
        algorithm: alg,
        key_id: kid,
        claims: from_base64(parts.claims)?,
    })
}

impl KeyRing {
    /// A ring that signs with `secret`.
    pub fn new(secret: &Secret) -> Self {
        let id = secret.key_id();
        Self {
            signing_key: EncodingKey::from_secret(secret.expose())
                .expect("a secret is never empty"),
            signing_id: id.clone(),
            secrets: BTreeMap::from([(id, checking_key(secret))]),
            public_keys: BTreeMap::new(),
            revoked: HashSet::new(),
        }
    }

    /// Accepts tokens that were signed with `secret` too.
    #[must_use]
    pub fn with_former(mut self, secret: &Secret) -> Self {
        self.secrets.insert(secret.key_id(), checking_key(secret));
        self
    }

    /// Accepts EdDSA tokens that name `id` as their key and are signed with the other half of the
    /// Ed25519 public key `pem`.
    ///
    /// # Errors
    /// If `pem` is anything else, or if there is a key of that id.
    pub fn with_public_key(mut self, id: &str, pem: &[u8]) -> Result<Self, PublicKeyError> {
        if self.secrets.contains_key(id) || self.public_keys.contains_key(id) {
            return Err(PublicKeyError::DuplicateId);
        }
        self.public_keys.insert(id.to_owned(), public_key(pem)?);
        Ok(self)
    }

    /// Refuses tokens with these `jti`.
    #[must_use]
    pub fn with_revoked(mut self, ids: impl IntoIterator<Item = String>) -> Self {
        self.revoked.extend(ids);
        self
    }

    /// The id of the secret that signs.
    pub fn signing_key_id(&self) -> &str {
        &self.signing_id
    }

    /// What the bearer of `token` may do at `now`.
    ///
    /// # Errors
    /// Why the token is not accepted. The signature is checked before any claim is looked at.
    pub fn verify(&self, token: &str, now: DateTime<Utc>) -> Result<Grant, TokenError> {
        let parts = Parts::of(token)?;
        let claims = Claims::parse(&self.signed_claims(token, &parts.header()?)?)?;
        claims.check_time(now)?;
        let token_id = claims.grant.token_id.as_ref();
        if token_id.is_some_and(|id| self.revoked.contains(id)) {
            return Err(TokenError::Revoked);
        }
        Ok(claims.grant)
    }

    /// Makes a token that counts from `now` on, signed with the first secret.
    ///
    /// # Errors
    /// If it would expire after the year 9999.
    pub fn issue(&self, request: TokenRequest, now: DateTime<Utc>) -> Result<String, IssueError> {
        let expires = TimeDelta::from_std(request.expires_in)
            .ok()
            .and_then(|ahead| now.checked_add_signed(ahead))
            .filter(|expires| *expires <= LATEST_EXPIRY)
            .ok_or(IssueError::TooFarAhead)?;
        let claims = Claims {
            grant: Grant {
                subject: request.subject,
                scopes: request.scopes,
                narrow: request.narrow,
                token_id: Some(Uuid::new_v4().to_string()),
            },
            expires,
            not_before: None,
            issued: Some(now),
        };
        let header = Header {
            kid: Some(self.signing_id.clone()),
            ..Header::new(Algorithm::HS256)
        };
        jsonwebtoken::encode(&header, &claims.to_json(), &self.signing_key)
            .map_err(|_| IssueError::Signing)
    }

    /// The claims of `token`, once its signature is proved.
    fn signed_claims(
        &self,
        token: &str,
        header: &TokenHeader,
    ) -> Result<Map<String, Json>, TokenError> {
        let Some(id) = &header.kid else {
            return self.try_secrets(token, header);
        };
        if let Some(key) = self.secrets.get(id) {
            open(token, header, key, Algorithm::HS256)
        } else if let Some(key) = self.public_keys.get(id) {
            open(token, header, key, Algorithm::EdDSA)
        } else {
            Err(TokenError::UnknownKey)
        }
    }

    /// A token that names no key may be any secret's, and no public key's.
    fn try_secrets(
        &self,
        token: &str,
        header: &TokenHeader,
    ) -> Result<Map<String, Json>, TokenError> {
        for key in self.secrets.values() {
            match open(token, header, key, Algorithm::HS256) {
                Err(TokenError::BadSignature) => {}
                settled => return settled,
            }
        }
        Err(TokenError::BadSignature)
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing")
            .field("signing", &self.signing_id)
            .field("secrets", &self.secrets.keys())
            .field("public_keys", &self.public_keys.keys())
            .field("revoked", &self.revoked.len())
            .finish()
    }
}

/// The three parts of a token that is short enough to look at.
struct Parts<'a> {
    header: &'a str,
    claims: &'a str,
}

/// What of the header decides. Anything else in it is for `jsonwebtoken` to refuse.
#[derive(Deserialize)]
struct TokenHeader {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
}

impl<'a> Parts<'a> {
    fn of(token: &'a str) -> Result<Self, TokenError> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(TokenError::TooLong);
        }
        let mut parts = token.split('.');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(header), Some(claims), Some(_signature), None) => Ok(Self { header, claims }),
            _ => Err(TokenError::Malformed),
        }
    }

    fn header(&self) -> Result<TokenHeader, TokenError> {
        from_base64(self.header)
    }
}

fn from_base64<T: serde::de::DeserializeOwned>(part: &str) -> Result<T, TokenError> {
    let bytes = URL_SAFE_NO_PAD
        .decode(part)
        .map_err(|_| TokenError::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| TokenError::Malformed)
}

/// Checks the signature by `key`, whose algorithm is `algorithm` whatever the token says, and that
/// the token is from and for this service.
///
/// [`Claims`] checks the times, as the library would ask the system's clock for the time.
fn open(
    token: &str,
    header: &TokenHeader,
    key: &DecodingKey,
    algorithm: Algorithm,
) -> Result<Map<String, Json>, TokenError> {
    if header.alg.parse() != Ok(algorithm) {
        return Err(TokenError::WrongAlgorithm);
    }
    let mut validation = Validation::new(algorithm);
    validation.validate_exp = false;
    validation.set_required_spec_claims(&["iss", "aud"]);
    validation.set_issuer(&[SERVICE]);
    validation.set_audience(&[SERVICE]);
    match jsonwebtoken::decode(token, key, &validation) {
        Ok(data) => Ok(data.claims),
        Err(error) => Err(match error.kind() {
            ErrorKind::InvalidSignature => TokenError::BadSignature,
            ErrorKind::InvalidAlgorithm => TokenError::WrongAlgorithm,
            ErrorKind::InvalidIssuer => TokenError::WrongIssuer,
            ErrorKind::InvalidAudience => TokenError::WrongAudience,
            ErrorKind::MissingRequiredClaim(claim) if claim == "iss" => TokenError::WrongIssuer,
            ErrorKind::MissingRequiredClaim(_) => TokenError::WrongAudience,
            _ => TokenError::Malformed,
        }),
    }
}

fn checking_key(secret: &Secret) -> DecodingKey {
    DecodingKey::from_secret(secret.expose()).expect("a secret is never empty")
}

fn public_key(pem: &[u8]) -> Result<DecodingKey, PublicKeyError> {
    let key = DecodingKey::from_ed_pem(pem).map_err(|_| PublicKeyError::NotEd25519)?;
    let bytes = key
        .try_get_as_bytes()
        .map_err(|_| PublicKeyError::NotEd25519)?;
    // The library slices a shorter key at the first token, and finds a bad point only then.
    if bytes.len() != ED25519_KEY_BYTES {
        return Err(PublicKeyError::NotEd25519);
    }
    jsonwebtoken::crypto::verify("", b"", &key, Algorithm::EdDSA)
        .map_err(|_| PublicKeyError::NotEd25519)?;
    Ok(key)
}

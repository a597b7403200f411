//! Why a token is not accepted.

use super::claims::LEEWAY;
use super::key_ring::MAX_TOKEN_BYTES;

/// Why a token is not accepted.
///
/// Each message can be shown to the client: it holds no part of the token and says nothing of the
/// keys but whether the one that the token names is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// Longer than [`MAX_TOKEN_BYTES`]; nothing of it was read.
    #[error("the token is longer than {MAX_TOKEN_BYTES} bytes")]
    TooLong,
    /// Not three parts of base64url, or the first two are no JSON objects.
    #[error("the token is not a signed JSON Web Token")]
    Malformed,
    /// `alg` is not what the key is for. `none` is nobody's.
    #[error("the token's algorithm is not the one of its key")]
    WrongAlgorithm,
    /// `kid` names no key here.
    #[error("the token is signed with a key that is not known here")]
    UnknownKey,
    /// Signed with another key, or changed after it was signed.
    #[error("the token's signature does not match")]
    BadSignature,
    /// `iss` is missing or another's.
    #[error("the token was not issued for this service: its `iss` must be `perf-tracking`")]
    WrongIssuer,
    /// `aud` is missing or does not hold this service.
    #[error("the token is meant for another service: its `aud` must hold `perf-tracking`")]
    WrongAudience,
    /// `exp` is missing; a token that never ends is not accepted.
    #[error("the token has no `exp`, and a token without an end is not accepted")]
    NoExpiry,
    /// `exp` has passed by more than the leeway.
    #[error("the token has expired")]
    Expired,
    /// `nbf` is ahead by more than the leeway.
    #[error("the token is not valid yet; if it should be, compare the clocks (more than {} s apart)", LEEWAY.num_seconds())]
    NotYetValid,
    /// A claim is there and is not of its kind.
    #[error("the token's `{claim}` is not {expected}")]
    BadClaim {
        /// The claim's name.
        claim: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// `jti` stands in the list of revoked tokens.
    #[error("the token has been revoked")]
    Revoked,
}

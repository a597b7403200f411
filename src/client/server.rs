//! Where the runs are that a command asks for.

use std::fmt;
use std::str::FromStr;

use url::Url;

use super::error::Failure;
use super::{ClientError, ServerUrl, StoreFile};

/// Where the runs are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Server {
    /// With a service.
    Service(ServerUrl),
    /// In a file that the command opens itself.
    File(StoreFile),
}

impl Server {
    /// The address of a path of the service. For a file it serves to name the route only.
    pub(super) fn join(&self, path: &str) -> Url {
        match self {
            Self::Service(url) => url.join(path),
            Self::File(_) => ServerUrl::local().join(path),
        }
    }

    /// An error at `url`, named as a person knows the place.
    pub(super) fn failed(&self, url: &Url, failure: Failure) -> ClientError {
        match self {
            Self::Service(_) => ClientError::new(url, failure),
            Self::File(file) => ClientError::new(file, failure),
        }
    }
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if StoreFile::is_meant(text) {
            return text.parse().map(Self::File);
        }
        text.parse().map(Self::Service)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service(url) => url.fmt(f),
            Self::File(file) => file.fmt(f),
        }
    }
}

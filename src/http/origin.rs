//! The web origins whose pages may call the service.

use std::str::FromStr;

use url::Url;

/// A web origin: scheme, host and maybe a port, exactly as a browser sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// The text, as the `Origin` header has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Err("every origin is named in full; there is no wildcard".to_owned());
        }
        let url = Url::parse(text)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or("write scheme, host and maybe a port, such as https://perf.example.org")?;
        let origin = url.origin().ascii_serialization();
        if origin == text {
            Ok(Self(origin))
        } else {
            Err(format!("a browser sends `{origin}`; write that"))
        }
    }
}

//! Lists of runs.

use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{Client, ClientError, Request};
use crate::api::SeriesAnswer;
use crate::domain::Scope;

/// One page of a list of runs.
#[derive(Clone, Debug, Deserialize)]
pub struct RunsPage {
    /// The runs as the service tells them, each an object.
    pub runs: Vec<Box<RawValue>>,
    /// The `cursor` of the next page, if there is one.
    #[serde(default)]
    pub next: Option<String>,
}

impl Client {
    /// Reads one page of the list of runs; `query` has its parameters, as the service names them.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn runs(&self, query: &[(&str, String)]) -> Result<RunsPage, ClientError> {
        let mut url = self.settings.server.join("/v1/runs");
        url.query_pairs_mut().extend_pairs(query);
        let request = Request {
            method: Method::GET,
            url,
            body: None,
            scope: Some(Scope::RunsRead),
        };
        Ok(self.ask_json(&request).await?.content)
    }

    /// Reads the list of series; `query` has its parameters, as the service names them.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn series(&self, query: &[(&str, String)]) -> Result<SeriesAnswer, ClientError> {
        let mut url = self.settings.server.join("/v1/series");
        url.query_pairs_mut().extend_pairs(query);
        let request = Request {
            method: Method::GET,
            url,
            body: None,
            scope: Some(Scope::RunsRead),
        };
        Ok(self.ask_json(&request).await?.content)
    }
}

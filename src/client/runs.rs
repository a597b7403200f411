//! Lists of runs.

use reqwest::Method;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::{Answer, Client, ClientError, Request};
use crate::api::{RunBody, RunsAnswer, SeriesAnswer, VoidAnswer};
use crate::domain::{Scope, VoidReason};

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
        Ok(self.ask_json(&self.list_request(query)).await?.content)
    }

    /// As [`Client::runs`], with the runs read.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn run_list(
        &self,
        query: &[(&str, String)],
    ) -> Result<Answer<RunsAnswer>, ClientError> {
        self.ask_json(&self.list_request(query)).await
    }

    fn list_request(&self, query: &[(&str, String)]) -> Request<'static> {
        let mut url = self.settings.server.join("/v1/runs");
        url.query_pairs_mut().extend_pairs(query);
        Request {
            method: Method::GET,
            url,
            body: None,
            scope: Some(Scope::RunsRead),
        }
    }

    /// Reads one run whole, voided or not.
    ///
    /// # Errors
    /// Why there is no answer.
    pub async fn run(&self, run_id: i64) -> Result<Answer<RunBody>, ClientError> {
        let mut url = self.settings.server.join(&format!("/v1/runs/{run_id}"));
        url.query_pairs_mut().append_pair("include_voided", "true");
        let request = Request {
            method: Method::GET,
            url,
            body: None,
            scope: Some(Scope::RunsRead),
        };
        self.ask_json(&request).await
    }

    /// Takes a run back. It may be sent again: a run is voided once.
    ///
    /// # Errors
    /// Why it is not known to be voided.
    pub async fn void(
        &self,
        run_id: i64,
        reason: &VoidReason,
    ) -> Result<Answer<VoidAnswer>, ClientError> {
        let url = self
            .settings
            .server
            .join(&format!("/v1/runs/{run_id}/void"));
        let body = json!({ "reason": reason }).to_string();
        let request = Request {
            method: Method::POST,
            url,
            body: Some(&body),
            scope: Some(Scope::RunsVoid),
        };
        self.ask_json(&request).await
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

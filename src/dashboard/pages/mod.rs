//! The pages. Each is a function from a query and what a source answers to a [`Page`].

mod changes;
mod compare;
mod message;
mod metric;
mod names;
mod overview;
mod run;
mod sign_in;

use std::sync::Arc;

use askama::Template;

pub use changes::changes;
pub use compare::compare;
pub use message::message;
pub use metric::{badge, chart, metric};
pub use overview::overview;
pub use run::run;
pub use sign_in::sign_in;

use super::Links;
use super::patterns::{Places, UrlPattern};
use crate::api::RunBody;
use crate::report::number;

/// What every page is made with.
#[derive(Clone, Debug)]
pub struct Context {
    /// Where links lead.
    pub links: Links,
    /// Where commits and changes can be looked at.
    pub patterns: Arc<[UrlPattern]>,
    /// Whether the reader has signed in, and so can sign out.
    pub signed_in: bool,
}

/// A page as HTML.
pub struct Page {
    /// The whole document.
    pub html: String,
}

/// The parts of a page around its content.
struct Shell {
    links: Links,
    title: String,
    tab: Tab,
    signed_in: bool,
}

/// Which entry of the navigation a page belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Overview,
    Changes,
    Compare,
    None,
}

impl Context {
    fn shell(&self, tab: Tab, title: impl Into<String>) -> Shell {
        Shell {
            links: self.links,
            title: title.into(),
            tab,
            signed_in: self.signed_in,
        }
    }

    /// The addresses of a run's commit and change, each with what it is of.
    fn addresses(&self, run: &RunBody) -> Vec<(String, String)> {
        let change = run.change.as_ref().map(ToString::to_string);
        let patchset = run.patchset.as_ref().map(ToString::to_string);
        let places = Places {
            repo: run.repo.as_str(),
            commit: run.commit_sha.as_str(),
            change: change.as_deref(),
            patchset: patchset.as_deref(),
        };
        let address = |pattern: &UrlPattern| {
            let what = pattern.is_of();
            Some((what.to_owned(), pattern.fill(places)?))
        };
        self.patterns.iter().filter_map(address).collect()
    }
}

impl Shell {
    fn is(&self, tab: &str) -> bool {
        matches!(
            (self.tab, tab),
            (Tab::Overview, "overview") | (Tab::Changes, "changes") | (Tab::Compare, "compare")
        )
    }

    fn compare(&self) -> Option<String> {
        self.links.compare(&super::CompareQuery::default())
    }

    fn changes(&self) -> String {
        self.links.changes(&super::ChangesQuery::default())
    }

    fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// The template with its content.
fn page(template: &impl Template) -> Page {
    // A template fails where one of its texts does, and texts do not.
    let html = template.render().unwrap_or_default();
    Page { html }
}

/// A difference in percent, and how it is coloured.
struct Difference {
    text: String,
    class: &'static str,
}

impl Difference {
    /// `notable` says whether the difference is more than noise; only such a one has a colour.
    fn new(percent: Option<f64>, worse: crate::judge::Worse, notable: bool) -> Self {
        let is_worse = percent.and_then(|percent| super::trace::is_worse(percent, worse));
        let class = match (notable, is_worse) {
            (true, Some(true)) => "worse",
            (true, Some(false)) => "better",
            _ => "calm",
        };
        let text = match percent {
            Some(percent) => number::percent(Some(percent)),
            None => "–".to_owned(),
        };
        Self { text, class }
    }
}

/// One page of a list: which, of how many, and the addresses beside it.
struct Pager {
    page: usize,
    pages: usize,
    previous: Option<String>,
    next: Option<String>,
}

impl Pager {
    fn new(page: usize, items: usize, size: usize, address: impl Fn(usize) -> String) -> Self {
        let pages = items.div_ceil(size).max(1);
        let page = page.min(pages - 1);
        Self {
            page,
            pages,
            previous: page.checked_sub(1).map(&address),
            next: (page + 1 < pages).then(|| address(page + 1)),
        }
    }
}

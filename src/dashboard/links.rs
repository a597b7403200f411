//! Where the links of a page lead.

use sha2::{Digest, Sha256};

use super::query::{ChangesQuery, CompareQuery, Frame, MetricQuery, OverviewQuery};
use crate::store::RunId;

/// Addresses: routes of the service, or files of a static site.
///
/// A file stands for a page as it looks without a choice of its reader. What needs a service is left out of
/// a static page: see [`Links::are_live`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Routes of the service.
    Routes,
    /// Files, relative to a page that stands at the top.
    Files,
    /// Files, relative to a page in a folder, such as `metric/…`.
    FilesBeside,
}

impl Links {
    /// Whether a reader's choice can be answered: a filter, a range, another line.
    pub fn are_live(self) -> bool {
        self == Self::Routes
    }

    /// The overview.
    pub fn overview(self, query: &OverviewQuery) -> String {
        match self {
            Self::Routes => with_query("/", &query.parameters()),
            _ if query.page == 0 => self.file("index.html"),
            _ => self.file(&format!("overview-{}.html", query.page + 1)),
        }
    }

    /// The first page of everything.
    pub fn home(self) -> String {
        self.overview(&OverviewQuery::default())
    }

    /// One metric.
    pub fn metric(self, query: &MetricQuery) -> String {
        match self {
            Self::Routes => with_query("/metric", &query.parameters()),
            _ => self.file(&metric_file(query, "html")),
        }
    }

    /// The chart of a metric, alone.
    pub fn chart(self, query: &MetricQuery, frame: Frame) -> String {
        match self {
            Self::Routes => {
                let frame = frame.parameters();
                let separator = if frame.is_empty() { "" } else { "&" };
                format!("/chart.svg?{}{separator}{frame}", query.parameters())
            }
            _ => self.file(&metric_file(query, "svg")),
        }
    }

    /// The badge of a metric.
    pub fn badge(self, query: &MetricQuery) -> String {
        match self {
            Self::Routes => with_query("/badge.svg", &query.parameters()),
            _ => self.file(&metric_file(query, "badge.svg")),
        }
    }

    /// What moved.
    pub fn changes(self, query: &ChangesQuery) -> String {
        match self {
            Self::Routes => with_query("/changes", &query.parameters()),
            _ if query.page == 0 => self.file("changes.html"),
            _ => self.file(&format!("changes-{}.html", query.page + 1)),
        }
    }

    /// Two sides; a static site has no comparison.
    pub fn compare(self, query: &CompareQuery) -> Option<String> {
        self.are_live()
            .then(|| with_query("/compare", &query.parameters()))
    }

    /// One run.
    pub fn run(self, id: RunId) -> String {
        match self {
            Self::Routes => format!("/run/{id}"),
            _ => self.file(&format!("run/{id}.html")),
        }
    }

    /// A file of [`super::assets`].
    pub fn asset(self, name: &str) -> String {
        match self {
            Self::Routes => format!("/assets/{name}"),
            _ => self.file(&format!("assets/{name}")),
        }
    }

    fn file(self, path: &str) -> String {
        match self {
            Self::FilesBeside => format!("../{path}"),
            _ => path.to_owned(),
        }
    }
}

fn with_query(path: &str, query: &str) -> String {
    if query.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{query}")
}

/// The file of a metric: its key for people, and a print of its whole name, since two names may read alike.
fn metric_file(query: &MetricQuery, ending: &str) -> String {
    let plain = MetricQuery {
        repo: query.repo.clone(),
        ..MetricQuery::of(query.series.clone(), query.name.clone())
    };
    let print = hex::encode(&Sha256::digest(plain.parameters())[..6]);
    let letters = query.name.metric_key.as_str().chars();
    let readable: String = letters
        .map(|letter| match letter {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '-' | '_' => letter,
            _ => '-',
        })
        .take(40)
        .collect();
    format!("metric/{readable}-{print}.{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{MetricName, Series};

    fn query(key: &str) -> MetricQuery {
        let series = Series {
            workload: "perf".parse().unwrap(),
            branch: "main".parse().unwrap(),
            arch: "amd64".parse().unwrap(),
            distro: "trixie".parse().unwrap(),
        };
        let name = MetricName {
            metric_key: key.parse().unwrap(),
            dim_key: "".parse().unwrap(),
        };
        MetricQuery::of(series, name)
    }

    #[test]
    fn a_hostile_name_stays_inside_its_folder() {
        let file = Links::Files.metric(&query("../../etc/<passwd>"));
        assert!(file.starts_with("metric/------etc--passwd--"), "{file}");
        assert_eq!(file.matches('/').count(), 1);
        assert_ne!(file, Links::Files.metric(&query("..-..-etc/<passwd>")));
    }

    #[test]
    fn a_route_holds_the_whole_name() {
        assert_eq!(
            Links::Routes.metric(&query("a&b=\"<")),
            "/metric?workload=perf&branch=main&arch=amd64&distro=trixie&metric=a%26b%3D%22%3C"
        );
        assert_eq!(Links::Routes.home(), "/");
        assert_eq!(Links::FilesBeside.home(), "../index.html");
    }
}

//! What a page shows, and how an address says it.
//!
//! Each query writes itself as the parameters of an address, in one order and without what is as usual, so
//! that one page has one address. `http::pages` reads them back.

use std::fmt;
use std::str::FromStr;

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::form_urlencoded::Serializer;

use crate::domain::{
    Arch, Branch, CommitSha, DimKey, Distro, MetricName, Repo, RunDate, Series, Tag, Workload,
};
use crate::store::RunId;

/// Points that a chart shows of each line where its address names no number.
pub const USUAL_POINTS: usize = 400;
/// The most points of a line.
pub const MOST_POINTS: usize = 10_000;
/// The most lines of a chart: as many as the colours that can be told apart.
pub const MOST_LINES: usize = 7;

/// Which series, by what a reader chose. What is absent narrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Narrowed {
    /// The repository.
    pub repo: Option<Repo>,
    /// What was run.
    pub workload: Option<Workload>,
    /// The branch.
    pub branch: Option<Branch>,
    /// The processor architecture.
    pub arch: Option<Arch>,
    /// The distribution.
    pub distro: Option<Distro>,
    /// A text that the name of a metric or of its series holds, in lower or upper case.
    pub find: Option<String>,
}

/// The order of the overview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// What moved most comes first.
    #[default]
    Moved,
    /// By repository, workload, series and metric.
    Name,
}

/// The overview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverviewQuery {
    /// Which series.
    pub narrowed: Narrowed,
    /// In which order.
    pub order: Order,
    /// Which page, the first one being 0.
    pub page: usize,
}

/// What moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangesQuery {
    /// In which series.
    pub narrowed: Narrowed,
    /// On or after this date.
    pub since: Option<RunDate>,
    /// Which page, the first one being 0.
    pub page: usize,
}

/// A line beside the first one: another series of the same workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// The branch.
    pub branch: Branch,
    /// The processor architecture.
    pub arch: Arch,
    /// The distribution.
    pub distro: Distro,
}

/// What the vertical axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// The values.
    #[default]
    Linear,
    /// The difference of each value to the first one of its line, in percent.
    Relative,
}

/// One metric over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricQuery {
    /// The series.
    pub series: Series,
    /// The metric.
    pub name: MetricName,
    /// The repository, where the series has several.
    pub repo: Option<Repo>,
    /// Lines of other series.
    pub beside: Vec<Beside>,
    /// Whether the line of the series itself is left out.
    pub hidden: bool,
    /// Runs on or after this date.
    pub since: Option<RunDate>,
    /// Runs before this date.
    pub before: Option<RunDate>,
    /// The newest points of each line, so many.
    pub last: usize,
    /// What the vertical axis counts.
    pub scale: Scale,
    /// Whether failed and voided runs are marked.
    pub failed: bool,
    /// Whether the axis reaches to values that lie far from all others.
    pub whole: bool,
}

/// The size and the colours of a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Pixels, from 200 to 2,000.
    pub width: u16,
    /// Pixels, from 100 to 1,200.
    pub height: u16,
    /// The colours.
    pub theme: Theme,
}

/// The colours of a chart that stands alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// On a light page.
    #[default]
    Light,
    /// On a dark page.
    Dark,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            width: 900,
            height: 340,
            theme: Theme::Light,
        }
    }
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Side {
    /// All live runs of a commit.
    Commit(CommitSha),
    /// All runs of a tag.
    Tag(Tag),
    /// One run.
    Run(RunId),
}

/// Why a text is no side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be a commit's 40 digits, `tag:NAME` or `run:ID`")]
pub struct SideError;

impl FromStr for Side {
    type Err = SideError;

    fn from_str(text: &str) -> Result<Self, SideError> {
        let text = text.trim();
        if let Some(id) = text.strip_prefix("run:") {
            return id.parse().map(Self::Run).map_err(|_| SideError);
        }
        if let Some(tag) = text.strip_prefix("tag:") {
            let tag = tag.parse().ok().filter(|tag: &Tag| *tag != Tag::live());
            return tag.map(Self::Tag).ok_or(SideError);
        }
        text.parse().map(Self::Commit).map_err(|_| SideError)
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(commit) => f.write_str(commit.as_str()),
            Self::Tag(tag) => write!(f, "tag:{tag}"),
            Self::Run(id) => write!(f, "run:{id}"),
        }
    }
}

/// Two sides, metric by metric.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompareQuery {
    /// What is held against.
    pub base: Option<Side>,
    /// What is judged.
    pub head: Option<Side>,
    /// In which series and metrics.
    pub narrowed: Narrowed,
    /// Whether metrics that lie within their noise are shown too.
    pub all: bool,
}

impl MetricQuery {
    /// All that is as usual, for one metric.
    pub fn of(series: Series, name: MetricName) -> Self {
        Self {
            series,
            name,
            repo: None,
            beside: Vec::new(),
            hidden: false,
            since: None,
            before: None,
            last: USUAL_POINTS,
            scale: Scale::default(),
            failed: false,
            whole: false,
        }
    }

    /// The parameters of the address.
    pub fn parameters(&self) -> String {
        let mut parameters = Parameters::new();
        parameters.add("workload", &self.series.workload);
        parameters.add("branch", &self.series.branch);
        parameters.add("arch", &self.series.arch);
        parameters.add("distro", &self.series.distro);
        parameters.add("metric", &self.name.metric_key);
        if self.name.dim_key != DimKey::scalar() {
            parameters.add("dim", &self.name.dim_key);
        }
        parameters.maybe("repo", self.repo.as_ref());
        for beside in &self.beside {
            parameters.add("beside", beside);
        }
        parameters.flag("hidden", self.hidden);
        parameters.maybe("since", self.since.map(shown_date));
        parameters.maybe("before", self.before.map(shown_date));
        if self.last != USUAL_POINTS {
            parameters.add("last", self.last);
        }
        if self.scale == Scale::Relative {
            parameters.add("scale", "relative");
        }
        parameters.flag("failed", self.failed);
        parameters.flag("whole", self.whole);
        parameters.finish()
    }
}

impl OverviewQuery {
    /// The parameters of the address.
    pub fn parameters(&self) -> String {
        let mut parameters = Parameters::new();
        self.narrowed.write(&mut parameters);
        if self.order == Order::Name {
            parameters.add("order", "name");
        }
        parameters.page(self.page);
        parameters.finish()
    }
}

impl ChangesQuery {
    /// The parameters of the address.
    pub fn parameters(&self) -> String {
        let mut parameters = Parameters::new();
        self.narrowed.write(&mut parameters);
        parameters.maybe("since", self.since.map(shown_date));
        parameters.page(self.page);
        parameters.finish()
    }
}

impl CompareQuery {
    /// The parameters of the address.
    pub fn parameters(&self) -> String {
        let mut parameters = Parameters::new();
        parameters.maybe("base", self.base.as_ref());
        parameters.maybe("head", self.head.as_ref());
        self.narrowed.write(&mut parameters);
        parameters.flag("all", self.all);
        parameters.finish()
    }
}

impl Frame {
    /// The parameters of the address.
    pub fn parameters(self) -> String {
        let mut parameters = Parameters::new();
        let usual = Self::default();
        if self.width != usual.width {
            parameters.add("width", self.width);
        }
        if self.height != usual.height {
            parameters.add("height", self.height);
        }
        if self.theme == Theme::Dark {
            parameters.add("theme", "dark");
        }
        parameters.finish()
    }
}

impl Narrowed {
    /// Whether it lets everything pass.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn write(&self, parameters: &mut Parameters) {
        parameters.maybe("repo", self.repo.as_ref());
        parameters.maybe("workload", self.workload.as_ref());
        parameters.maybe("branch", self.branch.as_ref());
        parameters.maybe("arch", self.arch.as_ref());
        parameters.maybe("distro", self.distro.as_ref());
        parameters.maybe("find", self.find.as_ref());
    }
}

/// A date as an address has it: midnight is a day alone.
fn shown_date(date: RunDate) -> String {
    let text = date.to_string();
    match text.strip_suffix("T00:00:00Z") {
        Some(day) => day.to_owned(),
        None => text,
    }
}

/// The three names, each encoded, with `/` between.
impl fmt::Display for Beside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |name| utf8_percent_encode(name, NON_ALPHANUMERIC);
        let (branch, arch) = (encoded(self.branch.as_str()), encoded(self.arch.as_str()));
        write!(f, "{branch}/{arch}/{}", encoded(self.distro.as_str()))
    }
}

/// Why a text names no line beside the first one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be BRANCH/ARCH/DISTRO, each percent-encoded")]
pub struct BesideError;

impl FromStr for Beside {
    type Err = BesideError;

    fn from_str(text: &str) -> Result<Self, BesideError> {
        fn name<T: FromStr>(part: Option<&str>) -> Result<T, BesideError> {
            let part = percent_decode_str(part.ok_or(BesideError)?).decode_utf8();
            part.map_err(|_| BesideError)?
                .parse()
                .map_err(|_| BesideError)
        }
        let mut parts = text.split('/');
        let beside = Self {
            branch: name(parts.next())?,
            arch: name(parts.next())?,
            distro: name(parts.next())?,
        };
        match parts.next() {
            None => Ok(beside),
            Some(_) => Err(BesideError),
        }
    }
}

impl Beside {
    /// The series of `workload` that it names.
    pub fn series(&self, workload: &Workload) -> Series {
        Series {
            workload: workload.clone(),
            branch: self.branch.clone(),
            arch: self.arch.clone(),
            distro: self.distro.clone(),
        }
    }
}

impl From<&Series> for Beside {
    fn from(series: &Series) -> Self {
        Self {
            branch: series.branch.clone(),
            arch: series.arch.clone(),
            distro: series.distro.clone(),
        }
    }
}

/// The parameters of an address, encoded.
struct Parameters(Serializer<'static, String>);

impl Parameters {
    fn new() -> Self {
        Self(Serializer::new(String::new()))
    }

    fn add(&mut self, name: &str, value: impl fmt::Display) {
        self.0.append_pair(name, &value.to_string());
    }

    fn maybe(&mut self, name: &str, value: Option<impl fmt::Display>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }

    fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.add(name, "true");
        }
    }

    /// People count pages from 1.
    fn page(&mut self, page: usize) {
        if page > 0 {
            self.add("page", page + 1);
        }
    }

    fn finish(mut self) -> String {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_beside_the_first_comes_back_as_it_was() {
        let beside = Beside {
            branch: "release/5.0 <b>".parse().unwrap(),
            arch: "arm64".parse().unwrap(),
            distro: "é %2F".parse().unwrap(),
        };
        assert_eq!(beside.to_string().parse(), Ok(beside));
        for text in ["", "a/b", "a/b/c/d", "a//c", "a/b/%FF"] {
            assert_eq!(text.parse::<Beside>(), Err(BesideError), "{text}");
        }
    }

    #[test]
    fn sides_come_back_as_they_were() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        for text in [commit, "tag:14.04", "run:7"] {
            assert_eq!(text.parse::<Side>().unwrap().to_string(), text);
        }
        for text in ["", "main", "tag:", "run:x", "0123"] {
            assert_eq!(text.parse::<Side>(), Err(SideError), "{text}");
        }
    }
}

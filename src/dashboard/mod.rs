//! Pages for people: what is stored, as HTML, and each chart as SVG.
//!
//! A page is made in three steps, each in a room of its own:
//!
//! 1. A query says what to show: [`MetricQuery`] and its siblings in [`query`]. The service reads one out of an
//!    address; the static site makes one for each file that it writes.
//! 2. A [`Source`] answers for the runs: the store inside the service, or a client of a service elsewhere.
//! 3. A function of [`pages`] turns both into a [`Page`]: `pages::metric(&context, &source, &query)`. It asks the
//!    source for a bounded number of rows, lets the judge find what moved, and fills a template.
//!
//! Every link of a page goes through [`Links`], which knows whether addresses are routes of the service or
//! relative files. [`Context`] holds the links and the patterns of commits' addresses.
//!
//! [`chart`] turns points into SVG and knows nothing of pages. [`Board`] is the summary of every metric of
//! every series that the overview and the list of changes show. It is kept between requests, and only series
//! that have a new run are summed up again.
//!
//! Names that a project chose are text everywhere: templates escape them, and so does the writer of SVG. The
//! pages use no style and no script but those of [`assets`], so a strict content security policy holds.

pub mod assets;
pub mod board;
pub mod chart;
mod links;
pub mod pages;
mod patterns;
pub mod query;
mod source;
mod trace;

pub use board::{Board, Boards};
pub use links::Links;
pub use pages::{Context, Page};
pub use patterns::{UrlPattern, UrlPatternError};
pub use query::{ChangesQuery, CompareQuery, Frame, MetricQuery, OverviewQuery};
pub use source::{Listed, Source};

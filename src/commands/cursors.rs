//! The pages of a list, one after the other.

use std::collections::HashSet;

/// The parameters of a question, as the service names them.
pub(super) type Query = Vec<(&'static str, String)>;

/// A question, and the cursors that were followed in its answer.
pub(super) struct Cursors {
    query: Query,
    followed: HashSet<String>,
}

impl Cursors {
    /// A question that starts at its first page.
    pub(super) fn new(query: Query) -> Self {
        Self {
            query,
            followed: HashSet::new(),
        }
    }

    /// The parameters of the page that comes next.
    pub(super) fn query(&self) -> &Query {
        &self.query
    }

    /// Goes on at `cursor`.
    ///
    /// # Errors
    /// A cursor that was followed before: the answer would have no end.
    pub(super) fn follow(&mut self, cursor: String) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.followed.insert(cursor.clone()),
            "the answer has no end: a page leads back to one that was read before; check --server \
             (PERF_TRACKING_URL), and the proxies in front of the service"
        );
        self.query.retain(|(name, _)| *name != "cursor");
        self.query.push(("cursor", cursor));
        Ok(())
    }
}

/// The parameters that were given.
pub(super) fn given<const N: usize>(
    optional: [(&'static str, Option<String>); N],
) -> impl Iterator<Item = (&'static str, String)> {
    let optional = optional.into_iter();
    optional.filter_map(|(name, value)| Some((name, value?)))
}

//! Reads what a page shows out of its address.

use std::str::FromStr;

use crate::dashboard::query::{
    ChangesQuery, CompareQuery, Frame, MOST_POINTS, MetricQuery, Narrowed, Order, OverviewQuery,
    Scale, Theme, USUAL_POINTS,
};
use crate::domain::{DimKey, MetricName, RunDate, RunDateError, Series};
use crate::http::params::Params;
use crate::http::problem::Problem;

/// Pages of a list that an address can name.
const MOST_PAGES: usize = 100_000;
/// Characters of a text to look for.
const LONGEST_FIND: usize = 200;

fn narrowed(params: &mut Params) -> Narrowed {
    Narrowed {
        repo: params.optional("repo"),
        workload: params.optional("workload"),
        branch: params.optional("branch"),
        arch: params.optional("arch"),
        distro: params.optional("distro"),
        find: params
            .optional_with("find", |text| {
                let text = text.trim();
                match text.chars().count() {
                    0 => Ok(None),
                    1..=LONGEST_FIND => Ok(Some(text.to_owned())),
                    _ => Err(format!("must be at most {LONGEST_FIND} characters long")),
                }
            })
            .flatten(),
    }
}

/// A day, from its first second on, or a date with its time.
fn date(text: &str) -> Result<RunDate, RunDateError> {
    match text.len() {
        10 => RunDate::from_str(&format!("{text}T00:00:00Z")),
        _ => text.parse(),
    }
}

fn whole(text: &str, from: usize, to: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (from..=to).contains(&number) => Ok(number),
        _ => Err(format!("must be a whole number from {from} to {to}")),
    }
}

/// People count pages from 1.
fn page(params: &mut Params) -> usize {
    let page = params.optional_with("page", |text| whole(text, 1, MOST_PAGES));
    page.map_or(0, |page| page - 1)
}

pub(super) fn overview(mut params: Params) -> Result<OverviewQuery, Problem> {
    let query = OverviewQuery {
        narrowed: narrowed(&mut params),
        order: params
            .optional_with("order", |text| match text {
                "moved" => Ok(Order::Moved),
                "name" => Ok(Order::Name),
                _ => Err("must be `moved` or `name`"),
            })
            .unwrap_or_default(),
        page: page(&mut params),
    };
    params.finish(Some(query))
}

pub(super) fn changes(mut params: Params) -> Result<ChangesQuery, Problem> {
    let query = ChangesQuery {
        narrowed: narrowed(&mut params),
        since: params.optional_with("since", date),
        page: page(&mut params),
    };
    params.finish(Some(query))
}

pub(super) fn compare(mut params: Params) -> Result<CompareQuery, Problem> {
    let query = CompareQuery {
        base: params.optional("base"),
        head: params.optional("head"),
        narrowed: narrowed(&mut params),
        all: params.flag("all"),
    };
    params.finish(Some(query))
}

pub(super) fn metric(mut params: Params) -> Result<MetricQuery, Problem> {
    let query = read_metric(&mut params);
    params.finish(query)
}

pub(super) fn chart(mut params: Params) -> Result<(MetricQuery, Frame), Problem> {
    let usual = Frame::default();
    let frame = Frame {
        width: params
            .optional_with("width", |text| whole(text, 200, 2_000))
            .and_then(|width| width.try_into().ok())
            .unwrap_or(usual.width),
        height: params
            .optional_with("height", |text| whole(text, 100, 1_200))
            .and_then(|height| height.try_into().ok())
            .unwrap_or(usual.height),
        theme: params
            .optional_with("theme", |text| match text {
                "light" => Ok(Theme::Light),
                "dark" => Ok(Theme::Dark),
                _ => Err("must be `light` or `dark`"),
            })
            .unwrap_or_default(),
    };
    let query = read_metric(&mut params).map(|query| (query, frame));
    params.finish(query)
}

fn read_metric(params: &mut Params) -> Option<MetricQuery> {
    let workload = params.required("workload");
    let branch = params.required("branch");
    let arch = params.required("arch");
    let distro = params.required("distro");
    let metric_key = params.required("metric");
    let dim_key = params.optional("dim").unwrap_or_else(DimKey::scalar);
    let repo = params.optional("repo");
    let beside = params.all("beside");
    let hidden = params.flag("hidden");
    let since = params.optional_with("since", date);
    let before = params.optional_with("before", date);
    let last = params.optional_with("last", |text| whole(text, 2, MOST_POINTS));
    let scale = params.optional_with("scale", |text| match text {
        "linear" => Ok(Scale::Linear),
        "relative" => Ok(Scale::Relative),
        _ => Err("must be `linear` or `relative`"),
    });
    let failed = params.flag("failed");
    let is_whole = params.flag("whole");
    let series = Series {
        workload: workload?,
        branch: branch?,
        arch: arch?,
        distro: distro?,
    };
    let name = MetricName {
        metric_key: metric_key?,
        dim_key,
    };
    Some(MetricQuery {
        repo,
        beside,
        hidden,
        since,
        before,
        last: last.unwrap_or(USUAL_POINTS),
        scale: scale.unwrap_or_default(),
        failed,
        whole: is_whole,
        ..MetricQuery::of(series, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_comes_back_as_it_was() {
        let text = "workload=a%26b&branch=release%2F5&arch=amd64&distro=trixie&metric=callgrind.ir\
                    &dim=threads%3D16&repo=r&beside=main%2Farm64%2Ftrixie&hidden=true&since=2026-01-01\
                    &before=2026-02-01T10%3A00%3A00Z&last=50&scale=relative&failed=true&whole=true";
        let query = metric(Params::parse(text)).unwrap();
        assert_eq!(query.parameters(), text);
        let text = "repo=r&workload=w&find=ir+perf&order=name&page=3";
        let query = overview(Params::parse(text)).unwrap();
        assert_eq!(query.parameters(), text);
        let text = "base=tag%3A14.04&head=run%3A7&find=ir&all=true";
        let query = compare(Params::parse(text)).unwrap();
        assert_eq!(query.parameters(), text);
    }

    #[test]
    fn numbers_and_dates_have_bounds() {
        for text in [
            "page=0",
            "page=x",
            "page=100001",
            "colour=red",
            "order=size",
        ] {
            assert!(overview(Params::parse(text)).is_err(), "{text}");
        }
        let series = "workload=w&branch=b&arch=a&distro=d&metric=m";
        for text in [
            "width=199",
            "width=2001",
            "height=1201",
            "last=10001",
            "since=2026-13-01",
            "theme=pink",
        ] {
            assert!(
                chart(Params::parse(&format!("{series}&{text}"))).is_err(),
                "{text}"
            );
        }
        assert!(chart(Params::parse(&format!("{series}&width=400&theme=dark"))).is_ok());
        assert!(chart(Params::parse("workload=w")).is_err());
    }
}

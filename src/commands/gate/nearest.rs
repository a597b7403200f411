//! Which series may have been meant where the one that was asked for has no runs.

use crate::api::SeriesBody;
use crate::domain::{Repo, Series};
use crate::judge::Nearby;

/// The most series that are named.
const MOST: usize = 3;

/// Words for one architecture.
const SAME_ARCH: [&[&str]; 4] = [
    &["amd64", "x86_64", "x86-64", "x64"],
    &["arm64", "aarch64"],
    &["i386", "i586", "i686", "x86"],
    &["ppc64el", "ppc64le", "powerpc64le"],
];

/// How far two names lie apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Distance {
    Same,
    /// Letters' case, another word for the same, a typing error.
    Slip,
    Other,
}

/// Those of `known` that are nearest to `series` of `repo`.
pub(super) fn find(series: &Series, repo: Option<&Repo>, known: &[SeriesBody]) -> Vec<Nearby> {
    let mut found: Vec<(usize, Nearby)> = known
        .iter()
        .filter(|other| other.run_count > 0)
        .filter_map(|other| nearby(series, repo, other))
        .collect();
    // Stable: series of one distance stay in the service's order.
    found.sort_by_key(|(distance, _)| *distance);
    found
        .into_iter()
        .take(MOST)
        .map(|(_, nearby)| nearby)
        .collect()
}

/// A series, and how far it lies from the one that was asked for; `None` where it has nothing in
/// common with it.
fn nearby(series: &Series, repo: Option<&Repo>, other: &SeriesBody) -> Option<(usize, Nearby)> {
    let of_repo = repo.map(|repo| {
        let distances = other
            .repos
            .iter()
            .map(|other| (repo_distance(repo, other), other));
        let nearest = distances.min_by_key(|(distance, _)| *distance);
        (repo.as_str(), nearest)
    });
    let mut parts = vec![
        part(
            "workload",
            series.workload.as_str(),
            other.workload.as_str(),
        ),
        part("branch", series.branch.as_str(), other.branch.as_str()),
        part("arch", series.arch.as_str(), other.arch.as_str()),
        part("distro", series.distro.as_str(), other.distro.as_str()),
    ];
    if let Some((wanted, Some((distance, found)))) = of_repo {
        parts.push((distance, "repo", wanted.to_owned(), found.to_string()));
    }
    let differ: Vec<_> = parts
        .iter()
        .filter(|part| part.0 != Distance::Same)
        .collect();
    if differ.len() >= parts.len() {
        return None;
    }
    let distance = differ.iter().map(|part| part.0 as usize).sum();
    let mut differs: Vec<String> = differ
        .iter()
        .map(|(_, what, wanted, found)| format!("{what} {found}, not {wanted}"))
        .collect();
    if differs.is_empty() {
        differs.push("its runs failed, or another pipeline uploaded them".to_owned());
    }
    let nearby = Nearby {
        series: Series {
            workload: other.workload.clone(),
            branch: other.branch.clone(),
            arch: other.arch.clone(),
            distro: other.distro.clone(),
        },
        repos: other.repos.clone(),
        is_slip: !differ.is_empty() && differ.iter().all(|part| part.0 == Distance::Slip),
        differs,
    };
    Some((distance, nearby))
}

fn part(what: &'static str, wanted: &str, found: &str) -> (Distance, &'static str, String, String) {
    let distance = match what {
        "arch" => arch_distance(wanted, found),
        _ => distance(wanted, found),
    };
    (distance, what, wanted.to_owned(), found.to_owned())
}

fn distance(one: &str, other: &str) -> Distance {
    if one == other {
        return Distance::Same;
    }
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    // Names that differ in a digit alone, such as those of releases, are two names.
    let letters = |text: &str| {
        text.chars()
            .filter(|c| !c.is_ascii_digit())
            .collect::<String>()
    };
    let digits = |text: &str| {
        text.chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
    };
    let edits = strsim::osa_distance(&one, &other);
    let shorter = one.chars().count().min(other.chars().count());
    let is_typing_error = edits <= shorter / 3
        && edits <= 2
        && digits(&one) == digits(&other)
        && !letters(&one).is_empty();
    if edits == 0 || is_typing_error {
        Distance::Slip
    } else {
        Distance::Other
    }
}

fn arch_distance(one: &str, other: &str) -> Distance {
    if one == other {
        return Distance::Same;
    }
    let (one, other) = (one.to_lowercase(), other.to_lowercase());
    let is_same =
        |names: &&[&str]| names.contains(&one.as_str()) && names.contains(&other.as_str());
    if one == other || SAME_ARCH.iter().any(is_same) {
        Distance::Slip
    } else {
        Distance::Other
    }
}

/// A repository is also near where only its owner or its host is left out.
fn repo_distance(one: &Repo, other: &Repo) -> Distance {
    let (one, other) = (one.as_str(), other.as_str());
    let is_end = |short: &str, long: &str| {
        let long = long.to_lowercase();
        long.strip_suffix(&short.to_lowercase())
            .is_some_and(|rest| rest.ends_with('/'))
    };
    if is_end(one, other) || is_end(other, one) {
        return Distance::Slip;
    }
    distance(one, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_told_from_other_names() {
        for (one, other, expected) in [
            ("main", "main", Distance::Same),
            ("main", "Main", Distance::Slip),
            ("main", "mian", Distance::Slip),
            ("main", "master", Distance::Other),
            ("14.04", "14.10", Distance::Other),
            ("release-7.1", "release-7.2", Distance::Other),
            ("sort", "search", Distance::Other),
            ("trixie", "trixi", Distance::Slip),
        ] {
            assert!(distance(one, other) == expected, "{one} {other}");
        }
        assert!(arch_distance("amd64", "x86_64") == Distance::Slip);
        assert!(arch_distance("amd64", "arm64") == Distance::Other);
        let repo = |text: &str| text.parse::<Repo>().unwrap();
        let near = |one, other| repo_distance(&repo(one), &repo(other));
        assert!(near("project", "owner/project") == Distance::Slip);
        assert!(near("Owner/Project", "owner/project") == Distance::Slip);
        assert!(near("owner/one", "owner/another") == Distance::Other);
    }
}

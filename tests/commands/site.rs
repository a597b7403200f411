//! `site`: the pages as files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::shell::{RUN, Shell};

/// Every file of the site, by its path from the top.
fn files(site: &Path) -> BTreeSet<String> {
    let entries = walkdir::WalkDir::new(site).into_iter().map(Result::unwrap);
    let files = entries.filter(|entry| entry.file_type().is_file());
    files
        .map(|entry| {
            let path = entry.path().strip_prefix(site).unwrap();
            path.to_str().unwrap().to_owned()
        })
        .collect()
}

/// The addresses that a page leads to.
fn links(html: &str) -> impl Iterator<Item = &str> {
    html.split(['"', '\''])
        .zip(html.split(['"', '\'']).skip(1))
        .filter(|(before, _)| before.ends_with("href=") || before.ends_with("src="))
        .map(|(_, link)| link)
}

#[tokio::test]
async fn a_site_has_every_file_that_it_leads_to_and_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let shell = Shell::at("sqlite:perf.db").within(folder.path());
    for number in 1..=3 {
        let run = RUN.replace(
            "0123456789abcdef0123456789abcdef01234567",
            &format!("{number:040x}"),
        );
        let left = shell.upload(&[], &run).await;
        assert_eq!(left.code, 0, "{left:?}");
    }
    let left = shell.run(&["site", "--output", "public"], "").await;
    assert_eq!(left.code, 0, "{left:?}");

    let site = folder.path().join("public");
    let made = files(&site);
    for file in [
        "index.html",
        "changes.html",
        "assets/style.css",
        "run/3.html",
    ] {
        assert!(made.contains(file), "no {file} in {made:?}");
    }
    assert!(
        made.iter()
            .any(|file| file.starts_with("metric/callgrind-ir-"))
    );
    for file in made.iter().filter(|file| file.ends_with(".html")) {
        let html = fs::read_to_string(site.join(file)).unwrap();
        for link in links(&html).filter(|link| !link.starts_with('#')) {
            let target = match link.strip_prefix("../") {
                Some(beside) => beside.to_owned(),
                None if file.contains('/') => panic!("{file} leads to {link}"),
                None => link.to_owned(),
            };
            assert!(made.contains(&target), "{file} leads to {link}");
        }
    }

    let left = shell.run(&["site", "--output", "public"], "").await;
    assert_eq!(
        left.stdout,
        format!("0 files written, {} unchanged in `public`\n", made.len())
    );
}

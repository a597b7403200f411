//! A page that says why there is no other.

use askama::Template;

use super::{Context, Page, Shell, Tab, page};

#[derive(Template)]
#[template(path = "message.html")]
struct MessagePage<'a> {
    shell: Shell,
    title: &'a str,
    detail: &'a str,
    faults: &'a [(String, String)],
}

/// A page with a title, one sentence, and the faults of an address.
pub fn message(context: &Context, title: &str, detail: &str, faults: &[(String, String)]) -> Page {
    page(&MessagePage {
        shell: context.shell(Tab::None, title),
        title,
        detail,
        faults,
    })
}

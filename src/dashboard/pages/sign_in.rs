//! The page that takes a token.

use askama::Template;

use super::{Context, Page, Shell, Tab, page};

#[derive(Template)]
#[template(path = "sign_in.html")]
struct SignInPage<'a> {
    shell: Shell,
    next: &'a str,
    wrong: Option<&'a str>,
}

/// The page that takes a token, leads to `next`, and says what was wrong with the last one.
pub fn sign_in(context: &Context, next: &str, wrong: Option<&str>) -> Page {
    page(&SignInPage {
        shell: context.shell(Tab::None, "Sign in"),
        next,
        wrong,
    })
}

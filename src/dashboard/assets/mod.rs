//! The files beside the pages, part of the binary.

/// A file beside the pages.
pub struct Asset {
    /// Its name, with a print of nothing: the service tells browsers by `ETag` when it has changed.
    pub name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// What it holds.
    pub content: &'static str,
}

/// Every file that a page refers to.
pub const ALL: [Asset; 3] = [
    Asset {
        name: "style.css",
        media_type: "text/css; charset=utf-8",
        content: include_str!("style.css"),
    },
    Asset {
        name: "page.js",
        media_type: "text/javascript; charset=utf-8",
        content: include_str!("page.js"),
    },
    Asset {
        name: "icon.svg",
        media_type: "image/svg+xml",
        content: include_str!("icon.svg"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_script_stays_small() {
        let script = ALL.iter().find(|asset| asset.name == "page.js").unwrap();
        assert!(script.content.lines().count() <= 400);
        // The name of SVG's namespace looks like an address and is none.
        let content = script.content.replace("http://www.w3.org/2000/svg", "");
        // A strict policy lets neither of these pass.
        for forbidden in ["eval(", "innerHTML", "http://", "https://", ".style."] {
            assert!(!content.contains(forbidden), "{forbidden}");
        }
    }
}

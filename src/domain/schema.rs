//! How the JSON schemas of names are built, for the OpenAPI description and for documents.
//!
//! Each type has its schema beside it; this module holds only what several of them share.

use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

/// No control characters, no white space at the ends, and not the wildcard of a filter.
pub(super) const NAME: &str =
    r"^(?!\*$)[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";
/// The same, or nothing.
pub(super) const NAME_OR_EMPTY: &str =
    r"^(?!\*$)([^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?)?$";

/// A string of at most `max_chars` characters that matches `pattern`.
pub(super) fn text(max_chars: usize, pattern: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(max_chars))
        .pattern(Some(pattern))
}

/// A name of at most `max_chars` characters.
pub(super) fn name(max_chars: usize, may_be_empty: bool) -> Object {
    if may_be_empty {
        return text(max_chars, NAME_OR_EMPTY).build();
    }
    text(max_chars, NAME).min_length(Some(1)).build()
}

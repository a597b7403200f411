//! How wide the reader's terminal is.

use std::io;

/// Columns of standard output, where it is a terminal that tells.
pub(crate) fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

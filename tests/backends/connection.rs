//! Each database can be reached at the address that a case is given.

use crate::database::Database;
use crate::support::harness::Context;

pub(crate) async fn answers_a_query(context: &Context) {
    let mut database = Database::open(context).await;
    assert_eq!(database.numbers("SELECT 1").await, [1]);
}

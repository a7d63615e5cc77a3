//! The contract of the stores: over one handle, and over two servers that share a database.

use crate::postgres::shared::{another, store};

grantor::store_tests! {
    #[tokio::test]
    #[ignore = "starts a PostgreSQL server"]
    => store().await
}

mod of_two_servers {
    use super::*;

    grantor::store_tests! {
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = "starts a PostgreSQL server"]
        => store: store().await, another: another().await
    }
}

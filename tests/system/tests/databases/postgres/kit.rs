//! The contract of the stores: over one handle, over two servers that share a database, over two whose connections a
//! pooler shares, and over connections that the service opens itself.

use crate::postgres::connector::Own;
use crate::postgres::shared::{another, options, options_of, pooler, store, store_of};

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

mod of_two_servers_through_a_pooler {
    use super::*;

    grantor::store_tests! {
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = "starts a PostgreSQL server"]
        => store: store_of(options_of(&pooler().connection())).await, another: another().await
    }
}

mod over_own_connections {
    use super::*;

    grantor::store_tests! {
        #[tokio::test]
        #[ignore = "starts a PostgreSQL server"]
        => store_of(options().connector(Own::default())).await
    }
}

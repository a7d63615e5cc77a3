//! Every rule of the contract, over a standalone server and over a cluster.

mod single {
    use std::sync::LazyLock;

    use support_servers::servers::redis::Server;

    static SERVER: LazyLock<Server> = LazyLock::new(Server::start);

    grantor::store_tests! {
        #[tokio::test]
        #[ignore = "starts Redis servers"]
        => store: crate::redis::on(&SERVER).await, another: store.clone()
    }
}

mod cluster {
    use std::sync::LazyLock;

    use support_servers::servers::redis::Cluster;

    static CLUSTER: LazyLock<Cluster> = LazyLock::new(Cluster::start);

    grantor::store_tests! {
        #[tokio::test(flavor = "multi_thread")]
        #[ignore = "starts Redis servers"]
        => store: crate::redis::over(&CLUSTER, &crate::redis::options()).await, another: store.clone()
    }
}

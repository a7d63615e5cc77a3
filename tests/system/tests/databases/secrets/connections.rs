//! Passwords of the databases under the stores.

use grantor::store::postgres::{PostgresOptions, PostgresProblem};
use grantor::store::redis::{RedisOptions, RedisProblem};
use grantor::{PostgresStore, RedisStore};

use crate::secrets::exposure::Exposure;
use crate::secrets::logs;

const PASSWORD: &str = "Zk5wR2uYq8Lt1HcXvB4n";

fn exposure() -> Exposure {
    logs::keep();
    let mut exposure = Exposure::default();
    exposure.secret("password of the database", PASSWORD, None);
    exposure
}

/// HTTP-04
#[tokio::test]
async fn the_password_of_postgres_is_in_no_option_and_no_error() {
    let mut exposure = exposure();
    for connection in [
        format!("host=127.0.0.1 port=1 user=grantor password={PASSWORD} dbname=grantor connect_timeout=2"),
        format!("postgresql://grantor:{PASSWORD}@127.0.0.1:1/grantor?connect_timeout=2"),
    ] {
        let options = PostgresOptions::new(&connection).unwrap();
        exposure.debug("PostgresOptions", &options);
        exposure.error("PostgresError", &PostgresStore::connect(&options).await.unwrap_err());
        exposure.error("PostgresError", &PostgresStore::migrate(&options).await.unwrap_err());
    }
    for malformed in [
        format!("host=127.0.0.1 pasword={PASSWORD}"),
        format!("host=127.0.0.1 password='{PASSWORD}"),
        format!("host=127.0.0.1 password={PASSWORD} {PASSWORD}"),
        format!("host=127.0.0.1 port={PASSWORD}"),
        format!("postgresql://grantor:{PASSWORD}"),
        format!("postgresql://grantor:{PASSWORD}@127.0.0.1:no/grantor"),
        PASSWORD.to_owned(),
    ] {
        let refused = PostgresOptions::new(&malformed).unwrap_err();
        assert_eq!(refused.problem(), PostgresProblem::Configuration, "{refused:?}");
        exposure.error("PostgresError", &refused);
    }
    logs::so_far().lines().for_each(|line| exposure.text("the log", line.to_owned()));
    exposure.check();
}

/// HTTP-04
#[tokio::test]
async fn the_password_of_redis_is_in_no_error() {
    let mut exposure = exposure();
    for address in [
        format!("redis://grantor:{PASSWORD}@127.0.0.1:1"),
        format!("redis://grantor:{PASSWORD}@127.0.0.1:no"),
        format!("redis://:{PASSWORD}@127.0.0.1:1/many"),
        format!("redis://grantor:{PASSWORD}"),
        format!("http://grantor:{PASSWORD}@127.0.0.1:1"),
        PASSWORD.to_owned(),
    ] {
        let refused = RedisStore::connect(&address, &RedisOptions::new()).await.unwrap_err();
        assert!(matches!(refused.problem(), RedisProblem::Address | RedisProblem::Connection), "{refused:?}");
        exposure.error("RedisError", &refused);
        exposure
            .error("RedisError", &RedisStore::connect_cluster(&[&address], &RedisOptions::new()).await.unwrap_err());
    }
    logs::so_far().lines().for_each(|line| exposure.text("the log", line.to_owned()));
    exposure.check();
}

//! Sends a statement so that the client library does not log its parameters.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{Client, Row, Statement};

pub(super) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// Sends one statement and waits for its rows.
///
/// The client library logs the `Debug` text of parameters. One of them is the client id of a request, which may be a
/// secret in the wrong parameter.
pub(super) async fn query(
    client: &Client,
    statement: &Statement,
    parameters: &[Parameter<'_>],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let unlogged: Vec<_> = parameters.iter().map(|parameter| Unlogged(*parameter)).collect();
    let parameters: Vec<_> = unlogged.iter().map(|own| -> Parameter<'_> { own }).collect();
    client.query(statement, &parameters).await
}

/// A parameter without a `Debug` text.
struct Unlogged<'p>(Parameter<'p>);

impl fmt::Debug for Unlogged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl ToSql for Unlogged<'_> {
    fn to_sql(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql_checked(column, out)
    }

    /// The parameter itself is checked when it is written.
    fn accepts(_: &Type) -> bool {
        true
    }

    fn to_sql_checked(&self, column: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        self.0.to_sql_checked(column, out)
    }

    fn encode_format(&self, column: &Type) -> Format {
        self.0.encode_format(column)
    }
}

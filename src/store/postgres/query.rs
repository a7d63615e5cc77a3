//! Sends a statement of which the client's own log tells no more than its name.

use std::error::Error;
use std::fmt;

use bytes::BytesMut;
use tokio_postgres::types::{Format, IsNull, ToSql, Type};
use tokio_postgres::{Client, Row, Statement};

pub(super) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// Sends one statement and waits for its rows.
///
/// The client logs the `Debug` text of parameters, and among them is what a request claims its client to be:
/// at times a secret in the wrong place.
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

    /// The parameter itself is asked when it is written.
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

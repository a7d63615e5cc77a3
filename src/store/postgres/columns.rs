//! How values lie in columns.

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::{BufMut, BytesMut};
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::client::ClientState;
use crate::clock::Timestamp;

/// The octets of an id in a column of type `uuid`, which orders them as octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id(pub(super) [u8; 16]);

impl Id {
    /// The first id that may come after this one; none comes after the last.
    pub(super) fn next(self) -> Option<Self> {
        u128::from_be_bytes(self.0).checked_add(1).map(|next| Self(next.to_be_bytes()))
    }
}

impl ToSql for Id {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.put_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(column: &Type) -> bool {
        *column == Type::UUID
    }

    to_sql_checked!();
}

impl FromSql<'_> for Id {
    fn from_sql(_: &Type, octets: &[u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(octets.try_into()?))
    }

    fn accepts(column: &Type) -> bool {
        *column == Type::UUID
    }
}

/// A time as `timestamptz`, so that an operator can compare it with `now()`.
pub(super) fn time(time: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(time.seconds().into())
}

pub(super) const fn state(state: ClientState) -> &'static str {
    match state {
        ClientState::Pending => "pending",
        ClientState::Approved => "approved",
        ClientState::Rejected => "rejected",
        ClientState::Suspended => "suspended",
    }
}

//! Withdraws connections at Platform, as far as Platform accepts it.

use super::connection::Connection;
use super::failure::Failure;
use super::{Application, Registration};

/// What Platform did not withdraw.
pub(super) struct Left {
    pub(super) connections: usize,
    pub(super) technical: String,
}

impl Application {
    /// Revokes the connections one after the other, with the registration that they were made with. If Platform cannot
    /// be reached, it is not asked again.
    pub(super) async fn withdraw(
        &self,
        registration: Option<Registration>,
        connections: Vec<Connection>,
    ) -> Result<(), Left> {
        let Some(registration) = registration else {
            let technical = "There was no registration to withdraw them with.".into();
            let left = Left { connections: connections.len(), technical };
            return if left.connections == 0 { Ok(()) } else { Err(left) };
        };
        let mut left: Option<Left> = None;
        let mut is_reachable = true;
        for connection in connections {
            if let Some(left) = left.as_mut().filter(|_| !is_reachable) {
                left.connections += 1;
                continue;
            }
            let Err(failure) = self.platform.revoke(&registration, connection.tokens.revocable()).await else {
                continue;
            };
            is_reachable = !matches!(failure, Failure::Unreachable(_));
            let technical = failure.technical().unwrap_or_default();
            left.get_or_insert(Left { connections: 0, technical }).connections += 1;
        }
        left.map_or(Ok(()), Err)
    }
}

//! A directory of one client.

use std::sync::Arc;

use async_trait::async_trait;
use grantor::store::{ClientStore, StoreError};
use grantor::{Client, ClientId};

/// The only client that there is.
#[derive(Debug)]
pub struct OneClient(pub Arc<Client>);

#[async_trait]
impl ClientStore for OneClient {
    async fn client(&self, id: &ClientId) -> Result<Option<Arc<Client>>, StoreError> {
        Ok(Some(self.0.clone()).filter(|client| client.id() == id))
    }
}

use crate::web::Platform;
use axum::Router;
pub(crate) fn routes() -> Router<Platform> {
    Router::new()
}

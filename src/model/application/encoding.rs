//! The stored form of an [`Application`].

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::codec::{DecodeError, Reader, Writer, kind};
use crate::base::field::{Codec, fields};
use crate::base::id::ClientId;
use crate::model::application::Application;
use crate::model::client::{Client, ClientState};
use crate::model::record::{Columns, Record, Table, encoded_as};

impl Application {
    /// Reads only the client of what [`encode`](Self::encode) wrote. Requests need no more.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the bytes do not begin with a client, or were written by an unknown release.
    pub(crate) fn decode_client(bytes: &[u8]) -> Result<Client, DecodeError> {
        Client::decode(Reader::new(bytes, kind::APPLICATION)?.bytes()?)
    }
}

impl Record for Application {
    type Key = ClientId;

    const TABLE: Table = Table::Applications;

    fn key(&self) -> &ClientId {
        self.id()
    }

    fn version(&self) -> u32 {
        self.client.version
    }

    fn set_version(&mut self, version: u32) {
        self.client_mut().version = version;
    }

    fn lists(&self) -> Vec<Cow<'_, str>> {
        self.filters().map(|filter| filter.key().into()).collect()
    }

    /// A deleted one may be removed from [`reserved_until`](Self::reserved_until) on, and one whose client registered
    /// itself once it has not been used for long. `None` for any other, and for a suspended one with a metadata
    /// document.
    fn purge_after(&self) -> Option<Timestamp> {
        self.reserved_until.or_else(|| self.client.gone_at().filter(|_| !self.is_suspended_document()))
    }

    fn is_due_sooner(&self) -> bool {
        self.purge_after().is_some()
    }

    fn columns(&self) -> Columns {
        Columns {
            client: Some(self.id().clone()),
            subject: self.owner.clone(),
            created: Some(self.submitted),
            state: match self.state() {
                ClientState::Pending => "pending",
                ClientState::Approved => "approved",
                ClientState::Rejected => "rejected",
                ClientState::Suspended => "suspended",
                ClientState::Deleted => "deleted",
            },
            ..Columns::default()
        }
    }

    encoded_as!(kind::APPLICATION);
}

fields! {
    Application {
        client, owner, submitted, decided, proposed, rejection, reserved_until, logo, proposed_logo,
    } tagged {
        OPEN => open,
    }
}

/// The client is a record of its own, behind its length.
impl Codec for Arc<Client> {
    fn write(&self, writer: &mut Writer) {
        writer.bytes(&self.encode());
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Client::decode(reader.bytes()?).map(Self::new)
    }
}

/// The tag of the part of an application whose client registered itself.
const OPEN: u8 = b'O';

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::clock::Timestamp;
    use crate::base::id::{AuthorizationId, LogoId, Subject};
    use crate::model::application::tests::application;
    use crate::model::application::{Asked, ClientPlace, ClientRoom, Management, OpenApplication, ProposedUpdate};
    use crate::model::client::{
        ApplicationType, AuthenticationMethods, ClientKeys, ClientState, ClientType, GrantTypes,
    };
    use crate::model::client_metadata::{MoreMetadata, RegistrationBounds};
    use crate::model::fixtures::compared_layout;
    use crate::scope::{ResourceScope, ScopeSet};
    use crate::secret::Digest;

    fn full() -> Application {
        let mut application = application(ClientState::Suspended);
        let mut proposed = application.form().clone();
        proposed.name = "\u{1f600}".into();
        proposed.description = Some("two\nlines".into());
        proposed.resource_scope = ResourceScope::specified(["b", "a"]).unwrap();
        proposed.client_scopes = application.form().scopes.clone();
        proposed.client_resources = ResourceScope::All;
        proposed.client_type = ClientType::Public;
        proposed.application_type = ApplicationType::Native;
        proposed.grant_types = GrantTypes::CODE_ONLY;
        proposed.authentication_methods = AuthenticationMethods::PUBLIC;
        application.proposed = Some(proposed);
        application.client_mut().version = u32::MAX;
        application.logo = Some(LogoId::from_bytes([1; 16]));
        application.proposed_logo = Some(LogoId::from_bytes([2; 16]));
        application.decided = Some(Timestamp::from_seconds(7));
        application.rejection = Some("no".into());
        application.reserved_until = Some(Timestamp::from_seconds(9));
        application
    }

    #[test]
    fn comes_back_equal_in_every_field() {
        let ownerless = Application { owner: None, ..application(ClientState::Deleted) };
        let states = [ClientState::Pending, ClientState::Rejected].map(application);
        for application in states.into_iter().chain([full(), ownerless, open(), managed(), with_keys()]) {
            assert_eq!(Application::decode(&application.encode()), Ok(application));
        }
    }

    fn with_keys() -> Application {
        let mut application = open();
        for (form, keys) in [
            (&mut Arc::make_mut(&mut application.client).form, ClientKeys::of_records()),
            (application.proposed.as_mut().unwrap(), Some(ClientKeys::Url("https://a.example/k".into()))),
        ] {
            (form.keys, form.options.requires_dpop_bound_tokens) = (keys, true);
        }
        application
    }

    /// 7591-2-20
    ///
    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_of_an_application_with_keys_stays_as_it_is() {
        let file = compared_layout("application.1.keys", &with_keys().encode());
        assert_eq!(Application::decode(&file), Ok(with_keys()));
        // Each of the two forms may have keys without the other.
        for proposed in [None, with_keys().proposed] {
            let mut application = Application { proposed, ..with_keys() };
            application.client_mut().form.keys = None;
            assert_eq!(Application::decode(&application.encode()), Ok(application));
        }
    }

    fn open() -> Application {
        let text = |text: &str| Some(text.into());
        let open = OpenApplication {
            place: Some(ClientPlace { room: ClientRoom { has_document: true, is_approved: false }, number: 7 }),
            approver: Some(Subject::new("alice").unwrap()),
            is_shared: true,
            asked: vec![Asked { request: AuthorizationId::from_bytes([3; 16]), subject: Subject::new("bob").unwrap() }],
            more: MoreMetadata {
                logo_uri: text("https://a.example/logo"),
                tos_uri: text("https://a.example/tos"),
                policy_uri: None,
                contacts: vec!["a@a.example".into(), "b@a.example".into()],
                software_id: text("id"),
                software_version: text("1"),
            },
            management: None,
            proposed: None,
            rejected: None,
        };
        Application { owner: None, open: Some(Box::new(open)), ..full() }
    }

    fn bounds() -> RegistrationBounds {
        let scopes = |text: &str| ScopeSet::read(text).unwrap();
        RegistrationBounds::new(scopes("repo-code:rw"), ResourceScope::Public)
            .default_scopes(scopes("repo-code:r"))
            .resources(["https://a.example", "https://b.example"])
            .methods(AuthenticationMethods::PUBLIC)
            .without_loopback()
            .lifetime(Duration::from_secs(9))
    }

    fn managed() -> Application {
        let mut application = open();
        let open = application.open.as_mut().unwrap();
        let proposed = ProposedUpdate {
            default_scopes: ScopeSet::read("repo-code:r").unwrap(),
            resources: Some(["https://a.example"].map(Box::from).into()),
            has_foreign_links: true,
            looks_like_another: false,
            more: open.more.clone(),
            document: Some(Digest::of(b"document")),
        };
        let management = Management { token: Digest::of(b"token"), bounds: bounds(), updates_await_review: true };
        (open.management, open.proposed) = (Some(Box::new(management)), Some(Box::new(proposed)));
        open.rejected = Some(Digest::of(b"rejected"));
        application
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_of_a_client_that_manages_itself_stays_as_it_is() {
        let file = compared_layout("application.1.managed", &managed().encode());
        assert_eq!(Application::decode(&file), Ok(managed()));
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_of_a_client_that_registered_itself_stays_as_it_is() {
        let file = compared_layout("application.1.open", &open().encode());
        assert_eq!(Application::decode(&file), Ok(open()));
    }

    /// Every later release reads what a release has written.
    #[test]
    fn layout_1_stays_as_it_is() {
        let record = full();
        let file = compared_layout("application.1", &record.encode());
        assert_eq!(Application::decode(&file), Ok(record));
    }

    #[test]
    fn the_client_is_read_without_the_rest() {
        let bytes = full().encode();
        assert_eq!(Application::decode_client(&bytes), Ok(Client::clone(&full().client)));
        let head = 2 + 4 + full().client.encode().len();
        assert_eq!(Application::decode_client(&bytes[..head]), Ok(Client::clone(&full().client)));
        assert_eq!(Application::decode_client(&bytes[..head - 1]), Err(DecodeError::Malformed));
    }

    #[test]
    fn bytes_that_are_cut_or_go_on_are_refused() {
        let bytes = full().encode();
        for cut in 0..bytes.len() {
            assert_eq!(Application::decode(&bytes[..cut]), Err(DecodeError::Malformed), "{cut}");
        }
        assert_eq!(Application::decode(&[&bytes[..], b"x"].concat()), Err(DecodeError::Malformed));
        let mut newer = bytes;
        newer[1] += 1;
        assert_eq!(Application::decode(&newer), Err(DecodeError::UnknownLayout));
    }
}

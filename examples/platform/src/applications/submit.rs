//! The registration form: fill in, preview and submit, for a new application or a change.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use grantor::application::{ApplicationFilter, Field, Logo, LogoSlot};
use grantor::client::{CheckedForm, ClientState};
use grantor::interaction::Reviewed;
use grantor::store::Page;
use grantor::{Application, ApplicationForm, ClientId, Registrar, RegistrarError};

use crate::accounts::Account;
use crate::applications::entered::{Entered, Kind};
use crate::applications::form::{Shown, show};
use crate::applications::upload::Upload;
use crate::applications::{SAMPLE_LOGO, drafts, own};
use crate::pages::Failure;
use crate::registration::problems::Problems;
use crate::registration::{Named, ROWS, failure, notice};
use crate::session::SignedIn;
use crate::web::Platform;

/// How many applications of one applicant may await review. Concurrent submissions may exceed it.
const MAX_AWAITING: usize = 10;

pub(super) async fn new(State(platform): State<Platform>, signed_in: SignedIn) -> Response {
    let shown =
        Shown { id: None, kind: Kind::Open, logo: None, is_correct: false, preview: None, awaits_review: false };
    show(&platform, &signed_in.account, &Entered::blank(), &Problems::default(), shown)
}

pub(super) async fn create(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    upload: Upload,
) -> Result<Response, Failure> {
    let attempt = Attempt { platform: &platform, account: &signed_in.account, application: None };
    attempt.take(&signed_in, upload).await
}

pub(super) async fn edit(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
) -> Result<Response, Failure> {
    let application = own(&platform, &signed_in.account, &id).await?;
    let entered = Entered::of_form(application.proposed.as_ref().unwrap_or_else(|| application.form()));
    let attempt = Attempt { platform: &platform, account: &signed_in.account, application: Some(&application) };
    attempt.page(&entered, &Problems::default(), None).await
}

pub(super) async fn change(
    State(platform): State<Platform>,
    signed_in: SignedIn,
    Named(id): Named,
    upload: Upload,
) -> Result<Response, Failure> {
    let application = own(&platform, &signed_in.account, &id).await?;
    let attempt = Attempt { platform: &platform, account: &signed_in.account, application: Some(&application) };
    attempt.take(&signed_in, upload).await
}

/// A form that was sent, and its sender.
struct Attempt<'a> {
    platform: &'a Platform,
    account: &'a Account,
    /// The application to change; `None` for a new one.
    application: Option<&'a Application>,
}

impl Attempt<'_> {
    async fn take(&self, signed_in: &SignedIn, upload: Upload) -> Result<Response, Failure> {
        let config = self.platform.server.config();
        let is_final = upload.texts.iter().any(|(name, value)| name == "action" && value == "submit");
        let mut problems = Problems::default();
        let mut entered = Entered::of_texts(upload.texts);
        let logo = self.logo(&mut entered, upload.logo, &mut problems).await?;
        let before =
            self.application.map(|application| application.proposed.as_ref().unwrap_or_else(|| application.form()));
        let form = entered.to_form(config, before, self.kind(), &mut problems);
        let checked = form.check(&config.registration.form, &config.scopes, &config.redirect_uris);
        if let Err(errors) = &checked {
            problems.add(errors, &form);
        }
        if is_final && problems.is_empty() && !self.has_room().await? {
            let text = format!(
                "{MAX_AWAITING} of your applications await review already. Send this one once some are decided."
            );
            problems.push("action", text);
        }
        if !is_final || !problems.is_empty() {
            let sound = checked.as_ref().ok().filter(|_| problems.is_empty());
            return self.page(&entered, &problems, sound).await;
        }
        match self.submit(&self.platform.registrar()?, form.clone(), logo).await {
            Ok(id) => {
                drafts::discard(&self.platform.database, &self.account.subject, &entered.draft).await?;
                notice::leave(&signed_in.visitor.session, &id, "Sent to the administrators for review.").await?;
                Ok(Redirect::to(&format!("/applications/{id}")).into_response())
            }
            Err(RegistrarError::Invalid(errors)) => {
                problems.add(&errors, &form);
                self.page(&entered, &problems, None).await
            }
            Err(error) => Err(failure(error)),
        }
    }

    /// Returns whether the applicant may submit one more application for review.
    async fn has_room(&self) -> Result<bool, Failure> {
        if self.application.is_some_and(Application::awaits_review) {
            return Ok(true);
        }
        let registrar = self.platform.registrar()?;
        let own = ApplicationFilter::OwnedBy(self.account.subject.clone());
        let (mut page, mut awaiting) = (Page::first(ROWS), 0);
        loop {
            let step = registrar.list(&own, page).await.map_err(failure)?;
            awaiting += step.iter().filter(|application| application.awaits_review()).count();
            match step.last() {
                _ if awaiting >= MAX_AWAITING => return Ok(false),
                Some(last) if step.len() == ROWS => page = Page::after(last.id().clone(), ROWS),
                _ => return Ok(true),
            }
        }
    }

    async fn submit(
        &self,
        registrar: &Registrar,
        form: ApplicationForm,
        logo: Option<Logo>,
    ) -> Result<ClientId, RegistrarError> {
        match self.application {
            None => registrar.submit(self.account.subject.clone(), form, logo).await,
            Some(application) => registrar
                .change(application.id(), &self.account.subject, form, logo)
                .await
                .map(|()| application.id().clone()),
        }
    }

    /// Returns the logo that was sent now, the sample, or else the logo that was sent before. It is kept for the next
    /// time.
    async fn logo(
        &self,
        entered: &mut Entered,
        sent: Option<Vec<u8>>,
        problems: &mut Problems,
    ) -> Result<Option<Logo>, Failure> {
        let Platform { server, database, .. } = self.platform;
        let owner = &self.account.subject;
        let sample = std::mem::take(&mut entered.wants_sample_logo).then(|| SAMPLE_LOGO.to_vec());
        let Some(bytes) = sent.or(sample) else {
            let kept = drafts::find(database, owner, &entered.draft).await?;
            if kept.is_none() {
                entered.draft.clear();
                if self.application.is_none() {
                    problems.push(Field::Logo.as_str(), "Choose a logo.");
                }
            }
            return Ok(kept);
        };
        match Logo::new(bytes, &server.config().registration.form) {
            Ok(logo) => {
                drafts::discard(database, owner, &entered.draft).await?;
                entered.draft = drafts::keep(database, owner, &logo).await?;
                Ok(Some(logo))
            }
            Err(error) => {
                problems.add(&[error], &ApplicationForm::new("", ""));
                Ok(None)
            }
        }
    }

    async fn page(
        &self,
        entered: &Entered,
        problems: &Problems,
        correct: Option<&CheckedForm>,
    ) -> Result<Response, Failure> {
        let logo = self.logo_address(entered).await?;
        let preview = correct.and_then(|form| self.preview(form, logo.clone()));
        let shown = Shown {
            id: self.application.map(Application::id),
            kind: self.kind(),
            logo,
            is_correct: correct.is_some(),
            preview,
            awaits_review: self.application.is_some_and(Application::awaits_review),
        };
        Ok(show(self.platform, self.account, entered, problems, shown))
    }

    /// The consent page as users would see it.
    fn preview(&self, form: &CheckedForm, logo: Option<String>) -> Option<String> {
        let mut reviewed = Reviewed::default();
        reviewed.publisher = Some(self.account.name.clone());
        reviewed.description.clone_from(&form.description);
        reviewed.logo = logo;
        self.platform.flow.preview(form, &reviewed, &self.account.signed_in(), "en")
    }

    async fn logo_address(&self, entered: &Entered) -> Result<Option<String>, Failure> {
        if !entered.draft.is_empty() {
            let kept = drafts::find(&self.platform.database, &self.account.subject, &entered.draft).await?;
            return Ok(kept.map(|_| format!("/applications/drafts/{}/logo", entered.draft)));
        }
        let Some(application) = self.application else { return Ok(None) };
        let id = application.id();
        let proposed = self.platform.registrar()?.logo(id, LogoSlot::Proposed).await.map_err(failure)?;
        let place = if proposed.is_some() { "/proposed" } else { "" };
        Ok(Some(format!("/applications/{id}/logo{place}")))
    }

    fn kind(&self) -> Kind {
        let state = self.application.map(Application::state);
        match state {
            None | Some(ClientState::Pending | ClientState::Rejected) => Kind::Open,
            Some(_) => Kind::Fixed,
        }
    }
}

//! Logos of applications.
//!
//! A logo is a record of its own. It is inserted before the application that names it, with a day to live, and kept
//! once that is written. A crash in between leaves an unnamed logo, which is removed after a day, or a named one that
//! expires. In the second case, the submission was never acknowledged, and its approval fails.

use std::sync::Arc;

use crate::base::clock::Timestamp;
use crate::base::id::{ClientId, LogoId, Subject};
use crate::claim::{ATTEMPTS, After, Claim, Effect, Seen, claim, draw_version};
use crate::context::Context;
use crate::model::ApplicationLogo;
use crate::model::application::{Field, FieldError, Logo, Problem};
use crate::registration::Registrar;
use crate::registration::claims::Taken;
use crate::registration::error::RegistrarError;
use crate::registration::judge::Action;
use crate::registration::user_approval::DAY;

impl Registrar {
    /// Inserts a logo that no application names yet, with a day to live.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Store`].
    pub(super) async fn insert_logo(&self, logo: Arc<Logo>) -> Result<LogoId, RegistrarError> {
        let (now, entropy) = (self.context.now(), &*self.context.entropy);
        let (id, end) = (LogoId::new(now, entropy), Some(now.plus(DAY)));
        let logo = Arc::unwrap_or_clone(logo);
        let record = Arc::new(ApplicationLogo { id, version: draw_version(entropy), end, logo });
        claim(&self.context, &mut Inserting { context: &self.context, record, has_read: false }, Some(ATTEMPTS))
            .await?;
        Ok(id)
    }

    /// Keeps a logo, which an application names.
    ///
    /// # Errors
    ///
    /// [`RegistrarError::Invalid`] if the logo has expired and was removed; [`RegistrarError::Store`].
    pub(super) async fn keep_logo(&self, id: LogoId) -> Result<(), RegistrarError> {
        claim(&self.context, &mut Ending { context: &self.context, id, end: None }, Some(ATTEMPTS)).await
    }

    /// Keeps the logos of an application that is about to be approved, if it has that version.
    ///
    /// # Errors
    ///
    /// As [`keep_logo`](Self::keep_logo).
    pub(super) async fn keep_logos_of(&self, id: &ClientId, version: u32) -> Result<(), RegistrarError> {
        let Some(application) = self.context.stores.applications.find(id).await? else { return Ok(()) };
        if application.version() == version {
            for logo in application.logos() {
                self.keep_logo(logo).await?;
            }
        }
        Ok(())
    }

    /// Lets the next purge remove logos that no application names any more. If the store fails, they stay.
    pub(super) async fn expire_logos(&self, logos: impl Iterator<Item = LogoId> + Send) {
        let end = Some(self.context.now());
        for id in logos {
            let _ = claim(&self.context, &mut Ending { context: &self.context, id, end }, Some(ATTEMPTS)).await;
        }
    }

    /// Takes a step that names a logo, which was inserted for it.
    ///
    /// # Errors
    ///
    /// Those of the step and of [`keep_logo`](Self::keep_logo).
    pub(super) async fn take_with_logo(
        &self,
        id: &ClientId,
        owner: Option<&Subject>,
        version: Option<u32>,
        action: Action,
        logo: Option<LogoId>,
    ) -> Result<Taken, RegistrarError> {
        let taken = self.take(id, owner, version, action).await;
        let Some(logo) = logo else { return taken };
        match &taken {
            Ok(taken) if taken.after.logos().any(|named| named == logo) => self.keep_logo(logo).await?,
            // The outcome is unknown: an application may name the logo.
            Err(RegistrarError::Store(_)) => {}
            Ok(_) | Err(_) => self.expire_logos([logo].into_iter()).await,
        }
        taken
    }
}

struct Inserting<'a> {
    context: &'a Context,
    record: Arc<ApplicationLogo>,
    has_read: bool,
}

impl Claim for Inserting<'_> {
    type Row = ApplicationLogo;
    type Won = ();
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<ApplicationLogo>, RegistrarError> {
        if !std::mem::replace(&mut self.has_read, true) {
            return Ok(Seen::Unread);
        }
        Ok(self.context.stores.application_logos.find(&self.record.id).await?.into())
    }

    fn judge(&mut self, _: &Seen<ApplicationLogo>) -> Result<Effect<ApplicationLogo, ()>, RegistrarError> {
        Ok(Effect::Insert(self.record.clone(), ()))
    }

    fn is_done(&self, found: &ApplicationLogo, meant: &ApplicationLogo, _: After) -> bool {
        found == meant
    }
}

/// Sets or removes the end of a logo.
struct Ending<'a> {
    context: &'a Context,
    id: LogoId,
    end: Option<Timestamp>,
}

impl Claim for Ending<'_> {
    type Row = ApplicationLogo;
    type Won = ();
    type Error = RegistrarError;

    async fn read(&mut self) -> Result<Seen<ApplicationLogo>, RegistrarError> {
        Ok(self.context.stores.application_logos.find(&self.id).await?.into())
    }

    fn judge(&mut self, seen: &Seen<ApplicationLogo>) -> Result<Effect<ApplicationLogo, ()>, RegistrarError> {
        let missing = || RegistrarError::Invalid(vec![FieldError::new(Field::Logo, Problem::Missing)]);
        let found = seen.found().ok_or_else(missing)?;
        if found.end == self.end {
            return Ok(Effect::Confirm(()));
        }
        Ok(Effect::Replace(Arc::new(ApplicationLogo { end: self.end, ..ApplicationLogo::clone(found) }), ()))
    }

    fn is_done(&self, found: &ApplicationLogo, _: &ApplicationLogo, _: After) -> bool {
        found.end == self.end
    }
}

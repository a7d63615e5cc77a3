//! The parameters of the writes of one application, in the order of the statements.

use std::time::SystemTime;

use crate::client::application::Logo;
use crate::store::postgres::columns::{state, time};
use crate::store::postgres::parameters::Parameter;
use crate::store::{LogoWrite, Registration};

#[derive(Debug)]
pub(super) struct Values<'r> {
    id: &'r str,
    expected: i64,
    version: i64,
    state: &'static str,
    applicant: &'r [u8],
    submitted: SystemTime,
    client: Vec<u8>,
    application: Vec<u8>,
    logo: LogoValue<'r>,
    proposed_logo: LogoValue<'r>,
    filters: Vec<Vec<u8>>,
}

/// Whether a logo stays as it is, and otherwise what is there afterwards.
#[derive(Debug)]
struct LogoValue<'r> {
    stays: bool,
    octets: Option<&'r [u8]>,
}

impl<'r> Values<'r> {
    pub(super) fn of(expected: Option<u32>, registration: &'r Registration) -> Self {
        let Registration { client, application, logo, proposed_logo } = registration;
        Self {
            id: client.id.as_str(),
            expected: expected.map_or(0, i64::from),
            version: client.version.into(),
            state: state(application.state),
            applicant: application.applicant.as_str().as_bytes(),
            submitted: time(application.submitted),
            client: client.encode(),
            application: application.encode(),
            logo: LogoValue::of(logo),
            proposed_logo: LogoValue::of(proposed_logo),
            filters: application.filters().map(|filter| filter.key().into_bytes()).collect(),
        }
    }

    pub(super) fn of_insert<'p>(&'p self, latest: Parameter<'p>) -> [Parameter<'p>; 11] {
        [
            &self.id,
            &self.version,
            &self.state,
            &self.applicant,
            &self.submitted,
            &self.client,
            &self.application,
            &self.logo.octets,
            &self.proposed_logo.octets,
            &self.filters,
            latest,
        ]
    }

    pub(super) fn of_replace<'p>(&'p self, latest: Parameter<'p>) -> [Parameter<'p>; 14] {
        [
            &self.id,
            &self.expected,
            &self.version,
            &self.state,
            &self.applicant,
            &self.submitted,
            &self.client,
            &self.application,
            &self.logo.stays,
            &self.logo.octets,
            &self.proposed_logo.stays,
            &self.proposed_logo.octets,
            &self.filters,
            latest,
        ]
    }
}

impl<'r> LogoValue<'r> {
    fn of(write: &'r LogoWrite) -> Self {
        match write {
            LogoWrite::Keep => Self { stays: true, octets: None },
            LogoWrite::Clear => Self { stays: false, octets: None },
            LogoWrite::Put(logo) => Self { stays: false, octets: Some(Logo::octets(logo)) },
        }
    }
}

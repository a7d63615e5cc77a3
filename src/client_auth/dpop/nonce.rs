//! Nonces for DPoP proofs [RFC 9449 sections 8 and 9]. They are derived from the time and a key, and are not stored.

use hkdf::Hkdf;
use sha2::Sha256;

use crate::base::base64url;
use crate::base::clock::Timestamp;
use crate::config::Config;
use crate::config::tokens::NONCE_PERIOD;
use crate::secret::{NonceKey, is_equal};

/// The response header with a nonce [RFC 9449 section 8.1].
pub(crate) const HEADER: &str = "DPoP-Nonce";

/// Separates this use of a key from all others.
const LABEL: &[u8] = b"DPoP-Nonce";
const TAG_BYTES: usize = 32;

/// Which role of the server requires the nonce. A nonce of one role is not valid for the other [RFC 9449 section 9].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    AuthorizationServer,
    Resource,
}

impl Role {
    const fn byte(self) -> u8 {
        match self {
            Self::AuthorizationServer => 1,
            Self::Resource => 2,
        }
    }
}

/// Returns the nonce that is handed out now; `None` if proofs need no nonce.
pub(crate) fn current(config: &Config, role: Role, now: Timestamp) -> Option<String> {
    let key = config.dpop.nonce_keys.first().filter(|_| config.dpop.reads_proofs())?;
    let bucket = bucket(now);
    let bytes = [&bucket.to_be_bytes()[..], &make_tag(key, role, bucket)].concat();
    Some(base64url::encode(&bytes))
}

/// Returns when a nonce expires; `None` for any other text. The nonces of this period and of the last one are valid. So
/// are those of the next one, which a server whose clock is ahead may have handed out.
pub(crate) fn expiry(keys: &[NonceKey], role: Role, nonce: &str, now: Timestamp) -> Option<Timestamp> {
    let bytes = base64url::decode(nonce)?;
    let (number, tag) = bytes.split_first_chunk()?;
    let (made, tag) = (u32::from_be_bytes(*number), tag.try_into().ok()?);
    let current = bucket(now);
    let accepted = current.saturating_sub(1)..=current.saturating_add(1);
    let is_own = keys.iter().any(|key| is_equal(&make_tag(key, role, made), tag));
    let end = made.saturating_add(2).saturating_mul(NONCE_PERIOD);
    (is_own && accepted.contains(&made)).then(|| Timestamp::from_seconds(end))
}

fn bucket(now: Timestamp) -> u32 {
    now.seconds() / NONCE_PERIOD
}

/// HMAC-SHA-256, which is the first step of HKDF with the key as its salt [RFC 5869 section 2.2].
fn make_tag(key: &NonceKey, role: Role, bucket: u32) -> [u8; TAG_BYTES] {
    let message = [LABEL, &[role.byte()], &bucket.to_be_bytes()].concat();
    Hkdf::<Sha256>::extract(Some(key.bytes()), &message).0.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::DpopBoundTokens;

    fn config(keys: &[u8]) -> Config {
        let mut config = Config::strict("https://auth.example");
        config.dpop.tokens = DpopBoundTokens::Optional;
        config.dpop.nonce_keys = keys.iter().map(|key| NonceKey::new([*key; 32])).collect();
        config
    }

    fn at(seconds: u32) -> Timestamp {
        Timestamp::from_seconds(seconds)
    }

    fn expires(config: &Config, role: Role, nonce: &str, seconds: u32) -> Option<u32> {
        expiry(&config.dpop.nonce_keys, role, nonce, at(seconds)).map(Timestamp::seconds)
    }

    /// 9449-8-02
    #[test]
    fn a_nonce_is_accepted_for_one_to_two_periods() {
        let config = config(&[1]);
        let role = Role::AuthorizationServer;
        let early = current(&config, role, at(1200)).unwrap();
        let late = current(&config, role, at(1319)).unwrap();
        assert_eq!(early, late, "one nonce for a period of 120 s");
        assert_ne!(early, current(&config, role, at(1320)).unwrap());
        for (seconds, expected) in [(1200, Some(1440)), (1439, Some(1440)), (1440, None), (9999, None)] {
            assert_eq!(expires(&config, role, &early, seconds), expected, "{seconds}");
        }
    }

    /// 9449-8-02
    #[test]
    fn a_nonce_of_a_server_a_minute_ahead_or_behind_is_accepted() {
        let role = Role::AuthorizationServer;
        let config = config(&[1]);
        for seconds in 6000..6600 {
            for other in [seconds - 60, seconds + 60] {
                let nonce = current(&config, role, at(other)).unwrap();
                assert!(expires(&config, role, &nonce, seconds).is_some(), "{other} at {seconds}");
            }
        }
        let nonce = current(&config, role, at(1200)).unwrap();
        assert_eq!(expires(&config, role, &nonce, 1080), Some(1440));
        assert_eq!(expires(&config, role, &nonce, 1079), None, "two periods ahead");
    }

    /// 9449-8-02
    #[test]
    fn the_first_key_makes_nonces_and_all_verify() {
        let role = Role::AuthorizationServer;
        let old = current(&config(&[1]), role, at(1200)).unwrap();
        assert_eq!(current(&config(&[1, 9]), role, at(1200)).unwrap(), old, "another server with the key");
        assert!(expires(&config(&[2, 1]), role, &old, 1200).is_some());
        assert_ne!(current(&config(&[2, 1]), role, at(1200)).unwrap(), old);
        assert_eq!(expires(&config(&[2]), role, &old, 1200), None);
    }

    /// 9449-9-01
    #[test]
    fn each_role_has_nonces_of_its_own() {
        let config = config(&[1]);
        let nonce = current(&config, Role::Resource, at(1200)).unwrap();
        assert!(expires(&config, Role::Resource, &nonce, 1200).is_some());
        assert_eq!(expires(&config, Role::AuthorizationServer, &nonce, 1200), None);
    }

    /// 9449-8-01
    #[test]
    fn an_altered_nonce_is_refused() {
        let config = config(&[1]);
        let role = Role::AuthorizationServer;
        let nonce = current(&config, role, at(1200)).unwrap();
        assert!(nonce.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)), "{nonce}");
        assert_eq!(nonce.len(), 48);
        for position in 0..nonce.len() {
            let mut altered = nonce.clone().into_bytes();
            altered[position] = if altered[position] == b'A' { b'B' } else { b'A' };
            let altered = String::from_utf8(altered).unwrap();
            assert_eq!(expires(&config, role, &altered, 1200), None, "{altered}");
        }
        for other in ["", "x", &nonce[1..], &format!("{nonce}A"), &format!("{}=", &nonce[1..])] {
            assert_eq!(expires(&config, role, other, 1200), None, "{other}");
        }
    }

    /// 9449-8-02
    #[test]
    fn there_is_no_nonce_while_nonces_or_proofs_are_off() {
        let role = Role::AuthorizationServer;
        let mut config = config(&[1]);
        config.dpop.tokens = DpopBoundTokens::Off;
        assert_eq!(current(&config, role, at(1200)), None);
        config.dpop.tokens = DpopBoundTokens::Required;
        assert!(current(&config, role, at(1200)).is_some());
        config.dpop.nonce_keys = Vec::new();
        assert_eq!(current(&config, role, at(1200)), None);
    }

    /// RFC 4231 section 4.3: HMAC-SHA-256 with the key `Jefe`.
    #[test]
    fn the_extract_step_is_hmac() {
        let tag: [u8; 32] = Hkdf::<Sha256>::extract(Some(b"Jefe"), b"what do ya want for nothing?").0.into();
        assert_eq!(tag[..4], [0x5b, 0xdc, 0xc1, 0x46]);
        assert_eq!(tag[28..], [0x64, 0xec, 0x38, 0x43]);
    }

    #[test]
    fn the_last_periods_of_time_have_nonces_too() {
        let config = config(&[1]);
        let nonce = current(&config, Role::Resource, at(u32::MAX)).unwrap();
        assert_eq!(expires(&config, Role::Resource, &nonce, u32::MAX), Some(u32::MAX));
    }
}

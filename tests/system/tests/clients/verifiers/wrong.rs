//! Changes that make a right token wrong.

use jsonwebtoken::EncodingKey;
use serde_json::Value;
use support::keys::{Signer, encode};

use crate::verifiers::token::{Token, claims_of, decode, header_of, parts};

/// The claims that every access token has [RFC 9068 section 2.2].
const REQUIRED: [&str; 7] = ["iss", "exp", "aud", "sub", "client_id", "iat", "jti"];

/// Returns tokens that differ from the right one in one respect each. The server's key signs them, unless the signature
/// is what differs.
pub(crate) fn all(right: &str, signer: &Signer) -> Vec<Token> {
    let another = signer.another();
    let [header, claims, signature] = parts(right);
    let mut flipped = decode(signature);
    flipped[7] ^= 1;
    let mut forged = claims_of(right);
    forged["sub"] = "mallory".into();
    let header_with = |name: &str, value: &str| changed(right, signer, |header, _| header[name] = value.into());
    let mut tokens = vec![
        Token::wrong("signature changed", format!("{header}.{claims}.{}", encode(flipped))),
        Token::wrong("claims changed", format!("{header}.{}.{signature}", encode(forged.to_string()))),
        Token::wrong(
            "of another issuer",
            changed(right, signer, |_, claims| claims["iss"] = "https://auth.example".into()),
        ),
        Token::wrong("of type JWT", header_with("typ", "JWT")),
        Token::wrong("of type dpop+jwt", header_with("typ", "dpop+jwt")),
        Token::wrong("without type", changed(right, signer, |header, _| remove(header, "typ"))),
        Token::wrong("unsigned", unsigned(right)),
        Token::wrong("HS256 with the public key", with_public_key(right, signer)),
        Token::wrong(
            "of an unknown key",
            changed(right, &another, |header, _| header["kid"] = another.thumbprint().into()),
        ),
        Token::wrong("of an unknown key under a known kid", changed(right, &another, |_, _| {})),
    ];
    let without =
        |name| Token::wrong(format!("without {name}"), changed(right, signer, |_, claims| remove(claims, name)));
    tokens.extend(REQUIRED.map(without));
    tokens
}

/// Returns the token with that change, signed by that key.
pub(crate) fn changed(token: &str, signer: &Signer, change: impl FnOnce(&mut Value, &mut Value)) -> String {
    let (mut header, mut claims) = (header_of(token), claims_of(token));
    change(&mut header, &mut claims);
    signer.sign(header.to_string(), claims.to_string())
}

fn remove(object: &mut Value, name: &str) {
    object.as_object_mut().unwrap().remove(name).expect("it was there");
}

fn unsigned(token: &str) -> String {
    let mut header = header_of(token);
    header["alg"] = "none".into();
    format!("{}.{}.", encode(header.to_string()), parts(token)[1])
}

/// Takes the public key for a shared secret [RFC 8725 section 2.1].
fn with_public_key(token: &str, signer: &Signer) -> String {
    let jwk = signer.jwk();
    let members = ["n", "x", "y"].iter().filter_map(|name| jwk[name].as_str());
    let secret: Vec<_> = members.flat_map(decode).collect();
    let mut header = header_of(token);
    header["alg"] = "HS256".into();
    let header: jsonwebtoken::Header = serde_json::from_value(header).unwrap();
    jsonwebtoken::encode(&header, &claims_of(token), &EncodingKey::from_secret(&secret)).unwrap()
}

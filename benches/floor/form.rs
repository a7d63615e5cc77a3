//! Forms, split by hand: values borrow unless they are escaped, and a repeated name spoils the whole.

use std::borrow::Cow;

/// The values of the known names, in their order.
pub(super) fn read<'a, const N: usize>(octets: &'a [u8], names: &[&[u8]; N]) -> Option<[Option<Cow<'a, [u8]>>; N]> {
    let mut values = [const { None }; N];
    for pair in octets.split(|octet| *octet == b'&') {
        let middle = pair.iter().position(|octet| *octet == b'=').unwrap_or(pair.len());
        let (name, value) = pair.split_at(middle);
        let Some(place) = names.iter().position(|known| *known == name) else { continue };
        let value = decoded(value.get(1..).unwrap_or_default())?;
        if values[place].replace(value).is_some() {
            return None;
        }
    }
    Some(values)
}

fn decoded(octets: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !octets.iter().any(|octet| matches!(octet, b'%' | b'+')) {
        return Some(Cow::Borrowed(octets));
    }
    let mut plain = Vec::with_capacity(octets.len());
    let mut rest = octets.iter();
    while let Some(octet) = rest.next() {
        plain.push(match octet {
            b'+' => b' ',
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            other => *other,
        });
    }
    Some(Cow::Owned(plain))
}

fn digit(octet: &u8) -> Option<u8> {
    char::from(*octet).to_digit(16)?.try_into().ok()
}

/// Writes a value, everything but the unreserved characters escaped.
pub(super) fn write(out: &mut Vec<u8>, value: &[u8]) {
    for octet in value {
        if octet.is_ascii_alphanumeric() || b"-._~".contains(octet) {
            out.push(*octet);
        } else {
            out.extend([
                b'%',
                b"0123456789ABCDEF"[usize::from(octet >> 4)],
                b"0123456789ABCDEF"[usize::from(octet & 15)],
            ]);
        }
    }
}

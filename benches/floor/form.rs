//! A form parser. Values borrow unless they are escaped, and a repeated name makes the form invalid.

use std::borrow::Cow;

/// The values of the known names, in their order.
pub(super) fn read<'a, const N: usize>(bytes: &'a [u8], names: &[&[u8]; N]) -> Option<[Option<Cow<'a, [u8]>>; N]> {
    let mut values = [const { None }; N];
    for pair in bytes.split(|byte| *byte == b'&') {
        let middle = pair.iter().position(|byte| *byte == b'=').unwrap_or(pair.len());
        let (name, value) = pair.split_at(middle);
        let Some(place) = names.iter().position(|known| *known == name) else { continue };
        let value = decoded(value.get(1..).unwrap_or_default())?;
        if values[place].replace(value).is_some() {
            return None;
        }
    }
    Some(values)
}

fn decoded(bytes: &[u8]) -> Option<Cow<'_, [u8]>> {
    if !bytes.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Some(Cow::Borrowed(bytes));
    }
    let mut plain = Vec::with_capacity(bytes.len());
    let mut rest = bytes.iter();
    while let Some(byte) = rest.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => digit(rest.next()?)? << 4 | digit(rest.next()?)?,
            other => *other,
        });
    }
    Some(Cow::Owned(plain))
}

fn digit(byte: &u8) -> Option<u8> {
    char::from(*byte).to_digit(16)?.try_into().ok()
}

/// Writes a value, everything but the unreserved characters escaped.
pub(super) fn write(out: &mut Vec<u8>, value: &[u8]) {
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            out.extend([
                b'%',
                b"0123456789ABCDEF"[usize::from(byte >> 4)],
                b"0123456789ABCDEF"[usize::from(byte & 15)],
            ]);
        }
    }
}

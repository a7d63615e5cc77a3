//! Labels of internationalized host names in ASCII [RFC 3492, RFC 5890 section 2.3.2.1].

use unicode_normalization::UnicodeNormalization as _;

/// Converts a host with letters beyond ASCII to its form in the DNS: `bücher.example` is `xn--bcher-kva.example`.
///
/// As in browsers, letters become lower case and compatibility characters get their plain form. Not every label that
/// this returns can be registered.
pub(crate) fn a_label_host(host: &str) -> Option<String> {
    let plain: String = host.nfkc().flat_map(char::to_lowercase).nfc().collect();
    let labels: Option<Vec<_>> = plain.split(['.', '\u{3002}']).map(a_label).collect();
    labels.map(|labels| labels.join("."))
}

/// Returns whether a label that begins with `xn--` can be decoded, and encodes to the same label again. It does not
/// check which characters a name may have: registries decide that, and browsers differ.
pub(crate) fn is_a_label(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    let text = label.strip_prefix(PREFIX).and_then(decode);
    text.is_some_and(|text| {
        let is_shown = !text.is_ascii() && !text.chars().any(char::is_control);
        is_shown && a_label_host(&text).as_deref() == Some(&*label)
    })
}

fn a_label(label: &str) -> Option<String> {
    if label.is_ascii() {
        return Some(label.to_owned());
    }
    Some(format!("{PREFIX}{}", encode(label)?))
}

/// [RFC 3492 section 6.3]
fn encode(label: &str) -> Option<String> {
    let mut text: String = label.chars().filter(char::is_ascii).collect();
    let basic = u32::try_from(text.len()).ok()?;
    let (mut handled, mut bias, mut delta, mut next) = (basic, INITIAL_BIAS, 0_u32, INITIAL_N);
    if basic > 0 {
        text.push('-');
    }
    while let Some(least) = label.chars().map(u32::from).filter(|own| *own >= next).min() {
        delta = delta.checked_add((least - next).checked_mul(handled.checked_add(1)?)?)?;
        next = least;
        for own in label.chars().map(u32::from) {
            if own < next {
                delta = delta.checked_add(1)?;
            }
            if own == next {
                push_number(&mut text, delta, bias)?;
                bias = adapt(delta, handled + 1, handled == basic);
                delta = 0;
                handled += 1;
            }
        }
        delta = delta.checked_add(1)?;
        next += 1;
    }
    Some(text)
}

fn push_number(text: &mut String, number: u32, bias: u32) -> Option<()> {
    let (mut number, mut place) = (number, BASE);
    loop {
        let threshold = threshold(place, bias);
        if number < threshold {
            text.push(letter(number)?);
            return Some(());
        }
        text.push(letter(threshold + (number - threshold) % (BASE - threshold))?);
        number = (number - threshold) / (BASE - threshold);
        place += BASE;
    }
}

/// [RFC 3492 section 6.2]
fn decode(text: &str) -> Option<String> {
    let (basic, digits) = text.rsplit_once('-').unwrap_or(("", text));
    let mut decoded: Vec<char> = basic.chars().collect();
    let (mut code, mut index, mut bias) = (INITIAL_N, 0_u32, INITIAL_BIAS);
    let mut digits = digits.bytes().peekable();
    while digits.peek().is_some() {
        let (before, mut weight, mut place) = (index, 1_u32, BASE);
        loop {
            let digit = digit(digits.next()?)?;
            index = index.checked_add(digit.checked_mul(weight)?)?;
            let threshold = threshold(place, bias);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            place += BASE;
        }
        let count = u32::try_from(decoded.len()).ok()?.checked_add(1)?;
        bias = adapt(index - before, count, before == 0);
        code = code.checked_add(index / count)?;
        index %= count;
        decoded.insert(usize::try_from(index).ok()?, char::from_u32(code)?);
        index += 1;
    }
    Some(decoded.into_iter().collect())
}

/// [RFC 3492 section 6.1]
const fn adapt(delta: u32, count: u32, is_first: bool) -> u32 {
    let mut delta = if is_first { delta / DAMP } else { delta / 2 };
    delta += delta / count;
    let mut place = 0;
    while delta > ((BASE - LEAST) * MOST) / 2 {
        delta /= BASE - LEAST;
        place += BASE;
    }
    place + (BASE - LEAST + 1) * delta / (delta + SKEW)
}

fn threshold(place: u32, bias: u32) -> u32 {
    place.saturating_sub(bias).clamp(LEAST, MOST)
}

/// `a` to `z` are 0 to 25, `0` to `9` are 26 to 35.
fn letter(digit: u32) -> Option<char> {
    DIGITS.chars().nth(usize::try_from(digit).ok()?)
}

fn digit(letter: u8) -> Option<u32> {
    u32::try_from(DIGITS.bytes().position(|own| own == letter)?).ok()
}

const PREFIX: &str = "xn--";
const DIGITS: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

// The parameters of Punycode [RFC 3492 section 5].
const BASE: u32 = 36;
const LEAST: u32 = 1;
const MOST: u32 = 26;
const SKEW: u32 = 38;
const DAMP: u32 = 700;
const INITIAL_BIAS: u32 = 72;
const INITIAL_N: u32 = 0x80;

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn hosts_are_written_as_a_url_library_writes_them() {
        for host in [
            "b\u{fc}cher.example",
            "B\u{dc}CHER.example",
            "bu\u{308}cher.example",
            "\u{7801}\u{4e91}.\u{4e2d}\u{56fd}",
            "a\u{3002}\u{7801}.example",
            "\u{ff30}ay\u{ff50}al.\u{fc}.example",
            "p\u{430}ypal.example",
            "\u{1f600}.example",
            "xn--bcher-kva.\u{fc}.example",
        ] {
            let expected = Url::parse(&format!("https://{host}/")).unwrap();
            let written = a_label_host(host);
            assert_eq!(written.as_deref(), expected.host_str(), "{host}");
            for label in written.unwrap().split('.').filter(|label| label.starts_with("xn--")) {
                assert!(is_a_label(label) && is_a_label(&label.to_uppercase()), "{label}");
            }
        }
    }

    #[test]
    fn labels_that_cannot_be_read_are_known() {
        for label in
            ["xn--", "xn--zzzzzzzzz99999", "xn--a", "xn--a-", "xn--bcher-kv", "xn--bcher-kva!", "a", "xn--99999999"]
        {
            assert!(!is_a_label(label), "{label}");
        }
    }
}

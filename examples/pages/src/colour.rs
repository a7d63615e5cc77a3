//! The accent colour, adjusted until it can be read.

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rgb([u8; 3]);

const WHITE: Rgb = Rgb([0xff; 3]);
const BLACK: Rgb = Rgb([0; 3]);
/// The page and the card on it in the light theme; `style.css` has the same.
const LIGHT: [Rgb; 2] = [Rgb([0xf3, 0xf4, 0xf6]), WHITE];
/// The same in the dark theme.
const DARK: [Rgb; 2] = [Rgb([0x12, 0x14, 0x18]), Rgb([0x1c, 0x1f, 0x25])];
/// The text on a button in the dark theme.
const DARK_BUTTON_TEXT: Rgb = Rgb([0x0c, 0x0e, 0x12]);
/// What text needs [WCAG 2.2 section 1.4.3].
const CONTRAST: f64 = 4.5;

impl Rgb {
    fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
        let channel = |start: usize| u8::from_str_radix(digits.get(start..start + 2)?, 16).ok();
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
        Some(Self([channel(0)?, channel(2)?, channel(4)?]))
    }

    /// The relative luminance, from 0 to 1 [WCAG 2.2].
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|channel| {
            let channel = f64::from(channel) / 255.0;
            if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// The contrast ratio, from 1 to 21 [WCAG 2.2].
    fn contrast(self, other: Self) -> f64 {
        let (one, other) = (self.luminance() + 0.05, other.luminance() + 0.05);
        one.max(other) / one.min(other)
    }

    /// Mixes in `part` twentieths of another colour.
    fn mixed(self, other: Self, part: u16) -> Self {
        let mix = |own: u8, other: u8| (u16::from(own) * (20 - part) + u16::from(other) * part) / 20;
        let [one, two] = [self.0, other.0];
        Self([0, 1, 2].map(|index| u8::try_from(mix(one[index], two[index])).unwrap_or(u8::MAX)))
    }

    /// The nearest mixture with `end` that can be read on all of the grounds.
    fn readable(self, end: Self, grounds: &[Self]) -> Self {
        let mixtures = (0..=20).map(|part| self.mixed(end, part));
        let is_readable = |own: &Self| grounds.iter().all(|ground| own.contrast(*ground) >= CONTRAST);
        mixtures.into_iter().find(is_readable).unwrap_or(end)
    }

    fn css(self) -> String {
        let [red, green, blue] = self.0;
        format!("#{red:02x}{green:02x}{blue:02x}")
    }
}

/// A text that is not a colour.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the accent colour {0:?} must be # and six hexadecimal digits, such as #2456c7")]
#[non_exhaustive]
pub struct AccentError(String);

/// Returns the custom properties of a colour: darkened for the light theme and lightened for the dark one, as far as
/// its contrast requires.
pub(crate) fn properties(accent: &str) -> Result<String, AccentError> {
    let accent = Rgb::parse(accent).ok_or_else(|| AccentError(accent.to_owned()))?;
    let [light, dark] = [accent.readable(BLACK, &LIGHT), accent.readable(WHITE, &DARK)];
    Ok(format!(
        ":root{{--accent:{};--on-accent:{}}}@media (prefers-color-scheme:dark){{:root{{--accent:{};--on-accent:{}}}}}",
        light.css(),
        WHITE.css(),
        dark.css(),
        DARK_BUTTON_TEXT.css()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rgb(text: &str) -> Rgb {
        Rgb::parse(text).unwrap()
    }

    #[test]
    fn contrast_is_that_of_the_guidelines() {
        assert!((BLACK.contrast(WHITE) - 21.0).abs() < 1e-9);
        // The lightest grey that text on white may have.
        assert!(rgb("#767676").contrast(WHITE) >= 4.5 && rgb("#777777").contrast(WHITE) < 4.5);
    }

    #[test]
    fn every_accent_colour_can_be_read_in_both_themes() {
        let steps = [0, 0x33, 0x66, 0x99, 0xcc, 0xff];
        for red in steps {
            for green in steps {
                for blue in steps {
                    let accent = Rgb([red, green, blue]);
                    let (light, dark) = (accent.readable(BLACK, &LIGHT), accent.readable(WHITE, &DARK));
                    for (own, other) in [
                        (light, LIGHT[0]),
                        (light, LIGHT[1]),
                        (light, WHITE),
                        (dark, DARK[0]),
                        (dark, DARK[1]),
                        (dark, DARK_BUTTON_TEXT),
                    ] {
                        assert!(own.contrast(other) >= CONTRAST, "{accent:?}: {own:?} on {other:?}");
                    }
                }
            }
        }
        // A colour that can be read stays as it is.
        assert_eq!(rgb("#2456c7").readable(BLACK, &LIGHT), rgb("#2456c7"));
    }

    #[test]
    fn the_colours_of_the_style_sheet_can_be_read() {
        let style = include_str!("style.css");
        let (light, dark) = style.split_once("@media (prefers-color-scheme: dark)").unwrap();
        for (part, grounds) in [(light, LIGHT), (dark, DARK)] {
            let colour = |name: &str| {
                let (_, rest) = part.split_once(&format!("--{name}: ")).unwrap();
                rgb(rest.split(';').next().unwrap())
            };
            assert_eq!([colour("ground"), colour("card")], grounds);
            for name in ["text", "soft", "bad", "good"] {
                for ground in grounds {
                    assert!(colour(name).contrast(ground) >= CONTRAST, "{name} on {ground:?}");
                }
            }
            // The edge of a control [WCAG 2.2 section 1.4.11].
            assert!(colour("edge").contrast(colour("card")) >= 3.0);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for other in ["", "blue", "#fff", "#12345", "#1234567", "#12345g", "2456c7", "#+1+1+1", "#é1234", "#000000;}"]
        {
            assert_eq!(properties(other), Err(AccentError(other.to_owned())), "{other}");
        }
        assert!(properties("#ffcc00").unwrap().contains("--on-accent:#ffffff"));
    }
}

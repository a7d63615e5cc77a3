//! A QR code of characters.

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;

/// Draws a text as a QR code with its margin. Each character is two modules, one above the other. The light modules are
/// drawn, since most terminals are dark. With colours, it is black on white in every terminal.
pub(crate) fn draw(text: &str, with_colours: bool) -> Option<String> {
    // Too long a text has no QR code.
    let code = QrCode::new(text).ok()?;
    let picture = code.render::<Dense1x2>().dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build();
    if !with_colours {
        return Some(picture);
    }
    let lines = picture.lines().map(|line| format!("\x1b[97;40m{line}\x1b[0m"));
    Some(lines.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::draw;

    /// The finder pattern at the top left, within four modules of margin.
    #[test]
    fn the_light_modules_are_drawn() {
        let picture = draw("http://localhost:8080/device", false).unwrap();
        let lines: Vec<_> = picture.lines().collect();
        // Version 3 has 29 modules on each side.
        assert!(lines.len() == 19 && lines.iter().all(|line| line.chars().count() == 37), "{picture}");
        assert!(lines[..2].iter().all(|line| line.chars().all(|module| module == '█')), "{picture}");
        assert!(lines[2].starts_with("████ ▄▄▄▄▄ █"), "{picture}");
        assert!(lines[3].starts_with("████ █   █ █"), "{picture}");
    }

    #[test]
    fn a_text_that_is_too_long_has_none() {
        assert_eq!(draw(&"x".repeat(3000), true), None);
    }
}

//! Texts from other clients or servers, made safe for a terminal.

use core::fmt::{self, Write};

/// Shows a text and escapes, as `\u{…}`, each character that a terminal would act upon or hide:
/// control characters, marks of direction and of zero width, line and paragraph separators, and
/// characters without a glyph. Line breaks and tabs become `\n`, `\r` and `\t`, so the text stays
/// on its line.
///
/// It shows all other characters as they are, quotes and backslashes too.
///
/// ```
/// use zk_jute::Escaped;
///
/// let name = "a\u{1b}[2J\u{202e}b\nzkelect: c";
/// assert_eq!(Escaped(name).to_string(), r"a\u{1b}[2J\u{202e}b\nzkelect: c");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Escaped<T>(pub T);

impl<T: fmt::Display> fmt::Display for Escaped<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escaper(f), "{}", self.0)
    }
}

struct Escaper<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escaper<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut shown = 0;
        for (at, c) in text.char_indices().filter(|(_, c)| is_unfit(*c)) {
            self.0.write_str(text.get(shown..at).unwrap_or_default())?;
            match c {
                '\n' | '\r' | '\t' => write!(self.0, "{}", c.escape_default())?,
                _ => write!(self.0, "{}", c.escape_unicode())?,
            }
            shown = at + c.len_utf8();
        }
        self.0.write_str(text.get(shown..).unwrap_or_default())
    }

    fn write_char(&mut self, c: char) -> fmt::Result {
        self.write_str(c.encode_utf8(&mut [0; 4]))
    }
}

/// Returns whether [`Escaped`] writes a character as its number.
fn is_unfit(c: char) -> bool {
    // Behind a letter, a combining mark is not escaped; alone it would be.
    let mut pair = [b'a', 0, 0, 0, 0];
    let Some((_, rest)) = pair.split_first_mut() else {
        return true;
    };
    let length = 1 + c.encode_utf8(rest).len();
    let pair = pair.get(..length).and_then(|pair| core::str::from_utf8(pair).ok());
    let quoted = matches!(c, '"' | '\'' | '\\');
    // Letters and marks that are blank by design. The standard library takes them for visible.
    let blank = matches!(
        c,
        '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{3164}' | '\u{ffa0}'
    );
    let escapes = pair.is_none_or(|pair| pair.escape_debug().count() > 2);
    blank || (escapes && !quoted)
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::string::{String, ToString as _};

    use super::*;

    #[test]
    fn what_a_terminal_acts_upon_or_hides_is_escaped() {
        let unfit = [
            '\0',
            '\u{7}',
            '\u{8}',
            '\u{1b}',
            '\u{7f}',
            '\u{85}',
            '\u{9b}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{2029}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{3164}',
            '\u{feff}',
            '\u{e0041}',
            '\u{e000}',
            '\u{10ffff}',
        ];
        for c in unfit {
            let shown = Escaped(c).to_string();
            assert_eq!(shown, c.escape_unicode().collect::<String>());
            assert!(shown.is_ascii());
        }
        assert_eq!(Escaped("a\nb\r\tc").to_string(), r"a\nb\r\tc");
    }

    #[test]
    fn what_people_write_stays_as_it_is() {
        for text in ["", "plain", "höst-1", "o\u{308}", "候補", "नमस्ते", "👍", r#"C:\x "a" 'b'"#]
        {
            assert_eq!(Escaped(text).to_string(), text);
        }
    }
}

//! Lists of `name=value` and `name="value"`, the form of DIGEST-MD5's tokens (RFC 2831, section 7).

use alloc::borrow::Cow;
use alloc::vec::Vec;

/// Reads directives in their order. After an error nothing follows.
pub(super) struct Directives<'a> {
    rest: &'a [u8],
}

#[derive(Debug)]
pub(super) struct Directive<'a> {
    pub(super) name: &'a [u8],
    /// Without quotes.
    pub(super) value: Cow<'a, [u8]>,
}

/// The text is no list of directives.
#[derive(Debug)]
pub(super) struct Malformed;

impl<'a> Directives<'a> {
    pub(super) const fn new(token: &'a [u8]) -> Self {
        Self { rest: token }
    }

    fn read(&mut self) -> Result<Option<Directive<'a>>, Malformed> {
        while let Some((b',', after)) = self.skip_space().split_first() {
            self.rest = after;
        }
        if self.rest.is_empty() {
            return Ok(None);
        }
        let equals = self.rest.iter().position(|&byte| byte == b'=').ok_or(Malformed)?;
        let (name, after) = self.rest.split_at_checked(equals).ok_or(Malformed)?;
        let name = name.trim_ascii_end();
        if name.is_empty() || !name.iter().copied().all(is_token) {
            return Err(Malformed);
        }
        self.rest = after.strip_prefix(b"=").ok_or(Malformed)?;
        let value = match self.skip_space().strip_prefix(b"\"") {
            Some(after) => {
                self.rest = after;
                self.read_quoted()?
            }
            None => self.read_token()?,
        };
        match self.skip_space().first() {
            None | Some(b',') => Ok(Some(Directive { name, value })),
            Some(_) => Err(Malformed),
        }
    }

    fn skip_space(&mut self) -> &'a [u8] {
        self.rest = self.rest.trim_ascii_start();
        self.rest
    }

    fn read_token(&mut self) -> Result<Cow<'a, [u8]>, Malformed> {
        let end = self.rest.iter().position(|&byte| !is_token(byte)).unwrap_or(self.rest.len());
        let (value, after) = self.rest.split_at_checked(end).ok_or(Malformed)?;
        self.rest = after;
        if value.is_empty() { Err(Malformed) } else { Ok(Cow::Borrowed(value)) }
    }

    /// Reads on after the opening quote.
    fn read_quoted(&mut self) -> Result<Cow<'a, [u8]>, Malformed> {
        let mut value = Cow::Borrowed(&[][..]);
        loop {
            let special = self.rest.iter().position(|&byte| matches!(byte, b'"' | b'\\'));
            let (plain, after) =
                self.rest.split_at_checked(special.ok_or(Malformed)?).ok_or(Malformed)?;
            append(&mut value, plain);
            match after {
                [b'"', after @ ..] => {
                    self.rest = after;
                    return Ok(value);
                }
                [b'\\', escaped, after @ ..] => {
                    append(&mut value, core::slice::from_ref(escaped));
                    self.rest = after;
                }
                _ => return Err(Malformed),
            }
        }
    }
}

impl<'a> Iterator for Directives<'a> {
    type Item = Result<Directive<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.rest = &[];
        }
        read.transpose()
    }
}

impl Directive<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name.as_bytes())
    }
}

/// Writes `name="value"`.
pub(super) fn put_quoted(output: &mut Vec<u8>, name: &str, value: &[u8]) {
    output.extend_from_slice(name.as_bytes());
    output.extend_from_slice(b"=\"");
    for &byte in value {
        if matches!(byte, b'"' | b'\\') {
            output.push(b'\\');
        }
        output.push(byte);
    }
    output.push(b'"');
}

fn append<'a>(value: &mut Cow<'a, [u8]>, part: &'a [u8]) {
    if value.is_empty() {
        *value = Cow::Borrowed(part);
    } else {
        value.to_mut().extend_from_slice(part);
    }
}

/// Returns true for any character but controls and separators.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?={}".contains(&byte)
}

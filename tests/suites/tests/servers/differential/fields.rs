//! The fields of an answer, read by hand.

/// The answer ends in the middle of something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short;

/// The rest of an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(crate) const fn new(answer: &'a [u8]) -> Self {
        Self(answer)
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn int(&mut self) -> Result<i32, Short> {
        self.array().map(i32::from_be_bytes)
    }

    pub(crate) fn long(&mut self) -> Result<i64, Short> {
        self.array().map(i64::from_be_bytes)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, Short> {
        self.array::<1>().map(|[byte]| byte != 0)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(Short)?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// Reads a buffer: none if it is null; every other negative length is an error.
    pub(crate) fn bytes(&mut self) -> Result<Option<Vec<u8>>, Short> {
        let length = self.int()?;
        if length == -1 {
            return Ok(None);
        }
        let length = usize::try_from(length).map_err(|_| Short)?;
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Short)?;
        self.0 = rest;
        Ok(Some(bytes.to_vec()))
    }

    pub(crate) fn text(&mut self) -> Result<Option<String>, Short> {
        Ok(self.bytes()?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Reads a list in which the order means nothing.
    pub(crate) fn sorted<T: Ord>(
        &mut self,
        element: impl Fn(&mut Self) -> Result<T, Short>,
    ) -> Result<Vec<T>, Short> {
        let count = self.int()?;
        let mut list = (0..count).map(|_| element(self)).collect::<Result<Vec<_>, _>>()?;
        list.sort();
        Ok(list)
    }
}

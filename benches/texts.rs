//! Texts of one length, contiguous in memory, so that reading them costs as little as possible.

pub(crate) struct Texts {
    bytes: Vec<u8>,
    width: usize,
}

impl Texts {
    /// # Panics
    ///
    /// If they are not of one length, or there are none.
    pub(crate) fn new(texts: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let mut texts = texts.into_iter();
        let mut bytes = texts.next().expect("a text").as_ref().to_vec();
        let width = bytes.len();
        for text in texts {
            assert_eq!(text.as_ref().len(), width, "all texts are of one length");
            bytes.extend_from_slice(text.as_ref());
        }
        Self { bytes, width }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.width
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.width)
    }

    /// Returns `count` texts from `first` on, in parts of equal size.
    pub(crate) fn parts(
        &self,
        first: usize,
        count: usize,
        parts: usize,
    ) -> Vec<impl Iterator<Item = &[u8]> + Clone + Send> {
        let (part, width) = (self.part(count, parts), self.width);
        let bytes = &self.bytes[first * width..][..count * width];
        bytes.chunks_exact(part).map(|part| part.chunks_exact(width)).collect()
    }

    /// The same, mutable.
    pub(crate) fn parts_mut(
        &mut self,
        first: usize,
        count: usize,
        parts: usize,
    ) -> Vec<impl Iterator<Item = &mut [u8]> + Send> {
        let (part, width) = (self.part(count, parts), self.width);
        let bytes = &mut self.bytes[first * width..][..count * width];
        bytes.chunks_exact_mut(part).map(|part| part.chunks_exact_mut(width)).collect()
    }

    fn part(&self, count: usize, parts: usize) -> usize {
        assert!(count.is_multiple_of(parts), "{count} texts in {parts} parts");
        count / parts * self.width
    }
}

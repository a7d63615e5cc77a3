//! Texts of one length, one after the other in memory, so that reading them costs as little as can be.

pub(crate) struct Texts {
    octets: Vec<u8>,
    width: usize,
}

impl Texts {
    /// # Panics
    ///
    /// If they are not of one length, or there are none.
    pub(crate) fn new(texts: impl IntoIterator<Item: AsRef<[u8]>>) -> Self {
        let mut texts = texts.into_iter();
        let mut octets = texts.next().expect("a text").as_ref().to_vec();
        let width = octets.len();
        for text in texts {
            assert_eq!(text.as_ref().len(), width, "all texts are of one length");
            octets.extend_from_slice(text.as_ref());
        }
        Self { octets, width }
    }

    pub(crate) fn len(&self) -> usize {
        self.octets.len() / self.width
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.octets.chunks_exact(self.width)
    }

    /// `count` texts from `first` on, in as many parts as told, equally large.
    pub(crate) fn parts(
        &self,
        first: usize,
        count: usize,
        parts: usize,
    ) -> Vec<impl Iterator<Item = &[u8]> + Clone + Send> {
        let (part, width) = (self.part(count, parts), self.width);
        let octets = &self.octets[first * width..][..count * width];
        octets.chunks_exact(part).map(|part| part.chunks_exact(width)).collect()
    }

    /// The same, to be changed.
    pub(crate) fn parts_mut(
        &mut self,
        first: usize,
        count: usize,
        parts: usize,
    ) -> Vec<impl Iterator<Item = &mut [u8]> + Send> {
        let (part, width) = (self.part(count, parts), self.width);
        let octets = &mut self.octets[first * width..][..count * width];
        octets.chunks_exact_mut(part).map(|part| part.chunks_exact_mut(width)).collect()
    }

    fn part(&self, count: usize, parts: usize) -> usize {
        assert!(count.is_multiple_of(parts), "{count} texts in {parts} parts");
        count / parts * self.width
    }
}

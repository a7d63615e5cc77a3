//! Inputs that are made of others, the same ones in every run.

/// What has broken readers of forms, headers and URIs before.
const FRAGMENTS: [&[u8]; 40] = [
    b"&",
    b"=",
    b"%",
    b"%00",
    b"%0d%0a",
    b"%ff",
    b"%2f",
    b"%5c",
    b"%25",
    b"+",
    b" ",
    b"\t",
    b"\0",
    b"\r",
    b"\n",
    b"\n\n",
    b"\"",
    b"<script>",
    b"\\",
    b"/",
    b"//",
    b"@",
    b":",
    b"#",
    b"?",
    b".",
    b"..",
    b"\xff",
    b"\xc3\xa9",
    b"\xe2\x80\xae",
    b"{access}",
    b"{refresh}",
    b"{old}",
    b"{code}",
    b"{spent}",
    b"{client}",
    b"&state=x",
    b"&client_id={client}",
    b"evil.example",
    b"[::1]",
];

/// Makes inputs out of a corpus.
pub(crate) struct Mutation<'c> {
    corpus: &'c [Vec<u8>],
    drawn: u64,
}

impl<'c> Mutation<'c> {
    pub(crate) fn of(corpus: &'c [Vec<u8>]) -> Self {
        Self { corpus, drawn: 7 }
    }

    /// An input of the corpus with one to four changes.
    pub(crate) fn input(&mut self) -> Vec<u8> {
        let corpus = self.corpus;
        let mut input = corpus[self.below(corpus.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let place = self.below(input.len() + 1);
        let end = (place + 1 + self.below(8)).min(input.len());
        match self.below(7) {
            0 if place < end => input[place] ^= 1 << self.below(8),
            1 if place < end => drop(input.drain(place..end)),
            2 => input.truncate(place),
            3 => {
                let again = input[place.min(end)..end].to_vec();
                input.splice(place..place, again);
            }
            4 => {
                let other = &self.corpus[self.below(self.corpus.len())];
                let from = self.below(other.len() + 1);
                input.truncate(place);
                input.extend_from_slice(&other[from..]);
            }
            _ => {
                let fragment = FRAGMENTS[self.below(FRAGMENTS.len())];
                input.splice(place..place, fragment.iter().copied());
            }
        }
    }

    /// A number below that one, by the generator SplitMix64.
    fn below(&mut self, end: usize) -> usize {
        self.drawn = self.drawn.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.drawn;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }
}

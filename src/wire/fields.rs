//! The fields of a form that a page of this service sends.

/// Names and values, decoded. What cannot be decoded has no fields.
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(crate) fn read(form: &[u8]) -> Self {
        Self(serde_urlencoded::from_bytes(form).unwrap_or_default())
    }

    /// Returns the first value of a field; empty if there is none.
    pub(crate) fn first(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// Returns every value of a field.
    pub(crate) fn all<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s str> {
        self.0.iter().filter(move |(own, _)| own == name).map(|(_, value)| &**value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_decoded_and_in_order() {
        let fields = Fields::read(b"scope=a%3Ar&x=1+2&scope=b");
        assert_eq!(fields.all("scope").collect::<Vec<_>>(), ["a:r", "b"]);
        assert_eq!([fields.first("scope"), fields.first("x"), fields.first("y")], ["a:r", "1 2", ""]);
    }
}

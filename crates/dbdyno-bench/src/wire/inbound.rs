//! Bytes that came from the server and are not read yet.

use std::ops::Range;

/// How much one read asks for.
const READ: usize = 16 * 1024;

/// A buffer that grows to the longest answer and is then used again and again.
#[derive(Debug, Default)]
pub(crate) struct Inbound {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
}

impl Inbound {
    /// What has arrived and was not consumed.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// These bytes are read. Ranges handed out stay valid until [`Self::room`] is called.
    pub(crate) fn consume(&mut self, length: usize) {
        self.start = (self.start + length).min(self.end);
    }

    /// Where a part of [`Self::unread`] lies, for [`Self::slice`].
    pub(crate) fn range(&self, within: Range<usize>) -> Range<usize> {
        self.start + within.start..self.start + within.end
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// Free space for the next read; what was consumed is dropped.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.bytes.len() - self.end < READ && self.start > 0 {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.bytes.len() - self.end < READ {
            self.bytes.resize(self.end + READ.max(self.end), 0);
        }
        &mut self.bytes[self.end..]
    }

    /// So many bytes were read into [`Self::room`].
    pub(crate) fn filled(&mut self, length: usize) {
        self.end += length;
    }

    /// As if they had been read from a server.
    pub(crate) fn extend(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(READ) {
            self.room()[..chunk.len()].copy_from_slice(chunk);
            self.filled(chunk.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_goes_in_comes_out(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..40), step in 1_usize..5000) {
            let mut inbound = Inbound::default();
            let mut out = Vec::new();
            for chunk in &chunks {
                inbound.extend(chunk);
                let take = step.min(inbound.unread().len());
                let range = inbound.range(0..take);
                inbound.consume(take);
                out.extend_from_slice(inbound.slice(range));
            }
            out.extend_from_slice(inbound.unread());
            prop_assert_eq!(out, chunks.concat());
        }
    }
}

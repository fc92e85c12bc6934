//! Packets of MySQL's protocol, and the integers and strings within them.

use std::ops::Range;

use crate::wire::{Inbound, WireError};

/// Before each payload: its length in three bytes, and a sequence number.
pub(super) const HEADER: usize = 4;

/// A payload of this length goes on in the next packet.
pub(super) const MAX_PAYLOAD: usize = 0xff_ff_ff;

/// A packet that was consumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) sequence: u8,
    /// For [`Inbound::slice`].
    pub(super) payload: Range<usize>,
}

/// The first packet of some bytes, and what follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split<'a> {
    pub(super) sequence: u8,
    pub(super) payload: &'a [u8],
    pub(super) rest: &'a [u8],
}

/// None as long as the packet has not come whole.
///
/// # Errors
/// The payload does not fit into one packet.
pub(super) fn split(bytes: &[u8]) -> Result<Option<Split<'_>>, WireError> {
    let Some((&[low, middle, high, sequence], rest)) = bytes.split_first_chunk::<HEADER>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
    if length == MAX_PAYLOAD {
        return Err(WireError::protocol(
            "the server sent a row of 16 MiB or more: the limit here is 16 MiB - 2 bytes",
        ));
    }
    Ok(rest.split_at_checked(length).map(|(payload, rest)| Split {
        sequence,
        payload,
        rest,
    }))
}

/// Consumes the next packet; none as long as it has not come whole.
///
/// # Errors
/// Those of [`split`].
pub(super) fn take(inbound: &mut Inbound) -> Result<Option<Packet>, WireError> {
    let Some(Split {
        sequence, payload, ..
    }) = split(inbound.unread())?
    else {
        return Ok(None);
    };
    let end = HEADER + payload.len();
    let payload = inbound.range(HEADER..end);
    inbound.consume(end);
    Ok(Some(Packet { sequence, payload }))
}

/// Appends what `body` appends as one payload, and returns the next sequence number.
pub(super) fn append(out: &mut Vec<u8>, sequence: u8, body: impl FnOnce(&mut Vec<u8>)) -> u8 {
    let start = begin(out);
    body(out);
    finish(out, start, sequence)
}

/// Leaves room for a header. What is appended from here on, up to [`finish`], is the payload.
pub(super) fn begin(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER]);
    start
}

/// Writes the header of the payload that began at `start`, and further headers within it where it
/// is too long for one packet. Returns the next sequence number.
pub(super) fn finish(out: &mut Vec<u8>, start: usize, sequence: u8) -> u8 {
    let first = start + HEADER;
    let length = out.len() - first;
    let last = length / MAX_PAYLOAD;
    out.resize(out.len() + last * HEADER, 0);
    for index in (0..=last).rev() {
        let before = index * MAX_PAYLOAD;
        let size = MAX_PAYLOAD.min(length - before);
        let to = first + before + index * HEADER;
        if index > 0 {
            out.copy_within(first + before..first + before + size, to);
        }
        let [low, middle, high, _] = (size as u32).to_le_bytes();
        let number = sequence.wrapping_add(index as u8);
        out[to - HEADER..to].copy_from_slice(&[low, middle, high, number]);
    }
    sequence.wrapping_add(last as u8).wrapping_add(1)
}

/// Appends a length-encoded integer.
pub(super) fn put_lenenc(out: &mut Vec<u8>, value: usize) {
    let bytes = (value as u64).to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a length-encoded string.
pub(super) fn put_lenenc_bytes(out: &mut Vec<u8>, value: &[u8]) {
    put_lenenc(out, value.len());
    out.extend_from_slice(value);
}

/// Reads a payload from its beginning. Every read past its end is a [`WireError::Protocol`].
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(payload: &'a [u8]) -> Self {
        Self { rest: payload }
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let (value, rest) = self.rest.split_first_chunk::<N>().ok_or_else(short)?;
        self.rest = rest;
        Ok(*value)
    }

    pub(super) fn bytes(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (value, rest) = self.rest.split_at_checked(length).ok_or_else(short)?;
        self.rest = rest;
        Ok(value)
    }

    pub(super) fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn lenenc(&mut self) -> Result<u64, WireError> {
        match self.u8()? {
            value @ 0..=0xfa => Ok(value.into()),
            0xfc => Ok(self.u16()?.into()),
            0xfd => {
                let [low, middle, high] = self.array()?;
                Ok(u32::from_le_bytes([low, middle, high, 0]).into())
            }
            0xfe => self.array().map(u64::from_le_bytes),
            byte => Err(WireError::protocol(format!(
                "the server sent {byte:#04x} where a length was expected"
            ))),
        }
    }

    pub(super) fn lenenc_bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(self.lenenc()?).map_err(|_| short())?;
        self.bytes(length)
    }

    /// A string that ends with a zero, which is passed over.
    pub(super) fn until_nul(&mut self) -> Result<&'a [u8], WireError> {
        let end = self.rest.iter().position(|&byte| byte == 0);
        let value = self.bytes(end.ok_or_else(short)?)?;
        self.bytes(1)?;
        Ok(value)
    }
}

fn short() -> WireError {
    WireError::protocol("the server sent a packet that ends too early")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_packet_is_taken_when_it_is_whole() {
        let mut inbound = Inbound::default();
        inbound.extend(&[3, 0, 0, 9, b'a', b'b']);
        assert_eq!(take(&mut inbound).unwrap(), None);
        inbound.extend(&[b'c', 1, 0, 0]);
        let packet = take(&mut inbound).unwrap().unwrap();
        assert_eq!(packet.sequence, 9);
        assert_eq!(inbound.slice(packet.payload), b"abc");
        assert_eq!(take(&mut inbound).unwrap(), None);
        assert_eq!(inbound.unread(), [1, 0, 0]);
    }

    #[test]
    fn the_limit_is_named() {
        let error = split(&[0xff, 0xff, 0xff, 0]).unwrap_err();
        assert!(matches!(&error, WireError::Protocol(text) if text.contains("16 MiB")));
        assert_eq!(split(&[0xfe, 0xff, 0xff, 0, 1]).unwrap(), None);
    }

    #[test]
    fn a_header_is_patched_behind_what_was_there() {
        let mut out = vec![7];
        let next = append(&mut out, 255, |out| out.extend_from_slice(b"hi"));
        assert_eq!(out, [7, 2, 0, 0, 255, b'h', b'i']);
        assert_eq!(next, 0);
    }

    #[test]
    fn a_long_payload_is_split() {
        let length = 2 * MAX_PAYLOAD + 3;
        let mut out = vec![1; 5];
        let payload: Vec<u8> = (0..length).map(|index| (index % 251) as u8).collect();
        let next = append(&mut out, 4, |out| out.extend_from_slice(&payload));
        assert_eq!(next, 7);
        assert_eq!(out.len(), 5 + length + 3 * HEADER);
        let (first, rest) = out[5..].split_at(HEADER + MAX_PAYLOAD);
        let (second, third) = rest.split_at(HEADER + MAX_PAYLOAD);
        assert_eq!(first[..HEADER], [0xff, 0xff, 0xff, 4]);
        assert_eq!(second[..HEADER], [0xff, 0xff, 0xff, 5]);
        assert_eq!(third[..HEADER], [3, 0, 0, 6]);
        let joined = [&first[HEADER..], &second[HEADER..], &third[HEADER..]].concat();
        assert!(joined == payload, "the parts are not the payload");
    }

    #[test]
    fn a_payload_of_exactly_the_limit_is_followed_by_an_empty_packet() {
        let mut out = Vec::new();
        let next = append(&mut out, 0, |out| out.resize(HEADER + MAX_PAYLOAD, 1));
        assert_eq!(next, 2);
        assert_eq!(out[..HEADER], [0xff, 0xff, 0xff, 0]);
        assert_eq!(out[HEADER + MAX_PAYLOAD..], [0, 0, 0, 1]);
    }

    #[test]
    fn lengths_take_one_to_nine_bytes() {
        for (value, bytes) in [
            (0, &[0_u8][..]),
            (250, &[250]),
            (251, &[0xfc, 251, 0]),
            (0xffff, &[0xfc, 0xff, 0xff]),
            (0x1_0000, &[0xfd, 0, 0, 1]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
        ] {
            let mut out = Vec::new();
            put_lenenc(&mut out, value);
            assert_eq!(out, bytes);
            assert_eq!(Cursor::new(&out).lenenc().unwrap(), value as u64);
        }
        assert!(Cursor::new(&[0xfb]).lenenc().is_err());
        assert!(Cursor::new(&[0xff]).lenenc().is_err());
        assert!(Cursor::new(&[0xfd, 1, 2]).lenenc().is_err());
    }

    #[test]
    fn strings_end_at_a_zero() {
        let mut cursor = Cursor::new(b"ab\0\0c");
        assert_eq!(cursor.until_nul().unwrap(), b"ab");
        assert_eq!(cursor.until_nul().unwrap(), b"");
        assert!(cursor.until_nul().is_err());
    }

    proptest! {
        #[test]
        fn strings_return(
            value in prop::collection::vec(any::<u8>(), 0..600),
            behind in any::<u8>(),
        ) {
            let mut out = Vec::new();
            put_lenenc_bytes(&mut out, &value);
            out.push(behind);
            let mut cursor = Cursor::new(&out);
            prop_assert_eq!(cursor.lenenc_bytes().unwrap(), &value[..]);
            prop_assert_eq!(cursor.rest(), [behind]);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut cursor = Cursor::new(&bytes);
            let _ = cursor.lenenc_bytes();
            let _ = cursor.until_nul();
            prop_assert!(cursor.rest().len() <= bytes.len());
        }
    }
}

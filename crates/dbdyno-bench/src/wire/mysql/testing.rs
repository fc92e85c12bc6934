//! Packets as a server would send them, for the tests of this protocol.

pub(super) fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

/// An answer's packets, numbered from 1.
pub(super) fn packets(payloads: &[&[u8]]) -> Vec<u8> {
    let numbered = payloads.iter().enumerate();
    numbered
        .flat_map(|(index, payload)| packet(index as u8 + 1, payload))
        .collect()
}

/// A column of the table `t`.
pub(super) fn definition(kind: u8, flags: u16) -> Vec<u8> {
    let mut payload = b"\x03def\x01d\x01t\x01t\x01c\x01c\x0c\x2d\0\x14\0\0\0".to_vec();
    payload.push(kind);
    payload.extend_from_slice(&flags.to_le_bytes());
    payload.extend_from_slice(&[0, 0, 0]);
    payload
}

/// A handshake of connection 0x04030201 with the nonce 1, 2, … 20.
pub(super) fn greeting(version: &str, capabilities: u32, extended: u32, plugin: &[u8]) -> Vec<u8> {
    let [low, high, upper_low, upper_high] = capabilities.to_le_bytes();
    [
        &[10][..],
        version.as_bytes(),
        &[0, 1, 2, 3, 4],
        &[1, 2, 3, 4, 5, 6, 7, 8, 0],
        &[low, high, 45, 2, 0, upper_low, upper_high, 21],
        &[0; 6],
        &extended.to_le_bytes(),
        &[9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 0],
        plugin,
        &[0],
    ]
    .concat()
}

//! Bytes to standard base64 with padding (RFC 4648, section 4), as a JSON string.

use super::buffer::Buffer;

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn base64(out: &mut Buffer, bytes: &[u8]) {
    out.put_array(b"\"");
    let (triples, rest) = bytes.as_chunks::<3>();
    // In pieces: room is asked for once per 48 bytes of input, and huge cells stop at the ceiling.
    for piece in triples.chunks(16) {
        let room = out.room(64);
        let (quads, _) = room.as_chunks_mut::<4>();
        let written = quads.iter_mut().zip(piece).map(|(quad, triple)| *quad = quad_of(*triple));
        let written = written.count();
        out.advance(written * 4);
        if written < piece.len() {
            return;
        }
    }
    match *rest {
        [a] => {
            let [w, x, ..] = quad_of([a, 0, 0]);
            out.put_array(&[w, x, b'=', b'=']);
        }
        [a, b] => {
            let [w, x, y, _] = quad_of([a, b, 0]);
            out.put_array(&[w, x, y, b'=']);
        }
        _ => {}
    }
    out.put_array(b"\"");
}

#[inline]
fn quad_of([a, b, c]: [u8; 3]) -> [u8; 4] {
    let bits = u32::from_be_bytes([0, a, b, c]);
    // PROOF: six bits are below 64.
    [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift & 0x3F) as usize])
}

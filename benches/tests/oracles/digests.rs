//! SHA-256 against the `sha2` crate: every backend, every way to cut a message.

use fetcher_engine::digest::{Sha256, backends, sha256};
use sha2::Digest as _;

use super::random::{Random, cases};

/// What `sha2` says.
pub(crate) fn other(message: &[u8]) -> [u8; 32] {
    sha2::Sha256::digest(message).into()
}

fn check(random: &mut Random, message: &[u8]) {
    let expected = other(message);
    assert_eq!(sha256(message).as_bytes(), &expected);
    for backend in backends() {
        let mut hash = Sha256::with_backend(backend).expect("a backend that is there");
        let mut rest = message;
        while !rest.is_empty() {
            let most = random.of(&[1, 63, 64, 65, 200, 5000]);
            let (piece, after) = rest.split_at(random.below(most + 1).min(rest.len()));
            hash.update(piece);
            rest = after;
        }
        assert_eq!(hash.finish().as_bytes(), &expected, "{backend}");
    }
}

#[test]
fn random_messages() {
    cases(3000, |random| {
        let size = {
            let most = random.of(&[70, 300, 5000]);
            random.below(most)
        };
        let message = random.bytes(size);
        check(random, &message);
    });
}

#[test]
fn every_length_of_a_few_blocks() {
    cases(1, |random| {
        let message = random.bytes(400);
        for length in 0..=message.len() {
            check(random, &message[..length]);
        }
    });
}

#[test]
fn hex_is_the_other_crates_hex() {
    cases(500, |random| {
        let message = random.bytes(16);
        let hex: String = other(&message).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(sha256(&message).to_string(), hex);
    });
}

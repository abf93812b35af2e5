//! Tests of SHA-256: NIST's vectors, and a second implementation written from the standard.
//!
//! Not a test of speed. Every test of digests runs on every backend that this CPU can run; the
//! vectors are NIST's own files, cut as their headers say.

use core::fmt::Write as _;
use std::collections::HashSet;

use fetcher_engine::digest::{Digest, Sha256, backends, sha256};

/// The digest of the pieces, in order, on that backend.
fn digest_on<'a>(backend: &str, pieces: impl IntoIterator<Item = &'a [u8]>) -> Digest {
    let mut hash = Sha256::with_backend(backend).expect("a listed backend exists");
    assert_eq!(hash.backend(), backend);
    for piece in pieces {
        hash.update(piece);
    }
    hash.finish()
}

/// SHA-256 as FIPS 180-4 words it, one step after the other, constants included.
mod by_the_standard {
    /// The largest whole `x` of which `x` to that power is not above `n`.
    fn root(n: u128, power: u32) -> u128 {
        let (mut low, mut high) = (0_u128, 1 << (128 / power - 1));
        while high - low > 1 {
            let middle = low.midpoint(high);
            if middle.pow(power) <= n { low = middle } else { high = middle }
        }
        low
    }

    /// 4.2.2 and 5.3.3: the first 32 bits of the fractions of such roots of the first primes.
    fn fractions<const N: usize>(power: u32) -> [u32; N] {
        let mut primes = (2_u128..).filter(|n| (2..*n).all(|d| n % d != 0));
        core::array::from_fn(|_| {
            let prime = primes.next().expect("there are enough primes");
            (root(prime << (32 * power), power) & u128::from(u32::MAX)) as u32
        })
    }

    /// 5.1.1
    fn pad(message: &[u8]) -> Vec<u8> {
        let mut padded = message.to_vec();
        padded.push(0x80);
        while padded.len() % 64 != 56 {
            padded.push(0);
        }
        padded.extend((8 * message.len() as u64).to_be_bytes());
        padded
    }

    pub(crate) struct Standard {
        k: [u32; 64],
        h0: [u32; 8],
    }

    impl Standard {
        pub(crate) fn new() -> Self {
            Self { k: fractions(3), h0: fractions(2) }
        }

        /// 6.2.2
        pub(crate) fn hash(&self, message: &[u8]) -> [u8; 32] {
            let mut state = self.h0;
            for block in pad(message).chunks(64) {
                let mut w: Vec<u32> = block
                    .chunks(4)
                    .map(|word| word.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
                    .collect();
                for t in 16..64 {
                    let (x, y) = (w[t - 2], w[t - 15]);
                    let s1 = x.rotate_right(17) ^ x.rotate_right(19) ^ (x >> 10);
                    let s0 = y.rotate_right(7) ^ y.rotate_right(18) ^ (y >> 3);
                    let sum = [s1, w[t - 7], s0, w[t - 16]].into_iter().fold(0, u32::wrapping_add);
                    w.push(sum);
                }
                let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = state;
                for (w, k) in w.into_iter().zip(self.k) {
                    let s1 = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
                    let ch = (e & f) ^ (!e & g);
                    let t1 = [h, s1, ch, k, w].into_iter().fold(0, u32::wrapping_add);
                    let s0 = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
                    let maj = (a & b) ^ (a & c) ^ (b & c);
                    let t2 = s0.wrapping_add(maj);
                    (h, g, f, e) = (g, f, e, d.wrapping_add(t1));
                    (d, c, b, a) = (c, b, a, t1.wrapping_add(t2));
                }
                for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                    *old = old.wrapping_add(new);
                }
            }
            let bytes: Vec<u8> = state.into_iter().flat_map(u32::to_be_bytes).collect();
            bytes.try_into().expect("eight words are 32 bytes")
        }
    }
}

/// Marsaglia's xorshift, 64 bits: the same bytes on every machine and in every year.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// `len` is rounded up to a multiple of eight.
    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).collect()
    }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

fn from_hex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2) && hex.is_ascii());
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("the vectors are hex"))
        .collect()
}

/// The values of the lines `name = value`, in order.
fn values<'a>(file: &'a str, name: &str) -> Vec<&'a str> {
    file.lines()
        .filter_map(|line| line.split_once(" = "))
        .filter(|(key, _)| *key == name)
        .map(|(_, value)| value)
        .collect()
}

fn check_messages(file: &str, count: usize) {
    let (lengths, messages, digests) =
        (values(file, "Len"), values(file, "Msg"), values(file, "MD"));
    assert_eq!([lengths.len(), messages.len(), digests.len()], [count; 3]);
    for ((length, message), expected) in lengths.into_iter().zip(messages).zip(digests) {
        let bits: usize = length.parse().expect("Len is a number of bits");
        let bytes = from_hex(message);
        // The empty message is written as one byte there.
        let message = &bytes[..bits / 8];
        assert!(bits == 0 || bytes.len() * 8 == bits);
        for backend in backends() {
            let found = digest_on(backend, [message]);
            assert_eq!(found.to_string(), expected, "{bits} bits on {backend}");
        }
    }
}

#[test]
fn nist_short_messages() {
    check_messages(include_str!("data/sha256/SHA256ShortMsg.rsp"), 65);
}

#[test]
fn nist_long_messages() {
    check_messages(include_str!("data/sha256/SHA256LongMsg.rsp"), 22);
}

/// SHAVS 6.4: a chain of 100,000 digests, each over the three before it.
#[test]
fn nist_monte_carlo() {
    let file = include_str!("data/sha256/SHA256Monte.rsp");
    let (seeds, checkpoints) = (values(file, "Seed"), values(file, "MD"));
    assert_eq!((seeds.len(), checkpoints.len()), (1, 100));
    for backend in backends() {
        let mut seed = Digest::from_hex(seeds[0]).expect("the seed is as long as a digest");
        for (nth, expected) in checkpoints.iter().enumerate() {
            let mut last = [seed; 3];
            for _ in 0..1000 {
                let next = digest_on(backend, last.iter().map(|digest| &digest.as_bytes()[..]));
                last = [last[1], last[2], next];
            }
            seed = last[2];
            assert_eq!(seed.to_string(), *expected, "checkpoint {nth} on {backend}");
        }
    }
}

/// The examples that NIST gives beside the standard.
#[test]
fn examples_of_the_standard() {
    let million = vec![b'a'; 1_000_000];
    let examples: [(&[u8], &str); 3] = [
        (b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
        (&million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ];
    for (message, expected) in examples {
        assert_eq!(sha256(message).to_string(), expected);
        for backend in backends() {
            assert_eq!(digest_on(backend, [message]).to_string(), expected, "on {backend}");
        }
    }
}

#[test]
fn every_length_to_300_as_the_standard_says() {
    let standard = by_the_standard::Standard::new();
    let data = Random(SEED).bytes(304);
    for length in 0..=300 {
        let message = &data[..length];
        let expected = Digest::from_bytes(standard.hash(message));
        assert_eq!(sha256(message), expected, "{length} bytes");
        for backend in backends() {
            assert_eq!(digest_on(backend, [message]), expected, "{length} bytes on {backend}");
        }
    }
}

#[test]
fn every_cut_of_a_message_in_two() {
    let message = Random(SEED).bytes(200);
    let expected = Digest::from_bytes(by_the_standard::Standard::new().hash(&message));
    for backend in backends() {
        for at in 0..=message.len() {
            let (head, tail) = message.split_at(at);
            let found = digest_on(backend, [head, tail]);
            assert_eq!(found, expected, "cut at {at} on {backend}");
        }
        assert_eq!(digest_on(backend, message.chunks(1)), expected, "bytes, on {backend}");
    }
}

/// Pieces from none to many blocks long, so that heads, runs of blocks and tails follow each other
/// in every order.
#[test]
fn pieces_of_random_sizes() {
    let standard = by_the_standard::Standard::new();
    for round in 1..=20 {
        let mut random = Random(SEED.wrapping_mul(round));
        let size = random.below(20_000);
        let message = random.bytes(size);
        let expected = Digest::from_bytes(standard.hash(&message));
        let mut pieces: Vec<&[u8]> = Vec::new();
        let mut rest = &message[..];
        while !rest.is_empty() {
            let limit = [2, 65, 130, 1000][random.below(4)];
            let (piece, after) = rest.split_at(random.below(limit).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        for backend in backends() {
            let found = digest_on(backend, pieces.iter().copied());
            assert_eq!(found, expected, "round {round} on {backend}");
        }
    }
}

/// A backend reads whole blocks where the caller has them, at whatever address.
#[test]
fn every_alignment() {
    let data = Random(SEED).bytes(256 + 64);
    let standard = by_the_standard::Standard::new();
    for offset in 0..64 {
        let message = &data[offset..offset + 256];
        let expected = Digest::from_bytes(standard.hash(message));
        for backend in backends() {
            assert_eq!(digest_on(backend, [message]), expected, "at {offset} on {backend}");
        }
    }
}

#[test]
fn sixteen_mebibytes_the_same_on_each_backend() {
    let message = Random(SEED).bytes(16 << 20);
    // From Python's hashlib, over the same bytes.
    let expected = "fffbd2b9d0196749b49a8acb5bfda88626cc338a7832cc0a09a0a4e411d38801";
    for backend in backends() {
        assert_eq!(digest_on(backend, [&message[..]]).to_string(), expected, "on {backend}");
    }
}

#[test]
fn a_clone_goes_its_own_way() {
    for backend in backends() {
        let mut one = Sha256::with_backend(backend).expect("a listed backend exists");
        one.update(b"a message, ");
        let mut other = one.clone();
        one.update(b"and its end");
        other.update(b"and another end");
        assert_eq!(other.backend(), backend);
        assert_eq!(one.finish(), sha256(b"a message, and its end"));
        assert_eq!(other.finish(), sha256(b"a message, and another end"));
    }
}

#[test]
fn backends_are_named_best_first() {
    let names: Vec<&str> = backends().collect();
    assert_eq!(names.last(), Some(&"portable"));
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    assert_eq!(names.first(), Some(&Sha256::new().backend()));
    assert_eq!(names.first(), Some(&Sha256::default().backend()));
    assert!(names.iter().all(|name| ["sha-ni", "aarch64-sha2", "portable"].contains(name)));
    for unknown in ["", "none", "Portable", "sha-ni "] {
        assert!(Sha256::with_backend(unknown).is_none(), "{unknown:?}");
    }
}

#[test]
fn debug_shows_the_backend_and_no_message() {
    let mut hash = Sha256::with_backend("portable").expect("it is always there");
    let empty = format!("{hash:?}");
    hash.update(b"something to hide");
    assert_eq!(format!("{hash:?}"), empty);
    assert_eq!(empty, "Sha256 { backend: \"portable\", .. }");
}

#[test]
fn digests_as_text() {
    let hex = "000102030405060708090a0b0c0d0e0f8090a0b0c0d0e0f0fffefdfcfbfaf9f8";
    let digest = Digest::from_hex(hex).expect("it is a digest");
    assert_eq!(digest.as_bytes()[..], from_hex(hex));
    assert_eq!(Digest::from_bytes(*digest.as_bytes()), digest);
    assert_eq!(digest.to_string(), hex);
    assert_eq!(format!("{digest:?}"), hex);
    assert_eq!(format!("{digest:>66}"), format!("  {hex}"));
    assert_eq!(Digest::from_hex(&hex.to_uppercase()), Some(digest));

    let mut spelled = String::new();
    for byte in 0..=255_u8 {
        spelled.clear();
        for _ in 0..32 {
            write!(spelled, "{byte:02x}").expect("a string takes all text");
        }
        let digest = Digest::from_hex(&spelled).expect("it is a digest");
        assert_eq!(digest.as_bytes(), &[byte; 32]);
        assert_eq!(digest.to_string(), spelled);
    }
}

#[test]
fn what_is_no_digest() {
    let hex = "ab".repeat(32);
    assert!(Digest::from_hex(&hex).is_some());
    let spoiled = |with: &str| format!("{}{with}", &hex[with.len()..]);
    for wrong in [
        String::new(),
        hex[1..].to_owned(),
        hex[2..].to_owned(),
        format!("{hex}a"),
        format!("{hex}ab"),
        format!("0x{}", &hex[2..]),
        format!(" {}", &hex[1..]),
        format!("+{}", &hex[1..]),
        spoiled("g"),
        spoiled("é"),
        spoiled("１"),
        spoiled("\0"),
        "é".repeat(32),
    ] {
        assert_eq!(Digest::from_hex(&wrong), None, "{wrong:?}");
    }
}

#[test]
fn digests_sort_as_their_text() {
    let mut digests: Vec<Digest> = (0..100_u8).map(|n| sha256(&[n])).collect();
    let mut texts: Vec<String> = digests.iter().map(Digest::to_string).collect();
    digests.sort();
    texts.sort();
    assert_eq!(digests.iter().map(Digest::to_string).collect::<Vec<_>>(), texts);
    assert_eq!(digests.into_iter().collect::<HashSet<_>>().len(), 100);
}

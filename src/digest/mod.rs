//! SHA-256 (FIPS 180-4): the one hash by which this crate names content.
//!
//! It is not a set of hash functions and not a keyed one: a digest says *what* the bytes are, never
//! who wrote them, and it is taken over public bytes (the state is not wiped).
//!
//! Kept true:
//! - every backend gives the same digest, for every way a message is cut into pieces;
//! - a backend is a value that cannot be made on a CPU without the instructions it uses;
//! - whole blocks are hashed where they lie: only a ragged head or tail is copied.

#[cfg(all(
    target_arch = "aarch64",
    target_endian = "little",
    target_feature = "neon",
    not(fetcher_sha256 = "portable")
))]
mod aarch64;
mod portable;
#[cfg(all(target_arch = "x86_64", not(fetcher_sha256 = "portable")))]
mod x86_64;

use core::fmt;
use core::slice;

/// Bytes that one compression takes in.
pub(crate) const BLOCK: usize = 64;

/// Where the message length goes in the last block.
const LENGTH_AT: usize = BLOCK - size_of::<u64>();

/// A block of a message: what a backend takes in.
type Block = [u8; BLOCK];

/// The chaining value: `a` to `h` of the standard.
type State = [u32; 8];

/// The first chaining value (FIPS 180-4, 5.3.3).
const INITIAL: State = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The round constants (FIPS 180-4, 4.2.2), by four, the width of a vector register, and these by
/// four, as the words of a block are.
static ROUNDS: [[[u32; 4]; 4]; 4] = [
    [
        [0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5],
        [0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5],
        [0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3],
        [0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174],
    ],
    [
        [0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc],
        [0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da],
        [0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7],
        [0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967],
    ],
    [
        [0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13],
        [0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85],
        [0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3],
        [0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070],
    ],
    [
        [0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5],
        [0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3],
        [0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208],
        [0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2],
    ],
];

/// The SHA-256 of `message`.
#[must_use]
pub fn sha256(message: &[u8]) -> Digest {
    let mut hash = Sha256::new();
    hash.update(message);
    hash.finish()
}

/// The names of the backends that this build can use on this CPU, best first.
///
/// `"portable"` is always the last of them. A build with `--cfg fetcher_sha256="portable"` has no
/// other.
pub fn backends() -> impl Iterator<Item = &'static str> {
    Backend::available().map(Backend::name)
}

/// SHA-256 by the instructions of the CPU family that is built for: uninhabited where it has none
/// that are used here.
type Native = cfg_select! {
    fetcher_sha256 = "portable" => { portable::NoNative }
    target_arch = "x86_64" => { x86_64::ShaNi }
    all(target_arch = "aarch64", target_endian = "little", target_feature = "neon") => {
        aarch64::Sha2
    }
    _ => { portable::NoNative }
};

/// What [`Native`] takes in a block by steps with.
type NativeSteps = cfg_select! {
    fetcher_sha256 = "portable" => { portable::NoSteps }
    target_arch = "x86_64" => { x86_64::Steps }
    _ => { portable::NoSteps }
};

/// A compression function that this CPU can run.
#[derive(Clone, Copy)]
enum Backend {
    Native(Native),
    Portable,
}

impl Backend {
    /// Best first. Cheap: std remembers what it found out about the CPU.
    #[inline]
    fn available() -> impl Iterator<Item = Self> {
        [Native::new().map(Self::Native), Some(Self::Portable)].into_iter().flatten()
    }

    /// The first of [`Self::available`].
    #[inline]
    fn best() -> Self {
        Native::new().map_or(Self::Portable, Self::Native)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Native(_) => Native::NAME,
            Self::Portable => portable::NAME,
        }
    }

    /// Takes `blocks` into `state`, in order.
    #[inline]
    fn compress(self, state: &mut State, blocks: &[Block]) {
        match self {
            Self::Native(cpu) => cpu.compress(state, blocks),
            Self::Portable => portable::compress(state, blocks),
        }
    }
}

/// A SHA-256 under way: takes a message in pieces, gives its [`Digest`].
///
/// The pieces may be cut anywhere. The standard ends at messages of 2^61 bytes, which no stream
/// reaches.
///
/// ```
/// use fetcher_engine::digest::{Sha256, sha256};
///
/// let mut hash = Sha256::new();
/// hash.update(b"a");
/// hash.update(b"bc");
/// assert_eq!(hash.finish(), sha256(b"abc"));
/// ```
#[derive(Clone)]
pub struct Sha256 {
    state: State,
    backend: Backend,
    /// Bytes of the whole message so far.
    length: u64,
    /// Bytes in use at the head of `tail`; always less than [`BLOCK`] between calls.
    filled: usize,
    tail: Block,
}

impl Sha256 {
    /// An empty message, on the best backend that this CPU can run.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::on(Backend::best())
    }

    /// An empty message, on the backend of that name; `None` where [`backends`] does not have it.
    ///
    /// The digest is the same on each: this is for tests and measurements.
    #[must_use]
    pub fn with_backend(name: &str) -> Option<Self> {
        Backend::available().find(|backend| backend.name() == name).map(Self::on)
    }

    /// How many bytes there are to the next block's beginning.
    pub(crate) fn to_boundary(&self) -> usize {
        if self.filled == 0 { 0 } else { BLOCK - self.filled }
    }

    #[inline]
    const fn on(backend: Backend) -> Self {
        Self { state: INITIAL, backend, length: 0, filled: 0, tail: [0; BLOCK] }
    }

    /// The name of the backend in use: one of [`backends`].
    #[must_use]
    pub const fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// Adds `piece` to the end of the message.
    pub fn update(&mut self, piece: &[u8]) {
        self.length = self.length.wrapping_add(piece.len() as u64);
        let mut rest = piece;
        if self.filled > 0 {
            let room = &mut self.tail[self.filled..];
            let (head, after) = rest.split_at(room.len().min(rest.len()));
            room[..head.len()].copy_from_slice(head);
            self.filled += head.len();
            if self.filled < BLOCK {
                return;
            }
            self.backend.compress(&mut self.state, slice::from_ref(&self.tail));
            rest = after;
        }
        let (blocks, after) = rest.as_chunks::<BLOCK>();
        if !blocks.is_empty() {
            self.backend.compress(&mut self.state, blocks);
        }
        self.tail[..after.len()].copy_from_slice(after);
        self.filled = after.len();
    }

    /// The digest of the message.
    #[must_use]
    pub fn finish(mut self) -> Digest {
        self.tail[self.filled..].fill(0);
        self.tail[self.filled] = 0x80;
        if self.filled >= LENGTH_AT {
            // No room for the length after the mark: it gets a block of its own.
            self.backend.compress(&mut self.state, slice::from_ref(&self.tail));
            self.tail.fill(0);
        }
        let bits = self.length.wrapping_mul(8);
        self.tail[LENGTH_AT..].copy_from_slice(&bits.to_be_bytes());
        self.backend.compress(&mut self.state, slice::from_ref(&self.tail));

        let mut bytes = [0; 32];
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.state) {
            *to = word.to_be_bytes();
        }
        Digest(bytes)
    }
}

/// A SHA-256 that goes on by whole blocks, each in a few steps.
///
/// Each round of a hash waits for the one before it, and the CPU has room for other work meanwhile,
/// but does not look far ahead for it. Whoever puts a message together takes a step now and then in
/// what lies finished, and has it for little. Only where there are instructions for the rounds:
/// there is nothing to gain from plain integer code.
pub(crate) struct BySteps {
    hash: Sha256,
    steps: NativeSteps,
}

impl BySteps {
    /// Goes on with a hash; not where there is nothing to gain, nor inside a block.
    pub(crate) fn new(hash: Sha256) -> Option<Self> {
        let steps = match hash.backend {
            Backend::Native(cpu) if hash.filled == 0 => cpu.steps(&hash.state),
            _ => None,
        };
        Some(Self { steps: steps?, hash })
    }

    /// Takes the next step in this block; says whether it was the last. Until then the same block
    /// is given again.
    #[inline]
    pub(crate) fn take(&mut self, block: &Block) -> bool {
        self.steps.take(block)
    }

    /// The hash over the whole blocks, of which there were so many. One in which not all steps were
    /// taken does not count.
    pub(crate) fn finish(mut self, blocks: usize) -> Sha256 {
        self.hash.state = self.steps.state();
        self.hash.length = self.hash.length.wrapping_add((blocks * BLOCK) as u64);
        self.hash
    }
}

impl Default for Sha256 {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Sha256 {
    /// Shows the backend, nothing of the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sha256").field("backend", &self.backend()).finish_non_exhaustive()
    }
}

/// A SHA-256: 32 bytes, written as 64 lower-case hex digits, ordered as bytes (and so as text).
///
/// Comparison is not constant in time: a digest here is a name, not a secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The digest that `hex` spells: exactly 64 hex digits, of either case; `None` for all else.
    #[must_use]
    pub fn from_hex(hex: &str) -> Option<Self> {
        let (pairs, []) = hex.as_bytes().as_chunks::<2>() else {
            return None;
        };
        if pairs.len() != 32 {
            return None;
        }
        let digit = |ascii: u8| char::from(ascii).to_digit(16);
        let mut bytes = [0; 32];
        for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = u8::try_from(digit(high)? << 4 | digit(low)?).ok()?;
        }
        Some(Self(bytes))
    }

    /// The bytes of the digest.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [[0; 2]; 32];
        for (pair, byte) in text.iter_mut().zip(self.0) {
            *pair = [byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]);
        }
        f.pad(str::from_utf8(text.as_flattened()).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

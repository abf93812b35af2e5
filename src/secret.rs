//! Bytes that must not be seen: passwords, keys, ciphertexts.
//!
//! Keeps true: a [`Secret`] has no `Debug`, no `Display`, no `Clone` and no `PartialOrd`; comparing
//! two takes the same time wherever they differ; its memory is overwritten when it is dropped.

use alloc::string::String;
use alloc::vec::Vec;
use core::hint::black_box;

/// A secret. Only [`expose`](Self::expose) shows it.
///
/// ```compile_fail
/// let secret = fetcher_engine::Secret::from("hunter2");
/// println!("{secret:?}");
/// ```
/// ```compile_fail
/// let secret = fetcher_engine::Secret::from("hunter2");
/// println!("{secret}");
/// ```
/// ```compile_fail
/// let secret = fetcher_engine::Secret::from("hunter2");
/// let copy = secret.clone();
/// ```
#[allow(missing_debug_implementations, reason = "a secret has no printable form")]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Takes the bytes over, without a copy.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The bytes. Whoever calls this answers for where they go.
    #[must_use]
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as text, if they are UTF-8.
    #[must_use]
    pub fn expose_str(&self) -> Option<&str> {
        core::str::from_utf8(&self.0).ok()
    }

    /// A second copy, made on purpose.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(self.0.clone())
    }

    /// Whether there is nothing in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into_bytes())
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl From<Vec<u8>> for Secret {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl PartialEq for Secret {
    /// Constant time in the content; the length is not hidden.
    fn eq(&self, other: &Self) -> bool {
        if self.0.len() != other.0.len() {
            return false;
        }
        let differing =
            self.0.iter().zip(&other.0).fold(0, |seen, (a, b)| black_box(seen | (a ^ b)));
        black_box(differing) == 0
    }
}

impl Eq for Secret {}

impl Drop for Secret {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Overwrites the whole allocation, what lies behind the length included.
fn wipe(bytes: &mut Vec<u8>) {
    let capacity = bytes.capacity();
    bytes.clear();
    bytes.resize(capacity, 0);
    // Without this the stores could be dropped as dead: nobody reads them.
    black_box(bytes.as_mut_slice());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wiping_clears_every_byte_of_the_allocation() {
        let mut bytes = Vec::with_capacity(64);
        bytes.extend_from_slice(b"correct horse battery staple");
        bytes.truncate(7);
        let before = bytes.as_ptr();
        wipe(&mut bytes);
        assert_eq!(bytes.as_ptr(), before, "wiped in place");
        assert!(bytes.len() >= 64 && bytes.iter().all(|&byte| byte == 0));
    }
}

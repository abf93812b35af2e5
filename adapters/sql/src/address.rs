//! Which addresses lie inside: those that a tenant must not reach through a host that guards them.
//!
//! A connection's host name belongs to whoever entered it. Where it resolves to is looked at once,
//! and the connection goes to the very address that was looked at: a name that resolves to another
//! address a moment later gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use fetcher_engine::{Category, PortError};

/// Where a server listens, as a connection names it.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must not forget one")]
pub enum Host {
    /// A name or an address, and a port.
    Tcp(String, u16),
    /// The path of a socket.
    Unix(PathBuf),
}

impl Host {
    /// Refuses what lies inside by its kind.
    ///
    /// # Errors
    /// `forbidden` for a Unix socket.
    pub fn guard(&self) -> Result<(), PortError> {
        match self {
            Self::Tcp(..) => Ok(()),
            Self::Unix(_) => Err(refused("a Unix socket lies inside, and the guard is on")),
        }
    }
}

/// Refuses addresses of which one lies inside.
///
/// # Errors
/// `forbidden`.
pub fn guard(found: &[SocketAddr]) -> Result<(), PortError> {
    if found.iter().any(|address| is_internal(address.ip())) {
        return Err(refused("the host resolves to an address inside, and the guard is on"));
    }
    Ok(())
}

fn refused(why: &'static str) -> PortError {
    PortError::from(Category::Forbidden).caused_by(why)
}

/// Whether the address is private, loopback, link-local (where cloud metadata services live),
/// shared, reserved, or not an address of one machine.
#[must_use]
pub fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_internal_v4(address),
        IpAddr::V6(address) => is_internal_v6(address),
    }
}

fn is_internal_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        // "This network", shared (carrier-grade NAT), protocol assignments, benchmarks, reserved.
        || a == 0
        || (a == 100 && b & 0xC0 == 64)
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && b & 0xFE == 18)
        || a >= 240
        // Answers for a metadata service at one cloud.
        || address == Ipv4Addr::new(168, 63, 129, 16)
}

fn is_internal_v6(address: Ipv6Addr) -> bool {
    if let Some(v4) = inner_v4(address) {
        return is_internal_v4(v4);
    }
    let [first, second, ..] = address.segments();
    address.is_loopback()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        // Site-local (deprecated), documentation, and everything that is not global unicast.
        || first & 0xFFC0 == 0xFEC0
        || (first == 0x2001 && second == 0x0DB8)
        || first & 0xE000 != 0x2000
}

/// The IPv4 address that an IPv6 one stands for: mapped, compatible, NAT64, 6to4, Teredo's client.
fn inner_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xFFFF, high, low] | [0x64, 0xFF9B, 0, 0, 0, 0, high, low] => {
            Some(v4(high, low))
        }
        // `::` and `::1` are of their own kind.
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        [0x2002, high, low, ..] => Some(v4(high, low)),
        [0x2001, 0, _, _, _, _, high, low] => Some(v4(!high, !low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inside_and_outside() {
        let inside = "127.0.0.1 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 \
            0.0.0.0 100.64.0.1 192.0.0.192 198.18.0.1 224.0.0.1 255.255.255.255 168.63.129.16 :: \
            ::1 fe80::1 fc00::1 fd00:ec2::254 ff02::1 fec0::1 2001:db8::1 ::ffff:127.0.0.1 \
            ::10.0.0.1 64:ff9b::a9fe:a9fe 2002:7f00:1:: 2002:a00:1::1 100::1";
        for text in inside.split_whitespace() {
            assert!(is_internal(text.parse().unwrap()), "{text}");
        }
        let outside = "1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 2606:4700::1111 ::ffff:8.8.8.8 \
            64:ff9b::808:808 2a00:1450::1";
        for text in outside.split_whitespace() {
            assert!(!is_internal(text.parse().unwrap()), "{text}");
        }
    }
}

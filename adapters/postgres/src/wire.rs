//! The socket: TCP or Unix, opened here, so that it goes to the address that was checked.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use fetcher_engine::PortError;
use fetcher_sql::address::{Host, guard};
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
#[cfg(unix)]
use tokio::net::UnixStream;

/// Where a connection went. Its cancel request goes there, too.
#[derive(Clone, Debug)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// How a socket is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialer {
    /// Whether addresses inside are refused.
    pub(crate) guarded: bool,
    /// After how long a silent peer is probed; `None` for never.
    pub(crate) keepalive: Option<Duration>,
}

impl Dialer {
    /// Connects to the first address of the host that answers.
    pub(crate) async fn dial(self, host: &Host) -> Result<(Wire, Address), PortError> {
        if self.guarded {
            host.guard()?;
        }
        let (name, port) = match host {
            Host::Unix(path) => {
                let address = Address::Unix(path.clone());
                let wire = self.open(&address).await.map_err(unreachable)?;
                return Ok((wire, address));
            }
            Host::Tcp(name, port) => (name.as_str(), *port),
        };
        let found: Vec<_> =
            tokio::net::lookup_host((name, port)).await.map_err(unreachable)?.collect();
        if self.guarded {
            guard(&found)?;
        }
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in found {
            let address = Address::Tcp(address);
            match self.open(&address).await {
                Ok(wire) => return Ok((wire, address)),
                Err(error) => last = error,
            }
        }
        Err(unreachable(last))
    }

    /// Connects to exactly this address.
    pub(crate) async fn open(self, address: &Address) -> io::Result<Wire> {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).await?;
                stream.set_nodelay(true)?;
                if let Some(idle) = self.keepalive {
                    let keepalive = TcpKeepalive::new().with_time(idle);
                    SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
                }
                Ok(Wire::Tcp(stream))
            }
            #[cfg(unix)]
            Address::Unix(path) => UnixStream::connect(path).await.map(Wire::Unix),
            #[cfg(not(unix))]
            Address::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

fn unreachable(error: io::Error) -> PortError {
    PortError::unavailable().caused_by(error)
}

/// An open socket.
#[derive(Debug)]
pub(crate) enum Wire {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// Calls a method of whichever socket it is.
macro_rules! on {
    ($wire:expr, $method:ident, $($argument:expr),+) => {
        match $wire.get_mut() {
            Wire::Tcp(stream) => Pin::new(stream).$method($($argument),+),
            #[cfg(unix)]
            Wire::Unix(stream) => Pin::new(stream).$method($($argument),+),
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on!(self, poll_read, cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        on!(self, poll_write, cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, poll_flush, cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        on!(self, poll_shutdown, cx)
    }
}

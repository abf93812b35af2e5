//! One connection and whoever waits for it: no task is spawned, so dropping it closes the socket.
//!
//! Keeps true: the driver's connection moves only while a call waits; a call that was dropped
//! before it ended is known, so that the server can be told.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use fetcher_engine::{PortError, Secret};
use tokio_postgres::{CancelToken, Client, Connection, Error};

use crate::fault;
use crate::options::Target;
use crate::tls::{Tls, TlsWire};
use crate::wire::{Address, Dialer, Wire};

/// How long a cancel request and a goodbye may take.
const PARTING: Duration = Duration::from_secs(2);

/// The half of the driver that moves bytes.
#[derive(Default)]
pub(crate) struct Link {
    /// Gone once the connection has ended, so that whoever waits for an answer learns of it.
    connection: Option<Box<Connection<Wire, TlsWire>>>,
}

impl Link {
    /// Moves what can be moved now.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) {
        let Some(connection) = &mut self.connection else { return };
        loop {
            match connection.poll_message(cx) {
                // Notices are nobody's business here.
                Poll::Ready(Some(Ok(_))) => {}
                // The reason reaches the call that waits, as a closed connection or as an error
                // that the server sent before.
                Poll::Ready(Some(Err(_)) | None) => {
                    self.connection = None;
                    return;
                }
                Poll::Pending => return,
            }
        }
    }

    /// Waits for a call while moving its bytes.
    pub(crate) async fn drive<F: Future>(&mut self, call: F) -> F::Output {
        let mut call = pin!(call);
        poll_fn(|cx| {
            if let Poll::Ready(answer) = call.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            self.poll(cx);
            // What just arrived is looked at now, without another turn of the executor.
            call.as_mut().poll(cx)
        })
        .await
    }

    fn version(&self) -> u32 {
        let version = self.parameter("server_version").unwrap_or_default();
        let digits = version.split(|c: char| !c.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.connection.as_ref()?.parameter(name)
    }

    /// Moves bytes until everything is said and the socket is closed.
    async fn finish(&mut self) {
        poll_fn(|cx| {
            self.poll(cx);
            if self.connection.is_none() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// What is needed to connect, beside the target.
pub(crate) struct Login<'a> {
    pub(crate) dialer: Dialer,
    pub(crate) password: Option<&'a Secret>,
    pub(crate) application: &'a str,
}

/// A connection that is logged in.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) link: Link,
    /// Whether the server is at work, or thinks so.
    pub(crate) busy: bool,
    cancel: CancelToken,
    address: Address,
    dialer: Dialer,
    tls: Tls,
}

impl Session {
    pub(crate) async fn connect(target: &Target, login: Login<'_>) -> Result<Self, PortError> {
        let Login { dialer, password, application } = login;
        let (wire, address) = dialer.dial(&target.host).await?;
        let mut config = tokio_postgres::Config::new();
        config
            .user(&target.user)
            .dbname(&target.database)
            .application_name(application)
            .ssl_mode(target.ssl_mode);
        if let Some(password) = password {
            config.password(password.expose());
        }
        let connecting = config.connect_raw(wire, target.tls.clone());
        let (client, connection) = connecting.await.map_err(fault::connecting)?;
        let link = Link { connection: Some(Box::new(connection)) };
        let cancel = client.cancel_token();
        let tls = target.tls.clone();
        Ok(Self { client, link, busy: false, cancel, address, dialer, tls })
    }

    /// The major version of the server; 0 if it does not tell.
    pub(crate) fn version(&self) -> u32 {
        self.link.version()
    }

    /// Whether the server's text is UTF-8, or a part of it whose bytes order in the same way.
    pub(crate) fn is_utf8(&self) -> bool {
        let encoding = self.link.parameter("server_encoding").unwrap_or_default();
        matches!(encoding, "UTF8" | "SQL_ASCII")
    }

    /// Runs a call to its end. One that is dropped before leaves the session busy.
    pub(crate) async fn call<'a, T, F>(
        &'a mut self,
        call: impl FnOnce(&'a Client) -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        self.busy = true;
        let answer = self.link.drive(call(&self.client)).await;
        self.busy = false;
        answer
    }

    /// Tells the server to stop if it is at work, says goodbye, closes the socket.
    pub(crate) async fn close(self) -> Result<(), PortError> {
        let Self { client, mut link, busy, cancel, address, dialer, tls } = self;
        if busy && link.connection.is_some() {
            let cancelling = async {
                let wire = dialer.open(&address).await?;
                cancel.cancel_query_raw(wire, tls).await.map_err(std::io::Error::other)
            };
            let cancelled = tokio::time::timeout(PARTING, cancelling).await;
            // What the server still sends is of no interest: the socket is closed at once.
            return match cancelled {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => Err(PortError::unavailable().caused_by(error)),
                Err(_) => Err(PortError::unavailable().caused_by("the cancel request took long")),
            };
        }
        drop(client);
        let finished = tokio::time::timeout(PARTING, link.finish()).await;
        finished.map_err(|_| PortError::unavailable().caused_by("the goodbye took long"))
    }
}

/// A pinned stream of the driver's, polled together with its connection.
pub(crate) fn poll_next<S: futures_core::Stream>(
    stream: Pin<&mut S>,
    link: &mut Link,
    cx: &mut Context<'_>,
) -> Poll<Option<S::Item>> {
    let mut stream = stream;
    if let Poll::Ready(item) = stream.as_mut().poll_next(cx) {
        return Poll::Ready(item);
    }
    link.poll(cx);
    stream.poll_next(cx)
}

//! What every server's connections have to refuse.

use fetcher_engine::ports::ConnectorFactory;
use fetcher_engine::{Category, ConnectionInput};

use super::reading::build;

/// A factory with the guard refuses addresses inside, and this socket.
pub(crate) async fn guards(
    guarded: &dyn ConnectorFactory,
    input: impl Fn() -> ConnectionInput,
    socket: &str,
) {
    for host in ["127.0.0.1", "localhost", "::1", "169.254.169.254", "10.0.0.1", socket] {
        let mut connector = build(guarded, input().host(host)).unwrap();
        let error = connector.connect().await.unwrap_err();
        assert_eq!(error.category(), Category::Forbidden, "{host}");
        connector.close().await.unwrap();
    }
}

/// None of them is built.
pub(crate) fn refuses(
    factory: &dyn ConnectorFactory,
    cases: impl IntoIterator<Item = ConnectionInput>,
) {
    for (at, input) in cases.into_iter().enumerate() {
        let error = build(factory, input).err().unwrap_or_else(|| panic!("case {at}"));
        assert_eq!(error.category(), Category::Validation, "case {at}");
    }
}

/// A factory that waits shortly gives up on a server that accepts, and never says a word.
pub(crate) async fn gives_up(factory: &dyn ConnectorFactory, input: ConnectionInput) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut connector = build(factory, input.port(port)).unwrap();
    let error = connector.connect().await.unwrap_err();
    assert_eq!(error.category(), Category::Timeout);
    connector.close().await.unwrap();
    drop(listener);
}

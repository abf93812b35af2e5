//! Port 5: where results go in store mode.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use super::BoxFuture;
use crate::encode::Format;
use crate::error::PortError;
use crate::extraction::{Receipt, RequestId};
use crate::tenant::TenantId;

/// What is known of a result before its first byte.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ResultHeader {
    /// The request's id, if it had one.
    pub request_id: Option<RequestId>,
    /// The form of the bytes.
    pub format: Format,
    /// The request's metadata.
    pub metadata: BTreeMap<String, String>,
}

impl ResultHeader {
    /// A header without id and metadata.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self { request_id: None, format, metadata: BTreeMap::new() }
    }

    /// With this request id.
    #[must_use]
    pub fn request_id(mut self, request_id: Option<RequestId>) -> Self {
        self.request_id = request_id;
        self
    }

    /// With this metadata.
    #[must_use]
    pub fn metadata(mut self, metadata: BTreeMap<String, String>) -> Self {
        self.metadata = metadata;
        self
    }
}

/// Takes results. Without it store mode is not available.
pub trait ResultSink: Send + Sync + 'static {
    /// Begins a result.
    ///
    /// # Contract
    /// C1. Nothing is visible to readers before `close` has answered. C2. Scoped by tenant. C3. Two
    /// streams at the same time do not disturb each other.
    ///
    /// # Errors
    /// `unavailable`, `forbidden`, `limit_exceeded` (a quota).
    ///
    /// # Cancel safety
    /// C4. After a drop nothing is visible.
    fn open_stream<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>>;

    /// Stores a whole payload at once, through the stream. A convenience for hosts; the engine
    /// does not call it.
    ///
    /// # Contract
    /// C5. All of it is stored, or nothing is, also after a drop.
    ///
    /// # Errors
    /// As the stream's.
    ///
    /// # Cancel safety
    /// After a drop nothing is visible, unless `close` had begun.
    fn persist<'a>(
        &'a self,
        tenant: &'a TenantId,
        header: ResultHeader,
        payload: &'a [u8],
    ) -> BoxFuture<'a, Result<Receipt, PortError>> {
        Box::pin(async move {
            let mut writer = self.open_stream(tenant, header).await?;
            if let Err(error) = writer.write(payload).await {
                // The first error is the one that counts.
                let _ = writer.abort().await;
                return Err(error);
            }
            writer.close().await
        })
    }
}

/// One result on its way into a sink.
///
/// Dropping a writer that was not closed must discard what was written, as `abort` does.
pub trait ResultWriter: Send + 'static {
    /// Takes the next bytes.
    ///
    /// # Contract
    /// C6. `Ok` means that all of them were taken, in the order of the calls, however many or few.
    ///
    /// It does not answer before it can take more: that is the back-pressure.
    ///
    /// # Errors
    /// `unavailable`, `limit_exceeded`. After an error only `abort` or drop follow.
    ///
    /// # Cancel safety
    /// Not cancel safe. After a drop only `abort` or drop follow.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>>;

    /// Completes the result: from the answer on, readers see all of it.
    ///
    /// # Contract
    /// C7. Durable and whole under the receipt's reference, an empty one too; or an error and
    /// nothing.
    ///
    /// The engine calls it for a complete result only. Twice is unrepresentable: it takes the
    /// writer.
    ///
    /// # Errors
    /// `unavailable`. Nothing is visible then.
    ///
    /// # Cancel safety
    /// C8. After a drop the result is whole or not there. The caller of the engine was told that it
    /// failed, so a sink that can should discard it.
    fn close(self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>>;

    /// Discards the result.
    ///
    /// # Contract
    /// C9. Nothing is left of it. C10. Legal in every state, also after a failed or dropped
    /// `write`.
    ///
    /// # Errors
    /// Told to the host's observability; they never change a result.
    ///
    /// # Cancel safety
    /// C11. A drop, of the writer or of this call, discards too, as far as that can be done without
    /// waiting: readers see nothing of it.
    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>>;
}

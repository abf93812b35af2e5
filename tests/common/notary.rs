//! A result sink with something to say about what it takes.

use fetcher_engine::extraction::{ProtectedBy, Receipt};
use fetcher_engine::ports::{BoxFuture, ResultHeader, ResultSink, ResultWriter};
use fetcher_engine::{PortError, TenantId};

/// A sink that proves and protects what it takes, and writes nothing.
pub(crate) struct Notary;

impl ResultSink for Notary {
    fn open_stream<'a>(
        &'a self,
        _: &'a TenantId,
        _: ResultHeader,
    ) -> BoxFuture<'a, Result<Box<dyn ResultWriter>, PortError>> {
        Box::pin(async { Ok(Box::new(Self) as Box<dyn ResultWriter>) })
    }
}

impl ResultWriter for Notary {
    fn write<'a>(&'a mut self, _: &'a [u8]) -> BoxFuture<'a, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }

    fn close(self: Box<Self>) -> BoxFuture<'static, Result<Receipt, PortError>> {
        let receipt = Receipt::new("s3://bucket/key").integrity("hmac-sha256", "00ff");
        let receipt = receipt.protection(ProtectedBy::Adapter, "aes-256-gcm");
        Box::pin(async { Ok(receipt) })
    }

    fn abort(self: Box<Self>) -> BoxFuture<'static, Result<(), PortError>> {
        Box::pin(async { Ok(()) })
    }
}

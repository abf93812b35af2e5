//! Panics on purpose that nobody wants to read.

use std::sync::Once;

use super::NoText;

/// How the text of a planted panic begins.
pub(crate) const PLANTED: &str = "canary";

/// From now on planted panics are not printed; all others are.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let shown = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let text = text.or_else(|| payload.downcast_ref::<NoText>().map(|no_text| no_text.0));
            if !text.is_some_and(|text| text.starts_with(PLANTED)) {
                shown(info);
            }
        }));
    });
}

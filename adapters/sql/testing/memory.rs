//! What the system says of the memory of this process; nothing where it says nothing.

use std::fs;

/// A figure of the process, in megabytes: `VmRSS` is what there is now, `VmHWM` the most since
/// `forget_peak`.
pub(crate) fn memory_mb(name: &str) -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? / 1024)
}

/// The most memory that this process has had, in megabytes.
pub(crate) fn peak_mb() -> Option<usize> {
    memory_mb("VmHWM:")
}

fn forget_peak() -> Option<()> {
    fs::write("/proc/self/clear_refs", "5").ok()
}

/// How much more memory it takes meanwhile, at its peak.
pub(crate) fn growth_mb(work: impl FnOnce()) -> usize {
    let before = forget_peak().and_then(|()| memory_mb("VmRSS"));
    work();
    match (before, peak_mb()) {
        (Some(before), Some(peak)) => peak.saturating_sub(before),
        _ => 0,
    }
}

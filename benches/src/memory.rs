//! Peak memory of store mode: each size in a process of its own, as the system saw it.

use std::env;
use std::fs;
use std::process::Command;
use std::sync::Arc;

use fetcher_engine::Mode;

use crate::Error;
use crate::fixture::{DATASOURCE, Fixture};
use crate::rows::pool;
use crate::stats::say;

/// How this program is told to be the process of one size.
pub(crate) const CHILD: &str = "memory-of-one-size";

/// Measures every size and says the results.
pub(crate) fn run(sizes: &[u64]) -> Result<(), Error> {
    for &rows in sizes {
        let mut child = Command::new(env::current_exe()?);
        let output = child.args([CHILD, &rows.to_string()]).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("the process for {rows} rows failed: {said}").into());
        }
        let peak: u64 = String::from_utf8(output.stdout)?.trim().parse()?;
        say(&format!("peak_{}_mb", short(rows)), peak as f64 / 1e6, 2);
    }
    Ok(())
}

/// Writes so many rows in store mode and says the peak in bytes.
pub(crate) fn child(rows: u64) -> Result<(), Error> {
    let fixture = Fixture::new(&Arc::new(pool()))?;
    let plan = fixture.plan(&[DATASOURCE], rows)?;
    let result = fixture.execute(&plan, Mode::Store)?;
    if result.rows != rows {
        return Err("not every row was written".into());
    }
    println!("{}", peak_bytes()?);
    Ok(())
}

/// Forgets the peak so far, where the system can; where it cannot, the next one is too high.
pub(crate) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// The most resident memory that this process had since then, or ever.
pub(crate) fn peak_bytes() -> Result<u64, Error> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|peak| peak.trim().strip_suffix(" kB"));
    let kib: u64 = kib.ok_or("the system tells no VmHWM")?.trim().parse()?;
    Ok(kib * 1024)
}

/// `1m` for a million.
fn short(rows: u64) -> String {
    match rows {
        rows if rows.is_multiple_of(1_000_000) => format!("{}m", rows / 1_000_000),
        rows if rows.is_multiple_of(1000) => format!("{}k", rows / 1000),
        rows => rows.to_string(),
    }
}

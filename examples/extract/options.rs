//! The command line.

use std::ffi::OsString;
use std::path::PathBuf;

pub(crate) const HELP: &str = "\
Extracts flights, planes, airlines and airports from CSV files.

usage: cargo run --example extract -- [--data DIR] [--out PATH]
       cargo run --example extract -- [--data DIR] --direct

  --data DIR   read the CSV files in this folder (default: examples/data)
  --out PATH   write the result, one JSON line per row, to this file
               (default: target/extract/result.ndjson). A file that is there already is removed
               at the start: what is there afterwards is of this run, or nothing is.
  --direct     print the airlines and airports to stdout as one JSON document, and nothing else
  --help       print this

The default paths are in the folder of this package, whatever the current folder is.
";

/// What the command line asks for.
#[derive(Debug)]
pub(crate) enum Command {
    Help,
    Extract { data: String, to: Target },
}

/// Where the result goes.
#[derive(Debug)]
pub(crate) enum Target {
    Stdout,
    File { path: PathBuf, is_default: bool },
}

/// Reads the arguments behind the program's name.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let (mut data, mut out, mut direct) = (None, None, false);
    while let Some(argument) = arguments.next() {
        let argument = argument.to_string_lossy();
        let mut value = || {
            let value = arguments.next().filter(|value| !value.is_empty());
            let value = value.filter(|value| !value.as_encoded_bytes().starts_with(b"--"));
            value.ok_or_else(|| format!("{argument} needs a value; see --help"))
        };
        match &*argument {
            "--help" | "-h" => return Ok(Command::Help),
            "--direct" => direct = true,
            "--data" => data = Some(value()?),
            "--out" => out = Some(value()?),
            _ if argument.starts_with('-') => {
                return Err(format!("unknown option {argument}; see --help"));
            }
            _ => return Err(format!("unexpected argument {argument}; see --help")),
        }
    }
    let package = env!("CARGO_MANIFEST_DIR");
    let data = match data {
        None => format!("{package}/examples/data"),
        // The engine keeps the path in a connection, and connections are text.
        Some(data) => data.into_string().map_err(|_| "the value of --data is not UTF-8")?,
    };
    let to = match (direct, out) {
        (true, None) => Target::Stdout,
        (true, Some(_)) => return Err("--out has no meaning with --direct; see --help".into()),
        (false, Some(path)) => Target::File { path: path.into(), is_default: false },
        (false, None) => {
            let path = PathBuf::from(package).join("target/extract/result.ndjson");
            Target::File { path, is_default: true }
        }
    };
    Ok(Command::Extract { data, to })
}

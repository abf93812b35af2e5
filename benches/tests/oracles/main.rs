//! The engine's bytes against implementations that have nothing in common with it.
//!
//! Every test makes up its cases from a seed. A failure names it: set `ORACLE_SEED` to it, and the
//! same cases come again. Without it every run has a seed of its own.

mod calendar;
mod cells;
mod digests;
mod documents;
mod engine;
mod floats;
mod json_text;
mod random;
mod scalars;
mod text;
mod tree;

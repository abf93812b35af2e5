//! SQLite: the connector against real files.

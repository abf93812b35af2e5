//! Filters at the server.

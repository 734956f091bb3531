//! Certificates for tests.

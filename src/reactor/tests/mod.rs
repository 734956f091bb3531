//! One test per rule, over real sockets on 127.0.0.1. Nothing sleeps: tests wait for bytes and
//! events, and only a broken rule leads to a timeout (`PATIENCE`).
#![expect(clippy::disallowed_types, reason = "clients block")]

pub(super) mod bridge;
mod budgets;
pub(super) mod client;

mod group;
mod inline;
mod rows;
pub(super) mod server;
pub(super) mod turns;

pub(super) use std::time::Duration;

pub(super) use client::{Client, UPGRADE, bytes, frame};
pub(super) use server::{Script, Seen, Server, Setup};

/// The time for which a test waits for an expected event.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

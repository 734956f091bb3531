//! One test per rule, over real sockets on 127.0.0.1. Nothing sleeps: tests wait for bytes and
//! events, and only a broken rule leads to a timeout (`PATIENCE`).
#![expect(clippy::disallowed_types, reason = "clients block")]

mod bridge;
mod budgets;
mod client;
mod connection;
mod group;
mod inline;
mod loads;
mod open;
mod read;
mod rows;
mod server;
mod topics;
mod turns;
mod write;

use std::time::Duration;

use client::{Client, UPGRADE, bytes, frame};
use server::{Script, Seen, Server, Setup};

/// The time for which a test waits for an expected event.
const PATIENCE: Duration = Duration::from_secs(60);

//! One test per rule, over real sockets on 127.0.0.1. Nothing sleeps: tests wait for bytes and
//! events, and a timeout (`PATIENCE`) is only ever how a broken rule fails.
#![expect(clippy::disallowed_types, reason = "clients block")]

mod adoption;
mod bridge;
mod budgets;
mod client;
mod closing;
mod deflate;
mod exhaustion;
mod fairness;
mod flow;
mod frames;
mod gates;
mod group;
mod handshake;
mod identity;
mod inline;
mod listeners;
mod loads;
mod order;
mod panics;
mod payloads;
mod pressure;
mod rates;
mod rows;
mod same;
mod server;
mod silence;
mod stage;
mod topics;
mod topics_cost;
mod topics_history;
mod topics_model;
mod topics_slow;
mod turns;
mod unfinished;
mod whole;

use std::time::Duration;

use client::{Client, UPGRADE, bytes, frame};
use server::{Script, Seen, Server, Setup};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

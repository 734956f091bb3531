//! What silence of the peer leads to: a ping, or the end.

use std::time::Duration;

use crate::reactor::connection::life::Life;
use crate::reactor::connection::session::Session;

/// The peer has spoken: silence begins anew.
pub(in crate::reactor) fn touch_silence(session: &mut Session<'_>) {
    if matches!(session.connection.life, Life::Open)
        && let Some(after) = session.connection.silence()
    {
        session.work.timers.arm(session.id, &mut session.connection.deadline, session.work.now, after);
    }
}

/// The peer has been silent for as long as it may.
pub(in crate::reactor) fn on_silence(session: &mut Session<'_>) {
    let config = session.connection.config.clone();
    // Whoever is not listened to is not silent, nor is whoever waits for the 101.
    let waits = session.connection.write.state.is_withheld();
    if waits || session.connection.paused || session.connection.readable {
        return touch_silence(session);
    }
    let ping = !config.ping_interval.is_zero();
    // With both set, the shorter fires first; whoever was pinged and stayed silent is gone either way.
    if !ping || session.connection.pinged || is_shorter(config.idle_timeout, config.ping_interval) {
        return session.terminate();
    }
    session.connection.pinged = true;
    session.ping(&[]);
    let rest = config.idle_timeout.saturating_sub(config.ping_interval);
    let after = if rest.is_zero() { config.ping_interval } else { rest.min(config.ping_interval) };
    let Session { id, connection, work } = session;
    work.timers.arm(*id, &mut connection.deadline, work.now, after);
}

fn is_shorter(idle: Duration, ping: Duration) -> bool {
    !idle.is_zero() && idle <= ping
}

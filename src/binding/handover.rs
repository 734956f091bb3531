//! Threads that give connections to another process, or take them from one.

use std::collections::HashMap;
#[cfg(unix)]
use std::io::ErrorKind;
#[cfg(unix)]
use std::time::Instant;

use napi::bindgen_prelude::{Buffer, Function};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

#[cfg(unix)]
use super::deflate::millis;
use super::reactor::JsReactor;

/// What a thread reports.
#[napi(object)]
pub struct HandoverReport {
    /// `met`, `copied`, `given`, `alive`, `ahead`, `port`, `whole` or `ended`.
    pub kind: String,
    /// The listening socket, which the caller must close; -1: none.
    pub fd: i32,
    /// Of the program, from `give`; for `ahead` the records.
    pub state: Option<Buffer>,
    /// Milliseconds for which connections have not been read.
    pub paused: f64,
    /// Connections that have another owner now.
    pub moved: u32,
    /// Connections that cannot move, by the reason.
    pub stayed: HashMap<String, u32>,
    /// Of state.
    pub bytes: f64,
    /// Why the conversation ended too early; empty if it did not.
    pub reason: String,
    /// The other process has left.
    pub left: bool,
}

/// One conversation with another process.
#[napi(js_name = "Courier")]
pub struct JsCourier {
    /// The step that the thread waits to begin, and its socket. `None`: it needs nothing more.
    #[cfg(unix)]
    start: Option<(Start, std::os::unix::net::UnixStream)>,
}

#[cfg(unix)]
enum Start {
    Give(std::sync::mpsc::Sender<Order>),
    Take(std::sync::mpsc::Sender<Taking>),
    /// The thread waits for the end of this.
    Taken(#[expect(dead_code, reason = "its end is the message")] std::sync::mpsc::Sender<Taking>),
}

#[cfg(unix)]
use crate::reactor::handover::courier::{Giving, Order, Outcome, Report, Taking, give, take};

#[napi]
impl JsCourier {
    /// Begins, over a duplicate of the socket `fd`. `report` is called on this thread. `wants_ahead`: of a process that
    /// takes.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        _env: Env,
        fd: i32,
        gives: bool,
        wants_ahead: bool,
        report: Function<'_, HandoverReport, ()>,
    ) -> Result<Self> {
        #[cfg(unix)]
        {
            use std::sync::mpsc::channel;

            use napi::threadsafe_function::ThreadsafeFunctionCallMode;

            let stream = super::adopt::stream(fd).map_err(|error| super::listen::system_error(&error))?;
            let hold = stream.try_clone().map_err(|error| super::listen::system_error(&error))?;
            // It keeps the event loop alive until the thread ends.
            let bell = report.build_threadsafe_function().callee_handled::<false>().build()?;
            let report = move |report: Report| {
                let mode = ThreadsafeFunctionCallMode::NonBlocking;
                let program = match &report {
                    Report::Alive(program) | Report::Ahead(_, program) => Some(program.clone()),
                    _ => None,
                };
                let _closing = match program {
                    None => bell.call(report.into(), mode),
                    Some(program) => bell.call_with_return_value(report.into(), mode, move |_, _| {
                        let _given_up = program.send(());
                        Ok(())
                    }),
                };
            };
            let thread = std::thread::Builder::new().name("reactor-ws-move".to_owned());
            let (start, begun) = if gives {
                let (start, begun) = channel();
                (Start::Give(start), thread.spawn(move || give(stream, &begun, &report)))
            } else {
                let (start, begun) = channel();
                (Start::Take(start), thread.spawn(move || take(stream, wants_ahead, &begun, &report)))
            };
            begun.map_err(|error| super::listen::system_error(&error))?;
            Ok(Self { start: Some((start, hold)) })
        }
        #[cfg(not(unix))]
        {
            let _unused = (fd, gives, wants_ahead, report);
            Err(Error::new(Status::GenericFailure, "descriptors cannot be passed on here"))
        }
    }

    /// The connections of the listener will be given: what takes long is copied while they work.
    #[napi(catch_unwind)]
    pub fn copy(&self, reactor: &JsReactor, listener: u32) -> Result<()> {
        #[cfg(unix)]
        if let Some((Start::Give(start), _)) = &self.start {
            let handles = reactor.handles()?;
            return start.send(Order::Copy { handles, listener }).map_err(|_ended| ended());
        }
        let _unused = (reactor, listener);
        Err(ended())
    }

    /// The connections of the listener are packed and go, after `state`. All reactors have frozen it, `paused`
    /// milliseconds ago.
    #[napi(catch_unwind)]
    pub fn give(&mut self, reactor: &JsReactor, listener: u32, state: &[u8], paused: f64) -> Result<()> {
        #[cfg(unix)]
        if let Some((Start::Give(start), _)) = self.start.take() {
            #[expect(clippy::disallowed_methods, reason = "a time of JavaScript becomes one of the reactors")]
            let now = Instant::now();
            let frozen = now.checked_sub(millis(paused)).unwrap_or(now);
            let (handles, port) = (reactor.handles()?, reactor.port(listener)?);
            let giving = Giving { handles, listener, port, state: state.to_vec(), frozen };
            return start.send(Order::Give(giving)).map_err(|_ended| ended());
        }
        let _unused = (reactor, listener, state, paused);
        Err(ended())
    }

    /// Ends the conversation. Before `give` or `take` nothing has moved then; after `give` it does nothing.
    #[napi(catch_unwind)]
    pub fn stop(&mut self) {
        #[cfg(unix)]
        if let Some((start, stream)) = self.start.take() {
            use std::net::Shutdown::{Both, Write};

            // After `take` the program waits for the other process to leave. If this fails it has ended.
            let _ended = stream.shutdown(if matches!(start, Start::Taken(_)) { Write } else { Both });
        }
    }

    /// Connections come, and are the listener's, unless the conversation has ended. `stop` must follow when they have been
    /// opened: the other process waits.
    #[napi(catch_unwind)]
    pub fn take(&mut self, reactor: &JsReactor, listener: u32) -> Result<()> {
        #[cfg(unix)]
        if let Some((Start::Take(start), stream)) = self.start.take() {
            // Its end is reported.
            let _ended = start.send(Taking { handles: reactor.handles()?, listener });
            self.start = Some((Start::Taken(start), stream));
        }
        let _unused = (reactor, listener);
        Ok(())
    }
}

/// The end of the other process, or of its socket. It is a reset if our greeting was never read.
#[cfg(unix)]
const LEFT: [ErrorKind; 3] = [ErrorKind::UnexpectedEof, ErrorKind::ConnectionReset, ErrorKind::BrokenPipe];

fn ended() -> Error {
    Error::new(Status::GenericFailure, "the conversation has ended")
}

#[cfg(unix)]
impl From<Report> for HandoverReport {
    fn from(report: Report) -> Self {
        let empty = |kind: &str| Self {
            kind: kind.to_owned(),
            fd: -1,
            state: None,
            paused: 0.0,
            moved: 0,
            stayed: HashMap::new(),
            bytes: 0.0,
            reason: String::new(),
            left: false,
        };
        match report {
            Report::Met => empty("met"),
            Report::Copied => empty("copied"),
            Report::Alive(_) => empty("alive"),
            Report::Given => empty("given"),
            Report::Ahead(records, _) => Self { state: Some(records.into()), ..empty("ahead") },
            Report::Port(port, state) => {
                Self { fd: super::adopt::number(port), state: Some(state.into()), ..empty("port") }
            }
            Report::Whole(paused) => Self { paused: paused.as_secs_f64() * 1e3, ..empty("whole") },
            Report::Ended(Outcome { moved, stay, bytes, failure }) => Self {
                moved: moved as u32,
                stayed: stay.by_name().map(|(name, count)| (name.to_owned(), count as u32)).collect(),
                bytes: bytes as f64,
                left: failure.as_ref().is_some_and(|failure| LEFT.contains(&failure.kind())),
                reason: failure.map(|failure| failure.to_string()).unwrap_or_default(),
                ..empty("ended")
            },
        }
    }
}

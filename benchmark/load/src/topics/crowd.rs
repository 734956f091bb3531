//! All members, and the clock that decides which one sends, is cut off, and comes back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::{Events, Poll};

use crate::args::Args;
use crate::socket::{Connector, Socket};
use crate::topics::member::{Member, Shared};

/// Connections that open at once, unless all do.
const AT_ONCE: usize = 64;
/// After this time, no message comes any more that was sent before the last cut.
const QUIET: Duration = Duration::from_secs(2);

/// The members of all rooms.
pub(crate) struct Crowd<'a> {
    args: &'a Args,
    poll: Poll,
    events: Events,
    connector: Connector,
    to_speakers: Option<Connector>,
    members: Vec<Member>,
    pub(crate) shared: Shared,
    /// The member that is cut off or comes back next.
    changes: BinaryHeap<Reverse<(u64, usize)>>,
    /// Messages so far.
    pub(crate) said: u64,
    /// Members that the system has cut off before they were up, and that have tried again.
    pub(crate) resets: u64,
    frame: Vec<u8>,
    /// Sockets that are never read.
    _stalled: Vec<Socket>,
}

impl<'a> Crowd<'a> {
    /// Opens all connections.
    pub(crate) fn new(args: &'a Args) -> Result<Self, Box<dyn Error>> {
        let total = args.connections + args.stalled;
        let mut crowd = Self {
            args,
            poll: Poll::new()?,
            events: Events::with_capacity(1024),
            connector: connector(args, args.port)?,
            to_speakers: args.speaker_port.map(|port| connector(args, port)).transpose()?,
            members: (0..total).map(|number| Member::new(number, args)).collect(),
            shared: Shared::new(args)?,
            changes: BinaryHeap::new(),
            said: 0,
            resets: 0,
            frame: Vec::new(),
            _stalled: Vec::new(),
        };
        crowd.open(AT_ONCE)?;
        let stalled = crowd.members.split_off(args.connections);
        for mut stream in stalled.into_iter().filter_map(Member::into_stalled) {
            crowd.poll.registry().deregister(&mut stream)?;
            stream.keep_little()?;
            crowd._stalled.push(stream);
        }
        Ok(crowd)
    }

    /// Lets all members that are away connect, a number of them at a time, and returns the times at
    /// which they were connected. Where all come at once, the system may cut some off.
    pub(crate) fn open(&mut self, at_once: usize) -> Result<Vec<u64>, Box<dyn Error>> {
        let mut waiting: Vec<_> = (0..self.members.len()).filter(|at| self.members[*at].is_away()).collect();
        let (mut times, mut opening) = (Vec::with_capacity(waiting.len()), 0);
        let goal = waiting.len();
        while times.len() < goal {
            while opening < at_once
                && let Some(number) = waiting.pop()
            {
                self.begin(number)?;
                opening += 1;
            }
            self.wait(None)?;
            for number in self.heard_of() {
                let was_up = self.members[number].is_up();
                match self.members[number].advance(&mut self.shared) {
                    Err(error) if at_once == usize::MAX && !was_up && is_reset(&*error) => {
                        self.resets += 1;
                        self.members[number].cut();
                        self.begin(number)?;
                    }
                    result => result.map_err(|error| format!("member {number}: {error}"))?,
                }
                if !was_up && self.members[number].is_up() {
                    times.push(self.shared.now());
                    opening -= 1;
                }
            }
        }
        Ok(times)
    }

    /// Sends and reads for a time, and cuts members off.
    pub(crate) fn turn_with_cuts(&mut self, length: Duration) -> Result<(), Box<dyn Error>> {
        let start = self.shared.now();
        self.plan_cuts(start, start + length.as_nanos() as u64);
        self.turn(length)
    }

    /// Sends and reads for a time.
    pub(crate) fn turn(&mut self, length: Duration) -> Result<(), Box<dyn Error>> {
        let start = self.shared.now();
        let end = start + length.as_nanos() as u64;
        let step = if self.args.rate > 0.0 { (1e9 / self.args.rate) as u64 } else { 0 };
        let mut next = start;
        loop {
            let now = self.shared.now();
            if now >= end {
                return Ok(());
            }
            if step == 0 && self.all_heard() {
                self.say(now)?;
            }
            while step > 0 && next <= now {
                // The delay of a message counts from the time at which it was due.
                self.say(next)?;
                next += step;
            }
            self.change(now, end)?;
            self.wait(if step > 0 { Some(Duration::ZERO) } else { None })?;
            for number in self.heard_of() {
                self.advance(number)?;
            }
        }
    }

    /// Reads until every member has all messages or, when members were cut off, until nothing comes
    /// any more.
    pub(crate) fn settle(&mut self) -> Result<(), Box<dyn Error>> {
        let mut last = (self.shared.now(), self.shared.received);
        let patience =
            if self.args.cut_every.is_zero() { self.args.timeout } else { QUIET }.as_nanos() as u64;
        while !self.all_heard() || !self.changes.is_empty() {
            let now = self.shared.now();
            self.change(now, 0)?;
            self.poll.poll(&mut self.events, Some(Duration::from_millis(5)))?;
            for number in self.heard_of() {
                self.advance(number)?;
            }
            if self.shared.received != last.1 || !self.changes.is_empty() {
                last = (now, self.shared.received);
            } else if now > last.0 + patience {
                break;
            }
        }
        Ok(())
    }

    /// The number of deliveries that all messages so far must cause.
    pub(crate) fn expected(&self) -> u64 {
        self.shared
            .said
            .iter()
            .enumerate()
            .map(|(speaker, said)| {
                let (room, rooms) = (speaker % self.args.rooms, self.args.rooms);
                said.len() as u64 * ((self.args.connections - room).div_ceil(rooms)) as u64
            })
            .sum()
    }

    /// Drops all connections.
    pub(crate) fn cut_all(&mut self) {
        self.members.iter_mut().for_each(Member::cut);
    }

    /// Connects to another port from now on.
    pub(crate) fn go_to(&mut self, port: u16) -> Result<(), Box<dyn Error>> {
        self.connector = connector(self.args, port)?;
        Ok(())
    }

    /// Sends one message, which every member must get.
    pub(crate) fn check(&mut self) -> Result<(), Box<dyn Error>> {
        let now = self.shared.now();
        self.say(now)?;
        self.settle()?;
        if self.all_heard() { Ok(()) } else { Err("not everybody is there again".into()) }
    }

    pub(crate) fn all_heard(&self) -> bool {
        self.shared.received >= self.expected()
    }

    fn begin(&mut self, number: usize) -> Result<(), Box<dyn Error>> {
        let connector = match &self.to_speakers {
            Some(other) if number < self.shared.said.len() => other,
            _ => &self.connector,
        };
        self.members[number].open(connector, self.poll.registry(), &mut self.shared)
    }

    fn advance(&mut self, number: usize) -> Result<(), Box<dyn Error>> {
        // Stalled members are no longer among them.
        let Some(member) = self.members.get_mut(number) else { return Ok(()) };
        Ok(member.advance(&mut self.shared).map_err(|error| format!("member {number}: {error}"))?)
    }

    /// Waits for at most this time, or the timeout.
    fn wait(&mut self, most: Option<Duration>) -> Result<(), Box<dyn Error>> {
        self.poll.poll(&mut self.events, Some(most.unwrap_or(self.args.timeout)))?;
        if self.events.is_empty() && most.is_none() {
            let (received, expected) = (self.shared.received, self.expected());
            return Err(format!("nothing came within the timeout: {received} of {expected}").into());
        }
        Ok(())
    }

    fn heard_of(&self) -> Vec<usize> {
        self.events.iter().map(|event| event.token().0).collect()
    }

    fn say(&mut self, due: u64) -> Result<(), Box<dyn Error>> {
        let speaker = self.said as usize % self.shared.said.len();
        self.said += 1;
        self.frame.clear();
        let number = self.shared.said[speaker].len() as u32;
        self.shared.words.push_said(speaker, number, &mut self.frame);
        self.shared.said[speaker].push(due);
        Ok(self.members[speaker].send(&self.frame)?)
    }

    /// Each member but the speakers is cut off once in each period, one after the other.
    fn plan_cuts(&mut self, start: u64, end: u64) {
        let every = self.args.cut_every.as_nanos() as u64;
        if every == 0 {
            return;
        }
        let speakers = self.shared.said.len();
        let (others, lasts) = (self.members.len() - speakers, self.args.cut_for.as_nanos() as u64);
        for (place, number) in (speakers..self.members.len()).enumerate() {
            let first = start + every * place as u64 / others as u64;
            if first + lasts <= end {
                self.changes.push(Reverse((first, number)));
            }
        }
    }

    /// Cuts off the members that are due, and lets those come back that were away long enough.
    fn change(&mut self, now: u64, end: u64) -> Result<(), Box<dyn Error>> {
        let (every, lasts) = (self.args.cut_every.as_nanos() as u64, self.args.cut_for.as_nanos() as u64);
        while let Some(Reverse((due, number))) = self.changes.peek().copied() {
            if due > now {
                break;
            }
            self.changes.pop();
            if self.members[number].is_away() {
                self.begin(number)?;
                let next = due + every - lasts;
                if next + lasts <= end {
                    self.changes.push(Reverse((next, number)));
                }
            } else {
                self.members[number].cut();
                self.changes.push(Reverse((due + lasts, number)));
            }
        }
        Ok(())
    }
}

fn connector(args: &Args, port: u16) -> Result<Connector, Box<dyn Error>> {
    Connector::new(SocketAddr::new(args.host.parse()?, port), args.tls())
}

fn is_reset(error: &(dyn Error + 'static)) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionReset)
}

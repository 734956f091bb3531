//! The calls of every message of a stream. They name its engine by a number and use an array of
//! words that both sides know, because a method of a class costs six times as much (see
//! `crossing.rs`).

pub(super) mod engine;
pub(super) mod parser;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;

use napi::bindgen_prelude::{Function, FunctionCallContext, ToNapiValue, Uint8ArraySlice, Uint32ArraySlice};
use napi::{Env, Error, Result, Status};
use napi_derive::napi;

use crate::bridge::layout::{STREAM_HEADER, STREAM_ROOM, STREAM_WORDS};
use crate::engine::deflate::Pool;

use super::payload::{LentWords, bytes_mut};
use parser::{Parser, Room};

/// The streams of an environment.
struct Parsers {
    /// The engines, by number.
    all: Vec<Option<Rc<RefCell<Parser>>>>,
    free: Vec<u32>,
    words: LentWords,
}

impl Parsers {
    /// Returns its number until it is removed.
    fn insert(&mut self, parser: Rc<RefCell<Parser>>) -> u32 {
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        match self.all.get_mut(number as usize) {
            Some(place) => *place = Some(parser),
            None => self.all.push(Some(parser)),
        }
        number
    }

    fn remove(&mut self, number: u32) {
        if let Some(place) = self.all.get_mut(number as usize) {
            *place = None;
            self.free.push(number);
        }
    }

    /// Does `step` with a parser and the words.
    fn with<T>(&mut self, number: u32, step: impl FnOnce(&mut Parser, &mut [u32]) -> Result<T>) -> Result<T> {
        let Some(Some(parser)) = self.all.get(number as usize) else {
            return Err(Error::new(Status::InvalidArg, "no stream of this number"));
        };
        let words = self.words.all();
        // Unwinding into Node would end the process.
        catch_unwind(AssertUnwindSafe(|| step(&mut parser.borrow_mut(), words)))
            .unwrap_or_else(|_| Err(Error::new(Status::GenericFailure, "the engine of a stream panicked")))
    }
}

/// The engines of an environment's streams, and what they share.
#[napi]
pub struct Streams {
    parsers: Rc<RefCell<Parsers>>,
    pool: Arc<Pool>,
}

#[napi]
impl Streams {
    /// None yet. `words` is for records, headers and what may be inflated: `STREAM_WORDS` long, all
    /// of its ArrayBuffer, and touched by the caller only, for as long as the environment lives.
    #[napi(constructor, catch_unwind)]
    pub fn new(mut words: Uint32ArraySlice<'_>) -> Result<Self> {
        if words.len() < STREAM_WORDS {
            return Err(Error::new(Status::InvalidArg, format!("{STREAM_WORDS} words are needed")));
        }
        let parsers = Parsers { all: Vec::new(), free: Vec::new(), words: LentWords::new(&mut words) };
        Ok(Self { parsers: Rc::new(RefCell::new(parsers)), pool: Arc::new(Pool::of_process()) })
    }

    /// Forgets the message compressed last: a message for several connections is sent in one turn.
    #[napi(catch_unwind)]
    pub fn end_turn(&self) {
        self.pool.forget_message();
    }

    /// The function `(number, chunk) => count` that parses a chunk: it is unmasked in place, and
    /// the words get records like those of the reactor, with slot 0 and offsets relative to the
    /// chunk. `STREAM_RECORDS` of them: call again with the same chunk. -n - 1 for n records:
    /// other streams come before the call for the rest of the chunk. Where messages may be
    /// compressed, the word at `STREAM_ROOM` has the bytes that may be inflated, and then those
    /// that were.
    #[napi(catch_unwind)]
    pub fn input<'env>(&self, env: &'env Env) -> Result<Function<'env, (), i32>> {
        self.function(env, "input", |parsers, context| {
            let (number, mut chunk): (u32, Uint8ArraySlice<'_>) = (context.get(0)?, context.get(1)?);
            parsers.borrow_mut().with(number, |parser, words| {
                let (records, rest) = words.split_at_mut_checked(STREAM_HEADER).unwrap_or_default();
                let Some(word) = rest.get_mut(STREAM_ROOM - STREAM_HEADER).filter(|_| parser.has_deflate())
                else {
                    return Ok(parser.input(bytes_mut(&mut chunk), records, &mut Room::new(0)));
                };
                let mut room = Room::new(*word as usize);
                let count = parser.input(bytes_mut(&mut chunk), records, &mut room);
                *word = u32::try_from(room.used()).unwrap_or(u32::MAX);
                Ok(count)
            })
        })
    }

    /// The function `(number, tag, length) => bytes` that writes the header of the next frame,
    /// whose payload is not masked, to the words from `STREAM_HEADER` on. `tag` is that of the
    /// outbound record.
    #[napi(catch_unwind)]
    pub fn header<'env>(&self, env: &'env Env) -> Result<Function<'env, (), u32>> {
        self.function(env, "header", |parsers, context| {
            let (number, tag, length): (u32, u32, f64) = (context.get(0)?, context.get(1)?, context.get(2)?);
            parsers.borrow_mut().with(number, |parser, words| {
                let header = parser.header(tag, length as usize)?;
                let bytes = header.as_bytes();
                for (word, four) in words.iter_mut().skip(STREAM_HEADER).zip(bytes.chunks(4)) {
                    let mut padded = [0; 4];
                    padded.iter_mut().zip(four).for_each(|(to, byte)| *to = *byte);
                    *word = u32::from_ne_bytes(padded);
                }
                Ok(bytes.len() as u32)
            })
        })
    }

    /// The function `(number, tag, buffer, start, length, key) => start` that makes a frame of the
    /// `length` bytes at `start` of `buffer`, masking them in place, and returns where it begins:
    /// at most 14 bytes before `start`.
    #[napi(catch_unwind)]
    pub fn frame<'env>(&self, env: &'env Env) -> Result<Function<'env, (), u32>> {
        self.function(env, "frame", |parsers, context| {
            let (number, tag, mut buffer): (u32, u32, Uint8ArraySlice<'_>) =
                (context.get(0)?, context.get(1)?, context.get(2)?);
            let (start, length, key): (u32, u32, u32) = (context.get(3)?, context.get(4)?, context.get(5)?);
            parsers.borrow_mut().with(number, |parser, _| {
                parser.frame(tag, bytes_mut(&mut buffer), start as usize, length as usize, Some(key))
            })
        })
    }

    fn function<'env, T: ToNapiValue + 'static>(
        &self,
        env: &'env Env,
        name: &str,
        step: impl Fn(&RefCell<Parsers>, &FunctionCallContext<'_>) -> Result<T> + 'static,
    ) -> Result<Function<'env, (), T>> {
        let parsers = self.parsers.clone();
        env.create_function_from_closure(name, move |context| step(&parsers, &context))
    }
}

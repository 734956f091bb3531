//! `lib/base/layout.js`: everything that JavaScript has to agree with, made from Rust.

use std::collections::HashSet;
use std::fmt::{Debug, Write};
use std::fs;
use std::path::Path;

use crate::bridge::admission::Denial;
use crate::bridge::layout::{Cause, FLAGS_SHIFT, Slow, all_constants, is_payload, is_topic};
use crate::bridge::tally::Tally;
use crate::engine::frame::wire_len;
use crate::engine::handshake::{ORIGIN_FIELDS, Refusal};
use crate::engine::{CloseCode, ErrorKind};

const LIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/lib");
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/lib/base/layout.js");

const HEAD: &str = "\
'use strict';

// What both languages must agree on, made by a test of src/bridge, which fails where it differs. To
// make it again: WRITE_LAYOUT=1 cargo test --no-default-features --features reactor --lib layout
//
// src/bridge/layout says what each constant is; those are here that lib names. A tag is the word of a record that carries its kind, flags
// and aux. The flags are here as they are in a tag. A number of 64 bits is two words, the lower half first.

";

#[test]
#[cfg_attr(miri, ignore = "reads a file")]
fn the_layout_in_javascript_is_the_one_in_rust() {
    let (wanted, found) = (javascript(), fs::read_to_string(FILE).unwrap_or_default());
    if std::env::var_os("WRITE_LAYOUT").is_some() {
        fs::write(FILE, wanted).unwrap();
    } else {
        assert!(found == wanted, "{FILE} differs; its first lines say how to make it again");
    }
}

fn javascript() -> String {
    let mut out = HEAD.to_owned();
    frame_bytes(&mut out);
    valid_status_codes(&mut out);
    kinds(&mut out, "isPayload", "Whether a peer has sent the payload of such records", is_payload);
    kinds(&mut out, "isTopic", "Whether such records are about topics", is_topic);
    out.push_str("module.exports = {\n");
    let mut sources = String::new();
    read_sources(Path::new(LIB), &mut sources);
    let named: HashSet<_> =
        sources.split(|letter: char| letter != '_' && !letter.is_alphanumeric()).collect();
    for (name, number) in all_constants() {
        if !named.contains(name) {
            continue;
        }
        let number = if name.contains("_FLAG_") { number << FLAGS_SHIFT } else { number };
        writeln!(out, "  {name}: {number},").unwrap();
    }
    refusals(&mut out);
    origin_fields(&mut out);
    denials(&mut out);
    causes(&mut out);
    policies(&mut out);
    tally(&mut out);
    protocol_errors(&mut out);
    let version = env!("CARGO_PKG_VERSION");
    writeln!(out, "\n  /** The version of the package and of its addon. */\n  VERSION: '{version}',")
        .unwrap();
    out.push_str("\n  frameBytes,\n  isPayload,\n  isTopic,\n  isValidStatusCode,\n};\n");
    out
}

/// All files of `lib` but the one that is made.
fn read_sources(folder: &Path, sources: &mut String) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|kind| kind == "js") && path != Path::new(FILE) {
            sources.push_str(&fs::read_to_string(path).unwrap());
        }
    }
}

/// A function with the results of `wire_len`, in the steps that these show.
fn frame_bytes(out: &mut String) {
    out.push_str(
        "/**\n * Bytes of a frame of a server: header and payload.\n *\n \
         * @param {number} length Bytes of the payload\n * @returns {number} Bytes of both\n */\n\
         function frameBytes(length) {\n",
    );
    let header = |payload: usize| wire_len(payload, false) - payload;
    let mut payload = 0;
    for bits in [7, 16] {
        let step = (payload..1 << bits).find(|&next| header(next) != header(payload)).unwrap_or(1 << bits);
        writeln!(out, "  if (length < {step}) return length + {};", header(payload)).unwrap();
        payload = step;
    }
    assert_eq!(header(payload), header(usize::MAX >> 1));
    writeln!(out, "  return length + {};\n}}\n", header(payload)).unwrap();
}

/// A function that returns whether [`CloseCode::new`] accepts a number. A few refused numbers
/// between others are named one by one as in ws, which takes fractions in between.
fn valid_status_codes(out: &mut String) {
    let mut ranges: Vec<(u16, u16, String)> = Vec::new();
    for code in (0..=u16::MAX).filter(|&code| CloseCode::new(code).is_some()) {
        match ranges.last_mut() {
            Some((_, last, not)) if code - *last <= 4 => {
                (*last + 1..code).for_each(|other| write!(not, " && code !== {other}").unwrap());
                *last = code;
            }
            _ => ranges.push((code, code, String::new())),
        }
    }
    let ranges: Vec<_> =
        ranges.iter().map(|(first, last, not)| format!("(code >= {first} && code <= {last}{not})")).collect();
    out.push_str(
        "/**\n * @param {number} code A status code\n \
         * @returns {boolean} Whether a close frame may carry it (RFC 6455, 7.4)\n */\n\
         function isValidStatusCode(code) {\n  return (\n    ",
    );
    writeln!(out, "{}\n  );\n}}\n", ranges.join(" ||\n    ")).unwrap();
}

fn kinds(out: &mut String, name: &str, meaning: &str, has: fn(u8) -> bool) {
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    for kind in (0..u8::MAX).filter(|&kind| has(kind)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == kind => *last = kind,
            _ => ranges.push((kind, kind)),
        }
    }
    let range = |&(first, last): &(u8, u8)| match first == last {
        true => format!("kind === {first}"),
        false => format!("(kind >= {first} && kind <= {last})"),
    };
    let test = ranges.iter().map(range).collect::<Vec<_>>().join(" || ");
    let test = test.strip_prefix('(').and_then(|test| test.strip_suffix(')')).unwrap_or(&test);
    writeln!(
        out,
        "/** {meaning}. @param {{number}} kind */\nfunction {name}(kind) {{\n  return {test};\n}}\n"
    )
    .unwrap();
}

fn refusals(out: &mut String) {
    out.push_str("\n  /** Why a handshake is refused, and how, as in ws. */\n  REFUSALS: {\n");
    for refusal in Refusal::ALL {
        let (name, status, message) =
            (format!("{refusal:?}").to_uppercase(), refusal.status(), refusal.body());
        let headers: String =
            refusal.headers().iter().map(|(name, value)| format!("'{name}': '{value}'")).collect();
        let headers = if headers.is_empty() { "{}".to_owned() } else { format!("{{ {headers} }}") };
        writeln!(out, "    {name}: {{ status: {status}, message: '{message}', headers: {headers} }},")
            .unwrap();
    }
    out.push_str("  },\n");
}

fn origin_fields(out: &mut String) {
    let fields: Vec<_> = ORIGIN_FIELDS.iter().map(|(version, name)| format!("{version}: '{name}'")).collect();
    writeln!(out, "\n  /**\n   * The field that names the page, by the version of a handshake.\n   *\n   * @type {{Record<number, string>}}\n   */\n  ORIGIN_FIELDS: {{ {} }},", fields.join(", ")).unwrap();
}

fn denials(out: &mut String) {
    out.push_str("\n  /**\n   * Why somebody may not connect, by the numbers from 1, and the answer.\n   *\n   * @type {Array<{ name: string, status: number, headers: Record<string, string> }>}\n   */\n  DENIALS: [\n");
    for denial in Denial::ALL {
        let (name, status) = (format!("{denial:?}").to_lowercase(), denial.status());
        let headers = match denial.retry_after() {
            "" => "{}".to_owned(),
            seconds => format!("{{ 'Retry-After': '{seconds}' }}"),
        };
        writeln!(out, "    {{ name: '{name}', status: {status}, headers: {headers} }},").unwrap();
    }
    out.push_str("  ],\n");
}

/// The names as JavaScript writes texts, and the numbers as it writes constants.
fn causes(out: &mut String) {
    let names: String = Cause::ALL.iter().map(|cause| format!(", '{}'", words(cause, '-'))).collect();
    writeln!(out, "\n  /** Why a connection has ended, by the numbers from 1 in the flags of `IN_CLOSED`. */\n  CAUSES: [null{names}],").unwrap();
    out.push_str("\n  /** Those numbers. */\n  CAUSE: {\n");
    for (index, cause) in Cause::ALL.iter().enumerate() {
        assert_eq!(*cause as usize, index + 1);
        writeln!(out, "    {}: {},", words(cause, '_').to_uppercase(), index + 1).unwrap();
    }
    out.push_str("  },\n");
}

/// The names as JavaScript writes texts.
fn policies(out: &mut String) {
    out.push_str("\n  /** The ways to treat a message to a connection for which more than `limit` bytes wait. */\n  SLOW: {\n");
    for slow in Slow::ALL {
        writeln!(out, "    '{}': {},", words(&slow, '-'), slow as u8).unwrap();
    }
    out.push_str("  },\n");
}

/// 'ping-timeout' for `PingTimeout`.
fn words(variant: &impl Debug, between: char) -> String {
    let mut words = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(between);
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// The names as JavaScript writes them.
fn tally(out: &mut String) {
    let camel = |name: &&str| {
        let mut parts = name.split('_');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |name, part| name + &part[..1].to_uppercase() + &part[1..])
    };
    let names: Vec<_> = Tally::NAMES.iter().map(|name| format!("'{}'", camel(name))).collect();
    writeln!(
        out,
        "\n  /** The numbers of the reactors, in the order of `totals`. */\n  TALLY: [{}],",
        names.join(", ")
    )
    .unwrap();
}

fn protocol_errors(out: &mut String) {
    out.push_str(
        "\n  /**\n   * What a peer did wrong, by the flags of an `IN_ERROR` record. `%d` stands for its aux.\n   *\n   \
         * @type {Array<{ code: string, message: string, closeCode: number, cause: number, range: boolean } | undefined>}\n   */\n  \
         PROTOCOL_ERRORS: [\n    undefined,\n",
    );
    for row in ErrorKind::table() {
        let (code, close, detail) = (row.code, row.close_code.get(), if row.detailed { "%d" } else { "" });
        let (message, range) = (row.sentence, row.class == "RangeError");
        let cause = Cause::from(row.kind) as u8;
        writeln!(
            out,
            "    {{ code: '{code}', message: '{message}{detail}', closeCode: {close}, cause: {cause}, range: {range} }},"
        )
        .unwrap();
    }
    out.push_str("  ],\n");
}

//! Sections of PEM files (RFC 7468).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";
const DASHES: &str = "-----";

/// One section of a file.
pub(in crate::reactor) struct Section {
    /// Such as `CERTIFICATE`.
    pub(in crate::reactor) label: String,
    pub(in crate::reactor) contents: Vec<u8>,
    /// It has headers (RFC 1421), so its contents are encrypted.
    pub(super) has_headers: bool,
}

/// The sections, or what a file without any is: DER. Text between sections is skipped.
///
/// # Errors
/// A section has no end, or no base64 in it.
pub(in crate::reactor) fn sections(file: &[u8]) -> Result<Vec<Section>, &'static str> {
    let text = String::from_utf8_lossy(file);
    let mut lines = text.lines().map(str::trim);
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(label) = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(DASHES)) else {
            continue;
        };
        found.push(section(label, &mut lines)?);
    }
    Ok(found)
}

fn section<'a>(label: &str, lines: &mut impl Iterator<Item = &'a str>) -> Result<Section, &'static str> {
    let (mut base64, mut has_headers) = (String::new(), false);
    for line in lines {
        if let Some(end) = line.strip_prefix(END) {
            if end.strip_suffix(DASHES) != Some(label) {
                return Err("a section has the end of another one");
            }
            let contents = if has_headers { Vec::new() } else { decode(&base64)? };
            return Ok(Section { label: label.to_owned(), contents, has_headers });
        }
        has_headers |= line.contains(':');
        base64.push_str(line);
    }
    Err("a section has no end")
}

fn decode(base64: &str) -> Result<Vec<u8>, &'static str> {
    STANDARD.decode(base64).map_err(|_not_base64| "a section is no base64")
}

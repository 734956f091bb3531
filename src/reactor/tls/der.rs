//! The fields of certificates and keys that no library of ours gives: DER (X.690) as far as they need
//! it.

pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTETS: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The version of a certificate.
const CONTEXT_0: u8 = 0xa0;

/// Goes through the elements of a sequence.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next element: its tag and its contents. `None` at the end, and for what is no DER.
    pub(super) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], mut rest) = self.0.split_first_chunk::<2>()?;
        let mut len = usize::from(first);
        if first >= 0x80 {
            // Four bytes are more than any file that is read.
            let (bytes, after) =
                rest.split_at_checked(usize::from(first & 0x7f)).filter(|_| first <= 0x84)?;
            len = bytes.iter().fold(0, |len, &byte| len << 8 | usize::from(byte));
            rest = after;
        }
        let (contents, after) = rest.split_at_checked(len)?;
        self.0 = after;
        Some((tag, contents))
    }

    pub(super) fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, contents)| contents)
    }

    pub(super) fn enter(&mut self, tag: u8) -> Option<Self> {
        self.expect(tag).map(Self)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }
}

/// Of a certificate (RFC 5280, section 4.1).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Certificate<'a> {
    pub(super) issuer: &'a [u8],
    pub(super) subject: &'a [u8],
    /// In seconds since 1970.
    pub(super) not_before: i64,
    pub(super) not_after: i64,
}

impl<'a> Certificate<'a> {
    pub(super) fn parse(der: &'a [u8]) -> Option<Self> {
        let mut fields = Reader(der).enter(SEQUENCE)?.enter(SEQUENCE)?;
        let serial = fields.next()?;
        if serial.0 == CONTEXT_0 {
            fields.next()?;
        }
        let _algorithm = fields.expect(SEQUENCE)?;
        let issuer = fields.expect(SEQUENCE)?;
        let mut validity = fields.enter(SEQUENCE)?;
        let (not_before, not_after) = (time(validity.next()?)?, time(validity.next()?)?);
        Some(Self { issuer, subject: fields.expect(SEQUENCE)?, not_before, not_after })
    }

    pub(super) fn is_self_issued(&self) -> bool {
        self.issuer == self.subject
    }
}

/// `YYMMDDHHMMSSZ` or `YYYYMMDDHHMMSSZ`, the only forms that RFC 5280 allows.
fn time((tag, text): (u8, &[u8])) -> Option<i64> {
    let digits = text.strip_suffix(b"Z")?;
    let (year, rest) = match tag {
        UTC_TIME => digits.split_at_checked(2)?,
        GENERALIZED_TIME => digits.split_at_checked(4)?,
        _ => return None,
    };
    let year = match (tag, number(year)?) {
        (UTC_TIME, year @ ..50) => 2000 + year,
        (UTC_TIME, year) => 1900 + year,
        (_, year) => year,
    };
    let (pairs, []) = rest.as_chunks::<2>() else { return None };
    let &[month, day, hour, minute, second] = pairs else { return None };
    let days = days(year, number(&month)?, number(&day)?)?;
    Some(((days * 24 + number(&hour)?) * 60 + number(&minute)?) * 60 + number(&second)?)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits
        .iter()
        .try_fold(0, |sum, &digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

/// Days from 1970 to a day of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) {
        return None;
    }
    // Years begin in March here, so a leap day is the last one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

#[cfg(test)]
mod cases {
    use super::*;

    #[test]
    fn times_are_read_as_seconds_since_1970() {
        for (tag, text, seconds) in [
            (UTC_TIME, "700101000000Z", Some(0)),
            (UTC_TIME, "491231235959Z", Some(2_524_607_999)),
            (UTC_TIME, "500101000000Z", Some(-631_152_000)),
            (GENERALIZED_TIME, "20240229120000Z", Some(1_709_208_000)),
            (GENERALIZED_TIME, "99991231235959Z", Some(253_402_300_799)),
            (GENERALIZED_TIME, "20240229120000", None),
            (GENERALIZED_TIME, "20241329120000Z", None),
            (UTC_TIME, "2402291200Z", None),
            (UTC_TIME, "24022912000xZ", None),
            (INTEGER, "240229120000Z", None),
        ] {
            assert_eq!(time((tag, text.as_bytes())), seconds, "{text}");
        }
    }

    #[test]
    fn an_element_that_is_cut_off_is_none() {
        let whole = [0x30, 0x82, 0x00, 0x03, 0x02, 0x01, 0x05];
        for len in 0..whole.len() {
            assert!(Reader(&whole[..len]).next().is_none(), "{len}");
        }
        let mut inside = Reader(&whole).enter(SEQUENCE).unwrap();
        assert_eq!(inside.expect(INTEGER), Some(&[5][..]));
        assert!(inside.is_empty());
        assert!(Reader(&[0x30, 0x80, 0, 0]).next().is_some_and(|(_, contents)| contents.is_empty()));
        assert!(Reader(&[0x30, 0x85, 0, 0, 0, 0, 0]).next().is_none());
    }
}

//! Properties that hold for any bytes.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The answer of a scanner: nothing yet, an error, or the length and form of a request.
#[derive(Debug, PartialEq)]
enum Outcome {
    Incomplete,
    Invalid(HttpError),
    Request(usize, Vec<u8>, Result<Vec<u8>, Refusal>),
}

fn outcome(parsed: &Result<Option<Request<'_>>, HttpError>) -> Outcome {
    match parsed {
        Ok(None) => Outcome::Incomplete,
        Err(error) => Outcome::Invalid(*error),
        Ok(Some(request)) => {
            let checked = check(request, &Options::default()).map(|upgrade| upgrade.accept.to_vec());
            Outcome::Request(request.head_len, normal_form(request), checked)
        }
    }
}

/// Feeds `bytes` with the given cuts and stops at the first answer, as a connection does.
fn feed(bytes: &[u8], cuts: impl Iterator<Item = usize>) -> Outcome {
    let mut scanner = HeadScanner::default();
    for cut in cuts.chain([bytes.len()]) {
        let seen = outcome(&scanner.parse(&bytes[..cut.min(bytes.len())], &HeadLimits::default()));
        if seen != Outcome::Incomplete {
            return seen;
        }
    }
    Outcome::Incomplete
}

/// A valid head with some bytes overwritten, which reaches further into the parser than noise does.
fn damaged_head() -> impl Strategy<Value = Vec<u8>> {
    vec((any::<prop::sample::Index>(), any::<u8>()), 0..4).prop_map(|damage| {
        let head = Head::new().with("Sec-WebSocket-Protocol", "a, b").with("Content-Length", "0");
        let mut bytes = head.with("Transfer-Coding", "x").bytes();
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes
    })
}

proptest! {
    #[test]
    fn any_bytes_are_answered_alike_however_they_arrive(
        bytes in prop_oneof![vec(any::<u8>(), 0..600), damaged_head()],
        mut cuts in vec(0..700_usize, 0..6),
    ) {
        cuts.sort_unstable();
        let whole = feed(&bytes, [].into_iter());
        prop_assert_eq!(&feed(&bytes, cuts.into_iter()), &whole);
        prop_assert_eq!(&feed(&bytes, 0..bytes.len()), &whole);
        if let Outcome::Request(head_len, form, _) = whole {
            prop_assert!(head_len <= bytes.len() && form.len() <= head_len);
        }
    }

    #[test]
    fn bytes_behind_the_head_change_nothing(head in damaged_head(), rest in vec(any::<u8>(), 0..64)) {
        let alone = feed(&head, [].into_iter());
        if alone != Outcome::Incomplete {
            prop_assert_eq!(feed(&[head, rest].concat(), [].into_iter()), alone);
        }
    }

    #[test]
    fn any_protocol_list_agrees_with_a_quadratic_reading(list in "[ab,! \t/]{0,12}") {
        let names: Vec<&str> = list.split(',').map(|name| name.trim_matches([' ', '\t'])).collect();
        let is_trimmed = list.trim_matches([' ', '\t']) == list;
        let is_valid = is_trimmed && names.iter().enumerate().all(|(at, name)| {
            !name.is_empty() && !name.contains([' ', '\t', '/']) && !names[..at].contains(name)
        });
        prop_assert_eq!(subprotocol::parse([list.as_bytes()].into_iter()).is_ok(), is_valid);
    }
}

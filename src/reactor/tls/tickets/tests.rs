use super::*;

const KEY: [u8; TICKET_KEY_BYTES] = [7; TICKET_KEY_BYTES];
const CONTEXT: [u8; 32] = [1; 32];

fn tickets(lifetime: u64, bytes: Option<&[u8; TICKET_KEY_BYTES]>) -> Tickets {
    Tickets::new(Duration::from_secs(lifetime), bytes).unwrap()
}

#[test]
fn a_ticket_is_opened_with_its_key_and_context_only() {
    let (one, other) = (tickets(300, Some(&KEY)), tickets(300, Some(&KEY)));
    let ticket = one.seal(&CONTEXT, b"state").unwrap();
    assert_ne!(one.seal(&CONTEXT, b"state").unwrap(), ticket);
    assert_eq!(other.open(&CONTEXT, &ticket).unwrap(), b"state");
    assert_eq!(other.open(&[2; 32], &ticket), None);
    assert_eq!(tickets(300, None).open(&CONTEXT, &ticket), None);
    other.set_bytes(&[8; TICKET_KEY_BYTES]);
    assert_eq!(other.open(&CONTEXT, &ticket), None);
    for at in 0..ticket.len() {
        let mut bad = ticket.clone();
        bad[at] ^= 1;
        assert_eq!(one.open(&CONTEXT, &bad), None, "{at}");
        assert_eq!(one.open(&CONTEXT, &ticket[..at]), None, "{at}");
    }
    assert_eq!(one.open(&CONTEXT, &vec![7; MOST_BYTES + 1]), None);
}

#[test]
fn an_old_ticket_is_of_no_use_and_a_key_is_replaced_unless_the_program_has_it() {
    let short = tickets(0, Some(&KEY));
    assert_eq!(short.open(&CONTEXT, &short.seal(&CONTEXT, b"state").unwrap()), None);
    let rotating = tickets(300, None);
    let ticket = rotating.seal(&CONTEXT, b"state").unwrap();
    rotating.lock().next_at = Some(0);
    let next = rotating.seal(&CONTEXT, b"next").unwrap();
    assert_ne!(ticket[..NAME], next[..NAME]);
    assert_eq!(rotating.open(&CONTEXT, &ticket).unwrap(), b"state");
    let bytes = rotating.bytes();
    assert_eq!(bytes[..NAME], next[..NAME]);
    assert!(rotating.lock().next_at.is_none());
    assert_eq!(tickets(300, Some(&bytes)).open(&CONTEXT, &next).unwrap(), b"next");
}

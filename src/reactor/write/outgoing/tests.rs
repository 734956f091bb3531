use super::*;
use crate::reactor::write::WriteHalf;

impl Outgoing {
    /// Bytes of memory that only this queue refers to.
    pub(in crate::reactor) fn memory(&self) -> usize {
        let queued: usize = self.queue.iter().flat_map(|queue| queue.iter()).map(Frame::size_if_last).sum();
        queued + self.gathered.capacity()
    }
}

/// O07.
#[test]
fn order_is_kept_across_gathered_and_owned_pieces_and_partial_writes() {
    let mut pool = Pool::default();
    let mut out = Outgoing::default();
    out.push(b"abc", &mut pool);
    out.push_whole(Frame::new(b"xxdef".to_vec(), 2));
    out.push(b"g", &mut pool);
    out.push_whole(Frame::new(b"h".to_vec(), 0));
    out.push(b"ij", &mut pool);
    assert_eq!(out.len(), 10);
    let mut seen = Vec::new();
    while !out.is_empty() {
        let gathered = out.gathered.get(out.gathered_start..).unwrap();
        let byte = *out
            .queue
            .iter()
            .flat_map(|queue| queue.iter())
            .flat_map(|frame| frame.iter())
            .chain(gathered)
            .next()
            .unwrap();
        seen.push(byte);
        out.consume(1);
    }
    assert_eq!(seen, b"abcdefghij");
}

/// O07.
#[test]
fn a_partly_written_gathering_buffer_is_sealed_with_its_place() {
    let mut pool = Pool::default();
    let mut out = Outgoing::default();
    out.push(b"abc", &mut pool);
    out.consume(2);
    out.push_whole(Frame::new(b"d".to_vec(), 0));
    assert_eq!(out.len(), 2);
    assert_eq!(out.queue.unwrap().iter().flat_map(|frame| frame.iter()).copied().collect::<Vec<_>>(), b"cd");
}

#[test]
fn what_is_not_to_be_written_is_freed_buffer_by_buffer() {
    let mut pool = Pool::default();
    let mut out = Outgoing::default();
    out.push(b"abc", &mut pool);
    for _ in 0..3 {
        out.push_whole(Frame::new(vec![0; 10], 4));
    }
    out.push(b"de", &mut pool);
    assert_eq!([out.discard(1), out.discard(0), out.discard(7), out.discard(9)], [3, 6, 12, 2]);
    assert_eq!(out.discard(1), 0);
    assert!(out.is_empty());
}

#[test]
#[expect(clippy::disallowed_types, reason = "a socket to write to")]
fn a_long_queue_leaves_in_pieces_of_the_budget() {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let mut server = listener.accept().unwrap().0;
    let mut client = Transport::from(client);
    let (mut out, mut pool) = (Outgoing::default(), Pool::default());
    let pieces = 2 * VECTORS as u8 + 1;
    for piece in 0..pieces {
        out.push_whole(Frame::new(vec![piece; 10], 0));
    }
    out.push(&[pieces; 10], &mut pool);
    let mut left = out.len();
    for budget in [1, 15, 10 * VECTORS + 5, 7] {
        assert_eq!(out.write_to(&mut client, &mut pool, budget).unwrap(), Written::Some);
        left -= budget;
        assert_eq!(out.len(), left);
    }
    assert_eq!(out.write_to(&mut client, &mut pool, left).unwrap(), Written::All);
    // The buffer is kept for the next frames.
    assert_eq!([pool.take_freed(), pool.take_freed()], [10 * usize::from(pieces), 0]);
    drop(client);
    let mut received = Vec::new();
    io::Read::read_to_end(&mut server, &mut received).unwrap();
    assert_eq!(received, (0..=pieces).flat_map(|piece| [piece; 10]).collect::<Vec<_>>());
}

#[test]
fn a_send_is_reported_when_its_last_byte_has_left() {
    let (mut half, mut pool) = (WriteHalf::default(), Pool::default());
    for _ in 0..2 {
        half.outgoing.push(&[0; 200], &mut pool);
        half.mark(false);
    }
    let reports = [199, 1, 199, 1].map(|bytes| {
        half.outgoing.consume(bytes);
        half.take_sent()
    });
    assert_eq!(reports, [0, 1, 0, 1]);
}

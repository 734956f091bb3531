use super::*;

const ID: ConnectionId = ConnectionId { slot: 7, generation: 1 };

struct Memory(Vec<u8>);

impl Lent for Memory {
    fn id(&self) -> u32 {
        0
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

fn pipe() -> (Pipe, StreamOps) {
    let ops = StreamOps::new();
    (Pipe::new(ID, ops.clone()), ops)
}

fn taken(ops: &StreamOps) -> Vec<StreamOp> {
    let mut all = Vec::new();
    ops.take(usize::MAX, |slot, op| {
        assert_eq!(slot, ID.slot);
        all.push(op);
    });
    all
}

fn send(pipe: &mut Pipe, bytes: &[u8]) -> Option<usize> {
    pipe.send_vectored(&[IoSlice::new(bytes)]).ok()
}

/// The stream is read again when all that it brought has been.
#[test]
fn throttled() {
    let (mut pipe, ops) = pipe();
    assert!(matches!(pipe.receive(&mut []), Received::Empty));
    assert_eq!(taken(&ops), []);
    pipe.throttle();
    assert!(matches!(pipe.receive(&mut []), Received::Empty));
    assert!(matches!(pipe.receive(&mut []), Received::Empty));
    assert_eq!(taken(&ops), [StreamOp::Resume]);
    pipe.throttle();
    pipe.on_end(false);
    assert!(matches!(pipe.receive(&mut []), Received::Eof));
    assert_eq!(taken(&ops), [], "a stream that has ended is not read again");
}

/// A stream without memory, or that takes nothing, is told so, and named when there is some.
#[test]
fn memory_and_back_pressure() {
    let (mut pipe, ops) = pipe();
    assert_eq!(send(&mut pipe, b"abc"), None);
    assert_eq!(ops.lend(Box::new(Memory(vec![0; 8]))), [ID]);
    assert_eq!(send(&mut pipe, b"abc"), Some(3));
    assert_eq!(send(&mut pipe, b"de"), Some(2));
    pipe.note_sent(2);
    assert_eq!(taken(&ops), [StreamOp::Write { start: 0, len: 5, sent: 2 }]);
    pipe.set_taking(false);
    assert_eq!(send(&mut pipe, b"f"), None);
    assert!(!ops.is_waiting(), "it is full: no memory helps");
    pipe.set_taking(true);
    ops.rewind();
    assert_eq!(send(&mut pipe, b"fgh"), Some(3));
    assert_eq!(taken(&ops), [StreamOp::Write { start: 0, len: 3, sent: 0 }]);
}

/// The end of its connection is the end of the stream, unless that has closed.
#[test]
fn ends() {
    let ops = |end: fn(&mut Pipe)| {
        let (mut pipe, ops) = pipe();
        end(&mut pipe);
        drop(pipe);
        taken(&ops)
    };
    assert_eq!(ops(|_| {}), [StreamOp::Destroy { reset: false }]);
    assert_eq!(ops(Pipe::reset_when_dropped), [StreamOp::Destroy { reset: true }]);
    assert_eq!(ops(|pipe| pipe.leave_when_dropped(false)), [StreamOp::End]);
    assert_eq!(ops(|pipe| pipe.leave_when_dropped(true)), []);
    assert_eq!(ops(|pipe| pipe.on_end(true)), []);
}

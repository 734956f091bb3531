//! The tunable numbers of this layer, each with its reason.

/// Bytes that a turn reads into one batch, which should stay in the second-level cache between the
/// copies in and out. An echo of 16 KiB costs the same with half and with double.
pub const TURN_BYTES: usize = 256 * 1024;

/// More than [`TURN_BYTES`], so that the last read of a turn can still be long.
pub const BATCH_BYTES: usize = TURN_BYTES + 64 * 1024;

/// A batch with less room than this is full: shorter reads cost more calls than they save memory.
pub const MIN_READ: usize = 16 * 1024;

/// The shortest frame of a client: two bytes of header and the masking key (RFC 6455, 5.2).
pub const SHORTEST_MASKED_FRAME: usize = 6;

/// The shortest frame of a server, which is not masked.
pub const SHORTEST_FRAME: usize = 2;

/// Records that a batch keeps free beyond one per frame of a read: for the last reports of a
/// connection (error, close frame, closed, sent) and the reactor's own.
pub const SPARE_RECORDS: usize = 64;

/// Most bytes appended to a waiting batch while JavaScript keeps up: copying 64 KiB costs less than
/// another crossing.
pub const APPEND_BYTES: usize = 64 * 1024;

/// With this many waiting batches JavaScript lags, and any batch that fits is appended to save
/// memory.
pub const BATCHES_BEHIND: usize = 2;

/// Empty batches kept for reuse: one being filled, one being drained and two on the way.
pub const FREE_BATCHES: usize = 4;

/// Chunk buffers kept for reuse; several are on the way only while the reactor is busy.
pub const SPARE_CHUNKS: usize = 8;

/// A chunk buffer that has grown beyond this is freed.
pub const SPARE_CHUNK_BYTES: usize = 1024 * 1024;

/// A batch of this many bytes in lent memory is handed over with its memory. Below, a copy costs
/// less than lending new memory, and pins none.
pub const HAND_OVER_BYTES: usize = 64 * 1024;

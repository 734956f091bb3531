//! The numbers of this layer that may be tuned, each with its reason.

/// Bytes that a turn of the reactor reads into one batch before it hands the batch over: 256 KiB.
///
/// A batch should stay in the second-level cache between the kernel's copy into it and the copy out
/// of it. Measured with echo of 16 KiB messages, half and double of this cost the same, so the
/// smaller footprint wins.
pub const TURN_BYTES: usize = 256 * 1024;

/// Room beyond [`TURN_BYTES`], so that the last read of a turn can still be a long one: 64 KiB.
pub const SLACK_BYTES: usize = 64 * 1024;

/// Length of a batch's byte buffer.
pub const BATCH_BYTES: usize = TURN_BYTES + SLACK_BYTES;

/// A batch with less room than this counts as full: shorter reads cost more calls than they save
/// memory. 16 KiB.
pub const MIN_READ: usize = 16 * 1024;

/// The shortest frame that a client can send (RFC 6455, 5.2): two bytes of header and the masking
/// key.
pub const SHORTEST_MASKED_FRAME: usize = 6;

/// The shortest frame that a server can send: it masks none.
pub const SHORTEST_FRAME: usize = 2;

/// Records that a batch keeps free beside one per frame of a read, for the last reports of a
/// connection (error, close frame, closed, sent) and for reports of the reactor itself.
pub const SPARE_RECORDS: usize = 64;

/// At most this many bytes are appended to a batch that still waits while JavaScript keeps up:
/// copying 64 KiB costs less than another crossing.
pub const APPEND_BYTES: usize = 64 * 1024;

/// With this many batches waiting JavaScript is behind, and any batch that fits is appended: now
/// memory matters, not copies.
pub const BATCHES_BEHIND: usize = 2;

/// Empty batches kept for reuse: one being filled, one being drained and two on the way cover a
/// steady flow.
pub const FREE_BATCHES: usize = 4;

/// Chunk buffers kept for reuse. JavaScript fills one at a time; more are under way only while the
/// reactor is busy.
pub const SPARE_CHUNKS: usize = 8;

/// A chunk buffer that has grown beyond this is freed, not kept: 1 MiB.
pub const SPARE_CHUNK_BYTES: usize = 1024 * 1024;

/// A batch of this many bytes in lent memory is handed over with its memory instead of being
/// copied: 64 KiB.
///
/// Below it a copy is cheaper than the new memory that must be lent in its place, and a small batch
/// would pin much memory.
pub const HAND_OVER_BYTES: usize = 64 * 1024;

//! Records about topics, and the words of their payloads, such as `GAP_` of [`IN_GAP`]. A number of
//! 64 bits is two words, lower half first.
//!
//! JavaScript owns names, numbers and positions; the reactors own members and histories. Records
//! that are not about one connection have the slot [`TOPIC_SLOT`].

use crate::engine::numbered;

numbered! {
    /// The ways to treat a message to a slow member, for which more than [`TOPIC_LIMIT`] bytes wait. In
    /// JavaScript 'catch-up' and so on.
    Slow {
        /// The message is queued all the same.
        Queue = 1,
        /// The member does not get the message.
        Drop = 2,
        /// The last message of each key is sent when the member is no longer slow.
        Latest = 3,
        /// The member is served from the history when it is no longer slow.
        CatchUp = 4,
        /// The member is closed with 1013.
        Close = 5,
    }
}

layout! {
    /// A connection became a member, and the messages that it asked to have again are queued.
    IN_SUBSCRIBED: u8 = 16;
    /// A slow connection is not sent these messages.
    IN_DROPPED: u8 = 17;
    /// A connection cannot be sent these messages any more: the history has lost them.
    IN_GAP: u8 = 18;
    /// All reports about a topic were sent; the answer to [`OUT_TOPIC_END`] with a request.
    IN_ENDED: u8 = 19;
    /// The answer to [`OUT_HISTORY`].
    IN_HISTORY: u8 = 20;

    /// `u32`, little-endian, as all words of inbound payloads.
    SUBSCRIBED_REQUEST: usize = 0;
    /// 1: nothing is missing after the requested position; 0: nothing was replayed.
    SUBSCRIBED_RECOVERED: usize = 1;
    SUBSCRIBED_REPLAYED: usize = 2;
    /// Offset of the last message that the connection has or that is queued for it; 64 bits.
    SUBSCRIBED_OFFSET: usize = 3;

    DROPPED_TOPIC: usize = 0;
    /// Since the last such record.
    DROPPED_COUNT: usize = 1;

    GAP_TOPIC: usize = 0;
    /// The first missing offset; 64 bits. 0: unknown, as the history is another one now.
    GAP_FROM: usize = 1;
    /// The last missing offset, or of the other history's last message; 64 bits.
    GAP_TO: usize = 3;

    /// Also the only word of [`IN_ENDED`].
    HISTORY_REQUEST: usize = 0;
    /// As `SUBSCRIBED_RECOVERED`.
    HISTORY_RECOVERED: usize = 1;
    /// Messages that follow, each after its `ENTRY_` words.
    HISTORY_COUNT: usize = 2;
    /// Offset of the topic's last message; 64 bits.
    HISTORY_TOP: usize = 3;
    HISTORY_WORDS: usize = 5;
    /// 64 bits.
    ENTRY_OFFSET: usize = 0;
    /// [`PUBLISH_TEXT`] or 0.
    ENTRY_FLAGS: usize = 2;
    /// In bytes. Padding follows, to a multiple of 4.
    ENTRY_LENGTH: usize = 3;
    /// In milliseconds.
    ENTRY_AGE: usize = 4;
    ENTRY_WORDS: usize = 5;

    /// Records for all reactors with sockets, and with [`TOPIC_STREAMS`] for the reactor of the
    /// streams; all have the same topics with the same offsets. The generation is the topic's
    /// number, which JavaScript counts up.
    TOPIC_SLOT: u32 = u32::MAX;

    OUT_TOPIC: u8 = 17;
    /// With its members and its history. Payload: none, or a number for the answer.
    OUT_TOPIC_END: u8 = 18;
    /// A connection becomes a member, after the messages that it asks to have again. Payload:
    /// [`SUBSCRIBE_WORDS`].
    OUT_SUBSCRIBE: u8 = 19;
    /// Payload: the number of the topic; 0: all, and the connection joins none any more.
    OUT_UNSUBSCRIBE: u8 = 20;
    /// More about the next [`OUT_PUBLISH`]. After the words: slot and generation of each connection
    /// that does not get it, then the key.
    OUT_TARGET: u8 = 21;
    /// A whole message. Flags: `OUT_FLAG_FIN`, `OUT_FLAG_COMPRESS` and where the payload is; aux:
    /// [`PUBLISH_TEXT`].
    OUT_PUBLISH: u8 = 22;
    /// The history goes on after messages that this process never had. Payload:
    /// [`RESTART_WORDS`].
    OUT_RESTART: u8 = 23;
    /// For the first reactor only. Payload: as of [`OUT_SUBSCRIBE`] without the topic, then the most messages wanted.
    OUT_HISTORY: u8 = 24;
    /// Bytes that all histories can take on all reactors together, 64 bits.
    OUT_HISTORY_BUDGET: u8 = 25;

    /// One of [`Slow`].
    TOPIC_SLOW: usize = 0;
    /// Unsent bytes above which a member is slow.
    TOPIC_LIMIT: usize = 1;
    /// Most messages, 0 for none.
    TOPIC_HISTORY: usize = 2;
    /// Milliseconds for which a message stays, 0 for ever.
    TOPIC_TTL: usize = 3;
    /// Most bytes of payload, 0 without bound.
    TOPIC_MAX_BYTES: usize = 4;
    TOPIC_WORDS: usize = 5;

    /// The topic, a number for the answer or 0 when none is wanted, one of `SINCE_`, and the offset for
    /// [`SINCE_OFFSET`] as 64 bits.
    SUBSCRIBE_WORDS: usize = 5;

    /// The offset of the last message, which the next one follows, as 64 bits, and 1 if it is of the
    /// same history as the offsets before: 0 of another one, or where there is none.
    RESTART_WORDS: usize = 3;

    SINCE_NOW: u32 = 0;
    SINCE_OFFSET: u32 = 1;
    SINCE_OLDEST: u32 = 2;

    /// Connections that do not get it.
    TARGET_EXCEPT: usize = 0;
    /// Bytes of the key.
    TARGET_KEY: usize = 1;
    /// Milliseconds since its publication, in another process.
    TARGET_AGE: usize = 2;
    TARGET_WORDS: usize = 3;

    /// Aux of [`OUT_PUBLISH`], and flag of a message of [`IN_HISTORY`].
    PUBLISH_TEXT: u16 = 1;
    /// Aux of records for [`TOPIC_SLOT`]: the reactor that has the streams gets it too.
    TOPIC_STREAMS: u16 = 2;
}

//! Records about topics, and the words of their payloads.
//!
//! JavaScript owns names, numbers and positions, the reactors members and histories. A record whose
//! slot is [`TOPIC_SLOT`] is for each of them, so that all have the same topics with the same
//! offsets.

layout! {
    /// A connection is a member, and the messages that it asked to have again are queued. Payload:
    /// `SUBSCRIBED_`.
    IN_SUBSCRIBED: u8 = 16;
    /// Messages that a connection is not sent, because it is slow. Payload: `DROPPED_`.
    IN_DROPPED: u8 = 17;
    /// Messages that a connection cannot be sent any more: the history has lost them. Payload:
    /// `GAP_`.
    IN_GAP: u8 = 18;
    /// The outcome of a message with a receipt ([`OUT_TARGET`]) on one reactor; slot:
    /// [`TOPIC_SLOT`]. Payload: `RECEIPT_`.
    IN_RECEIPT: u8 = 19;
    /// The answer to [`OUT_HISTORY`]; slot: [`TOPIC_SLOT`]. Payload: `HISTORY_`.
    IN_HISTORY: u8 = 20;

    /// The number of the request. Words are `u32`, little-endian in all inbound payloads.
    SUBSCRIBED_REQUEST: usize = 0;
    /// 1 when nothing is missing after the requested position, 0 when nothing was replayed.
    SUBSCRIBED_RECOVERED: usize = 1;
    SUBSCRIBED_REPLAYED: usize = 2;
    /// Of the last message that the connection has or has been queued; the next word is the upper
    /// half.
    SUBSCRIBED_OFFSET: usize = 3;
    SUBSCRIBED_WORDS: usize = 5;

    DROPPED_TOPIC: usize = 0;
    /// Messages since the last such record.
    DROPPED_COUNT: usize = 1;
    DROPPED_WORDS: usize = 2;

    GAP_TOPIC: usize = 0;
    /// The first missing offset; the next word is the upper half.
    GAP_FROM: usize = 1;
    /// The last missing offset; the next word is the upper half.
    GAP_TO: usize = 3;
    GAP_WORDS: usize = 5;

    /// The number in [`OUT_TARGET`].
    RECEIPT_REQUEST: usize = 0;
    /// Members that the message was for.
    RECEIPT_MATCHED: usize = 1;
    /// Members for which the kernel has all of it.
    RECEIPT_SENT: usize = 2;
    /// Members for which it waits, in a queue or in the history.
    RECEIPT_QUEUED: usize = 3;
    /// Members that do not get it.
    RECEIPT_DROPPED: usize = 4;
    /// Bytes of the frames sent and queued; the next word is the upper half.
    RECEIPT_BYTES: usize = 5;
    RECEIPT_WORDS: usize = 7;

    /// The number of the request.
    HISTORY_REQUEST: usize = 0;
    /// 1 when nothing is missing after the requested position, else 0.
    HISTORY_RECOVERED: usize = 1;
    /// The number of messages that follow, each after its `ENTRY_` words.
    HISTORY_COUNT: usize = 2;
    /// Offset of the topic's last message; the next word is the upper half.
    HISTORY_TOP: usize = 3;
    HISTORY_WORDS: usize = 5;
    /// The next word is the upper half.
    ENTRY_OFFSET: usize = 0;
    /// [`PUBLISH_TEXT`] or 0.
    ENTRY_FLAGS: usize = 2;
    /// In bytes. The message is padded to a multiple of 4.
    ENTRY_LENGTH: usize = 3;
    ENTRY_WORDS: usize = 4;

    /// The slot of records about topics, which each reactor gets. The generation is the number of
    /// the topic, which JavaScript counts up.
    TOPIC_SLOT: u32 = u32::MAX;

    /// A topic begins. Slot: [`TOPIC_SLOT`]. Payload: `TOPIC_`.
    OUT_TOPIC: u8 = 17;
    /// A topic ends, with its members and its history. Slot: [`TOPIC_SLOT`].
    OUT_TOPIC_END: u8 = 18;
    /// A connection becomes a member, after the messages that it asks to have again. Payload:
    /// `SUBSCRIBE_`.
    OUT_SUBSCRIBE: u8 = 19;
    /// A connection is no longer a member. Payload: the number of the topic; 0 for all topics, of a
    /// connection that joins none any more.
    OUT_UNSUBSCRIBE: u8 = 20;
    /// More about the next [`OUT_PUBLISH`]. Slot: [`TOPIC_SLOT`]. Payload: `TARGET_`, then slot and
    /// generation of each connection that does not get it, then the key.
    OUT_TARGET: u8 = 21;
    /// Send a whole message to the members. Slot: [`TOPIC_SLOT`]. Flags: `OUT_FLAG_FIN`,
    /// `OUT_FLAG_COMPRESS` and where the payload is; aux: [`PUBLISH_TEXT`] or 0.
    OUT_PUBLISH: u8 = 22;
    /// The same with a prepared message. Slot: [`TOPIC_SLOT`]. Payload: its number.
    OUT_PUBLISH_PREPARED: u8 = 23;
    /// Ask for the history of a topic, on the first reactor only. Slot: [`TOPIC_SLOT`]. Payload:
    /// `SUBSCRIBE_` without the topic, then the most messages wanted.
    OUT_HISTORY: u8 = 24;
    /// Bytes that all histories may take on all reactors together. Slot: [`TOPIC_SLOT`]. Payload:
    /// two words, the lower half first.
    OUT_HISTORY_BUDGET: u8 = 25;

    /// What happens to a slow member, one of `SLOW_`.
    TOPIC_SLOW: usize = 0;
    /// Unsent bytes above which a member is slow.
    TOPIC_LIMIT: usize = 1;
    /// Most messages in the history, 0 for none.
    TOPIC_HISTORY: usize = 2;
    /// Milliseconds for which a message stays in it, 0 for ever.
    TOPIC_TTL: usize = 3;
    /// Most bytes of payload in it, 0 without bound.
    TOPIC_MAX_BYTES: usize = 4;
    TOPIC_WORDS: usize = 5;

    /// The message is queued all the same.
    SLOW_QUEUE: u32 = 0;
    /// The member does not get it.
    SLOW_DROP: u32 = 1;
    /// The last message of each key is sent when the member is no longer slow.
    SLOW_LATEST: u32 = 2;
    /// The member is served from the history when it is no longer slow.
    SLOW_CATCH_UP: u32 = 3;
    /// The member is closed with 1013.
    SLOW_CLOSE: u32 = 4;

    SUBSCRIBE_TOPIC: usize = 0;
    /// A number for the answer, 0 when none is wanted. In [`OUT_HISTORY`] this word and the next
    /// ones come one earlier.
    SUBSCRIBE_REQUEST: usize = 1;
    /// The beginning of the wanted messages, one of `SINCE_`.
    SUBSCRIBE_SINCE: usize = 2;
    /// For [`SINCE_OFFSET`]; the next word is the upper half.
    SUBSCRIBE_OFFSET: usize = 3;
    /// Words of [`OUT_SUBSCRIBE`], and of [`OUT_HISTORY`].
    SUBSCRIBE_WORDS: usize = 5;

    SINCE_NOW: u32 = 0;
    SINCE_OFFSET: u32 = 1;
    SINCE_OLDEST: u32 = 2;

    /// A number for the receipt, 0 when none is wanted.
    TARGET_REQUEST: usize = 0;
    /// The number of connections that do not get it.
    TARGET_EXCEPT: usize = 1;
    /// Bytes of the key.
    TARGET_KEY: usize = 2;
    TARGET_WORDS: usize = 3;

    /// Aux of [`OUT_PUBLISH`], and flag of a message of [`IN_HISTORY`].
    PUBLISH_TEXT: u16 = 1;

}

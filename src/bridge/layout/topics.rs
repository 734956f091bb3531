//! Records about topics, and the words of their payloads.
//!
//! JavaScript owns names, numbers and positions, the reactors members and histories. A record whose
//! slot is [`TOPIC_SLOT`] is for each of them, so that all have the same topics with the same
//! offsets.

layout! {
    /// A connection is a member of a topic, and the messages that it asked to have again are
    /// queued. Payload: `SUBSCRIBED_`.
    IN_SUBSCRIBED: u8 = 16;
    /// Messages of a topic that a connection is not sent, because it is slow. Payload: `DROPPED_`.
    IN_DROPPED: u8 = 17;
    /// Messages of a topic that a connection cannot be sent any more: its history no longer has
    /// them. Payload: `GAP_`.
    IN_GAP: u8 = 18;
    /// The outcome of a message for which [`OUT_TARGET`] named a receipt, on one reactor; slot:
    /// [`TOPIC_SLOT`]. Payload: `RECEIPT_`.
    IN_RECEIPT: u8 = 19;
    /// The answer to [`OUT_HISTORY`]; slot: [`TOPIC_SLOT`]. Payload: `HISTORY_`.
    IN_HISTORY: u8 = 20;

    /// Word of [`IN_SUBSCRIBED`], `u32` little-endian as all inbound ones: the number that the
    /// request had.
    SUBSCRIBED_REQUEST: usize = 0;
    /// Word of [`IN_SUBSCRIBED`]: 1 when nothing is missing after the requested position, 0 when
    /// nothing was replayed.
    SUBSCRIBED_RECOVERED: usize = 1;
    /// Word of [`IN_SUBSCRIBED`]: the number of messages replayed.
    SUBSCRIBED_REPLAYED: usize = 2;
    /// Word of [`IN_SUBSCRIBED`], and the one behind it, which is the upper half: the offset of the
    /// last message that the connection has or has been queued.
    SUBSCRIBED_OFFSET: usize = 3;
    /// Words of [`IN_SUBSCRIBED`].
    SUBSCRIBED_WORDS: usize = 5;

    /// Word of [`IN_DROPPED`]: the number of the topic.
    DROPPED_TOPIC: usize = 0;
    /// Word of [`IN_DROPPED`]: the number of messages since the last such record.
    DROPPED_COUNT: usize = 1;
    /// Words of [`IN_DROPPED`].
    DROPPED_WORDS: usize = 2;

    /// Word of [`IN_GAP`]: the number of the topic.
    GAP_TOPIC: usize = 0;
    /// Word of [`IN_GAP`], and the one behind it, which is the upper half: the first offset that is
    /// missing.
    GAP_FROM: usize = 1;
    /// Word of [`IN_GAP`], and the one behind it, which is the upper half: the last offset that is
    /// missing.
    GAP_TO: usize = 3;
    /// Words of [`IN_GAP`].
    GAP_WORDS: usize = 5;

    /// Word of [`IN_RECEIPT`]: the number that [`OUT_TARGET`] had.
    RECEIPT_REQUEST: usize = 0;
    /// Word of [`IN_RECEIPT`]: members that the message was for.
    RECEIPT_MATCHED: usize = 1;
    /// Word of [`IN_RECEIPT`]: members for which the kernel has all of it.
    RECEIPT_SENT: usize = 2;
    /// Word of [`IN_RECEIPT`]: members for which it waits, in a queue or in the history.
    RECEIPT_QUEUED: usize = 3;
    /// Word of [`IN_RECEIPT`]: members that do not get it.
    RECEIPT_DROPPED: usize = 4;
    /// Word of [`IN_RECEIPT`], and the one behind it, which is the upper half: bytes of the frames
    /// sent and queued.
    RECEIPT_BYTES: usize = 5;
    /// Words of [`IN_RECEIPT`].
    RECEIPT_WORDS: usize = 7;

    /// Word of [`IN_HISTORY`]: the number that the request had.
    HISTORY_REQUEST: usize = 0;
    /// Word of [`IN_HISTORY`]: 1 when nothing is missing after the requested position, else 0.
    HISTORY_RECOVERED: usize = 1;
    /// Word of [`IN_HISTORY`]: the number of messages behind the words, each with its `ENTRY_`
    /// words before it.
    HISTORY_COUNT: usize = 2;
    /// Word of [`IN_HISTORY`], and the one behind it, which is the upper half: the offset of the
    /// topic's last message.
    HISTORY_TOP: usize = 3;
    /// Words of [`IN_HISTORY`] before the messages.
    HISTORY_WORDS: usize = 5;
    /// Word before a message of [`IN_HISTORY`], and the one behind it, which is the upper half: its
    /// offset.
    ENTRY_OFFSET: usize = 0;
    /// Word before a message of [`IN_HISTORY`]: [`PUBLISH_TEXT`] or 0.
    ENTRY_FLAGS: usize = 2;
    /// Word before a message of [`IN_HISTORY`]: its length in bytes. It is padded to a multiple of
    /// 4.
    ENTRY_LENGTH: usize = 3;
    /// Words before a message of [`IN_HISTORY`].
    ENTRY_WORDS: usize = 4;

    /// The slot of records about topics: no connection has it, and each reactor gets them. The
    /// generation is the number of the topic, which JavaScript counts up.
    TOPIC_SLOT: u32 = u32::MAX;

    /// A topic begins. Slot: [`TOPIC_SLOT`]. Payload: words `TOPIC_`.
    OUT_TOPIC: u8 = 17;
    /// A topic ends, with its members and its history. Slot: [`TOPIC_SLOT`].
    OUT_TOPIC_END: u8 = 18;
    /// A connection becomes a member, after the messages that it asks to have again. Payload: words
    /// `SUBSCRIBE_`.
    OUT_SUBSCRIBE: u8 = 19;
    /// A connection is no longer a member. Payload: one word, the number of the topic; 0 for
    /// all topics, of a connection that joins none any more.
    OUT_UNSUBSCRIBE: u8 = 20;
    /// More about the next [`OUT_PUBLISH`]. Slot: [`TOPIC_SLOT`]. Payload: words `TARGET_`, then
    /// slot and generation of each connection that it names, then the bytes of the key.
    OUT_TARGET: u8 = 21;
    /// Send a whole message to the members of a topic. Slot: [`TOPIC_SLOT`]. Flags: `OUT_FLAG_FIN`,
    /// `OUT_FLAG_COMPRESS` and those that say where the payload is; aux: [`PUBLISH_TEXT`] or 0.
    OUT_PUBLISH: u8 = 22;
    /// The same with a prepared message. Slot: [`TOPIC_SLOT`]. Payload: its number.
    OUT_PUBLISH_PREPARED: u8 = 23;
    /// Request for the history of a topic. Slot: [`TOPIC_SLOT`]. Payload: words `SUBSCRIBE_`
    /// without the topic, then the most messages wanted. It is for the first reactor only.
    OUT_HISTORY: u8 = 24;
    /// The bytes that the histories of all topics may take on all reactors together. Slot:
    /// [`TOPIC_SLOT`]. Payload: two words, the lower half first.
    OUT_HISTORY_BUDGET: u8 = 25;

    /// Word of [`OUT_TOPIC`]: the treatment of a slow member, one of `SLOW_`.
    TOPIC_SLOW: usize = 0;
    /// Word of [`OUT_TOPIC`]: unsent bytes of a connection above which it is slow.
    TOPIC_LIMIT: usize = 1;
    /// Word of [`OUT_TOPIC`]: most messages in its history, 0 for none.
    TOPIC_HISTORY: usize = 2;
    /// Word of [`OUT_TOPIC`]: milliseconds for which a message stays in it, 0 for ever.
    TOPIC_TTL: usize = 3;
    /// Word of [`OUT_TOPIC`]: most bytes of payload in it, 0 without bound.
    TOPIC_MAX_BYTES: usize = 4;
    /// Words of [`OUT_TOPIC`].
    TOPIC_WORDS: usize = 5;

    /// [`TOPIC_SLOW`]: the message is queued all the same.
    SLOW_QUEUE: u32 = 0;
    /// [`TOPIC_SLOW`]: the member does not get the message.
    SLOW_DROP: u32 = 1;
    /// [`TOPIC_SLOW`]: the last one of each key is sent when the member is no longer slow.
    SLOW_LATEST: u32 = 2;
    /// [`TOPIC_SLOW`]: the member is served from the history when it is no longer slow.
    SLOW_CATCH_UP: u32 = 3;
    /// [`TOPIC_SLOW`]: the member is closed with 1013.
    SLOW_CLOSE: u32 = 4;

    /// Word of [`OUT_SUBSCRIBE`]: the number of the topic.
    SUBSCRIBE_TOPIC: usize = 0;
    /// Word of [`OUT_SUBSCRIBE`] and, one before, of [`OUT_HISTORY`]: a number for the answer, 0
    /// when none is wanted. With [`SINCE_BEHIND`]: how many messages were asked for.
    SUBSCRIBE_REQUEST: usize = 1;
    /// Word behind it: the beginning of the wanted messages, one of `SINCE_`.
    SUBSCRIBE_SINCE: usize = 2;
    /// Word behind it, and one more, which is the upper half: the offset for [`SINCE_OFFSET`].
    SUBSCRIBE_OFFSET: usize = 3;
    /// Words of [`OUT_SUBSCRIBE`], and of [`OUT_HISTORY`].
    SUBSCRIBE_WORDS: usize = 5;

    /// [`SUBSCRIBE_SINCE`]: from now on.
    SINCE_NOW: u32 = 0;
    /// [`SUBSCRIBE_SINCE`]: after an offset.
    SINCE_OFFSET: u32 = 1;
    /// [`SUBSCRIBE_SINCE`]: all that the history has.
    SINCE_OLDEST: u32 = 2;
    /// [`SUBSCRIBE_SINCE`]: after an offset, for a member that catches up. The history had all of
    /// them when that was asked; what it has lost since is a gap.
    SINCE_BEHIND: u32 = 3;

    /// Word of [`OUT_TARGET`]: a number for the receipt, 0 when none is wanted.
    TARGET_REQUEST: usize = 0;
    /// Word of [`OUT_TARGET`]: the number of connections that it names.
    TARGET_NAMED: usize = 1;
    /// Word of [`OUT_TARGET`]: bytes of the key.
    TARGET_KEY: usize = 2;
    /// Word of [`OUT_TARGET`]: 0 when the named connections do not get the message; 1 when only
    /// they do, for it was published before, while their sends still waited in JavaScript.
    TARGET_IS_LATE: usize = 3;
    /// Word of [`OUT_TARGET`], and the one behind it, which is the upper half: the offset of a late
    /// message in the history, 0 without one.
    TARGET_OFFSET: usize = 4;
    /// Words of [`OUT_TARGET`] before the connections.
    TARGET_WORDS: usize = 6;

    /// Aux of [`OUT_PUBLISH`], and flag of a message of [`IN_HISTORY`]: a text message.
    PUBLISH_TEXT: u16 = 1;

}

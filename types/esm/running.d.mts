// Made from types/running.d.ts by scripts/types.mjs.
import { IncomingMessage } from 'node:http';

import { AdapterMetrics } from './adapter.mjs';
import { CloseCause } from './events.mjs';

/** How the clients of a server are closed before it ends. */
export interface DrainOptions {
  /** Milliseconds over which the closings are spread, 0 to 2147483647. Default: 10000 */
  duration?: number | undefined;
  /** Status code of the close frames. Default: 1012, "Service Restart" */
  code?: number | undefined;
  /** Reason of the close frames, at most 123 bytes. Default: none */
  reason?: string | Uint8Array | undefined;
  /** Ends the drain early: the clients that are left stay open. */
  signal?: AbortSignal | undefined;
  /** Called when a count has changed, at most every 100 ms, and at the end. */
  onProgress?: ((progress: DrainProgress) => void) | undefined;
}

/** Counts of the clients that there were when the drain began. */
export interface DrainProgress {
  /** How many are gone, without `timedOut`. */
  closed: number;
  /** How many were cut off because they had not answered the close frame within `closeTimeout`. */
  timedOut: number;
  /** How many are still there. */
  left: number;
}

/** Who may connect. 0 means no limit; by default, only the head of a request is limited. */
export interface AdmissionOptions {
  /**
   * Connections; one more is answered with 503. With `port` connections in their handshake count,
   * and one too many is answered before it has sent anything. Not in ws. Default: 0
   */
  maxConnections?: number | null | undefined;
  /**
   * Connections of one IPv4 address, or of one /64 of IPv6; one more is
   * answered with 429. Not in ws. Default: 0
   */
  maxConnectionsPerAddress?: number | null | undefined;
  /**
   * Upgrade requests per second, and as many at once after a second without any, up to 1000000;
   * more are answered with 503. Not in ws. Default: 0
   */
  handshakesPerSecond?: number | null | undefined;
  /**
   * Most bytes of an upgrade request, 256 to 1048576; more is answered
   * with 431. Not in ws. Default: `http.maxHeaderSize`, 16384 unless Node has `--max-http-header-size`
   */
  maxHeaderBytes?: number | null | undefined;
  /**
   * Most header fields of an upgrade request, 8 to 256; more is answered
   * with 431. Not in ws. Default: 256
   */
  maxHeaders?: number | null | undefined;
  /**
   * Pages that may connect; others are answered with 403. In a string `*` stands for one or more
   * letters, digits, `-`, `.` and `_`, and the string `'*'` for every origin. Functions are also
   * asked about requests without an origin, and decide on them; without a function these may
   * connect, as only browsers send one. Not in ws. Default: every page
   */
  allowedOrigins?: OriginRule | readonly OriginRule[] | null | undefined;
  /**
   * Connections from these peers must begin with a header of the PROXY protocol, version 1 or 2;
   * those from anybody else must not. The client that the header names is
   * `request.socket.remoteAddress` and `remotePort`, and counts for `maxConnectionsPerAddress`.
   * Only with a TCP `port`. Not in ws. Default: none
   */
  proxyProtocol?: ProxyProtocol | null | undefined;
}

/** Proxies in front of the server that name the client of each connection they forward. */
export interface ProxyProtocol {
  /** Addresses of the proxies, or networks such as `10.0.0.0/8` and `fd00::/8`. */
  trusted: readonly string[];
}

/**
 * How fast each client may send, and how many bytes can wait to be sent to
 * all. 0, the default, means no limit.
 */
export interface TrafficOptions {
  /**
   * Messages, pings and pongs of one connection per second, and as many at once after a second
   * without any. Not in ws. Default: 0
   */
  messagesPerSecond?: number | null | undefined;
  /**
   * Bytes on the socket of one connection per second, and as many at once after a second
   * without any. Not in ws. Default: 0
   */
  bytesPerSecond?: number | null | undefined;
  /**
   * Applies to a connection that sends more: it is not read until it may send again, so that
   * TCP holds the client back, or it is closed with 1008. Not in ws. Default: 'pause'
   */
  limit?: 'pause' | 'close' | null | undefined;
  /**
   * Bytes that can wait to be sent to all connections of the thread, up to 2^53 - 1. Above it, the
   * connections with the most waiting bytes fail with `WS_ERR_SEND_BUDGET` and end with 1006. Reactor
   * threads divide it; connections of the JavaScript thread, such as over https, have the same amount
   * once more. The value of a thread's first server counts. Not in ws. Default: 0
   */
  sendBudget?: number | null | undefined;
}

/** One of `allowedOrigins`: a pattern, an expression, or a function that is asked. */
export type OriginRule = string | RegExp | ((origin: string | undefined, request: IncomingMessage) => boolean);

/** Options of `handover()`. */
export interface HandoverOptions {
  /** Milliseconds to wait for the next process. Default: no limit */
  timeout?: number | undefined;
}

/** Connections that have moved between processes. */
export interface HandoverCounts {
  /** To the next process. */
  moved: number;
  /** From the process before. */
  taken: number;
  /** Those that could not move when the others did, by the reason; open ones were closed with 1012. */
  stayed: Record<string, number>;
  /** Those from the process before that the program did not accept here; they were closed with 1012. */
  declined: number;
  /** Conversations with other processes after which nothing had moved. */
  failed: number;
  /** Bytes of the state of connections. The state of topics is not counted. */
  bytes: number;
  /** Seconds that the last conversation has taken. */
  duration: number;
  /** Seconds for which connections were not read in it: the longest pause of a client. */
  pause: number;
}

/**
 * Counts of a server since it was made, and of the reactors of its thread since they were started.
 */
export interface Metrics {
  connections: {
    /** Present clients, also without `clientTracking`. */
    open: number;
    /** How many have opened. */
    opened: number;
    /** How many have ended, by the code of 'close'; codes from 3000 on are `other`. */
    closed: Record<string, number>;
    /** The same, by `closeCause`. */
    ended: Record<CloseCause, number>;
    /** How many have failed, by the code of 'error'. */
    failed: Record<string, number>;
    /** How many were closed as they came, because the process had no descriptors left. */
    exhausted: number;
  };
  handshakes: {
    /** How many were denied by which limit: `connections`, `address`, `rate`, `head`, `origin`. */
    denied: Record<string, number>;
    /** How many JavaScript has answered with a status other than 101, by status. */
    refused: Record<string, number>;
    /** Why JavaScript answers upgrades; null: the reactors answer them. */
    byJavaScript: string | null;
  };
  /**
   * How often a connection was not read for a while, or closed, because of
   * `messagesPerSecond` and `bytesPerSecond`.
   */
  tooFast: { messages: number; bytes: number };
  /** Bytes that wait to be sent: `bufferedAmount` of all clients. */
  bytesWaiting: number;
  /** Whether `drain()` is under way. */
  draining: boolean;
  /** Connections that have moved between processes; null without option `handover`. */
  handover: HandoverCounts | null;
  /**
   * How many messages slow members did not get, by topic: the first 20 topics that lost some. The
   * rest, and topics with names longer than 200 characters, are `other`.
   */
  dropped: Record<string, number>;
  /** Counts of the server with an adapter; null without one. */
  adapter: AdapterMetrics | null;
  /** The versions of this package and of Node. */
  versions: { package: string; node: string };
  /**
   * Seconds that the event loop of the thread has worked and waited, and by how much its timers
   * were late since the first call of `metrics()`.
   */
  eventLoop: { active: number; idle: number; delay: Histogram };
  /** All reactors of the thread, for all servers; null before the first one has been started. */
  reactors: ReactorMetrics | null;
}

/** Counts of the reactors of a thread since they were started, for all servers. */
export interface ReactorMetrics {
  /** How many reactors there are. */
  count: number;
  /**
   * With `reactors: 'auto'`: what drives the reactor now, how often the thread has taken it over, and
   * seconds for which the event loop and the thread have driven it; else null.
   */
  drive: { driver: 'loop' | 'thread'; switches: number; loop: number; thread: number } | null;
  /**
   * Bytes of memory that has a budget, and that budget; Infinity for no limit. `unfinished`:
   * unfinished messages (`unfinishedBudget`), `history`: histories of topics (`historyBudget`),
   * `compression` and `decompression`: contexts of permessage-deflate (`perMessageDeflate.budget`),
   * of the whole process.
   */
  memory: { used: MemoryByBudget; budget: MemoryByBudget };
  /** Sockets that were accepted. */
  accepted: number;
  /** Requests that are not HTTP, or too long: 400 and 431. */
  badRequests: number;
  /** Requests that ask for no upgrade: 426. */
  plainRequests: number;
  /** Connections that HTTP servers of the program got: option `http`, and `listen()`. */
  handedOff: number;
  /** Upgrade requests that the reactors have refused: 400 and 405. */
  refused: number;
  /** Requests that were not complete within `handshakeTimeout`: 408. */
  timeouts: number;
  /** Handshakes of servers with `tls`. */
  tls: TlsMetrics;
  /** Bytes that were read from sockets, requests included. */
  bytesReceived: number;
  /** Bytes that were written to sockets, answers to requests included. */
  bytesSent: number;
  /** Messages that were received. */
  messagesReceived: number;
  /** Those of them that are text. */
  textsReceived: number;
  /** Pings that were received. */
  pingsReceived: number;
  /** Pongs that were received. */
  pongsReceived: number;
  /** Messages that were given to `send()`, fragments one by one. */
  messagesSent: number;
  /** Those of them that are text. */
  textsSent: number;
  /** Messages of topics that slow members did not get. */
  dropped: number;
  /** Bytes of compressed messages, before compression. */
  compressedFrom: number;
  /** Bytes of the same messages, after compression. */
  compressedTo: number;
  /**
   * Refused connections that were closed before they had read why: each reactor
   * gives 1024 of them time for that.
   */
  cutRefusals: number;
  /** Connections that were ended because of `sendBudget`. */
  overBudget: number;
  /**
   * Connections that have opened before an earlier end of another one was reported: JavaScript had used up its
   * share of time for waiting.
   */
  unsettled: number;
  /** Batches that JavaScript has taken. */
  batches: number;
  /** Records in them: messages, and other events of connections. */
  records: number;
  /** Bytes of memory of batches that JavaScript has not dealt with. */
  undelivered: number;
  /** Time from accepting a socket of a `port` until its upgrade is accepted. */
  handshake: Histogram;
  /** Time from a ping until its pong. */
  roundTrip: Histogram;
  /**
   * Time that connections were not read: `program` has called `pause()`, a `rate` holds the client
   * back, or JavaScript is `behind` with received messages.
   */
  pause: { program: Histogram; rate: Histogram; behind: Histogram };
  /** Time from the system's report that there is something to read until JavaScript takes it. */
  delay: Histogram;
  /** Time that a reactor works between two waits. */
  turn: Histogram;
  /** Records of a batch. */
  batch: Histogram<'records'>;
  /** Bytes of a sent message after compression, divided by those before. */
  ratio: Histogram<'ratio'>;
}

/** Counts of handshakes, see `ReactorMetrics`. */
export interface TlsMetrics {
  /** How many were done in full. */
  full: number;
  /** How many have resumed a session. */
  resumed: number;
  /**
   * How many have failed, by reason: `unshared` (no version, cipher suite, group, signature or protocol that both sides have),
   * `certificate` (the client's is missing, or not good), `alert` (the client has refused, such as our certificate), `http`
   * (HTTP without TLS), `timeout`, `gone` (the client has left), `refused` (by `SNICallback` or `ALPNCallback`), and `malformed`
   * (no TLS, or TLS that breaks its rules).
   */
  failed: Record<'unshared' | 'certificate' | 'alert' | 'http' | 'timeout' | 'gone' | 'refused' | 'malformed', number>;
  /** Failures without a 'tlsClientError' although it has a listener: there were too many at once. */
  unreported: number;
}

/** Bytes by their budget, see `ReactorMetrics`. */
export type MemoryByBudget = Record<'unfinished' | 'history' | 'compression' | 'decompression', number>;

/** A client for which bytes wait: what `slowest()` returns. */
export interface Waiting<Client = any> {
  client: Client;
  /** Its address; undefined where there is none, such as for a socket in the file system. */
  address: string | undefined;
  /** Its port; undefined likewise. */
  port: number | undefined;
  /** `bufferedAmount` of the client. */
  bytesWaiting: number;
  /**
   * For how long bytes have waited that the system, or the stream, does not take, in seconds; null
   * when the connection has ended and `'close'` has not been emitted yet.
   */
  seconds: number | null;
}

/** How often something took a certain time, or had a certain size. */
export interface Histogram<Unit extends string = 'seconds'> {
  count: number;
  /** Seconds, or whatever the unit is. */
  sum: number;
  /** Counts by upper bound, each of which is twice the one before: 1 us, 2 us, 4 us and so on. */
  upTo: Array<Record<Unit | 'count', number>>;
}

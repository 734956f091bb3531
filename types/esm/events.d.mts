// Made from types/events.d.ts by scripts/types.mjs.
import { WebSocket } from './websocket.mjs';

/** The form of binary messages. */
export type BinaryType = 'nodebuffer' | 'arraybuffer' | 'fragments' | 'blob';

/** Why a connection has ended: `closeCause` of a WebSocket. Not in ws. */
export type CloseCause =
  | 'closed'
  | 'fin'
  | 'reset'
  | 'terminate'
  | 'ping-timeout'
  | 'idle-timeout'
  | 'close-timeout'
  | 'too-many-pongs'
  | 'protocol-error'
  | 'too-big'
  | 'too-fast'
  | 'send-budget'
  | 'unfinished-budget'
  | 'slow'
  | 'drain'
  | 'exhausted'
  | 'panic'
  | 'reactor-failed'
  | 'handshake';

/**
 * Data of a 'message' event, by `binaryType`. For 'blob' it is a Blob, which
 * the type omits, as @types/ws does.
 */
export type RawData = Buffer | ArrayBuffer | Buffer[];

/** Data of a `MessageEvent`. For data to be sent, see `BufferLike`. */
export type Data = string | Buffer | ArrayBuffer | Buffer[];

/** The argument of a listener of `addEventListener()`. */
export interface Event {
  type: string;
  target: WebSocket;
}

/** The event of 'close'. */
export interface CloseEvent extends Event {
  code: number;
  reason: string;
  /** Whether close frames went both ways. */
  wasClean: boolean;
}

/** The event of 'error'. */
export interface ErrorEvent extends Event {
  error: any;
  message: string;
}

/** The event of 'message'. */
export interface MessageEvent extends Event {
  /** Text as a string, binary data in the form that `binaryType` says. */
  data: Data;
}

/** The events of `addEventListener()`. */
export interface WebSocketEventMap {
  open: Event;
  message: MessageEvent;
  close: CloseEvent;
  error: ErrorEvent;
}

/** Options of `addEventListener()`. */
export interface EventListenerOptions {
  /** Remove the listener when it is called. Default: false */
  once?: boolean | undefined;
}

// Made from types/verify.d.ts by scripts/types.mjs.
import { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

/** The argument of `verifyClient`, which decides on it. */
export interface VerifyInfo<Request extends IncomingMessage = IncomingMessage> {
  /** The `Origin` header (`Sec-WebSocket-Origin` for version 8). */
  origin: string;
  /** Whether the connection is encrypted. */
  secure: boolean;
  req: Request;
}

/** A `verifyClient` that answers at once. */
export type VerifyClientCallbackSync<Request extends IncomingMessage = IncomingMessage> = (
  info: VerifyInfo<Request>,
) => boolean;

/**
 * A `verifyClient` that answers now or later. `code` is the HTTP status of a refusal (default 401),
 * `message` its body, `headers` more header fields.
 */
export type VerifyClientCallbackAsync<Request extends IncomingMessage = IncomingMessage> = (
  info: VerifyInfo<Request>,
  callback: (verified: boolean, code?: number, message?: string, headers?: OutgoingHttpHeaders) => void,
) => void;

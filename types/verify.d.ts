import { IncomingMessage, OutgoingHttpHeaders } from 'node:http';

export interface VerifyInfo {
  /** The `Origin` header (`Sec-WebSocket-Origin` for version 8). */
  origin: string;
  /** Whether the connection is encrypted. */
  secure: boolean;
  req: IncomingMessage;
}

export type VerifyClientSync = (info: VerifyInfo) => boolean;
/** `code` is the HTTP status of a refusal (default 401), `message` its body, `headers` more header fields. */
export type VerifyClientAsync = (
  info: VerifyInfo,
  callback: (verified: boolean, code?: number, message?: string, headers?: OutgoingHttpHeaders) => void,
) => void;

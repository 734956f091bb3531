import { WebSocketServer } from './server';

/** The value of `Content-Type` of the text. */
export const contentType: string;

/** A server, as far as it is used here. */
type Server = Pick<WebSocketServer, 'metrics'>;

/**
 * The metrics of a server in the text format of Prometheus, or the metrics of several servers of a thread,
 * each with labels that tell it apart: `new Map([[chat, { server: 'chat' }], [feed, { server: 'feed' }]])`.
 * Numbers that all of them share, such as the numbers of the reactors, are there once.
 *
 * @param labels Labels of every sample, such as `{ server: 'chat' }`
 * @throws {RangeError} For a label that is not allowed, or the same labels for two servers
 */
export function prometheus(servers: Server | Iterable<readonly [Server, Record<string, string>]>, labels?: Record<string, string>): string;

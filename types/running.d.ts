/** How the clients of a server are closed before it ends. */
export interface DrainOptions {
  /** Milliseconds over which they are spread, 0 to 2147483647. Default: 10000 */
  duration?: number | undefined;
  /** Status code of the close frames. Default: 1012, "Service Restart" */
  code?: number | undefined;
  /** Reason of the close frames, at most 123 bytes. Default: none */
  reason?: string | Uint8Array | undefined;
  /** Ends the drain early: the clients that are left stay open. */
  signal?: AbortSignal | undefined;
  /** Called when something has changed, every 100 ms at most, and at the end. */
  onProgress?: ((progress: DrainProgress) => void) | undefined;
}

/** Of the clients that there were when the drain began. */
export interface DrainProgress {
  /** How many are gone. */
  closed: number;
  /** How many were cut off, as they had not answered the close frame within `closeTimeout`. */
  timedOut: number;
  /** How many are still there. */
  left: number;
}

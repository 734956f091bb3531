import { Adapter } from './adapter';

/** Optional parts of the contract that the adapter implements. */
export interface AdapterTestOptions {
  /** Whether it has `history()`. Default: false */
  history?: boolean | undefined;
}

/** A test for any runner. */
export interface AdapterCase {
  name: string;
  /** Rejects with an AssertionError. Takes some seconds at most, with a broker on the same machine. */
  run(): Promise<void>;
}

/**
 * The contract of adapters. Each case makes some adapters, starts them, and closes them.
 *
 * @param make Makes an adapter; all of them have the same broker
 */
export function adapterTests(make: () => Adapter | Promise<Adapter>, options?: AdapterTestOptions): AdapterCase[];

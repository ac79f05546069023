// What happened, in order: each write of the store and what was done to the cluster; two runs are the same if their hashes are.
import { createHash } from 'node:crypto';
import type { StorageEvent } from '../../../src/storage/storage.ts';

export interface Written {
  readonly seconds: number;
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly value: Buffer;
}

export class Trace {
  readonly #hash = createHash('sha256');
  readonly #lines: string[] = [];
  readonly #keep: number;
  readonly #onWrite: (written: Written) => void;
  writes = 0;

  /** The last `keep` lines are kept. */
  constructor(onWrite: (written: Written) => void, keep = 400) {
    this.#onWrite = onWrite;
    this.#keep = keep;
  }

  #add(line: string): void {
    this.#lines.push(line);
    if (this.#lines.length > 2 * this.#keep) this.#lines.splice(0, this.#keep);
  }

  note(seconds: number, text: string): void {
    this.#hash.update(`${seconds} ${text}\n`);
    this.#add(`${seconds.toFixed(3)}  ${text}`);
  }

  wrote(seconds: number, { key, type, value, revision }: StorageEvent): void {
    this.writes++;
    this.#hash.update(`${seconds} ${type} ${key} `).update(value);
    if (!quiet.test(key)) this.#add(`${seconds.toFixed(3)}  ${type} ${key} @${revision}`);
    this.#onWrite({ seconds, type, key, value });
  }

  /** Of everything until now. */
  hash(): string {
    return this.#hash.copy().digest('hex');
  }

  last(count: number): readonly string[] {
    return this.#lines.slice(-count);
  }
}

/** Too many to be shown. */
const quiet = /^\/registry\/(coordination\.k8s\.io\/leases|core\/events)\//;

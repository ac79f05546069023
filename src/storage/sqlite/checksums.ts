// The sums that notice what SQLite does not: a value, a row or a number that is not the one that was written.
import { crc32 } from 'node:zlib';

export interface Meta {
  /** Names the store: a file of another one is not taken for ours. */
  readonly store: string;
  readonly revision: number;
  /** History up to here is forgotten. */
  readonly floor: number;
  /** How many keys there are, and a sum over them and their revisions: a row that is gone is noticed. */
  readonly objects: number;
  readonly digest: number;
}

export interface LogRow {
  readonly revision: number;
  readonly key: string;
  /** 1 put, 0 delete. */
  readonly put: number;
  /** Revision of the key's state before, 0 when there was none. */
  readonly previous: number;
  /** Revision of the store before: a row of history that is gone is noticed. */
  readonly prior: number;
  readonly value: Uint8Array;
}

export const rowChecksum = ({ revision, key, put, previous, prior, value }: LogRow): number =>
  crc32(value, crc32(`${revision} ${put} ${previous} ${prior} ${key}`));

/** Of a row of format 1. */
export const firstChecksum = (key: string, value: Uint8Array): number => crc32(value, crc32(key));

export const stateDigest = (key: string, revision: number): number => crc32(`${revision} ${key}`);

export const leaseChecksum = (revision: number, ms: number): number => crc32(`${revision} ${ms}`);

export const metaChecksum = ({ store, revision, floor, objects, digest }: Meta): number =>
  crc32(`${store} ${revision} ${floor} ${objects} ${digest}`);

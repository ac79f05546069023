// One object in a cache: its bytes, and the index record that is made when a selector first asks for it.
import type { Entry, Key, Revision } from '../storage.ts';
import type { CachedObject, IndexRecord } from './resource-cache.ts';

export type IndexOf = (object: unknown) => IndexRecord;

export class LazyCachedObject implements CachedObject {
  readonly key: Key;
  readonly value: Buffer;
  readonly revision: Revision;
  #index: IndexRecord | undefined;
  readonly #indexOf: () => IndexOf;

  constructor(entry: Entry, indexOf: () => IndexOf, index?: IndexRecord) {
    this.key = entry.key;
    this.value = entry.value;
    this.revision = entry.revision;
    this.#indexOf = indexOf;
    this.#index = index;
  }

  get index(): IndexRecord {
    this.#index ??= this.#indexOf()(JSON.parse(this.value.toString('utf8')));
    return this.#index;
  }
}

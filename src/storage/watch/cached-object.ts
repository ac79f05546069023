// One object in a cache: its bytes, and the index record that is made when a selector first asks for it.
import type { Entry, Key, Revision } from '../storage.ts';
import type { CachedObject, IndexRecord } from './resource-cache.ts';

export type IndexOf = (object: unknown) => IndexRecord;

export class LazyCachedObject implements CachedObject {
  readonly key: Key;
  readonly value: Buffer;
  readonly revision: Revision;
  #index: IndexRecord | undefined;
  /** What made it: fields that selectors may ask for come and go with the definition of a kind. */
  #madeBy: IndexOf | undefined;
  readonly #indexOf: () => IndexOf;

  constructor(entry: Entry, indexOf: () => IndexOf, index?: IndexRecord) {
    this.key = entry.key;
    this.value = entry.value;
    this.revision = entry.revision;
    this.#indexOf = indexOf;
    if (index === undefined) return;
    this.#index = index;
    this.#madeBy = indexOf();
  }

  get index(): IndexRecord {
    const indexOf = this.#indexOf();
    if (this.#index === undefined || this.#madeBy !== indexOf) {
      this.#index = indexOf(JSON.parse(this.value.toString('utf8')));
      this.#madeBy = indexOf;
    }
    return this.#index;
  }
}

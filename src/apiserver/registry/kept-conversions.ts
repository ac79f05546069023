// What conversion webhooks made of stored objects: the next reader of the same bytes asks nobody. Bounded in bytes.
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';

type ByVersion<T> = Map<ResourceDeclaration, T>;

const defaultBytes = 64 * 1024 * 1024;

/** What it takes to remember anything at all of one stored value. */
const entryBytes = 512;

/** What was made of stored bytes, for one version or several. */
export class KeptByBytes<T> {
  /** By stored bytes, those least asked for first. */
  readonly #kept = new Map<Buffer, ByVersion<T>>();
  readonly #most: number;
  readonly #weigh: (made: T, value: Buffer) => number;
  #bytes = 0;

  constructor(most: number, weigh: (made: T, value: Buffer) => number) {
    this.#most = most;
    this.#weigh = weigh;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(value: Buffer, declaration: ResourceDeclaration): T | undefined {
    const versions = this.#kept.get(value);
    const found = versions?.get(declaration);
    if (versions === undefined || found === undefined) return undefined;
    this.#kept.delete(value);
    this.#kept.set(value, versions);
    return found;
  }

  put(value: Buffer, declaration: ResourceDeclaration, made: T): void {
    const versions: ByVersion<T> = this.#kept.get(value) ?? new Map();
    this.#forget(value, versions);
    versions.set(declaration, made);
    this.#kept.set(value, versions);
    this.#bytes += this.#sizeOf(value, versions);
    for (const [oldest, its] of this.#kept) {
      if (this.#bytes <= this.#most) return;
      this.#forget(oldest, its);
    }
  }

  #forget(value: Buffer, versions: ByVersion<T>): void {
    if (this.#kept.delete(value)) this.#bytes -= this.#sizeOf(value, versions);
  }

  /** The stored bytes count, too: they would be gone with their object. */
  #sizeOf(value: Buffer, versions: ByVersion<T>): number {
    let size = entryBytes + value.length;
    for (const made of versions.values()) size += this.#weigh(made, value);
    return size;
  }
}

export class KeptConversions extends KeptByBytes<Buffer> {
  constructor(most: number = defaultBytes) {
    super(most, ({ length }) => length);
  }
}

// What conversion webhooks made of stored objects: the next reader of the same bytes asks nobody. Bounded in bytes.
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';

type ByVersion = Map<ResourceDeclaration, Buffer>;

const defaultBytes = 64 * 1024 * 1024;

export class KeptConversions {
  /** By stored bytes, those least asked for first. */
  readonly #kept = new Map<Buffer, ByVersion>();
  readonly #most: number;
  #bytes = 0;

  constructor(most: number = defaultBytes) {
    this.#most = most;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(value: Buffer, declaration: ResourceDeclaration): Buffer | undefined {
    const versions = this.#kept.get(value);
    const found = versions?.get(declaration);
    if (versions === undefined || found === undefined) return undefined;
    this.#kept.delete(value);
    this.#kept.set(value, versions);
    return found;
  }

  put(value: Buffer, declaration: ResourceDeclaration, converted: Buffer): void {
    const versions: ByVersion = this.#kept.get(value) ?? new Map();
    this.#forget(value, versions);
    versions.set(declaration, converted);
    this.#kept.set(value, versions);
    this.#bytes += sizeOf(value, versions);
    for (const [oldest, its] of this.#kept) {
      if (this.#bytes <= this.#most) return;
      this.#forget(oldest, its);
    }
  }

  #forget(value: Buffer, versions: ByVersion): void {
    if (this.#kept.delete(value)) this.#bytes -= sizeOf(value, versions);
  }
}

/** The stored bytes count, too: they would be gone with their object. */
function sizeOf(value: Buffer, versions: ByVersion): number {
  let size = value.length;
  for (const converted of versions.values()) size += converted.length;
  return size;
}

// Names by content: what is kept in a cache is found under the hash of what it was made from.
import { createHash } from 'node:crypto';

/** 16 hex digits over the parts; the boundaries between parts count. */
export function contentKey(parts: Iterable<string | Uint8Array>): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex').slice(0, 16);
}

/** A SHA-256 that is fed piece by piece. */
export interface RunningDigest {
  update(data: Uint8Array): void;
  hex(): string;
}

export function sha256Running(): RunningDigest {
  const hash = createHash('sha256');
  return { update: (data) => void hash.update(data), hex: () => hash.digest('hex') };
}

// The metadata of a stored object as its bytes, cut out of those of the object: nothing of it is parsed or written anew.
import { endOfObject } from './object-end.ts';

/** As `encodeDraft` begins each value. */
const beforeMetadata = /^\{"kind":"[^"\\]*","apiVersion":"[^"\\]*","metadata":\{/;

/** undefined of what was written by others: it has to be read. */
export function storedMetadata(value: Buffer): Buffer | undefined {
  // One letter a byte, so that places in the text are places in the bytes; what is looked for is ASCII.
  const text = value.toString('latin1');
  const head = beforeMetadata.exec(text)?.[0];
  if (head === undefined) return undefined;
  const end = endOfObject(text, head.length);
  return end === text.length ? undefined : value.subarray(head.length - 1, end + 1);
}

// Writes a revision into an encoded object: what every driver does when it commits a draft.
import type { Draft, Revision } from './storage.ts';

/** The complete JSON of a draft, in memory of its own so that nothing else is kept alive with it. */
export function stamp(draft: Draft, revision: Revision): Buffer {
  const { bytes, revisionAt, gap = 0 } = draft;
  const digits = String(revision);
  // A revision begins with no zero: who finds one here is the first to stamp this draft, and no other state has its bytes.
  const isOurs = digits.length === gap && bytes[revisionAt] === zero && Buffer.isBuffer(bytes);
  if (!isOurs) return stampedCopy(draft, digits);
  bytes.write(digits, revisionAt, 'latin1');
  return bytes;
}

/** The JSON of a draft with these digits as its revision. */
export function stampedCopy(draft: Draft, digits: string): Buffer {
  const { bytes, revisionAt, gap = 0 } = draft;
  if (revisionAt < 0) {
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    copy.set(bytes);
    return copy;
  }
  const value = Buffer.allocUnsafeSlow(bytes.length - gap + digits.length);
  value.set(bytes.subarray(0, revisionAt), 0);
  value.write(digits, revisionAt, 'latin1');
  value.set(bytes.subarray(revisionAt + gap), revisionAt + digits.length);
  return value;
}

const zero = 0x30;
const comma = 0x2c;
const marker = Buffer.from('"resourceVersion":"');

/** The JSON of a draft that is never stored: it has no revision, and Go leaves out what is empty. */
export function unstamped({ bytes, revisionAt, gap = 0 }: Draft): Buffer {
  if (revisionAt < 0) return Buffer.from(bytes);
  const before = bytes.subarray(0, revisionAt - marker.length);
  const after = bytes.subarray(revisionAt + gap + 1);
  // A comma stands on one side at least when anything else is there.
  if (after[0] === comma) return Buffer.concat([before, after.subarray(1)]);
  return Buffer.concat([before.at(-1) === comma ? before.subarray(0, -1) : before, after]);
}

/** The digits of the revision that is written in an encoded object: only plain identifiers precede the first such field. */
function digitsIn(value: Buffer): [from: number, to: number] | undefined {
  const at = value.indexOf(marker);
  return at < 0 ? undefined : [at + marker.length, value.indexOf(0x22, at + marker.length)];
}

/** Of an encoded object; NaN where there is none. */
export function revisionIn(value: Buffer): Revision {
  const [from, to] = digitsIn(value) ?? [];
  return from === undefined ? Number.NaN : Number(value.toString('latin1', from, to));
}

/** The same object with another revision. */
export function withRevision(value: Buffer, revision: Revision): Buffer {
  const [from, to] = digitsIn(value) ?? [];
  if (from === undefined) return value;
  return Buffer.concat([value.subarray(0, from), Buffer.from(String(revision)), value.subarray(to)]);
}

/** What is stored, to be written once more. */
export function draftAgain(value: Buffer): Draft {
  const [from, to] = digitsIn(value) ?? [];
  if (from === undefined) return { bytes: value, revisionAt: -1 };
  return { bytes: Buffer.concat([value.subarray(0, from), value.subarray(to)]), revisionAt: from };
}

/** True when `value` is what `stamp` makes of `draft` and `revision`. */
export function isStampOf(value: Buffer, draft: Draft, revision: Revision): boolean {
  const { bytes, revisionAt, gap = 0 } = draft;
  if (value === bytes) return true;
  if (revisionAt < 0) return value.equals(bytes);
  const tail = revisionAt + String(revision).length;
  const from = revisionAt + gap;
  if (value.length - tail !== bytes.length - from) return false;
  return (
    value.compare(bytes, 0, revisionAt, 0, revisionAt) === 0 &&
    value.compare(bytes, from, bytes.length, tail, value.length) === 0
  );
}

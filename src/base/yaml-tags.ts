// Tags that the YAML library reads in its own way, read as upstream's reader does: binary is text, collections are what they look like.
import type { CollectionTag, ScalarTag } from 'yaml';

const prefix = 'tag:yaml.org,2002:';

/** 0: no character begins with this byte. */
function lengthAt(first: number): number {
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/** What the second byte may be: no longer form than needed, no surrogate, nothing beyond U+10FFFF. */
const second: ReadonlyMap<number, readonly [number, number]> = new Map([
  [0xe0, [0xa0, 0xbf]],
  [0xed, [0x80, 0x9f]],
  [0xf0, [0x90, 0xbf]],
  [0xf4, [0x80, 0x8f]],
]);

function isCharacter(bytes: Uint8Array, at: number, length: number): boolean {
  const [low, high] = second.get(bytes[at]!) ?? [0x80, 0xbf];
  for (let i = 1; i < length; i++) {
    const byte = bytes[at + i] ?? 0;
    if (byte < (i === 1 ? low : 0x80) || byte > (i === 1 ? high : 0xbf)) return false;
  }
  return length > 0;
}

/** As Go writes bytes into JSON: U+FFFD for each byte that is of no character. */
function goText(bytes: Uint8Array): string {
  const parts: string[] = [];
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes[at]!);
    if (isCharacter(bytes, at, length)) at += length;
    else {
      parts.push(decoder.decode(bytes.subarray(from, at)), '\ufffd');
      from = ++at;
    }
  }
  parts.push(decoder.decode(bytes.subarray(from)));
  return parts.join('');
}

function binaryText(value: string): string {
  const digits = value.replaceAll(/[\r\n]/g, '');
  if (digits.length % 4 !== 0 || !/^[A-Za-z\d+/]*={0,2}$/.test(digits))
    throw new Error('!!binary value contains invalid base64 data');
  return goText(Uint8Array.fromBase64(digits));
}

const scalar = (name: string, resolve: (value: string) => string): ScalarTag => ({
  tag: `${prefix}${name}`,
  default: false,
  identify: () => false,
  resolve,
});
const collection = (name: string, kind: 'map' | 'seq'): CollectionTag => ({
  tag: `${prefix}${name}`,
  collection: kind,
  default: false,
  identify: () => false,
});

const same = (value: string): string => value;
export const upstreamTags: readonly (ScalarTag | CollectionTag)[] = [
  scalar('binary', binaryText),
  scalar('timestamp', same),
  scalar('merge', same),
  // The library looks for keys that come twice in quadratic time.
  collection('omap', 'seq'),
  collection('pairs', 'seq'),
  collection('set', 'map'),
];

// What a signer may write as a certificate: PEM blocks of certificates and nothing else, in Go's words when it is not.
// Keys, names and extensions are for whoever uses it: here it is only a certificate from its first byte to its last.

const begin = '-----BEGIN ';
const dashes = '-----';

interface Block {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly bytes: Uint8Array;
}

const lineEnd = (text: string, from: number): number => {
  const at = text.indexOf('\n', from);
  return at < 0 ? text.length : at;
};

/** The block whose first line begins at `at`, and ends after `end`; undefined when it is none, which Go passes over. */
function blockAt(text: string, at: number, end: number): Block | undefined {
  const head = lineEnd(text, at);
  const line = text.slice(at, head).trimEnd();
  if (!line.endsWith(dashes) || line.length < begin.length + dashes.length) return undefined;
  const type = line.slice(begin.length, -dashes.length);
  if (text.slice(end + 1, lineEnd(text, end + 1)).trimEnd() !== `-----END ${type}${dashes}`) return undefined;
  let body = text.slice(head + 1, Math.max(end, head + 1));
  let hasHeaders = false;
  for (let colon = body.indexOf(':'); colon >= 0 && colon < lineEnd(body, 0); colon = body.indexOf(':')) {
    hasHeaders = true;
    body = body.slice(lineEnd(body, 0) + 1);
  }
  try {
    const letters = atob(body.replace(/[\r\n]/g, ''));
    return { type, hasHeaders, bytes: Uint8Array.from(letters, (c) => c.charCodeAt(0)) };
  } catch {
    return undefined;
  }
}

function* blocksOf(text: string): Generator<Block> {
  let at = text.startsWith(begin) ? 0 : text.indexOf(`\n${begin}`) + 1;
  let end = -1;
  while (at > 0 || text.startsWith(begin)) {
    const head = lineEnd(text, at);
    // Looked for once, however many lines begin a block before it.
    if (end < head) end = text.indexOf('\n-----END ', head);
    if (end < 0) return;
    const block = blockAt(text, at, end);
    if (block !== undefined) yield block;
    const next = text.indexOf(`\n${begin}`, block === undefined ? head : end);
    if (next < 0) return;
    at = next + 1;
  }
}

/** One DER element at a time, as Go's cryptobyte reads them. */
class DerReader {
  #rest: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.#rest = bytes;
  }

  get isEmpty(): boolean {
    return this.#rest.length === 0;
  }

  nextTag(): number | undefined {
    return this.#rest[0];
  }

  /** What is in it. */
  read(tag: number, fault: string): Uint8Array {
    const rest = this.#rest;
    const first = rest[1] ?? 0;
    const more = first < 0x80 ? 0 : first & 0x7f;
    let length = first;
    if (more > 0) length = rest.subarray(2, 2 + more).reduce((sum, byte) => sum * 256 + byte, 0);
    const shortest = more === 0 ? first < 0x80 : length >= 0x80 && (rest[2] ?? 0) !== 0;
    const start = 2 + more;
    if (rest[0] !== tag || rest.length < start + length || more > 4 || !shortest)
      throw new Error(`x509: ${fault}`);
    this.#rest = rest.subarray(start + length);
    return rest.subarray(start, start + length);
  }
}

const [integer, bitString, sequence, explicitVersion] = [0x02, 0x03, 0x30, 0xa0];
const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

/** The parts of a certificate in their order, with the messages of Go's parser. */
function readCertificate(outer: DerReader): void {
  const whole = new DerReader(outer.read(sequence, 'malformed certificate'));
  const tbs = new DerReader(whole.read(sequence, 'malformed tbs certificate'));
  if (tbs.nextTag() === explicitVersion) {
    const version = new DerReader(tbs.read(explicitVersion, 'malformed version'));
    const [number = 0, ...more] = version.read(integer, 'malformed version');
    if (!version.isEmpty || number > 0x7f) throw new Error('x509: malformed version');
    if (more.length > 0 || number > 2) throw new Error('x509: invalid version');
  }
  if (tbs.read(integer, 'malformed serial number').length === 0)
    throw new Error('x509: malformed serial number');
  const inner = tbs.read(sequence, 'malformed signature algorithm identifier');
  const algorithm = whole.read(sequence, 'malformed algorithm identifier');
  if (!sameBytes(inner, algorithm))
    throw new Error("x509: inner and outer signature algorithm identifiers don't match");
  tbs.read(sequence, 'malformed issuer');
  tbs.read(sequence, 'malformed validity');
  tbs.read(sequence, 'malformed issuer'); // the subject: upstream's words
  tbs.read(sequence, 'malformed spki');
  whole.read(bitString, 'malformed signature');
}

/** Why these PEM blocks are no certificates; undefined when they are. Upstream's validateCertificate. */
export function certificateFault(pem: string): string | undefined {
  let blocks = 0;
  for (const { type, hasHeaders, bytes } of blocksOf(pem)) {
    if (type !== 'CERTIFICATE')
      return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (hasHeaders) return 'no PEM block headers are permitted';
    blocks++;
    if (bytes.length === 0) return 'found CERTIFICATE PEM block containing 0 certificates';
    try {
      const reader = new DerReader(bytes);
      while (!reader.isEmpty) readCertificate(reader);
    } catch (error) {
      return (error as Error).message;
    }
  }
  return blocks === 0 ? 'must contain at least one CERTIFICATE PEM block' : undefined;
}

// Writes signing requests and certificates byte by byte, as no well-behaved tool would.
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** A DER value of a tag and parts. */
export function der(tag: number, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const content = Buffer.concat(
    parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part)),
  );
  const { length } = content;
  const head =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

export const oid = (...bytes: readonly number[]): Buffer => der(0x06, Buffer.from(bytes));
export const commonName: Buffer = oid(0x55, 0x04, 0x03);
export const organization: Buffer = oid(0x55, 0x04, 0x0a);
const alternativeNames = oid(0x55, 0x1d, 0x11);
export const extensionRequest: Buffer = oid(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x0e);
const ecdsaWithSha256 = der(0x30, oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

export type Text = string | { readonly tag: number; readonly bytes: Uint8Array };

export const attribute = (type: Buffer, text: Text): Buffer =>
  der(0x30, type, typeof text === 'string' ? der(0x0c, text) : der(text.tag, text.bytes));

/** A name of relative names; an inner list is one multi-valued relative name. */
export const nameOf = (...parts: readonly (readonly Buffer[])[]): Buffer =>
  der(0x30, ...parts.map((attributes) => der(0x31, ...attributes)));

export const subjectName = (name: Text, ...groups: readonly Text[]): Buffer =>
  nameOf(...groups.map((group) => [attribute(organization, group)]), [attribute(commonName, name)]);

/** A list of extensions that a request asks for. */
export const sanExtension = (...names: readonly Buffer[]): Buffer =>
  der(0x30, alternativeNames, der(0x04, der(0x30, ...names)));

export interface CraftedRequest {
  readonly subject: Buffer;
  /** Each one is an attribute with a list of extensions. */
  readonly extensionLists?: readonly (readonly Buffer[])[];
  /** In place of the lists of extensions. */
  readonly attributes?: readonly Buffer[];
  /** What the signature is said to be. Default: ECDSA with SHA-256, which it is. */
  readonly algorithm?: Buffer;
  /** Signs with another key than the one in the request. */
  readonly stolenKey?: boolean;
  /** Behind the request, inside of its PEM block. */
  readonly trailing?: Buffer;
}

const keys = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

export function craftRequest(request: CraftedRequest): string {
  const key = keys();
  const spki = createPublicKey(request.stolenKey ? keys() : key).export({ type: 'spki', format: 'der' });
  const lists = request.extensionLists ?? [];
  const info = der(
    0x30,
    der(0x02, Buffer.from([0])),
    request.subject,
    spki,
    der(
      0xa0,
      ...(request.attributes ??
        lists.map((list) => der(0x30, extensionRequest, der(0x31, der(0x30, ...list))))),
    ),
  );
  const signature = der(0x03, Buffer.from([0]), sign('sha256', info, key));
  const bytes = Buffer.concat([
    der(0x30, info, request.algorithm ?? ecdsaWithSha256, signature),
    request.trailing ?? Buffer.alloc(0),
  ]);
  return pemOf('CERTIFICATE REQUEST', bytes);
}

export const pemOf = (label: string, bytes: Buffer): string =>
  `-----BEGIN ${label}-----\n${bytes.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END ${label}-----\n`;

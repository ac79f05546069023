// Checks an image archive before it goes into the store: digests, structure, and every entry of every layer.
import { join, posix } from 'node:path';
import { Readable } from 'node:stream';
import type { Header } from 'tar-stream';
import { sha256Running } from '../component-base/content-hash.ts';
import type { ImagePlatform } from '../component-helpers/windows-image-match.ts';
import { archiveEntries } from './archive-entries.ts';
import { imageName, refuseReserved } from './archive-names.ts';
import { descriptorOf, ImageError, indexEntries, isRecord, platformOf } from './image-index.ts';
import { openKept } from './kept-layer.ts';
import { checkLayerEntry, type LayerHeader } from './layer-entry-check.ts';
import { blobName } from './oci-layout.ts';
import { strictTar } from './strict-tar.ts';
import { type Packing, packingOf, unpacked } from './unpacked.ts';

export interface ArchiveLimits {
  /** Of all layers unpacked. Default 64 GiB. */
  readonly unpackedBytes?: number;
  /** Unpacked to packed, of a layer of over 64 MiB: beyond it, it is a bomb. Default 250. */
  readonly ratio?: number;
  /** Entries of all layers. Default 2,000,000. */
  readonly entries?: number;
  /** Files and folders of the archive itself. Default 100,000. */
  readonly files?: number;
}

export interface CheckedImage {
  readonly names: readonly string[];
  readonly platforms: readonly ImagePlatform[];
}

const defaults = { unpackedBytes: 64 * 2 ** 30, ratio: 250, entries: 2_000_000, files: 100_000 };
const largestDocument = 4 * 2 ** 20;
/** Of all documents: indexes, manifests and configurations are kept until the last has been read. */
const mostDocumentBytes = 64 * 2 ** 20;
/** In all documents: `{}` takes three bytes of text, fewer when it is packed, and some eighty once it is parsed. */
const mostDocumentValues = 2_000_000;
const ratioMatters = 64 * 2 ** 20;

const rootDocuments: ReadonlySet<string> = new Set(['index.json', 'manifest.json', 'oci-layout']);

export interface Blob {
  readonly size: number;
  readonly digest: string;
  /** Of a small blob that is no layer. */
  readonly bytes?: Buffer;
  readonly document?: unknown;
  /** Of a layer: how it is packed, and where it was written to, if it was. */
  readonly packing?: Packing;
  readonly file?: string;
  /** Entries that a layer for Linux or Windows must not have: the first of each. */
  readonly refusals?: Readonly<Record<'linux' | 'windows', string | undefined>>;
}

/** At most so many: before each but the first is one of these. */
function valuesIn(text: Buffer): number {
  let values = 1;
  for (const byte of text) if (byte === 0x2c || byte === 0x5b || byte === 0x7b) values++;
  return values;
}

class Budget {
  readonly #limits: Required<ArchiveLimits>;
  #bytes = 0;
  #entries = 0;
  #documentBytes = 0;
  #documentValues = 0;
  constructor(limits: Required<ArchiveLimits>) {
    this.#limits = limits;
  }
  unpacked(layerBytes: number, layerPacked: number, added: number): void {
    this.#bytes += added;
    const { unpackedBytes } = this.#limits;
    if (this.#bytes > unpackedBytes) {
      throw new ImageError(`the layers unpack to more than ${unpackedBytes} bytes`);
    }
    this.ratio(layerBytes, layerPacked, 'a layer');
  }
  ratio(bytes: number, packed: number, what: string): void {
    const { ratio } = this.#limits;
    if (bytes > ratioMatters && bytes > ratio * Math.max(packed, 1)) {
      throw new ImageError(`${what} unpacks to over ${ratio} times its size: a decompression bomb`);
    }
  }
  document(text: Buffer): void {
    this.#documentBytes += text.length;
    if (this.#documentBytes > mostDocumentBytes)
      throw new ImageError(`the archive has more than ${mostDocumentBytes} bytes of manifests`);
    this.#documentValues += valuesIn(text);
    if (this.#documentValues > mostDocumentValues)
      throw new ImageError(`the archive's manifests have more than ${mostDocumentValues} values`);
  }
  entry(): void {
    this.#entries++;
    if (this.#entries > this.#limits.entries) {
      throw new ImageError(`the layers have more than ${this.#limits.entries} entries`);
    }
  }
}

/** What was checked, and can be used without looking at the archive again. */
export interface CheckedArchive extends CheckedImage {
  /** By their names in the archive. */
  readonly blobs: ReadonlyMap<string, Blob>;
}

export interface CheckOptions {
  readonly limits?: ArchiveLimits;
  /** A folder of ours: layers are written there as they are read, so that what is used is what was checked. */
  readonly keepLayersIn?: string;
  /** Told of what was read so far. */
  readonly onRead?: (bytes: number) => void;
}

/** Throws ImageError with the reason when the archive is not to be trusted. Reads it once, keeps little of it in memory. */
export async function checkImageArchive(file: string, options: CheckOptions = {}): Promise<CheckedArchive> {
  const allowed = { ...defaults, ...options.limits };
  const budget = new Budget(allowed);
  const blobs = new Map<string, Blob>();
  const names = new Set<string>();
  const links = new Map<string, string>();
  const reading = {
    onRead: options.onRead ?? (() => undefined),
    onUnpacked: (bytes: number, packedBytes: number) => budget.ratio(bytes, packedBytes, 'the archive'),
  };
  try {
    for await (const { name, type, size, linkname, content } of archiveEntries(file, reading)) {
      // Whoever reads it later may believe the other one.
      if (type !== 'directory' && names.has(name))
        throw new ImageError(`the archive has ${JSON.stringify(name.slice(0, 200))} twice`);
      names.add(name);
      if (names.size > allowed.files)
        throw new ImageError(`the archive has more than ${allowed.files} files`);
      if (type === 'symlink') links.set(name, linkTarget(name, linkname));
      if (type === 'file') {
        const keepAs =
          options.keepLayersIn === undefined ? undefined : join(options.keepLayersIn, String(blobs.size));
        blobs.set(name, await readBlob(content, { size, budget, keepAs }));
      }
    }
  } catch (error) {
    if (error instanceof ImageError) throw error;
    const unreadable = (error as NodeJS.ErrnoException).syscall !== undefined;
    if (unreadable) throw new ImageError(`can't read ${file}`, error);
    throw new ImageError(
      `${file} is not a readable image archive: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
  const found = withLinks(blobs, links);
  return { ...checkStructure(found), blobs: found };
}

/** Where a link of an archive leads, as containerd reads it: from the link's own folder. */
const linkTarget = (name: string, linkname: string): string => posix.join(posix.dirname(name), linkname);

/** A layer that occurs twice is a link in what `docker save` writes. As containerd: a link to a link leads nowhere. */
function withLinks(
  blobs: ReadonlyMap<string, Blob>,
  links: ReadonlyMap<string, string>,
): ReadonlyMap<string, Blob> {
  const all = new Map(blobs);
  for (const [name, target] of links) {
    const blob = blobs.get(target);
    // What containerd finds by these names are files.
    if (blob !== undefined && !rootDocuments.has(name)) all.set(name, blob);
  }
  return all;
}

interface ReadingBlob {
  readonly size: number;
  readonly budget: Budget;
  /** Undefined: it is only looked at. */
  readonly keepAs: string | undefined;
}

async function readBlob(content: AsyncIterable<Buffer>, reading: ReadingBlob): Promise<Blob> {
  const { budget, keepAs, size } = reading;
  const digest = sha256Running();
  const pieces = content[Symbol.asyncIterator]();
  const head = await readHead(pieces);
  if (looksLikeLayer(head)) {
    await using kept = keepAs === undefined ? undefined : await openKept(keepAs);
    const all = told(withHead(head, pieces), async (piece) => {
      digest.update(piece);
      await kept?.write(piece);
    });
    const refusals = await checkLayer(all, head, size, budget);
    await kept?.sync();
    return {
      size,
      digest: `sha256:${digest.hex()}`,
      packing: packingOf(head),
      refusals,
      ...(keepAs === undefined ? {} : { file: keepAs }),
    };
  }
  const document: Buffer[] = [];
  let length = 0;
  for await (const piece of withHead(head, pieces)) {
    digest.update(piece);
    length += piece.length;
    if (length <= largestDocument) document.push(piece);
  }
  const isDocument = length <= largestDocument && /^\s*[{[]/.test(head.toString('latin1'));
  if (!isDocument) return { size, digest: `sha256:${digest.hex()}` };
  const bytes = Buffer.concat(document);
  budget.document(bytes);
  return { size, digest: `sha256:${digest.hex()}`, bytes, document: parseOrNothing(bytes.toString()) };
}

function parseOrNothing(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The first 512 bytes, enough to know what a blob is. */
async function readHead(pieces: AsyncIterator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 512) {
    const next = await pieces.next();
    if (next.done) break;
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value]);
  }
  return head;
}

async function* withHead(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

async function* told(
  pieces: AsyncGenerator<Buffer>,
  tell: (piece: Buffer) => Promise<void>,
): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    await tell(piece);
    yield piece;
  }
}

const isTar = (head: Buffer): boolean =>
  head.length >= 512 &&
  (head.toString('latin1', 257, 262) === 'ustar' || head.subarray(0, 512).every((byte) => byte === 0));

const looksLikeLayer = (head: Buffer): boolean => packingOf(head) !== undefined || isTar(head);

async function checkLayer(
  packed: AsyncGenerator<Buffer>,
  head: Buffer,
  packedSize: number,
  budget: Budget,
): Promise<NonNullable<Blob['refusals']>> {
  const plain = unpacked(Readable.from(packed, { objectMode: false }), packingOf(head), (bytes, added) =>
    budget.unpacked(bytes, packedSize, added),
  );
  const layer = strictTar(plain);
  const refusals: { linux: string | undefined; windows: string | undefined } = {
    linux: undefined,
    windows: undefined,
  };
  for await (const entry of layer) {
    budget.entry();
    const header = headerOf(entry.header);
    refusals.linux ??= checkLayerEntry(header, 'linux');
    refusals.windows ??= checkLayerEntry(header, 'windows');
    entry.resume();
  }
  // A tar file may end before the compressed stream does: the rest counts for the digest.
  if (!plain.readableEnded) {
    plain.resume();
    await new Promise<void>((resolve, reject) => plain.on('close', resolve).on('error', reject));
  }
  return refusals;
}

const headerOf = (header: Header): LayerHeader => ({
  name: header.name,
  type: header.type ?? 'file',
  linkname: header.linkname,
  size: header.size ?? 0,
});

function checkStructure(blobs: ReadonlyMap<string, Blob>): CheckedImage {
  for (const [name, blob] of blobs) {
    const expected = /^blobs\/sha256\/([0-9a-f]{64})$/.exec(name)?.[1];
    if (expected !== undefined && blob.digest !== `sha256:${expected}`) {
      throw new ImageError(`blob ${expected.slice(0, 12)} does not have the content that its name promises`);
    }
  }
  const root = blobs.get('index.json')?.document;
  const entries = indexEntries(root);
  // An archive may be both. Which of them is loaded decides its reader: both must be sound.
  const docker = !entries || blobs.has('manifest.json') ? checkDockerStructure(blobs) : undefined;
  if (!entries) return docker!;
  const listed: unknown[] =
    isRecord(root) && Array.isArray(root['manifests']) ? (root['manifests'] as unknown[]) : [];
  const names = listed.flatMap((entry) => imageName(entry) ?? []);
  const found: Found = { platforms: [], checkedAt: new Map() };
  // What is no image is left out when the archive is loaded: `chooseManifests`.
  const images = entries.filter((entry) => !entry.isAttestation);
  for (const { digest, size } of images) checkDocument(blobs, digest, size, found, 0);
  const { platforms } = found;
  if (platforms.length === 0) throw new ImageError('the archive holds no image');
  return { names, platforms };
}

/** What `docker save` of before version 25 writes: manifest.json names configurations and layers by path. */
function checkDockerStructure(blobs: ReadonlyMap<string, Blob>): CheckedImage {
  const list = blobs.get('manifest.json')?.document;
  if (!Array.isArray(list) || list.length === 0) {
    throw new ImageError('the archive has neither index.json nor manifest.json: it is no image archive');
  }
  const names: string[] = [];
  const platforms: ImagePlatform[] = [];
  for (const value of list as unknown[]) {
    const image = isRecord(value) ? value : {};
    const tags: unknown[] = Array.isArray(image['RepoTags']) ? image['RepoTags'] : [];
    names.push(...tags.filter((tag) => typeof tag === 'string'));
    const config = blobs.get(String(image['Config']))?.document;
    if (!isRecord(config))
      throw new ImageError('manifest.json names a configuration that is not in the archive');
    const platform = platformOf(config);
    const layers: unknown[] = Array.isArray(image['Layers']) ? image['Layers'] : [];
    for (const layer of layers) {
      const blob = blobs.get(String(layer));
      if (!blob) throw new ImageError(`layer ${JSON.stringify(layer)} is not in the archive`);
      refuseLayer(blob, String(layer), platform.os);
    }
    platforms.push(platform);
  }
  refuseReserved(names);
  return { names, platforms };
}

function refuseLayer(blob: Blob, name: string, os: string): void {
  if (!blob.refusals) throw new ImageError(`layer ${name} is no tar file`);
  const refusal = blob.refusals[os === 'windows' ? 'windows' : 'linux'];
  if (refusal !== undefined) throw new ImageError(`layer ${name.slice(0, 19)}: ${refusal}`);
}

function blobOf(blobs: ReadonlyMap<string, Blob>, digest: string, size: number, what: string): Blob {
  const blob = blobs.get(blobName(digest));
  if (!blob) throw new ImageError(`${what} ${digest} is not in the archive`);
  if (blob.size !== size) throw new ImageError(`${what} ${digest} has ${blob.size} bytes, not ${size}`);
  return blob;
}

interface Found {
  readonly platforms: ImagePlatform[];
  /** How deep each document was looked at: a thousand indexes may each name the next a thousand times. */
  readonly checkedAt: Map<string, number>;
}

/** An index or a manifest; indexes may hold indexes, but not for ever. */
function checkDocument(
  blobs: ReadonlyMap<string, Blob>,
  digest: string,
  size: number,
  found: Found,
  depth: number,
): void {
  if (depth > 4) throw new ImageError('indexes within indexes, more than four deep');
  const { document } = blobOf(blobs, digest, size, 'manifest');
  const before = found.checkedAt.get(digest);
  if (before !== undefined && depth <= before) return;
  found.checkedAt.set(digest, depth);
  const entries = indexEntries(document);
  if (entries) {
    for (const entry of entries) {
      // An archive may hold only some platforms of an index.
      if (!entry.isAttestation && blobs.has(`blobs/${entry.digest.replace(':', '/')}`)) {
        checkDocument(blobs, entry.digest, entry.size, found, depth + 1);
      }
    }
    return;
  }
  if (!isRecord(document)) throw new ImageError(`manifest ${digest} is no JSON object`);
  const config = descriptorOf(document['config'], 'config');
  const layers = document['layers'];
  if (!Array.isArray(layers)) throw new ImageError(`manifest ${digest} has no layers`);
  const platform = platformOf(blobOf(blobs, config.digest, config.size, 'config').document);
  for (const value of layers as unknown[]) {
    const layer = descriptorOf(value, 'layer');
    refuseLayer(blobOf(blobs, layer.digest, layer.size, 'layer'), layer.digest, platform.os);
  }
  if (before === undefined) found.platforms.push(platform);
}

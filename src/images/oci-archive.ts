// Writes an OCI image archive (`oci-layout`, `index.json`, `blobs/`), as `ctr images import` and Docker read it.
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { type Pack, pack } from 'tar-stream';
import { sha256Running } from '../component-base/content-hash.ts';
import { sha256Hex } from '../crypto/digests.ts';
import { blobName, ociMediaTypes } from './oci-layout.ts';

export interface ImageConfig {
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly WorkingDir?: string;
  readonly User?: string;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Labels?: Readonly<Record<string, string>>;
}

export interface ImagePart {
  readonly os: 'linux' | 'windows';
  readonly architecture: string;
  /** Windows only: `10.0.20348.2113`. */
  readonly osVersion?: string;
  readonly config: ImageConfig;
  /** Uncompressed tar files, lowest first. */
  readonly layers: readonly string[];
}

export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

type Blobs = Map<string, Buffer | { readonly file: string; readonly size: number }>;

async function digestOfFile(file: string): Promise<string> {
  const digest = sha256Running();
  for await (const chunk of createReadStream(file)) digest.update(chunk as Buffer);
  return digest.hex();
}

function addJson(blobs: Blobs, mediaType: string, value: unknown): Descriptor {
  const data = Buffer.from(JSON.stringify(value));
  const digest = `sha256:${sha256Hex(data)}`;
  blobs.set(digest, data);
  return { mediaType, digest, size: data.length };
}

async function addLayer(blobs: Blobs, file: string): Promise<Descriptor> {
  const { size } = await stat(file);
  const digest = `sha256:${await digestOfFile(file)}`;
  blobs.set(digest, { file, size });
  return { mediaType: ociMediaTypes.layer, digest, size };
}

async function addPart(blobs: Blobs, part: ImagePart): Promise<Descriptor & { readonly platform: object }> {
  const layers: Descriptor[] = [];
  for (const file of part.layers) layers.push(await addLayer(blobs, file));
  const osVersion = part.osVersion === undefined ? {} : { 'os.version': part.osVersion };
  const config = addJson(blobs, ociMediaTypes.config, {
    architecture: part.architecture,
    os: part.os,
    ...osVersion,
    created: '1970-01-01T00:00:00Z',
    config: part.config,
    rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
    history: layers.map(() => ({
      created: '1970-01-01T00:00:00Z',
      created_by: 'porthole image build-samples',
    })),
  });
  const manifest = addJson(blobs, ociMediaTypes.manifest, {
    schemaVersion: 2,
    mediaType: ociMediaTypes.manifest,
    config,
    layers,
  });
  return { ...manifest, platform: { os: part.os, architecture: part.architecture, ...osVersion } };
}

const add = (tar: Pack, name: string, data: string | Buffer): void =>
  void tar.entry({ name, mtime: new Date(0), mode: 0o644 }, data);

async function addBlob(
  tar: Pack,
  digest: string,
  blob: Buffer | { file: string; size: number },
): Promise<void> {
  const name = blobName(digest);
  if (Buffer.isBuffer(blob)) {
    add(tar, name, blob);
    return;
  }
  const entry = tar.entry({ name, size: blob.size, mtime: new Date(0), mode: 0o644 });
  await pipeline(createReadStream(blob.file), entry);
}

/** One image of one or more platforms under a name such as `porthole.local/sample/busybox:1`. Returns its digest. */
export async function writeImageArchive(
  file: string,
  reference: string,
  parts: readonly ImagePart[],
): Promise<string> {
  const blobs: Blobs = new Map();
  const manifests: (Descriptor & { readonly platform: object })[] = [];
  for (const part of parts) manifests.push(await addPart(blobs, part));
  const [single] = manifests;
  const index = { schemaVersion: 2, mediaType: ociMediaTypes.index, manifests };
  const root: Descriptor =
    manifests.length === 1 && single ? single : addJson(blobs, ociMediaTypes.index, index);
  const annotations = {
    'io.containerd.image.name': reference,
    'org.opencontainers.image.ref.name': reference,
  };

  const tar = pack();
  const written = pipeline(tar, createWriteStream(file));
  const added = (async () => {
    add(tar, 'oci-layout', '{"imageLayoutVersion":"1.0.0"}');
    add(tar, 'index.json', JSON.stringify({ schemaVersion: 2, manifests: [{ ...root, annotations }] }));
    for (const [digest, blob] of blobs) await addBlob(tar, digest, blob);
    tar.finalize();
  })();
  await Promise.all([written, added]);
  return root.digest;
}

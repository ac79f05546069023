// Of a checked archive what one node runs: of several platforms one manifest, with its documents and its layers. Pure.
import { sha256Hex } from '../crypto/digests.ts';
import { imageName } from './archive-names.ts';
import type { Blob, CheckedArchive } from './check-archive.ts';
import {
  ImageError,
  indexEntries,
  isRecord,
  type ManifestEntry,
  type NodePlatform,
  platformOf,
  selectManifest,
} from './image-index.ts';
import { blobName, ociMediaTypes } from './oci-layout.ts';

/** A layer that was kept when it was checked. */
export interface KeptBlob {
  readonly digest: string;
  readonly size: number;
  readonly file: string;
}

export interface ImageForNode {
  /** An archive of OCI's layout without its layers: names and content. */
  readonly documents: ReadonlyMap<string, Buffer>;
  readonly layers: readonly KeptBlob[];
}

type Blobs = CheckedArchive['blobs'];

export const listIn = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? (value as unknown[]) : [];

/** An index names the platform, or else the configuration does. */
function withPlatform(entry: ManifestEntry, blobs: Blobs): ManifestEntry {
  if (entry.platform.os !== '') return entry;
  const manifest = blobs.get(blobName(entry.digest))?.document;
  const config = isRecord(manifest) && isRecord(manifest['config']) ? manifest['config'] : {};
  return { ...entry, platform: platformOf(blobs.get(blobName(String(config['digest'])))?.document) };
}

/** Every manifest of one name; named a thousand times, an index of a thousand offers no more than once. */
function offeredBy(named: readonly ManifestEntry[], blobs: Blobs): readonly ManifestEntry[] {
  const seen = new Set<string>();
  const within = (entry: ManifestEntry): readonly ManifestEntry[] => {
    if (seen.has(entry.digest)) return [];
    const nested = indexEntries(blobs.get(blobName(entry.digest))?.document);
    if (nested) seen.add(entry.digest);
    return nested?.flatMap(within) ?? [entry];
  };
  const all = named.flatMap(within);
  // Attestations were not checked as images are: none may stay. An archive may hold only some platforms of an index.
  return all
    .filter((entry) => !entry.isAttestation && blobs.has(blobName(entry.digest)))
    .map((entry) => withPlatform(entry, blobs));
}

/**
 * What `index.json` says for this node, under its name or under `tag`; what has neither is left out. Throws ImageError when none
 * of several fits; the only one there is always does.
 */
export function chooseManifests(
  root: unknown,
  blobs: Blobs,
  node: NodePlatform,
  tag?: string,
): readonly object[] {
  const entries = indexEntries(root) ?? [];
  const raw = listIn(isRecord(root) ? root['manifests'] : undefined);
  const images = Map.groupBy(entries.keys(), (at) => tag ?? imageName(raw[at]));
  return [...images].flatMap(([name, positions]) => {
    if (name === undefined) return [];
    const offered = offeredBy(
      positions.map((at) => entries[at]!),
      blobs,
    );
    if (offered.length === 0) return [];
    const { mediaType, digest, size } = offered.length === 1 ? offered[0]! : selectManifest(offered, node);
    // This name and nothing else: of several annotations containerd might take another, and it makes up what one lacks.
    return [{ mediaType, digest, size, annotations: { 'io.containerd.image.name': name } }];
  });
}

const describe = (mediaType: string, { digest, size }: Pick<Blob, 'digest' | 'size'>): object => ({
  mediaType,
  digest,
  size,
});

/** What an older `docker save` writes, as an index and manifests of OCI's layout: containerd makes the same of it. */
function fromDocker(blobs: Blobs): { readonly root: object; readonly blobs: Blobs } {
  const all = new Map(blobs);
  const manifests = listIn(blobs.get('manifest.json')?.document).flatMap((value) => {
    const image = isRecord(value) ? value : {};
    const config = blobs.get(String(image['Config']))!;
    const layers = listIn(image['Layers']).map((name) => blobs.get(String(name))!);
    const packed = ({ packing }: Blob): string =>
      packing === undefined ? ociMediaTypes.layer : `${ociMediaTypes.layer}+${packing}`;
    const document = {
      schemaVersion: 2,
      mediaType: ociMediaTypes.manifest,
      config: describe(ociMediaTypes.config, config),
      layers: layers.map((layer) => describe(packed(layer), layer)),
    };
    const bytes = Buffer.from(JSON.stringify(document));
    const manifest = { size: bytes.length, digest: `sha256:${sha256Hex(bytes)}`, bytes, document };
    for (const blob of [manifest, config, ...layers]) all.set(blobName(blob.digest), blob);
    const tags = listIn(image['RepoTags']).filter((tag) => typeof tag === 'string');
    const names = tags.length === 0 ? [''] : tags.map(String);
    return names.map((name) => ({
      ...describe(ociMediaTypes.manifest, manifest),
      annotations: { 'io.containerd.image.name': name },
    }));
  });
  return { root: { schemaVersion: 2, manifests }, blobs: all };
}

/** Throws ImageError when nothing in it is for the node. */
export function imageForNode(
  archive: Pick<CheckedArchive, 'blobs'>,
  node: NodePlatform,
  tag?: string,
): ImageForNode {
  const own = archive.blobs.get('index.json')?.document;
  const { root, blobs } = indexEntries(own) ? { root: own, blobs: archive.blobs } : fromDocker(archive.blobs);
  const manifests = chooseManifests(root, blobs, node, tag);
  const documents = new Map<string, Buffer>([
    ['oci-layout', Buffer.from('{"imageLayoutVersion":"1.0.0"}')],
    ['index.json', Buffer.from(JSON.stringify({ schemaVersion: 2, manifests }))],
  ]);
  const layers = new Map<string, KeptBlob>();
  const digestOf = (value: unknown): string => String(isRecord(value) ? value['digest'] : '');
  const needed = (digest: string): Blob => {
    const blob = blobs.get(blobName(digest));
    if (!blob) throw new ImageError(`manifest or layer ${digest} is missing`);
    return blob;
  };
  const keepDocument = (digest: string): unknown => {
    const { bytes, document } = needed(digest);
    if (!bytes) throw new ImageError(`${digest} is no document`);
    documents.set(blobName(digest), bytes);
    return document;
  };
  for (const entry of manifests) {
    const manifest = keepDocument(digestOf(entry));
    if (!isRecord(manifest)) continue;
    keepDocument(digestOf(manifest['config']));
    for (const layer of listIn(manifest['layers'])) {
      const { digest, size, file } = needed(digestOf(layer));
      if (file === undefined) throw new ImageError(`layer ${digest} was not kept`);
      layers.set(digest, { digest, size, file });
    }
  }
  return { documents, layers: [...layers.values()] };
}

// An image that a node's containerd holds, read out of its folder in the form in which another node takes it: nothing is copied.
import { existsSync, readFileSync } from 'node:fs';
import { blobFile } from '../rpc-api/containerd-content.ts';
import type { Blob } from './check-archive.ts';
import { type ImageForNode, imageForNode, listIn } from './image-for-node.ts';
import { descriptorOf, ImageError, indexEntries, isRecord, type NodePlatform } from './image-index.ts';
import { blobName, ociMediaTypes } from './oci-layout.ts';

export interface HeldImage {
  readonly name: string;
  /** Of its index or manifest. */
  readonly digest: string;
}

/** Throws ImageError when the folder lacks a part of it that the node needs. `contentRoot`: containerd's root folder. */
export function heldImage(contentRoot: string, held: HeldImage, node: NodePlatform): ImageForNode {
  const blobs = new Map<string, Blob>();
  const documentOf = (digest: string): unknown => {
    const file = blobFile(contentRoot, digest);
    // Of an index only what runs on the node may have come.
    if (blobs.has(blobName(digest)) || !existsSync(file)) return undefined;
    const bytes = readFileSync(file);
    const document: unknown = JSON.parse(bytes.toString());
    blobs.set(blobName(digest), { digest, size: bytes.length, bytes, document });
    return document;
  };
  const readWithin = (digest: string): void => {
    const document = documentOf(digest);
    for (const entry of indexEntries(document) ?? []) if (!entry.isAttestation) readWithin(entry.digest);
    if (!isRecord(document) || !isRecord(document['config'])) return;
    documentOf(descriptorOf(document['config'], 'config').digest);
    for (const layer of listIn(document['layers'])) {
      const { digest: layerDigest, size } = descriptorOf(layer, 'layer');
      const file = blobFile(contentRoot, layerDigest);
      if (existsSync(file)) blobs.set(blobName(layerDigest), { digest: layerDigest, size, file });
    }
  };
  readWithin(held.digest);
  const top = blobs.get(blobName(held.digest));
  if (top === undefined) throw new ImageError(`${held.name} is not held`);
  const named = {
    mediaType: mediaTypeOf(top.document),
    digest: held.digest,
    size: top.size,
    annotations: { 'io.containerd.image.name': held.name },
  };
  const root: Blob = { digest: '', size: 0, document: { schemaVersion: 2, manifests: [named] } };
  return imageForNode({ blobs: blobs.set('index.json', root) }, node);
}

const mediaTypeOf = (document: unknown): string => {
  const own = isRecord(document) ? document['mediaType'] : undefined;
  if (typeof own === 'string') return own;
  return indexEntries(document) ? ociMediaTypes.index : ociMediaTypes.manifest;
};

// Of an archive that holds an image for several platforms: an archive of the one manifest that a node runs.
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar-stream';
import { plainName } from './archive-names.ts';
import { ImageError, indexEntries, isRecord, type NodePlatform, selectManifest } from './image-index.ts';
import { rewriteArchive } from './plain-archive.ts';

const largestDocument = 4 * 2 ** 20;
const blobName = (digest: string): string => `blobs/${digest.replace(':', '/')}`;

/** `index.json` and every blob that is JSON, by name. */
async function readDocuments(file: string): Promise<ReadonlyMap<string, unknown>> {
  const documents = new Map<string, unknown>();
  const archive = createReadStream(file).pipe(extract());
  for await (const entry of archive) {
    const { name, size = 0, type } = entry.header;
    if (type !== 'file' || size > largestDocument) {
      entry.resume();
      continue;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of entry as unknown as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    if (!text.startsWith('{')) continue;
    try {
      documents.set(plainName(name, type), JSON.parse(text));
    } catch {
      // A layer or another blob that only begins like a document.
    }
  }
  return documents;
}

const nameOf = (entry: unknown): string => {
  const annotations = isRecord(entry) && isRecord(entry['annotations']) ? entry['annotations'] : {};
  const name = annotations['io.containerd.image.name'] ?? annotations['org.opencontainers.image.ref.name'];
  return typeof name === 'string' ? name : '';
};

interface Choice {
  readonly index: object;
  /** Names of the blobs that belong to it. */
  readonly blobs: ReadonlySet<string>;
}

/** Undefined when the archive leaves nothing to choose. */
export function chooseManifests(
  documents: ReadonlyMap<string, unknown>,
  node: NodePlatform,
): Choice | undefined {
  const root = documents.get('index.json');
  const entries = indexEntries(root);
  if (!entries || !isRecord(root)) return undefined;
  const raw = root['manifests'] as readonly unknown[];
  const images = Map.groupBy(entries.keys(), (at) => nameOf(raw[at]));
  const chosen: object[] = [];
  let choices = 0;
  for (const positions of images.values()) {
    // Named a thousand times, an index of a thousand offers no more than once.
    const seen = new Set<string>();
    const all = positions.flatMap((at) => {
      const entry = entries[at]!;
      if (seen.has(entry.digest)) return [];
      const nested = indexEntries(documents.get(blobName(entry.digest)));
      if (nested) seen.add(entry.digest);
      return nested ?? [entry];
    });
    // Attestations were not checked as images are: none may stay. An archive may hold only some platforms of an index.
    const offered = all.filter((entry) => !entry.isAttestation && documents.has(blobName(entry.digest)));
    choices += all.length - 1;
    if (offered.length === 0 && all.length > 0) continue;
    const best = offered.length === 1 ? offered[0]! : selectManifest(offered, node);
    const first = raw[positions[0]!];
    const annotations = isRecord(first) ? first['annotations'] : undefined;
    const { mediaType, digest, size } = best;
    chosen.push({ mediaType, digest, size, ...(isRecord(annotations) ? { annotations } : {}) });
  }
  if (choices === 0) return undefined;
  return { index: { schemaVersion: 2, manifests: chosen }, blobs: blobsOf(chosen, documents) };
}

function blobsOf(manifests: readonly object[], documents: ReadonlyMap<string, unknown>): ReadonlySet<string> {
  const blobs = new Set<string>();
  for (const { digest } of manifests as readonly { readonly digest: string }[]) {
    const manifest = documents.get(blobName(digest));
    if (!isRecord(manifest)) throw new ImageError(`manifest ${digest} is missing`);
    const layers = Array.isArray(manifest['layers']) ? (manifest['layers'] as unknown[]) : [];
    blobs.add(blobName(digest));
    for (const part of [manifest['config'], ...layers]) {
      if (isRecord(part) && typeof part['digest'] === 'string') blobs.add(blobName(part['digest']));
    }
  }
  return blobs;
}

/**
 * The path of an archive in `directory` with what the node runs; the archive itself when it holds nothing else.
 * Throws ImageError when no entry fits. The archive has been checked before.
 */
export async function selectPlatform(file: string, node: NodePlatform, directory: string): Promise<string> {
  const choice = chooseManifests(await readDocuments(file), node);
  if (!choice) return file;
  const selected = join(directory, 'selected.tar');
  await rewriteArchive(file, selected, {
    documents: new Map([
      ['oci-layout', '{"imageLayoutVersion":"1.0.0"}'],
      ['index.json', JSON.stringify(choice.index)],
    ]),
    keeps: (name) => choice.blobs.has(name),
  });
  return selected;
}

// Pushes an image archive to a registry through the registry's own API, as docker, skopeo and crane do.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '../../src/crypto/digests.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { scratchDirectory } from './scratch.ts';

interface Described {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

const indexType = 'application/vnd.oci.image.index.v1+json';

async function ask(url: string, init: RequestInit, expected: number): Promise<Response> {
  const response = await fetch(url, init);
  if (response.status !== expected)
    throw new Error(`${init.method} ${url}: ${response.status} ${await response.text()}`);
  return response;
}

async function pushBlob(repository: string, digest: string, bytes: Buffer): Promise<void> {
  const { status } = await fetch(`${repository}/blobs/${digest}`, { method: 'HEAD' });
  if (status === 200) return;
  const begun = await ask(`${repository}/blobs/uploads/`, { method: 'POST' }, 202);
  const place = new URL(begun.headers.get('location')!, repository);
  place.searchParams.set('digest', digest);
  const headers = { 'content-type': 'application/octet-stream' };
  await ask(place.href, { method: 'PUT', headers, body: new Uint8Array(bytes) }, 201);
}

const pushManifest = (
  repository: string,
  reference: string,
  type: string,
  bytes: Buffer,
): Promise<Response> =>
  ask(
    `${repository}/manifests/${reference}`,
    { method: 'PUT', headers: { 'content-type': type }, body: new Uint8Array(bytes) },
    201,
  );

/** `repository`: `http://localhost:5000/v2/team/app`. An archive of several platforms becomes an index. Returns its digest. */
export async function pushArchive(archive: string, repository: string, tag: string): Promise<string> {
  const scratch = scratchDirectory('push');
  try {
    await runOrThrow(linuxProcesses, 'tar', ['-xf', archive, '-C', scratch.path]);
    const blob = (digest: string): Buffer =>
      readFileSync(join(scratch.path, 'blobs', digest.replace(':', '/')));
    const index = JSON.parse(readFileSync(join(scratch.path, 'index.json'), 'utf8')) as {
      readonly manifests: readonly (Described & { readonly platform?: object })[];
    };
    const tops = index.manifests.flatMap((entry) =>
      entry.mediaType === indexType
        ? (JSON.parse(blob(entry.digest).toString()) as typeof index).manifests
        : [entry],
    );
    for (const { digest, mediaType } of tops) {
      const manifest = JSON.parse(blob(digest).toString()) as {
        readonly config: Described;
        readonly layers: readonly Described[];
      };
      for (const part of [manifest.config, ...manifest.layers])
        await pushBlob(repository, part.digest, blob(part.digest));
      await pushManifest(repository, digest, mediaType, blob(digest));
    }
    const manifests = tops.map(({ mediaType, digest, size, platform }) => ({
      ...{ mediaType, digest, size },
      ...(platform ? { platform } : {}),
    }));
    const [only] = tops;
    const [type, bytes] =
      tops.length === 1
        ? ([only!.mediaType, blob(only!.digest)] as const)
        : ([
            indexType,
            Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: indexType, manifests })),
          ] as const);
    await pushManifest(repository, tag, type, bytes);
    return `sha256:${sha256Hex(bytes)}`;
  } finally {
    scratch.remove();
  }
}

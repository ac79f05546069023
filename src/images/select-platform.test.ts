// The one manifest of several that a node runs, and an archive of just that.
import assert from 'node:assert/strict';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { pack } from 'tar-stream';
import { sha256Hex } from '../crypto/digests.ts';
import { checkImageArchive } from './check-archive.ts';
import { writeLayer } from './image-tar.ts';
import { writeImageArchive } from './oci-archive.ts';
import { chooseManifests, selectPlatform } from './select-platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'porthole-select-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const windows = (build: number) => ({ os: 'windows', architecture: 'amd64', build }) as const;

async function archiveOf(name: string, osVersions: readonly string[]): Promise<string> {
  const parts = [];
  for (const osVersion of osVersions) {
    const layer = join(folder, `${name}-${osVersion}`);
    await writeLayer(layer, [{ kind: 'file', path: 'Files/v.txt', data: osVersion }], { windows: true });
    parts.push({ os: 'windows', architecture: 'amd64', osVersion, config: {}, layers: [layer] } as const);
  }
  const file = join(folder, `${name}.tar`);
  await writeImageArchive(file, `porthole.local/${name}:1`, parts);
  return file;
}

interface Attested {
  readonly asPartOf: 'an index' | 'the archive';
  readonly without?: 'image';
}

/** As `docker buildx build -o type=oci`: beside the image a manifest of platform unknown/unknown, its layer no tar. */
async function attested(name: string, { asPartOf, without }: Attested): Promise<string> {
  const blobs = new Map<string, string>();
  const add = (value: object, mediaType: string): object => {
    const text = JSON.stringify(value);
    blobs.set(sha256Hex(text), text);
    return { mediaType, digest: `sha256:${sha256Hex(text)}`, size: text.length };
  };
  const manifestType = 'application/vnd.oci.image.manifest.v1+json';
  const config = (os: string) =>
    add({ os, architecture: 'amd64' }, 'application/vnd.oci.image.config.v1+json');
  const image = add({ schemaVersion: 2, config: config('linux'), layers: [] }, manifestType);
  const statement = add({ _type: 'in-toto' }, 'application/vnd.in-toto+json');
  const attestation = add({ schemaVersion: 2, config: config('unknown'), layers: [statement] }, manifestType);
  const manifests = [
    ...(without === 'image' ? [] : [{ ...image, platform: { os: 'linux', architecture: 'amd64' } }]),
    { ...attestation, platform: { os: 'unknown', architecture: 'unknown' } },
  ];
  const index = add({ schemaVersion: 2, manifests }, 'application/vnd.oci.image.index.v1+json');
  const archive = pack();
  for (const [digest, text] of blobs) archive.entry({ name: `blobs/sha256/${digest}` }, text);
  const root = { schemaVersion: 2, manifests: asPartOf === 'an index' ? [index] : manifests };
  archive.entry({ name: 'index.json' }, JSON.stringify(root));
  archive.finalize();
  const file = join(folder, `${name}.tar`);
  await pipeline(archive, createWriteStream(file));
  return file;
}

test('the newest entry that fits the node is kept, with its blobs and its name', async () => {
  const file = await archiveOf('several', ['10.0.17763.1', '10.0.20348.9', '10.0.20348.10', '10.0.26100.1']);
  const selected = await selectPlatform(file, windows(20348), folder);
  assert.notEqual(selected, file);
  const { names, platforms } = await checkImageArchive(selected);
  assert.deepEqual(names, ['porthole.local/several:1']);
  assert.deepEqual(
    platforms.map(({ osVersion }) => osVersion),
    ['10.0.20348.10'],
  );
});

test('an archive with one manifest stays as it is, also when it does not fit', async () => {
  const file = await archiveOf('single', ['10.0.26100.1']);
  assert.equal(await selectPlatform(file, windows(20348), folder), file);
});

test('an index without a fitting entry is refused as a registry’s is', async () => {
  const file = await archiveOf('none', ['10.0.17763.1', '10.0.26100.1']);
  await assert.rejects(
    selectPlatform(file, windows(20348), folder),
    /no matching manifest for windows\/amd64 10\.0\.20348 in the manifest list entries/,
  );
});

test('what buildx says of how an image was built is no image: it is neither checked as one nor kept (N2)', async () => {
  const archive = attested('attested', { asPartOf: 'an index' });
  for (const file of [await archive, await attested('beside', { asPartOf: 'the archive' })]) {
    const { platforms } = await checkImageArchive(file);
    assert.deepEqual(platforms, [{ os: 'linux', architecture: 'amd64' }]);
    const selected = await selectPlatform(file, { os: 'linux', architecture: 'amd64' }, folder);
    assert.notEqual(selected, file);
    const text = readFileSync(selected, 'latin1');
    assert.ok(text.includes('"os":"linux"'), 'the image is there');
    assert.ok(!text.includes('in-toto'), 'and nothing else');
  }
});

test('an archive of nothing but attestations holds no image', async () => {
  await assert.rejects(
    checkImageArchive(await attested('alone', { asPartOf: 'the archive', without: 'image' })),
    {
      name: 'ImageError',
      message: 'the archive holds no image',
    },
  );
});

test('names that objects inherit and documents that are no index leave nothing to choose', () => {
  for (const document of [undefined, null, [], { manifests: 'x' }, { __proto__: { manifests: [] } }]) {
    assert.equal(chooseManifests(new Map([['index.json', document]]), windows(20348)), undefined);
  }
});

test('an index that is named several times offers each of its manifests once', () => {
  const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
  const entry = { digest: digest('a'), size: 1, platform: { os: 'linux', architecture: 'arm64' } };
  const index = { digest: digest('b'), size: 1 };
  const documents = new Map<string, unknown>([
    ['index.json', { manifests: [index, index, index] }],
    [`blobs/sha256/${'b'.repeat(64)}`, { manifests: [entry, { ...entry, digest: digest('c') }] }],
    [`blobs/sha256/${'a'.repeat(64)}`, {}],
    [`blobs/sha256/${'c'.repeat(64)}`, {}],
  ]);
  assert.throws(
    () => chooseManifests(documents, { os: 'linux', architecture: 'amd64' }),
    /it offers linux\/arm64, linux\/arm64$/,
  );
});

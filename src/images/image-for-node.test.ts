// The one manifest of several that a node runs, with its documents and layers and nothing else.
import assert from 'node:assert/strict';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { pack } from 'tar-stream';
import { sha256Hex } from '../crypto/digests.ts';
import { checkImageArchive } from './check-archive.ts';
import { chooseManifests, type ImageForNode, imageForNode } from './image-for-node.ts';
import type { NodePlatform } from './image-index.ts';
import { writeLayer } from './image-tar.ts';
import { writeImageArchive } from './oci-archive.ts';

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

async function selected(file: string, node: NodePlatform, tag?: string): Promise<ImageForNode> {
  const keepLayersIn = mkdtempSync(join(folder, 'kept-'));
  return imageForNode(await checkImageArchive(file, { keepLayersIn }), node, tag);
}

const indexOf = ({ documents }: ImageForNode) =>
  JSON.parse(documents.get('index.json')!.toString()) as {
    readonly manifests: readonly { readonly annotations: Readonly<Record<string, string>> }[];
  };

test('the newest entry that fits the node is kept, with its layer and its name', async () => {
  const file = await archiveOf('several', ['10.0.17763.1', '10.0.20348.9', '10.0.20348.10', '10.0.26100.1']);
  const image = await selected(file, windows(20348));
  assert.deepEqual(
    indexOf(image).manifests.map(({ annotations }) => annotations['io.containerd.image.name']),
    ['porthole.local/several:1'],
  );
  assert.equal(image.layers.length, 1);
  assert.ok(readFileSync(image.layers[0]!.file, 'latin1').includes('10.0.20348.10'));
  assert.deepEqual(
    [...image.documents.values()]
      .map((bytes) => bytes.toString())
      .filter((text) => text.includes('os.version')),
    [...image.documents.values()]
      .map((bytes) => bytes.toString())
      .filter((text) => text.includes('10.0.20348.10')),
  );
});

test('the only manifest there is is taken, also when it does not fit', async () => {
  const image = await selected(await archiveOf('single', ['10.0.26100.1']), windows(20348));
  assert.equal(image.layers.length, 1);
});

test('images that differ in the second annotation only, the first being empty, are two', () => {
  const image = (letter: string, name: string) => ({
    digest: `sha256:${letter.repeat(64)}`,
    size: 1,
    mediaType: 'm',
    annotations: { 'io.containerd.image.name': '', 'org.opencontainers.image.ref.name': name },
  });
  const blobs = new Map(
    ['a', 'b'].map((letter) => [
      `blobs/sha256/${letter.repeat(64)}`,
      { size: 1, digest: `sha256:${letter.repeat(64)}`, document: {} },
    ]),
  );
  const manifests = [image('a', 'x.example/a:1'), image('b', 'x.example/b:1')];
  assert.deepEqual(
    chooseManifests({ manifests }, blobs, windows(20348)),
    manifests.map(({ digest, size, mediaType, annotations }) => ({
      mediaType,
      digest,
      size,
      annotations: { 'io.containerd.image.name': annotations['org.opencontainers.image.ref.name'] },
    })),
  );
});

test('an index without a fitting entry is refused as a registry’s is', async () => {
  const file = await archiveOf('none', ['10.0.17763.1', '10.0.26100.1']);
  await assert.rejects(
    selected(file, windows(20348)),
    /no matching manifest for windows\/amd64 10\.0\.20348 in the manifest list entries/,
  );
});

test('what buildx says of how an image was built is no image: it is neither checked as one nor kept', async () => {
  const archive = attested('attested', { asPartOf: 'an index' });
  for (const file of [await archive, await attested('beside', { asPartOf: 'the archive' })]) {
    const { platforms } = await checkImageArchive(file);
    assert.deepEqual(platforms, [{ os: 'linux', architecture: 'amd64' }]);
    const { documents, layers } = await selected(
      file,
      { os: 'linux', architecture: 'amd64' },
      'x.example/app:1',
    );
    const text = [...documents.values()].join('');
    assert.ok(text.includes('"os":"linux"'), 'the image is there');
    assert.ok(!text.includes('in-toto'), 'and nothing else');
    assert.deepEqual(layers, []);
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
    assert.deepEqual(chooseManifests(document, new Map(), windows(20348)), []);
  }
});

test('an index that is named several times, and one within another, offers each of its manifests once', () => {
  const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
  const entry = { digest: digest('a'), size: 1, platform: { os: 'linux', architecture: 'arm64' } };
  const index = { digest: digest('b'), size: 1 };
  const outer = { digest: digest('d'), size: 1 };
  const blob = (letter: string, document: object) =>
    [`blobs/sha256/${letter.repeat(64)}`, { size: 1, digest: digest(letter), document }] as const;
  const blobs = new Map([
    blob('d', { manifests: [index] }),
    blob('b', { manifests: [entry, { ...entry, digest: digest('c') }] }),
    blob('a', {}),
    blob('c', {}),
  ]);
  assert.throws(
    () =>
      chooseManifests(
        { manifests: [outer, index, index] },
        blobs,
        { os: 'linux', architecture: 'amd64' },
        'x.example/app:1',
      ),
    /it offers linux\/arm64, linux\/arm64$/,
  );
});

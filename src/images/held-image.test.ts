// What a node's containerd holds of an image, read for another node.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { sha256Hex } from '../crypto/digests.ts';
import { blobFile } from '../rpc-api/containerd-content.ts';
import { heldImage } from './held-image.ts';

const folder = mkdtempSync(join(tmpdir(), 'porthole-held-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const linux = { os: 'linux', architecture: 'amd64' } as const;
const manifestType = 'application/vnd.oci.image.manifest.v1+json';

/** A store with one image of one layer for Linux, in an index beside one for Windows that never came. */
function store(name: string, without?: 'layer') {
  const root = join(folder, name);
  const add = (content: string, mediaType: string, isThere = true) => {
    const digest = `sha256:${sha256Hex(content)}`;
    const file = blobFile(root, digest);
    mkdirSync(dirname(file), { recursive: true });
    if (isThere) writeFileSync(file, content);
    return { mediaType, digest, size: content.length };
  };
  const layer = add(`layer of ${name}`, 'application/vnd.oci.image.layer.v1.tar', without !== 'layer');
  const config = add(
    JSON.stringify({ os: 'linux', architecture: 'amd64' }),
    'application/vnd.oci.image.config.v1+json',
  );
  const manifest = add(JSON.stringify({ schemaVersion: 2, config, layers: [layer] }), manifestType);
  const absent = add('{}', manifestType, false);
  const manifests = [
    { ...absent, platform: { os: 'windows', architecture: 'amd64', 'os.version': '10.0.20348.1' } },
    { ...manifest, platform: linux },
  ];
  const index = add(
    JSON.stringify({ schemaVersion: 2, manifests }),
    'application/vnd.oci.image.index.v1+json',
  );
  return { root, index, manifest, layer };
}

test('of an index what came is told, by its name, with the layer where it lies', () => {
  const { root, index, manifest, layer } = store('whole');
  for (const { digest } of [index, manifest]) {
    const image = heldImage(root, { name: 'example.com/app:1', digest }, linux);
    assert.deepEqual(image.layers, [
      { digest: layer.digest, size: layer.size, file: blobFile(root, layer.digest) },
    ]);
    const told = JSON.parse(image.documents.get('index.json')!.toString()) as object;
    assert.deepEqual(told, {
      schemaVersion: 2,
      manifests: [{ ...manifest, annotations: { 'io.containerd.image.name': 'example.com/app:1' } }],
    });
  }
});

test('an image with a part that is not there does not come', () => {
  const { root, index } = store('torn', 'layer');
  const held = { name: 'example.com/app:1', digest: index.digest };
  assert.throws(() => heldImage(root, held, linux), /manifest or layer sha256:[0-9a-f]{64} is missing/);
  rmSync(root, { recursive: true });
  assert.throws(() => heldImage(root, held, linux), /example\.com\/app:1 is not held/);
});

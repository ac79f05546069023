// The one manifest of several that a node runs, and an archive of just that.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
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

test('names that objects inherit and documents that are no index leave nothing to choose', () => {
  for (const document of [undefined, null, [], { manifests: 'x' }, { __proto__: { manifests: [] } }]) {
    assert.equal(chooseManifests(new Map([['index.json', document]]), windows(20348)), undefined);
  }
});

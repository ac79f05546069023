// Archives that are what they say, and archives that are not.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  createWriteStream,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { after, test } from 'node:test';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { sha256Hex } from '../crypto/digests.ts';
import { plainName } from './archive-names.ts';
import { checkImageArchive } from './check-archive.ts';
import { imageForNode } from './image-for-node.ts';
import { selectManifest } from './image-index.ts';
import { writeLayer } from './image-tar.ts';
import { writeImageArchive } from './oci-archive.ts';

const folder = mkdtempSync(join(tmpdir(), 'porthole-images-'));
after(() => rmSync(folder, { recursive: true, force: true }));

async function tarOf(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const tar = pack();
  for (const [name, data] of Object.entries(files)) tar.entry({ name }, data);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** An entry whose extended header is as long as no real one. */
async function tarWithLongHeader(): Promise<Buffer> {
  const tar = pack();
  tar.entry({ name: 'a', pax: { comment: 'x'.repeat(17 * 2 ** 20) } }, 'x');
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const describe = (data: string | Buffer) => ({ digest: `sha256:${sha256Hex(data)}`, size: data.length });

interface Forgery {
  readonly layer: Buffer;
  readonly os?: string;
  readonly digest?: string;
  readonly size?: number;
}

/** An archive of one image around a layer's bytes, with a wrong digest or size when asked. */
async function forge(name: string, { layer, os = 'linux', digest, size }: Forgery): Promise<string> {
  const config = JSON.stringify({ os, architecture: 'amd64' });
  const layerDescriptor = { digest: digest ?? `sha256:${sha256Hex(layer)}`, size: size ?? layer.length };
  const manifest = JSON.stringify({ schemaVersion: 2, config: describe(config), layers: [layerDescriptor] });
  const file = join(folder, name);
  const blob = (text: string): string => `blobs/sha256/${sha256Hex(text)}`;
  const files = {
    'index.json': JSON.stringify({ manifests: [describe(manifest)] }),
    [blob(config)]: config,
    [blob(manifest)]: manifest,
    [`blobs/${layerDescriptor.digest.replace(':', '/').replaceAll('..', 'up')}`]: layer,
  };
  writeFileSync(file, await tarOf(files));
  return file;
}

test('an archive of ours passes, and tells its name and platform', async () => {
  const layer = join(folder, 'layer.tar');
  await writeLayer(layer, [{ kind: 'file', path: 'Files/app/a.txt', data: 'a' }], { windows: true });
  const file = join(folder, 'ours.tar');
  const part = { os: 'windows', architecture: 'amd64', config: {}, layers: [layer] } as const;
  await writeImageArchive(file, 'porthole.local/x:1', [
    { ...part, osVersion: '10.0.17763.1' },
    { ...part, osVersion: '10.0.20348.1' },
  ]);
  const { names, platforms } = await checkImageArchive(file);
  assert.deepEqual(names, ['porthole.local/x:1']);
  assert.deepEqual(
    platforms.map(({ osVersion }) => osVersion),
    ['10.0.17763.1', '10.0.20348.1'],
  );
});

test('the same content gives the same archive', async () => {
  const write = async (name: string): Promise<Buffer> => {
    const layer = join(folder, `${name}.layer`);
    await writeLayer(layer, [{ kind: 'file', path: 'a/b', data: 'x' }]);
    await writeImageArchive(join(folder, name), 'x:1', [
      { os: 'linux', architecture: 'amd64', config: {}, layers: [layer] },
    ]);
    return readFileSync(join(folder, name));
  };
  assert.ok((await write('one')).equals(await write('two')));
});

const refusals: readonly [string, () => Promise<Forgery>, RegExp][] = [
  [
    'a path that leaves',
    async () => ({ layer: gzipSync(await tarOf({ '../evil': 'x' })) }),
    /leaves the layer/,
  ],
  [
    'a path that leaves, in a layer packed by zstd',
    async () => ({ layer: zstdCompressSync(await tarOf({ '../evil': 'x' })) }),
    /leaves the layer/,
  ],
  ['an absolute path', async () => ({ layer: await tarOf({ '/etc/cron.d/x': 'x' }) }), /absolute/],
  [
    'a Linux path in a Windows image',
    async () => ({ layer: await tarOf({ 'etc/x': 'x' }), os: 'windows' }),
    /not below Files/,
  ],
  [
    'a digest that does not match',
    async () => ({ layer: await tarOf({ a: 'x' }), digest: `sha256:${'0'.repeat(64)}` }),
    /does not have the content/,
  ],
  [
    'a digest that is a path',
    async () => ({ layer: await tarOf({ a: 'x' }), digest: 'sha256:../../etc/passwd' }),
    /invalid digest/,
  ],
  ['a size that does not match', async () => ({ layer: await tarOf({ a: 'x' }), size: 7 }), /bytes, not 7/],
  ['a layer that is no tar', async () => ({ layer: Buffer.from('just text') }), /no tar file/],
  [
    'a broken compressed stream',
    async () => ({ layer: gzipSync(await tarOf({ a: 'x' })).subarray(0, 40) }),
    /not a readable image/,
  ],
  [
    'a bomb',
    async () => ({ layer: gzipSync(await tarOf({ zeros: Buffer.alloc(80 * 2 ** 20) })) }),
    /decompression bomb/,
  ],
  [
    'a header without end, in a layer',
    async () => ({ layer: await tarWithLongHeader() }),
    /Header exceeds max size/,
  ],
];
for (const [index, [what, forgery, reason]] of refusals.entries()) {
  test(`${what} is refused`, async () => {
    const file = await forge(`forged-${index}`, await forgery());
    await assert.rejects(checkImageArchive(file), (error: Error) => {
      assert.equal(error.name, 'ImageError');
      assert.match(error.message, reason);
      return true;
    });
  });
}

test('an archive of an older docker is read, and checked as well', async () => {
  const write = async (name: string, entry: string): Promise<string> => {
    const file = join(folder, name);
    const manifest = [{ Config: 'c.json', RepoTags: ['old:1'], Layers: ['1/layer.tar'] }];
    const files = {
      'manifest.json': JSON.stringify(manifest),
      'c.json': JSON.stringify({ os: 'linux', architecture: 'amd64' }),
      '1/layer.tar': await tarOf({ [entry]: 'x' }),
    };
    writeFileSync(file, await tarOf(files));
    return file;
  };
  const { names, platforms } = await checkImageArchive(await write('docker', 'bin/sh'));
  assert.deepEqual(
    { names, platforms },
    { names: ['old:1'], platforms: [{ os: 'linux', architecture: 'amd64' }] },
  );
  await assert.rejects(checkImageArchive(await write('docker-evil', '../x')), /leaves the layer/);
});

test('a layer that occurs twice, for which docker save writes a link, is read; a link to nothing is not there', async () => {
  const file = join(folder, 'docker-link');
  const layer = await tarOf({ a: 'x' });
  const tar = pack();
  const manifest = [{ Config: 'c.json', RepoTags: ['old:1'], Layers: ['1/layer.tar', '2/layer.tar'] }];
  tar.entry({ name: 'c.json' }, JSON.stringify({ os: 'linux', architecture: 'amd64' }));
  tar.entry({ name: '2/layer.tar', type: 'symlink', linkname: '../1/layer.tar' });
  tar.entry({ name: '1/layer.tar' }, layer);
  tar.entry({ name: '3/layer.tar', type: 'symlink', linkname: '../../etc/passwd' });
  tar.entry({ name: 'manifest.json' }, JSON.stringify(manifest));
  tar.finalize();
  await pipeline(tar, createWriteStream(file));
  const keepLayersIn = mkdtempSync(join(folder, 'kept-'));
  const checked = await checkImageArchive(file, { keepLayersIn });
  assert.deepEqual(checked.names, ['old:1']);
  const { documents, layers } = imageForNode(checked, { os: 'linux', architecture: 'amd64' });
  assert.deepEqual(
    layers.map(({ digest, file }) => [digest, readFileSync(file)]),
    [[`sha256:${sha256Hex(layer)}`, layer]],
  );
  const index = JSON.parse(documents.get('index.json')!.toString()) as {
    manifests: { digest: string; annotations: object }[];
  };
  assert.deepEqual(index.manifests[0]!.annotations, {
    'io.containerd.image.name': 'docker.io/library/old:1',
  });
  const document = documents.get(`blobs/${index.manifests[0]!.digest.replace(':', '/')}`)!;
  assert.equal(`sha256:${sha256Hex(document)}`, index.manifests[0]!.digest);
  assert.equal((JSON.parse(document.toString()) as { layers: object[] }).layers.length, 2);
});

/** What a sound archive holds, with other files before and after it. */
async function around(name: string, before: Record<string, string>, after: typeof before): Promise<string> {
  const sound = await forge(`${name}-sound`, { layer: await tarOf({ a: 'x' }) });
  const end = Buffer.alloc(1024);
  const file = join(folder, name);
  const parts = [await tarOf(before), readFileSync(sound), await tarOf(after)];
  writeFileSync(file, Buffer.concat([...parts.map((part) => part.subarray(0, -1024)), end]));
  return file;
}

test('a second index by another way to write its name, or of the same name, is refused', async () => {
  for (const name of [
    '././index.json',
    './/index.json',
    'x/../index.json',
    'blobs/../index.json',
    '/index.json',
  ])
    await assert.rejects(
      checkImageArchive(await around('second', {}, { [name]: '{}' })),
      /has no plain name/,
      name,
    );
  const twice = await around('twice', { 'index.json': '{}' }, {});
  await assert.rejects(checkImageArchive(twice), /has "index\.json" twice/);
  const prefixed = await around('prefixed', { './oci-layout': '{"imageLayoutVersion":"1.0.0"}' }, {});
  await checkImageArchive(prefixed);
});

test('what is packed as a whole, by gzip or zstd, and what is a folder is read as the archive is; a bomb is none', async () => {
  const sound = await forge('packed-sound', { layer: await tarOf({ a: 'x' }) });
  const { names, platforms } = await checkImageArchive(sound);
  const write = (name: string, bytes: Buffer): string => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const layout = mkdtempSync(join(folder, 'layout-'));
  execFileSync('tar', ['-xf', sound, '-C', layout]);
  const bytes = readFileSync(sound);
  for (const path of [write('a.gz', gzipSync(bytes)), write('a.zst', zstdCompressSync(bytes)), layout]) {
    const checked = await checkImageArchive(path);
    assert.deepEqual({ names: checked.names, platforms: checked.platforms }, { names, platforms }, path);
  }
  const zeros = await tarOf({ 'blobs/sha256/x': Buffer.alloc(80 * 2 ** 20) });
  await assert.rejects(
    checkImageArchive(write('bomb.gz', gzipSync(zeros))),
    /the archive unpacks to over 250 times/,
  );
  const digest = readdirSync(join(layout, 'blobs/sha256'))[0]!;
  rmSync(join(layout, 'blobs/sha256', digest));
  symlinkSync('/etc/passwd', join(layout, 'blobs/sha256', digest));
  await assert.rejects(checkImageArchive(layout), /is no file/);
});

test('an archive that is both of OCI and of docker is sound as both', async () => {
  const manifest = JSON.stringify([{ Config: 'c.json', Layers: ['missing.tar'] }]);
  const file = await around('both', { 'manifest.json': manifest, 'c.json': '{"os":"linux"}' }, {});
  await assert.rejects(checkImageArchive(file), /layer "missing\.tar" is not in the archive/);
});

test("the sandbox's name is nobody's", async () => {
  for (const reference of [
    'porthole.local/pause:1',
    'porthole.local/pause',
    ' PORTHOLE.local/pause@sha256:0',
  ]) {
    const layer = join(folder, 'pause.layer');
    await writeLayer(layer, [{ kind: 'file', path: 'a', data: 'x' }]);
    const file = join(folder, 'pause.tar');
    await writeImageArchive(file, reference, [
      { os: 'linux', architecture: 'amd64', config: {}, layers: [layer] },
    ]);
    await assert.rejects(checkImageArchive(file), /that is the sandbox of every pod/);
  }
});

/** An archive whose index gives its one image these annotations. */
async function annotated(name: string, annotations: object): Promise<string> {
  const manifest = JSON.stringify({ schemaVersion: 2, config: describe(config), layers: [] });
  const blobs = [config, manifest].map((blob) => [`blobs/sha256/${sha256Hex(blob)}`, blob]);
  const index = JSON.stringify({ manifests: [{ ...describe(manifest), annotations }] });
  const file = join(folder, name);
  writeFileSync(file, await tarOf({ 'index.json': index, ...Object.fromEntries(blobs) }));
  return file;
}

test('an image has the name that containerd gives it, which is checked, and is given no other', async () => {
  const [own, reference] = ['io.containerd.image.name', 'org.opencontainers.image.ref.name'];
  const pause = 'porthole.local/pause:1';
  for (const annotations of [
    { [own]: '', [reference]: pause },
    { [own]: 7, [reference]: pause },
    { [own]: pause, [reference]: 'x.example/a:1' },
  ])
    await assert.rejects(
      checkImageArchive(await annotated('reserved', annotations)),
      /that is the sandbox of every pod/,
      JSON.stringify(annotations),
    );
  for (const [annotations, names] of [
    [{ [own]: 'x.example/a:1', [reference]: pause }, ['x.example/a:1']],
    [{ [own]: '', [reference]: 'app:v1' }, ['docker.io/library/app:v1']],
    [{ [own]: 'app' }, ['docker.io/library/app:latest']],
    // As skopeo, podman and buildah write it: containerd would make up a name of the day, which no pod can ask for.
    [{ [own]: '', [reference]: 'v1', other: 'x' }, []],
    [{ [own]: '', [reference]: '' }, []],
    [{ other: 'x' }, []],
  ] as const) {
    const checked = await checkImageArchive(await annotated('named', annotations));
    assert.deepEqual(checked.names, names);
    const given = (tag?: string): readonly (object | undefined)[] => {
      const { documents } = imageForNode(checked, { os: 'linux', architecture: 'amd64' }, tag);
      const { manifests } = JSON.parse(documents.get('index.json')!.toString()) as {
        readonly manifests: readonly { readonly annotations?: object }[];
      };
      return manifests.map((manifest) => manifest.annotations);
    };
    assert.deepEqual(
      given(),
      names.map((name) => ({ [own]: name })),
    );
    assert.deepEqual(given('y.example/b:2'), [{ [own]: 'y.example/b:2' }]);
  }
  await assert.rejects(checkImageArchive(await annotated('odd', { [own]: 'a b' })), /names an image "a b"/);
});

test('large layers that are no bombs pass, and what lies behind the end of a layer counts for its digest only', async () => {
  const zeros = (mib: number): Buffer => Buffer.alloc(mib * 2 ** 20);
  for (const [name, layer] of [
    ['packed', gzipSync(await tarOf({ zeros: zeros(20) }))],
    ['long', await tarOf({ zeros: zeros(65) })],
    ['zstd', zstdCompressSync(await tarOf({ a: 'x' }))],
    ['padded', gzipSync(Buffer.concat([await tarOf({ a: 'x' }), zeros(8)]))],
  ] as const)
    assert.equal((await checkImageArchive(await forge(name, { layer }))).platforms.length, 1, name);
});

test("a name has one way to be written, but for tar's own", () => {
  assert.deepEqual(
    [plainName('./', 'directory'), plainName('a/', 'directory'), plainName('./a', 'file')],
    ['', 'a', 'a'],
  );
  for (const [name, type] of [
    ['', 'file'],
    ['.', 'file'],
    ['./.', 'directory'],
    ['a/', 'file'],
    ['a/', 'symlink'],
    ['..', 'directory'],
    ['../index.json', 'file'],
    ['/a', 'directory'],
  ] as const)
    assert.throws(() => plainName(name, type), /has no plain name/, name);
});

const config = '{"os":"linux"}';

/** An archive of a configuration and these documents; its index names the first of them. */
async function archiveOf(name: string, documents: readonly object[]): Promise<string> {
  const blobs = [config, ...documents.map((document) => JSON.stringify(document))];
  const files = Object.fromEntries(
    blobs.map((blob): [string, string] => [`blobs/sha256/${sha256Hex(blob)}`, blob]),
  );
  const index = JSON.stringify({ manifests: [describe(blobs[1]!)] });
  const file = join(folder, name);
  writeFileSync(file, await tarOf({ 'index.json': index, ...files }));
  return file;
}

test('an archive without its parts is refused, and says which', async () => {
  const nested: object[] = [{ config: describe(config), layers: [] }];
  for (let i = 0; i < 6; i++) nested.unshift({ manifests: [describe(JSON.stringify(nested[0]))] });
  const absent = describe('absent');
  for (const [name, documents, why] of [
    ['list', [[]], /is no JSON object/],
    ['no-layers', [{ config: describe(config) }], /has no layers/],
    ['no-layer', [{ config: describe(config), layers: [absent] }], /^layer sha256:\w+ is not in the archive/],
    ['no-config', [{ config: absent, layers: [] }], /^config sha256:\w+ is not in the archive/],
    ['deep', nested, /more than four deep/],
  ] as const)
    await assert.rejects(checkImageArchive(await archiveOf(name, documents)), {
      name: 'ImageError',
      message: why,
    });
  for (const [manifest, why] of [
    [undefined, /neither index\.json nor manifest\.json/],
    [[], /neither index\.json nor manifest\.json/],
    [{}, /neither index\.json nor manifest\.json/],
    [[{ Config: 'absent.json', Layers: [] }], /names a configuration that is not in the archive/],
  ] as const) {
    const file = join(folder, 'docker-parts');
    writeFileSync(
      file,
      await tarOf({ a: 'x', ...(manifest && { 'manifest.json': JSON.stringify(manifest) }) }),
    );
    await assert.rejects(checkImageArchive(file), { name: 'ImageError', message: why });
  }
});

test('documents are kept within bounds', async () => {
  const long = JSON.stringify(['x'.repeat(4 * 2 ** 20 - 10)]);
  const files = Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`d${i}`, long]));
  await assert.rejects(checkImageArchive(await around('many', files, {})), /bytes of manifests/);
  // Short as text, and shorter packed: what they become in memory is what counts.
  const empties = `[${'{},'.repeat(900_000)}{}]`;
  await checkImageArchive(await around('values', { a: empties }, {}));
  await assert.rejects(
    checkImageArchive(await around('more-values', { a: empties, b: empties }, {})),
    /manifests have more than 2000000 values/,
  );
});

test('more than the allowed bytes, entries or files are refused', async () => {
  const layer = await tarOf({ a: 'x'.repeat(5000), b: '' });
  const file = await forge('limits', { layer });
  await assert.rejects(checkImageArchive(file, { limits: { unpackedBytes: 4000 } }), /more than 4000 bytes/);
  await assert.rejects(checkImageArchive(file, { limits: { entries: 1 } }), /more than 1 entries/);
  await assert.rejects(checkImageArchive(file, { limits: { files: 2 } }), /has more than 2 files/);
});

test('a file that is no archive is refused', async () => {
  const file = join(folder, 'text');
  writeFileSync(file, 'hello');
  await assert.rejects(checkImageArchive(file), /no image archive|not a readable/);
});

test("an index is matched to a node's system, and a mismatch says what it offers", () => {
  const entry = (os: string, osVersion?: string) => ({
    digest: `sha256:${'0'.repeat(64)}`,
    size: 1,
    mediaType: '',
    isAttestation: false,
    platform: { os, architecture: 'amd64', ...(osVersion ? { osVersion } : {}) },
  });
  const entries = [entry('linux'), entry('windows', '10.0.17763.1'), entry('windows', '10.0.20348.1')];
  const select = (os: 'linux' | 'windows', build: number) =>
    selectManifest(entries, { os, architecture: 'amd64', build }).platform.osVersion;
  assert.equal(select('windows', 26100), '10.0.20348.1');
  assert.equal(select('windows', 17763), '10.0.17763.1');
  assert.equal(select('linux', 0), undefined);
  const old = entries.slice(0, 2);
  assert.throws(
    () => selectManifest(old, { os: 'windows', architecture: 'amd64', build: 20348 }),
    /no matching manifest for windows\/amd64 10\.0\.20348 .*linux\/amd64, windows\/amd64 10\.0\.17763\.1.*0xc0370101/,
  );
});

test('a file that is not there, and what is no tar are told by name', async () => {
  const absent = join(folder, 'absent.tar');
  await assert.rejects(checkImageArchive(absent), (error: Error) => {
    assert.equal(error.message, `can't read ${absent}`);
    assert.equal((error.cause as NodeJS.ErrnoException).code, 'ENOENT');
    return true;
  });
  const text = join(folder, 'text');
  writeFileSync(text, 'no archive '.repeat(100));
  await assert.rejects(checkImageArchive(text), {
    message: `${text} is not a readable image archive: Invalid tar header. Maybe the tar is corrupted or it needs to be gunzipped?`,
  });
});

/** An archive whose one manifest lies below `depth` indexes, each of which names the next so many times. */
async function nested(name: string, depth: number, times: number): Promise<string> {
  const layer = await tarOf({ a: 'x' });
  const config = JSON.stringify({ os: 'linux', architecture: 'amd64' });
  const manifest = JSON.stringify({
    schemaVersion: 2,
    config: describe(config),
    layers: [describe(layer)],
  });
  const blobs: (string | Buffer)[] = [layer, config, manifest];
  let next: string = manifest;
  for (let i = 0; i < depth; i++) {
    next = JSON.stringify({ manifests: Array.from({ length: times }, () => describe(next)) });
    blobs.push(next);
  }
  const file = join(folder, name);
  const files = Object.fromEntries(blobs.map((blob) => [`blobs/sha256/${sha256Hex(blob)}`, blob]));
  writeFileSync(
    file,
    await tarOf({ 'index.json': JSON.stringify({ manifests: [describe(next)] }), ...files }),
  );
  return file;
}

test('indexes that each name the next a thousand times are looked at once', { timeout: 20_000 }, async () => {
  assert.equal((await checkImageArchive(await nested('wide.tar', 4, 1000))).platforms.length, 1);
});

test('an index that was found sound is refused all the same where it lies too deep', async () => {
  const layer = await tarOf({ a: 'x' });
  const config = JSON.stringify({ os: 'linux', architecture: 'amd64' });
  const manifest = JSON.stringify({ schemaVersion: 2, config: describe(config), layers: [describe(layer)] });
  const above = (text: string): string => JSON.stringify({ manifests: [describe(text)] });
  const chain = [manifest];
  while (chain.length < 6) chain.push(above(chain.at(-1)!));
  // Two deep first, five deep then.
  const root = JSON.stringify({ manifests: [describe(chain[2]!), describe(chain[5]!)] });
  const files = [layer, config, ...chain].map((blob) => [`blobs/sha256/${sha256Hex(blob)}`, blob]);
  const file = join(folder, 'deep.tar');
  writeFileSync(file, await tarOf({ 'index.json': root, ...Object.fromEntries(files) }));
  await assert.rejects(checkImageArchive(file), /more than four deep/);
});

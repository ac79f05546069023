// Records of pulls: what they let in, what survives an agent that ends in the middle, and files that are damaged.
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { fullNameOf } from '../../component-helpers/image-reference.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import type { Image } from '../../rpc-api/generated/cri-v1.ts';
import { createImageAccess, type ImageAccess, mergeCredentials, openingSecret } from './image-access.ts';
import type { PullCredential } from './image-credentials.ts';
import { createPullRecords, type PullSecret } from './pull-records.ts';

const at = Date.UTC(2026, 10, 22, 7, 30);
const image = 'example.com/team/x:1';
const x: Image = { id: 'sha256:x', repoTags: [image] };
const own: PullCredential = {
  auth: { username: 'robot', password: 'right' },
  source: { uid: 'u1', namespace: 'one', name: 'pull' },
  hash: 'h1',
};

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'records-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

/** An agent that starts in this folder, on a machine with these images. */
function agent(root: string, images: readonly Image[] = [x], clock = new FakeClock(at)): ImageAccess {
  return createImageAccess({
    records: createPullRecords(linuxFiles, root),
    images: {
      listImages: async () => images,
      imageStatus: async ({ image = '' }) =>
        images.find((i) => i.id === image || i.repoTags?.includes(fullNameOf(image))),
    },
    clock,
    log: silentLogger,
  });
}
const mustPull = (access: ImageAccess, ...credentials: readonly PullCredential[]): Promise<boolean> =>
  access.mustPull(image, x, async () => credentials);
const files = (root: string, kind: 'pulling' | 'pulled'): string[] =>
  readdirSync(join(root, 'image_manager', kind)).sort();

test("a record is upstream's file, says no password, and is there for the next agent", async (t) => {
  const root = folder(t);
  const access = agent(root);
  await access.intend(image);
  assert.deepEqual(files(root, 'pulling'), [`sha256-${sha256Hex(image)}`]);
  await access.pulled(image, x, own);
  assert.deepEqual(files(root, 'pulling'), []);
  const path = join(root, 'image_manager/pulled', `sha256-${sha256Hex('sha256:x')}`);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  const text = readFileSync(path, 'utf8');
  assert.deepEqual(JSON.parse(text), {
    kind: 'ImagePulledRecord',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    lastUpdatedTime: '2026-11-22T07:30:00Z',
    imageRef: 'sha256:x',
    credentialMapping: {
      'example.com/team/x': {
        kubernetesSecrets: [{ uid: 'u1', namespace: 'one', name: 'pull', credentialHash: 'h1' }],
      },
    },
  });
  assert.doesNotMatch(text, /right/);
  const next = agent(root);
  assert.equal(await mustPull(next), true);
  assert.equal(await mustPull(next, own), false);
});

test('an agent that ended in the middle of a pull leaves an image that everybody has to ask for', async (t) => {
  const root = folder(t);
  await agent(root).intend(image);
  const clock = new FakeClock(at);
  const next = agent(root, [x], clock);
  assert.equal(await mustPull(next, own), true);
  clock.advance(60_000);
  await next.intend('example.com/other:1');
  await next.failed('example.com/other:1');
  assert.deepEqual(files(root, 'pulling'), [], 'it is known to be there');
  assert.equal(await mustPull(agent(root), own), true);
  const there: Image[] = [];
  const failed = agent(folder(t), there);
  await failed.intend(image);
  await failed.intend(image);
  there.push({ id: 'sha256:x', repoTags: [image] });
  await failed.failed(image);
  assert.equal(await mustPull(failed), true, 'another pull is under way');
  await failed.failed(image);
  assert.equal(await mustPull(failed), false);
  await failed.intend(image);
  assert.equal(await mustPull(failed), false, 'it was there before that pull');
});

test('what an agent before this one was pulling under a name without registry or tag opens to nobody whose pull is refused', async (t) => {
  const short = 'priv.io/app';
  const full = `${short}:latest`;
  const byDigest = `${short}@sha256:${'0'.repeat(64)}`;
  const there: Image = { id: 'sha256:x', repoTags: [full], repoDigests: [byDigest] };
  const names = [short, full, byDigest, 'sha256:x'];
  const ask = (access: ImageAccess): Promise<boolean[]> =>
    Promise.all(names.map((name) => access.mustPull(name, there, async () => [])));
  const doubted = names.map(() => true);
  for (const damage of [undefined, '{']) {
    const root = folder(t);
    await agent(root, []).intend(short);
    const [file] = files(root, 'pulling');
    if (damage !== undefined) writeFileSync(join(root, 'image_manager/pulling', file!), damage);
    const clock = new FakeClock(at);
    const next = agent(root, [there], clock);
    if (damage === undefined) assert.deepEqual(await ask(next), doubted);
    for (const name of [short, full]) {
      await next.intend(name);
      await next.failed(name);
      assert.deepEqual(await ask(next), doubted, `after 401 for ${name}`);
    }
    clock.advance(60_000);
    await next.intend(image);
    await next.failed(image);
    assert.deepEqual(files(root, 'pulling'), []);
    assert.deepEqual(await ask(next), doubted, 'it is on record that nobody knows what opened it');
  }
});

test('what is being pulled is in doubt under its own names; other images of its repository, and other names of the image, are not', async (t) => {
  const loaded = 'porthole.local/x:1';
  const there: Image = { id: 'sha256:x', repoTags: [image, loaded] };
  const before: Image = { id: 'sha256:0', repoTags: ['example.com/team/x:0'] };
  const access = agent(folder(t), []);
  await access.intend(image);
  const ask = (name: string, what: Image): Promise<boolean> => access.mustPull(name, what, async () => []);
  assert.equal(await ask(image, there), true);
  assert.equal(await ask(loaded, there), false);
  assert.equal(await ask('example.com/team/x:0', before), false);
});

test('a runtime that does not say what became of one pull holds up no other one', async (t) => {
  const clock = new FakeClock(at);
  const root = folder(t);
  const slow = 'example.com/slow:1';
  const answer = Promise.withResolvers<Image | undefined>();
  const asked: string[] = [];
  const access = createImageAccess({
    records: createPullRecords(linuxFiles, root),
    images: {
      listImages: async () => [],
      imageStatus: ({ image: name = '' }) => {
        asked.push(name);
        return name === slow ? answer.promise : Promise.reject(new Error(`no answer for ${name}`));
      },
    },
    clock,
    log: silentLogger,
  });
  const waits = access.intend(slow);
  // Also with a runtime that refuses to say what was there: then nobody knows.
  await access.intend(image);
  assert.equal(await mustPull(access), true);
  await access.abandoned(image);
  assert.deepEqual(asked, [slow, image]);
  answer.resolve(undefined);
  await waits;
  await access.abandoned(slow);
  clock.advance(60_000);
  await access.intend('example.com/third:1');
  // What it says of one is of use, whatever it does not say of another.
  assert.deepEqual(files(root, 'pulling').includes(`sha256-${sha256Hex(slow)}`), false);
  assert.equal(files(root, 'pulling').length, 2);
});

test('a record that is damaged, or of something else, opens nothing and is replaced by the next pull', async (t) => {
  for (const damage of [
    '',
    '{',
    '[]',
    '{"kind":"ImagePulledRecord"}',
    '{"kind":"ImagePullIntent","image":"x"}',
    '{"kind":"ImagePulledRecord","imageRef":"sha256:x","lastUpdatedTime":"","credentialMapping":{"example.com/team/x":null}}',
  ]) {
    const root = folder(t);
    const access = agent(root);
    await access.intend(image);
    await access.pulled(image, x, undefined);
    assert.equal(await mustPull(access), false);
    writeFileSync(join(root, 'image_manager/pulled', files(root, 'pulled')[0]!), damage);
    assert.equal(await mustPull(access), true, damage);
    await access.pulled(image, x, undefined);
    assert.equal(await mustPull(access), false);
  }
});

test('each secret that opened an image is remembered, also one that only says the same', async (t) => {
  const root = folder(t);
  const access = agent(root);
  const of = (namespace: string, hash: string): PullCredential => ({
    ...own,
    source: { uid: `u-${namespace}`, namespace, name: 'pull' },
    hash,
  });
  const remembered = (): string[] => {
    const { credentialMapping } = JSON.parse(
      readFileSync(join(root, 'image_manager/pulled', files(root, 'pulled')[0]!), 'utf8'),
    ) as { credentialMapping: Record<string, { kubernetesSecrets: { namespace: string }[] }> };
    return credentialMapping['example.com/team/x']!.kubernetesSecrets.map(({ namespace }) => namespace);
  };
  await access.pulled(image, x, own);
  await access.pulled(image, x, of('two', 'h2'));
  assert.deepEqual(remembered(), ['one', 'two']);
  assert.equal(await mustPull(access, of('three', 'h2')), false);
  assert.deepEqual(remembered(), ['one', 'three', 'two']);
  assert.equal(await mustPull(access, of('four', 'h4')), true);
  for (let i = 0; i < 98; i++) await access.pulled(image, x, of(`many-${i}`, `many-${i}`));
  assert.equal(await mustPull(access, of('late', 'h2')), false);
  assert.ok(!remembered().includes('late'), 'a hundred are remembered, and what pulled');
});

test('records of images that are gone go when the agent starts', async (t) => {
  const root = folder(t);
  const access = agent(root);
  await access.pulled(image, x, own);
  await access.pulled(image, { id: 'sha256:y' }, own);
  await mustPull(agent(root), own);
  assert.deepEqual(files(root, 'pulled'), [`sha256-${sha256Hex('sha256:x')}`]);
});

test('a registry that became public opens its image to all, and it stays so', () => {
  const secret: PullSecret = { uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' };
  const known = mergeCredentials(undefined, { kubernetesSecrets: [secret] })!;
  assert.equal(mergeCredentials(known, { kubernetesSecrets: [secret] }), known);
  assert.deepEqual(
    mergeCredentials(known, { kubernetesSecrets: [{ ...secret, credentialHash: 'new' }] })?.kubernetesSecrets,
    [{ ...secret, credentialHash: 'new' }],
  );
  const twin = { ...secret, name: 't' };
  assert.deepEqual(mergeCredentials(known, { kubernetesSecrets: [twin] })?.kubernetesSecrets, [secret, twin]);
  const open = mergeCredentials(known, { nodePodsAccessible: true })!;
  assert.deepEqual(open, { nodePodsAccessible: true });
  assert.equal(mergeCredentials(open, { kubernetesSecrets: [secret] }), open);
});

test('a hundred secrets that were only seen are remembered, and no more', () => {
  const secret = (i: number, credentialHash: string): PullSecret => ({
    uid: `u${i}`,
    namespace: 'n',
    name: `s${i}`,
    credentialHash,
  });
  const known = { kubernetesSecrets: Array.from({ length: 100 }, (_, i) => secret(i, `h${i}`)) };
  assert.equal(openingSecret(known, [secret(7, 'changed')]), undefined);
  assert.equal(openingSecret(known, [secret(200, 'h7')])?.isNew, true);
  assert.equal(openingSecret(known, [secret(7, 'h7')])?.isNew, false);
  assert.equal(openingSecret(known, [secret(200, '')]), undefined);
  assert.equal(openingSecret({ kubernetesSecrets: [secret(1, '')] }, [secret(200, '')]), undefined);
});

test('a secret that was changed since opens what it opened; one that is like it in part does not', () => {
  const pull: PullSecret = { uid: 'u', namespace: 'n', name: 's', credentialHash: 'h' };
  const known = { kubernetesSecrets: [pull] };
  const changed = { ...pull, credentialHash: 'changed' };
  assert.deepEqual(openingSecret(known, [changed]), { secret: changed, isNew: true });
  for (const other of [{ uid: 'v' }, { namespace: 'm' }, { name: 't' }])
    assert.equal(openingSecret(known, [{ ...changed, ...other }]), undefined, JSON.stringify(other));
});

test('an image that was loaded stays open to all when the same one is pulled by another name', async (t) => {
  const loaded = 'porthole.local/x:1';
  const images: Image[] = [{ id: 'sha256:x', repoTags: [image, loaded] }];
  const access = agent(folder(t), images);
  const ask = (name: string): Promise<boolean> => access.mustPull(name, images[0]!, async () => []);
  await access.intend(image);
  await access.pulled(image, x, own);
  assert.equal(await ask(loaded), false);
  assert.equal(await ask(image), true, "the pulled name is nobody else's");
  assert.equal(await ask('example.com/guessed/x:1'), true, 'a name that the node does not have');
  assert.equal(await ask('sha256:x'), true, 'nor by its digest alone');
});

test('a pulled name of which no record is left is not taken for one that was loaded', async (t) => {
  const other = 'example.com/other/x:1';
  const byDigest = `example.com/other/x@sha256:${'0'.repeat(64)}`;
  const both: Image = { id: 'sha256:x', repoTags: [image, other], repoDigests: [byDigest] };
  const ask = (access: ImageAccess, name: string): Promise<boolean> =>
    access.mustPull(name, both, async () => []);
  // Its pull has ended, but is not recorded yet: also by its other name.
  const root = folder(t);
  const access = agent(root, [x]);
  await access.pulled(image, x, own);
  await access.intend(other);
  assert.equal(await ask(access, byDigest), true);
  // The agent ended before it was.
  const clock = new FakeClock(at);
  const next = agent(root, [both], clock);
  assert.equal(await ask(next, byDigest), true);
  clock.advance(60_000);
  await next.intend(image);
  await next.pulled(image, both, own);
  assert.deepEqual(files(root, 'pulling'), []);
  assert.equal(await ask(next, byDigest), true);
  // The record was damaged, and another name's pull writes it anew.
  const damaged = folder(t);
  const third = agent(damaged, [both]);
  await third.pulled(other, both, own);
  writeFileSync(join(damaged, 'image_manager/pulled', files(damaged, 'pulled')[0]!), '{');
  await third.pulled(image, both, own);
  assert.equal(await ask(third, other), true);
});

test('a pull that was left may end all the same: its image is no preloaded one, now or later', async (t) => {
  const root = folder(t);
  const there: Image[] = [];
  const clock = new FakeClock(at);
  const access = agent(root, there, clock);
  await access.intend(image);
  await access.abandoned(image);
  there.push({ id: 'sha256:x', repoTags: [image] });
  assert.equal(await mustPull(access), true);
  const [other, third] = ['example.com/other:1', 'example.com/third:1'];
  await access.intend(other);
  await access.abandoned(other);
  assert.equal(files(root, 'pulling').length, 2);
  clock.advance(60_000);
  await access.intend(third);
  assert.deepEqual(files(root, 'pulling'), [`sha256-${sha256Hex(third)}`], 'what became of others is known');
  assert.equal(await mustPull(access), true, 'nobody knows what opened it');
  assert.equal(await mustPull(agent(root, there)), true);
});

test('who pulls what another has left keeps its record', async (t) => {
  const root = folder(t);
  const clock = new FakeClock(at);
  const access = agent(root, [{ id: 'sha256:x', repoTags: [image] }], clock);
  await access.intend(image);
  await access.intend(image);
  await access.abandoned(image);
  await access.pulled(image, x, own);
  assert.equal(await mustPull(access, own), false);
  assert.equal(await mustPull(access), true);
  clock.advance(60_000);
  await access.intend('example.com/other:1');
  await access.failed('example.com/other:1');
  assert.deepEqual(files(root, 'pulling'), []);
  assert.equal(await mustPull(access, own), false);
});

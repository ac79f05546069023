// Pulls that fail, wait and are tried again, and the reasons that users see.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../component-base/logger.ts';
import { GrpcError } from '../../wire/grpc-client.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { createImageAccess } from './image-access.ts';
import type { PullCredential } from './image-credentials.ts';
import { createImagePuller } from './image-puller.ts';
import { PullFailures } from './pull-failures.ts';
import { createMemoryPullRecords } from './pull-records.ts';
import { StartError } from './start-error.ts';

const opens = (auth: unknown): boolean => (auth as { password?: string } | undefined)?.password === 'right';
/** A pull secret of a tenant. */
const secret = (namespace: string, password = 'right', name = 'pull'): PullCredential => ({
  auth: { username: 'robot', password },
  source: { uid: `uid of ${namespace}/${name}`, namespace, name },
  hash: `hash of ${password}`,
});

interface Answers {
  readonly username?: string;
  readonly removed?: string[];
  readonly there?: boolean;
  /** What the runtime says before it tells what a name means. */
  readonly status?: () => Promise<void>;
  /** Before the pod's are told. */
  readonly credentials?: () => Promise<void>;
  readonly pull?: (auth: unknown, signal: AbortSignal) => Promise<string>;
}

function puller(answers: Answers) {
  let now = 0;
  let set = 0;
  const said: string[] = [];
  const durations: (readonly [number, number])[] = [];
  let pulls = 0;
  let isThere = false;
  let failures = new PullFailures();
  let credentials: readonly PullCredential[] = [];
  const images = {
    listImages: async () => [],
    imageStatus: async () => {
      await answers.status?.();
      return answers.there || isThere ? { id: 'sha256:x', size: 7, username: answers.username } : undefined;
    },
    removeImage: async ({ image }: { image: string }) => void answers.removed?.push(image),
    pullImage: async (_: unknown, auth: unknown, _config: unknown, signal: AbortSignal) => {
      pulls++;
      const ref = await (answers.pull ?? (async () => 'sha256:x'))(auth, signal);
      isThere = true;
      return ref;
    },
  };
  const clock = {
    now: () => now + set,
    monotonic: () => now,
    sleep: async () => undefined,
    timer: () => () => undefined,
  };
  const made = createImagePuller({
    images: images as never,
    clock,
    event: (_, e) => said.push(`${e.type} ${e.reason}: ${e.message}`),
    credentials: async () => {
      await answers.credentials?.();
      return credentials;
    },
    access: createImageAccess({
      records: createMemoryPullRecords(),
      images: images as never,
      clock,
      log: silentLogger,
    }),
    durations: { pulled: (bytes, ms) => durations.push([bytes, ms]) },
  });
  const ensure = (image: string, imagePullPolicy?: string, signal = new AbortController().signal) => {
    const container = aContainer('main', { image, ...(imagePullPolicy ? { imagePullPolicy } : {}) });
    return made.ensure({ pod: aPod(), container, sandboxConfig: {}, failures, signal });
  };
  return {
    ensure,
    said,
    durations,
    pulls: () => pulls,
    /** The pod has gone; who asks from now on is another one. */
    podGone: () => {
      failures = new PullFailures();
    },
    as: (...own: readonly PullCredential[]) => {
      credentials = own;
    },
    later: (ms: number) => {
      now += ms;
    },
    setBy: (ms: number) => {
      set += ms;
    },
  };
}

const failure = async (work: Promise<unknown>): Promise<StartError> => {
  try {
    await work;
  } catch (error) {
    if (error instanceof StartError) return error;
    throw error;
  }
  throw new Error('it did not fail');
};

test('a failed pull is ErrImagePull, then ImagePullBackOff until its time has come', async () => {
  const p = puller({
    pull: async () => {
      throw new GrpcError('/x', 'NotFound', 'no such image');
    },
  });
  const first = await failure(p.ensure('example.com/x:1'));
  assert.deepEqual(
    [first.reason, first.message],
    ['ErrImagePull', 'rpc error: code = NotFound desc = no such image'],
  );
  const second = await failure(p.ensure('example.com/x:1'));
  assert.equal(second.reason, 'ImagePullBackOff');
  assert.equal(
    second.message,
    'Back-off pulling image "example.com/x:1": ErrImagePull: rpc error: code = NotFound desc = no such image',
  );
  assert.equal(p.pulls(), 1);
  p.later(10_000);
  assert.equal((await failure(p.ensure('example.com/x:1'))).reason, 'ErrImagePull');
  p.later(10_000);
  assert.equal((await failure(p.ensure('example.com/x:1'))).reason, 'ImagePullBackOff');
  assert.deepEqual(p.said.slice(0, 5), [
    'Normal Pulling: Pulling image "example.com/x:1"',
    'Warning Failed: Failed to pull image "example.com/x:1": rpc error: code = NotFound desc = no such image',
    'Warning Failed: Error: ErrImagePull',
    'Normal BackOff: Back-off pulling image "example.com/x:1"',
    'Warning Failed: Error: ImagePullBackOff',
  ]);
});

test('what failed for a pod is kept as long as the pod, and by nobody else', async () => {
  const p = puller({
    pull: async () => {
      throw new GrpcError('/x', 'NotFound', 'no such image');
    },
  });
  await failure(p.ensure('example.com/x:1'));
  assert.equal((await failure(p.ensure('example.com/x:1'))).reason, 'ImagePullBackOff');
  p.podGone();
  assert.equal((await failure(p.ensure('example.com/x:1'))).reason, 'ErrImagePull');
  assert.equal(p.pulls(), 2);
});

test('a clock that is set back makes nobody wait longer for the next pull', async () => {
  const p = puller({
    pull: async () => {
      throw new GrpcError('/x', 'NotFound', 'no such image');
    },
  });
  await failure(p.ensure('example.com/x:1'));
  p.setBy(-172_800_000);
  p.later(10_000);
  assert.equal((await failure(p.ensure('example.com/x:1'))).reason, 'ErrImagePull');
});

test('the pull policy decides whether an image that is there is pulled again', async () => {
  const present = puller({ there: true });
  await present.ensure('example.com/x:1');
  assert.equal(present.pulls(), 0);
  await present.ensure('example.com/x');
  await present.ensure('example.com/x:1', 'Always');
  assert.equal(present.pulls(), 2);
  assert.deepEqual(present.durations, [
    [7, 0],
    [7, 0],
  ]);
  assert.ok(
    present.said.includes(
      'Normal Pulled: Successfully pulled image "example.com/x" in 0s (0s including waiting). Image size: 7 bytes.',
    ),
  );
});

test('what names no image is InvalidImageName', async () => {
  assert.equal((await failure(puller({}).ensure('UPPER/$(x)'))).reason, 'InvalidImageName');
});

/** A registry that is opened by one password alone. */
const guarded = (): ReturnType<typeof puller> =>
  puller({
    pull: async (auth) => {
      if (!opens(auth)) throw new GrpcError('/x', 'Unknown', '401 Unauthorized');
      return 'sha256:x';
    },
  });
const image = 'example.com/team/x:1';

test("an image that one tenant's secret pulled is pulled again for another one, who has no secret or a wrong one", async () => {
  const p = guarded();
  p.as(secret('one'));
  await p.ensure(image);
  assert.equal(p.pulls(), 1);
  await p.ensure(image);
  assert.equal(p.pulls(), 1);
  assert.equal(
    p.said.at(-1),
    `Normal Pulled: Container image "${image}" already present on machine and can be accessed by the pod`,
  );
  for (const others of [[], [secret('two', 'wrong')]]) {
    p.as(...others);
    p.said.length = 0;
    const pulls = p.pulls();
    const refused = await failure(p.ensure(image));
    assert.deepEqual(
      [refused.reason, refused.message],
      ['ErrImagePull', 'rpc error: code = Unknown desc = 401 Unauthorized'],
    );
    assert.equal(p.pulls(), pulls + 1);
    assert.equal(p.said[0], `Normal Pulling: Pulling image "${image}"`);
    p.later(300_000);
  }
});

test("with pull policy Never an image that is another tenant's is not present", async () => {
  const p = guarded();
  p.as(secret('one'));
  await p.ensure(image);
  p.as();
  p.said.length = 0;
  const refused = await failure(p.ensure(image, 'Never'));
  const text = `Container image "${image}" is not present with pull policy of Never`;
  assert.deepEqual([refused.reason, refused.message], ['ErrImageNeverPull', text]);
  assert.deepEqual(p.said, [
    `Warning ErrImageNeverPull: ${text}`,
    'Warning Failed: Error: ErrImageNeverPull',
  ]);
  p.as(secret('one'));
  await p.ensure(image, 'Never');
  assert.equal(p.pulls(), 1);
});

test('a secret that says the same, or the same secret with something new, opens an image without a pull', async () => {
  const p = guarded();
  p.as(secret('one'));
  await p.ensure(image);
  p.as(secret('two', 'wrong'), secret('two', 'right', 'second'));
  await p.ensure(image);
  p.as(secret('one', 'changed since'));
  await p.ensure(image);
  assert.equal(p.pulls(), 1);
  // What was only seen opens it from then on as well.
  p.as(secret('three', 'changed since'));
  await p.ensure(image);
  assert.equal(p.pulls(), 1);
});

test('an image that was pulled without a password is open to all, under its own name alone', async () => {
  const p = puller({});
  await p.ensure(image);
  p.as(secret('one', 'any'));
  await p.ensure(image);
  p.as();
  await p.ensure('example.com/team/x:2');
  assert.equal(p.pulls(), 1);
  await p.ensure('example.com/other/x:1');
  assert.equal(p.pulls(), 2);
});

test('an image that the kubelet never pulled is open to all', async () => {
  const p = puller({ there: true });
  await p.ensure(image);
  await p.ensure(image, 'Never');
  assert.equal(p.pulls(), 0);
});

test('an image that is just being pulled is not taken for one that was there before', async () => {
  const started = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const answers = {
    there: false,
    pull: async (auth: unknown) => {
      if (!opens(auth)) throw new GrpcError('/x', 'Unknown', '401 Unauthorized');
      // The runtime tells of it before it answers.
      answers.there = true;
      started.resolve();
      await end.promise;
      return 'sha256:x';
    },
  };
  const p = puller(answers);
  p.as(secret('one'));
  const first = p.ensure(image, 'Always');
  await started.promise;
  p.as();
  assert.equal((await failure(p.ensure(image))).reason, 'ErrImagePull');
  end.resolve();
  await first;
});

test('an image that was there stays open to all while somebody asks a registry for it, and after they have left', async () => {
  const left = new AbortController();
  const pull = (_: unknown, signal: AbortSignal): Promise<string> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const p = puller({ there: true, pull });
  const asking = p.ensure(image, 'Always', left.signal);
  await new Promise(setImmediate);
  await p.ensure(image);
  left.abort();
  await assert.rejects(asking, { name: 'AbortError' });
  await p.ensure(image);
  assert.equal(p.pulls(), 1);
});

test('an image whose user is megabytes long is removed again: lists of images with a few of them can not be sent', async () => {
  const removed: string[] = [];
  const long = puller({ username: 'u'.repeat(4_000_000), removed });
  const { reason, message } = await failure(long.ensure('example.com/x:1'));
  assert.deepEqual(
    [reason, message],
    [
      'ErrImagePull',
      'image "example.com/x:1" was removed: the user in its configuration has 4000000 bytes, at most 512 are allowed',
    ],
  );
  assert.deepEqual(removed, ['sha256:x']);
  const usual = puller({ username: 'ContainerAdministrator', removed });
  assert.equal((await usual.ensure('example.com/x:1')).username, 'ContainerAdministrator');
  assert.equal(removed.length, 1);
});

test('a pull goes on while anyone waits for it; once nobody does it is cancelled, and is no failure', async () => {
  const cancelled: number[] = [];
  let begun = 0;
  const p = puller({
    pull: (_, signal) => {
      const mine = ++begun;
      return new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => {
          cancelled.push(mine);
          reject(signal.reason);
        });
        if (mine > 1) resolve('sha256:x');
      });
    },
  });
  const [first, second] = [new AbortController(), new AbortController()];
  const image = 'example.com/x:1';
  const waiting = [first, second].map(({ signal }) => p.ensure(image, 'Always', signal));
  await new Promise(setImmediate);
  first.abort();
  await assert.rejects(waiting[0]!, { name: 'AbortError' });
  assert.deepEqual([begun, cancelled], [1, []]);
  second.abort();
  await assert.rejects(waiting[1]!, { name: 'AbortError' });
  assert.deepEqual([begun, cancelled], [1, [1]]);
  assert.deepEqual(
    p.said.filter((text) => text.startsWith('Warning')),
    [],
  );
  assert.equal((await p.ensure(image, 'Always')).id, 'sha256:x');
  assert.equal(begun, 2);
});

test('nobody waits for a runtime that does not say what is there once the pod is to end, and nothing is left in doubt', async () => {
  for (const [policy, there] of [
    ['IfNotPresent', true],
    ['Always', false],
  ] as const) {
    const [asked, answer] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isSilent = true;
    const answers = {
      there: there as boolean,
      status: async () => {
        if (!isSilent) return;
        asked.resolve();
        await answer.promise;
      },
    };
    const p = puller(answers);
    const end = new AbortController();
    const waiting = p.ensure(image, policy, end.signal);
    await asked.promise;
    end.abort();
    await assert.rejects(waiting, { name: 'AbortError' });
    assert.deepEqual(
      p.said.filter((text) => text.startsWith('Warning')),
      [],
    );
    isSilent = false;
    answer.resolve();
    await new Promise(setImmediate); // what was left ends
    answers.there = true;
    await p.ensure(image, 'Never');
    assert.equal(p.pulls(), 0, 'nobody was asked for what nobody waits for');
  }
});

test('nobody waits for an API that does not tell credentials once the pod is to end', async () => {
  const asked = Promise.withResolvers<void>();
  const answers: { credentials?: () => Promise<void> } = {};
  const p = puller(answers);
  p.as(secret('one'));
  await p.ensure(image);
  answers.credentials = () => {
    asked.resolve();
    return new Promise(() => undefined);
  };
  const end = new AbortController();
  const waiting = p.ensure(image, 'IfNotPresent', end.signal);
  await asked.promise;
  end.abort();
  await assert.rejects(waiting, { name: 'AbortError' });
});

test('a pull that has succeeded and whose image can not be looked at leaves no preloaded one', async () => {
  const answers = {
    there: false,
    isFailing: false,
    status: async (): Promise<void> => {
      if (answers.isFailing) throw new GrpcError('/x', 'Unknown', 'no');
    },
    pull: async (auth: unknown): Promise<string> => {
      if (!opens(auth)) throw new GrpcError('/x', 'Unknown', '401 Unauthorized');
      answers.there = true;
      answers.isFailing = true;
      return 'sha256:x';
    },
  };
  const p = puller(answers);
  p.as(secret('one'));
  assert.equal((await failure(p.ensure(image))).message, 'rpc error: code = Unknown desc = no');
  answers.isFailing = false;
  p.later(300_000);
  p.as();
  assert.equal((await failure(p.ensure(image))).reason, 'ErrImagePull');
});

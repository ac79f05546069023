// Pulls that fail, wait and are tried again, and the reasons that users see.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GrpcError } from '../../wire/grpc-client.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { createImagePuller, StartError } from './image-puller.ts';

function puller(answers: { readonly there?: boolean; readonly pull?: () => Promise<string> }) {
  let now = 0;
  const said: string[] = [];
  let pulls = 0;
  const images = {
    imageStatus: async () =>
      answers.there || (pulls > 0 && !answers.pull) ? { id: 'sha256:x', size: 7 } : undefined,
    pullImage: async () => {
      pulls++;
      return (answers.pull ?? (async () => 'sha256:x'))();
    },
  };
  const clock = {
    now: () => now,
    monotonic: () => now,
    sleep: async () => undefined,
    timer: () => () => undefined,
  };
  const made = createImagePuller({
    images: images as never,
    clock,
    event: (_, e) => said.push(`${e.type} ${e.reason}: ${e.message}`),
    credentials: async () => [],
  });
  const ensure = (image: string, imagePullPolicy?: string) =>
    made.ensure(aPod(), aContainer('main', { image, ...(imagePullPolicy ? { imagePullPolicy } : {}) }), {});
  return {
    ensure,
    said,
    pulls: () => pulls,
    later: (ms: number) => {
      now += ms;
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

test('the pull policy decides whether an image that is there is pulled again', async () => {
  const present = puller({ there: true });
  await present.ensure('example.com/x:1');
  assert.equal(present.pulls(), 0);
  await present.ensure('example.com/x');
  await present.ensure('example.com/x:1', 'Always');
  assert.equal(present.pulls(), 2);
  assert.ok(
    present.said.includes(
      'Normal Pulled: Successfully pulled image "example.com/x" in 0ms (0ms including waiting). Image size: 7 bytes.',
    ),
  );
});

test('what names no image is InvalidImageName', async () => {
  assert.equal((await failure(puller({}).ensure('UPPER/$(x)'))).reason, 'InvalidImageName');
});

// The sandbox's image is loaded when it is missing, and its absence is said for as long as it can't be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../../component-base/logger.ts';
import { keepSandboxImage } from './sandbox-image.ts';

test('a sandbox image that is gone is loaded again; while it can not be, the node has a sentence for it', async () => {
  let [there, loads] = [true, 0];
  let failure: Error | undefined = new Error('no archive');
  const said: (string | undefined)[] = [];
  const image = keepSandboxImage({
    reference: 'pause:1',
    isThere: async () => there,
    load: async () => {
      loads++;
      if (failure) throw failure;
      there = true;
    },
    log: { ...silentLogger, error: (_fields: object, text?: string) => void said.push(text) },
  });
  await image.ensure();
  assert.equal(loads, 0, 'it is there');
  there = false;
  await image.ensure();
  await image.ensure();
  const sentence = 'sandbox image pause:1 is missing and could not be loaded: no archive';
  assert.equal(image.problem(), sentence);
  assert.deepEqual(said, [sentence], 'once');
  failure = undefined;
  await image.ensure();
  assert.equal(image.problem(), undefined);
  assert.equal(loads, 3);
  await image.begin({ anew: true });
  assert.equal(image.problem(), undefined, 'the one that is there will do');
  await image.ensure();
  assert.equal(loads, 4, 'one of another release may be there');
});

test('a runtime that starts without the sandbox image waits for nobody; its node says what it lacks until then', async () => {
  const loaded = Promise.withResolvers<void>();
  let there = false;
  const image = keepSandboxImage({
    reference: 'pause:1',
    isThere: async () => there,
    load: () => loaded.promise,
    log: silentLogger,
  });
  await image.begin({ anew: true });
  assert.equal(image.problem(), 'sandbox image pause:1 is being loaded');
  const ensured = image.ensure();
  there = true;
  loaded.resolve();
  await ensured;
  assert.equal(image.problem(), undefined);
});

// A file that has changed, was never looked at or is looked at otherwise is looked at again; no other is.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../test/harness/scratch.ts';
import { changedFiles } from './unchanged.ts';

test('files are looked at until there is nothing against any, and then when they change', (context) => {
  const scratch = scratchDirectory('unchanged');
  context.after(() => scratch.remove());
  const [a, b, settings, memory] = ['a.ts', 'b.ts', 'settings.json', 'kept/memory'].map((name) =>
    join(scratch.path, name),
  ) as [string, string, string, string];
  writeFileSync(a, 'same');
  writeFileSync(b, 'same');
  writeFileSync(settings, '{}');
  const look = (files = [a, b]): ReturnType<typeof changedFiles> =>
    changedFiles({ memory, settings: [settings], files });

  assert.deepEqual(look().changed, [a, b]);
  assert.deepEqual(look().changed, [a, b], 'nobody said that there is nothing against them');
  look([a]).remember();
  assert.deepEqual(look().changed, [b], 'the same content elsewhere is another file');
  look().remember();
  assert.deepEqual(look().changed, []);

  writeFileSync(b, 'other');
  assert.deepEqual(look().changed, [b]);
  const before = look();
  writeFileSync(b, 'another');
  before.remember();
  assert.deepEqual(look().changed, [b], 'it was changed while it was looked at');
  look().remember();
  writeFileSync(b, 'other');
  assert.deepEqual(look().changed, [b], 'only what is there now is remembered');

  writeFileSync(settings, '{"strict":true}');
  assert.deepEqual(look().changed, [a, b]);
  look().remember();
  writeFileSync(memory, '\0\0');
  assert.deepEqual(look().changed, [a, b], 'a memory that makes no sense remembers nothing');
});

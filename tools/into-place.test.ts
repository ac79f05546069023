// A build beside programs that run: they still find what they began with, until it is old; a package has none of it.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { scratchDirectory } from '../test/harness/scratch.ts';
import { intoPlace, keptMs, scratchBeside } from './into-place.mjs';

function build(folder: string, text: string, parts: readonly string[]): void {
  mkdirSync(folder);
  for (const name of ['porthole.mjs', ...parts]) writeFileSync(join(folder, name), text);
}

test('parts of an earlier build stay until they are old, and a build that keeps nothing keeps nothing', () => {
  const { path: folder, remove } = scratchDirectory('into-place');
  after(remove);
  const dist = join(folder, 'dist');
  build(join(folder, 'first'), 'first', ['old-part.mjs', 'part.mjs', 'same.mjs']);
  intoPlace(join(folder, 'first'), dist, keptMs);
  const longAgo = Date.now() / 1000 - keptMs / 1000 - 60;
  utimesSync(join(dist, 'old-part.mjs'), longAgo, longAgo);
  build(join(folder, 'second'), 'second', ['same.mjs']);
  intoPlace(join(folder, 'second'), dist, keptMs);
  assert.deepEqual(readdirSync(dist).sort(), ['part.mjs', 'porthole.mjs', 'same.mjs']);
  assert.equal(readFileSync(join(dist, 'same.mjs'), 'utf8'), 'second');
  build(join(folder, 'third'), 'third', []);
  intoPlace(join(folder, 'third'), dist, 0);
  assert.deepEqual(readdirSync(dist), ['porthole.mjs']);
});

test('two that bundle at once take nothing from each other', () => {
  const { path: folder, remove } = scratchDirectory('into-place');
  after(remove);
  const dist = join(folder, 'dist');
  const [first, second] = [scratchBeside(dist), scratchBeside(dist)];
  for (const [scratch, text] of [
    [first, 'first'],
    [second, 'second'],
  ] as const)
    writeFileSync(join(scratch, 'porthole.mjs'), text);
  intoPlace(first, dist, keptMs);
  intoPlace(second, dist, keptMs);
  assert.equal(readFileSync(join(dist, 'porthole.mjs'), 'utf8'), 'second');
});

// The digest of imports is another when a file comes, goes or names another one, and the same when only the rest of it changes.
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../test/harness/scratch.ts';
import { importsDigest } from './imports-digest.ts';

const text = `// Words of it.
import { a } from './a.ts';
import type {
  b,
} from '../b.ts';
export * from './c.ts';
const d = await import(
  'dd'
);
const e = require('ee');
const f = 1;
`;

test('what names another file decides, and nothing else', (context) => {
  const scratch = scratchDirectory('imports-digest');
  context.after(() => scratch.remove());
  const file = join(scratch.path, 'src/one.ts');
  mkdirSync(join(scratch.path, 'src/more'), { recursive: true });
  mkdirSync(join(scratch.path, 'other'));
  const digest = (content = text): string => {
    writeFileSync(file, content);
    return importsDigest(scratch.path, ['src', 'test']);
  };
  const first = digest();
  for (const [was, is] of [
    ["'./a.ts'", "'./b.ts'"],
    ["'../b.ts'", "'b'"],
    ["'./c.ts'", "'./d.ts'"],
    ["'dd'", "'de'"],
    ["'ee'", "'ef'"],
    ['const f = 1;', "import 'g';"],
    ['const f = 1;', "/// <reference types='g' />"],
    ['const f = 1;', "const f = process.getBuiltinModule('fs');"],
  ] as const)
    assert.notEqual(digest(text.replace(was, is)), first, is);
  assert.equal(digest(text.replace('f = 1', 'f = 2').replace('Words', 'Other words')), first);

  const also = join(scratch.path, 'src/more/two.mjs');
  writeFileSync(also, '');
  assert.notEqual(digest(), first, 'a file more');
  rmSync(also);
  assert.equal(digest(), first);
  writeFileSync(join(scratch.path, 'other/three.ts'), "import 'x';");
  assert.equal(digest(), first, 'of a folder that nobody asked for');
  writeFileSync(join(scratch.path, 'layers.mjs'), '');
  writeFileSync(join(scratch.path, 'package.json'), '{}');
  assert.notEqual(digest(), first, 'the rules');
});

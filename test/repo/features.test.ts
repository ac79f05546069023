// Documents say only what a test shows: each row that works names tests, and each file that any of them names is there.
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

interface Row {
  readonly id: string;
  readonly state: string;
  readonly shown: string;
}

const rows: Row[] = readFileSync('docs/FEATURES.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| (\d+|P\d+[a-z]?) \|/.test(line))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim()))
  .map(([, id, , state, shown]) => ({ id: id!, state: state!, shown: shown! }));

test('all 92 capabilities of the founding documents have a row, once', () => {
  const ids = rows.map((row) => row.id).filter((id) => /^\d+$/.test(id));
  assert.deepEqual(
    ids,
    Array.from({ length: 92 }, (_, i) => String(i + 1)),
  );
});

test('a row works, works in part, or does not yet', () => {
  for (const row of rows) assert.match(row.state, /^(works|partial|not yet|history)$/, `row ${row.id}`);
});

test('each row that works names tests', () => {
  for (const row of rows.filter((one) => one.state === 'works')) {
    const files = [...row.shown.matchAll(/`([^`]+\.(?:test|e2e)\.ts)`/g)].map((match) => match[1]!);
    assert.ok(files.length > 0, `row ${row.id} works, but names no test`);
  }
});

test('each row that works in part says what is missing', () => {
  for (const { id, shown } of rows.filter((one) => one.state === 'partial'))
    assert.notEqual(shown.replaceAll(/`[^`]*`|[,; ]/g, ''), '', `row ${id}`);
});

/** Files of this repository, by their whole path, that a document names and that are not there. */
const absentIn = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test|tools|bench|bin|native|examples|docs)\/[\w./-]+\.\w+)`/g)]
    .map((match) => match[1]!)
    .filter((file) => !existsSync(file));

test('files that documents name are there', () => {
  assert.deepEqual(absentIn('`test/repo/features.test.ts`, `test/repo/gone.test.ts`, `gone.test.ts`'), [
    'test/repo/gone.test.ts',
  ]);
  const documents = ['*.md', 'docs/**/*.md', 'src/**/*.md', 'test/**/*.md', 'tools/**/*.md', 'bench/**/*.md'];
  for (const document of globSync(documents))
    assert.deepEqual(absentIn(readFileSync(document, 'utf8')), [], document);
});

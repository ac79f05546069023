// CONTRIBUTING says for each kind of change where it goes: every path that it names is there.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

/** Title -> its items. */
const checklistsOf = (text: string): Map<string, readonly string[]> =>
  new Map(
    text
      .split(/^### /m)
      .slice(1)
      .map((part) => [part.slice(0, part.indexOf('\n')), part.split(/^- \[ \] /m).slice(1)]),
  );

/** Paths of the repository; `<…>` may be anything. */
const absent = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test|docs|tools|examples)\/[^`\s]+)`/g)]
    .map(([, path]) => path!)
    .filter((path) => globSync(path.replaceAll(/<[^>]*>/g, '*')).length === 0);

const contributing = readFileSync('CONTRIBUTING.md', 'utf8');

test('there is a checklist for each kind of change, and each names tests', () => {
  const lists = checklistsOf(contributing);
  for (const what of ['kind', 'controller', 'plugin', 'command', 'kubelet', 'topology']) {
    const title = [...lists.keys()].find((one) => one.includes(what));
    assert.ok(title !== undefined, `no checklist for a ${what}`);
    const items = lists.get(title)!;
    assert.ok(items.length >= 4, `${title}: ${items.length} items`);
    assert.match(items.join(''), /\btests?\b|validator-cases/, title);
  }
});

test('what the checklists name is there', () => {
  assert.deepEqual(absent('`src/api/<group>/<version>/group.ts` `src/gone/<name>.ts` `test/gone`'), [
    'src/gone/<name>.ts',
    'test/gone',
  ]);
  assert.deepEqual(absent(contributing), []);
});

test('npm run new is a command, and the documents lead to the checklists', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  assert.ok('new' in scripts);
  for (const document of ['README.md', 'docs/ARCHITECTURE.md'])
    assert.match(readFileSync(document, 'utf8'), /CONTRIBUTING\.md/, document);
});

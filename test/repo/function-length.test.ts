// A function fits on a page: seventy lines.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import ts from 'typescript';
import { parsedFile, parsedText } from './parsed.ts';

const most = 70;

/** `file#function` of each that has more lines than a page, with how many. */
function longFunctions(source: ts.SourceFile): [name: string, lines: number][] {
  const found: [string, number][] = [];
  const lineOf = (at: number): number => source.getLineAndCharacterOfPosition(at).line;
  const nameOf = (node: ts.SignatureDeclaration): string =>
    node.name?.getText() ??
    (ts.isVariableDeclaration(node.parent) ? node.parent.name.getText() : 'anonymous');
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) {
      const lines = lineOf(node.end) - lineOf(node.getStart()) + 1;
      if (lines > most && 'body' in node) found.push([`${source.fileName}#${nameOf(node)}`, lines]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test('a function that is longer than a page is found, whatever its form', () => {
  const body = '\n  f();'.repeat(most - 1);
  for (const [name, planted] of [
    ['a', `function a() {${body}\n}`],
    ['b', `const b = async () => {${body}\n};`],
    ['c', `class C {\n  c() {${body}\n}\n}`],
    ['d', `const o = {\n  d() {${body}\n  },\n};`],
    ['anonymous', `g(() => {${body}\n});`],
  ] as const) {
    assert.deepEqual(longFunctions(parsedText('x.ts', planted)), [[`x.ts#${name}`, most + 1]]);
    assert.deepEqual(longFunctions(parsedText('x.ts', planted.replace('\n  f();', ''))), []);
  }
});

test('functions have at most seventy lines', () => {
  const files = globSync(['src/**/*.ts', 'tools/**/*.{ts,mjs}', 'bin/*.mjs', 'examples/**/*.ts']).filter(
    (file) => !/\/generated\/|\.test\.ts$/.test(file),
  );
  const long = files.map(parsedFile).flatMap(longFunctions);
  assert.ok(files.length > 500, `${files.length} files were read`);
  assert.deepEqual(
    long.map(([name, lines]) => `${name}: ${lines} lines`),
    [],
    'split them into functions that say one thing',
  );
});

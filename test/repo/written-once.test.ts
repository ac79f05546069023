// What several files need is written once: no two functions of files have the same body, whatever their names and those in them.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { test } from 'node:test';
import ts from 'typescript';
import { parsedFile, parsedText } from './parsed.ts';

/** Shorter ones say less than an import would. */
const fewestStatements = 3;

type FunctionLike = ts.FunctionDeclaration | ts.ArrowFunction | ts.FunctionExpression;

function statementsIn(node: ts.Node): number {
  let count = 0;
  const visit = (inner: ts.Node): void => {
    if (ts.isStatement(inner) && !ts.isBlock(inner)) count++;
    ts.forEachChild(inner, visit);
  };
  ts.forEachChild(node, visit);
  return count;
}

/** The names that the function gives itself, each by the place where it comes first. */
function ownNames(node: FunctionLike): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const visit = (inner: ts.Node): void => {
    const isNaming = ts.isParameter(inner) || ts.isVariableDeclaration(inner) || ts.isBindingElement(inner);
    const name = isNaming || ts.isFunctionDeclaration(inner) ? inner.name : undefined;
    if (name && ts.isIdentifier(name) && !names.has(name.text)) names.set(name.text, `#${names.size}`);
    ts.forEachChild(inner, visit);
  };
  ts.forEachChild(node, visit);
  return names;
}

/** What it does, without types, comments and the names that are its own. */
function shapeOf(node: FunctionLike): string {
  const names = ownNames(node);
  const words: string[] = [];
  const visit = (inner: ts.Node): void => {
    if (ts.isTypeNode(inner)) return;
    if (ts.isIdentifier(inner)) {
      words.push(names.get(inner.text) ?? inner.text);
      return;
    }
    // A short name of a property is the property's as well.
    const isShort = ts.isBindingElement(inner) && inner.propertyName === undefined;
    if (isShort || ts.isShorthandPropertyAssignment(inner)) words.push(inner.name.getText());
    if (ts.isPrefixUnaryExpression(inner) || ts.isPostfixUnaryExpression(inner))
      words.push(String(inner.operator));
    words.push(`${inner.kind}(`);
    if (ts.isToken(inner)) words.push(inner.getText());
    ts.forEachChild(inner, visit);
    words.push(')');
  };
  const withoutOwnName = [...node.parameters, node.body!];
  for (const part of withoutOwnName) visit(part);
  return words.join(' ');
}

/** Functions at the top of a file, by name. */
function* functionsOf(source: ts.SourceFile): Generator<[name: string, node: FunctionLike]> {
  for (const statement of source.statements) {
    if (ts.isFunctionDeclaration(statement) && statement.body) yield [statement.name?.text ?? '', statement];
    if (!ts.isVariableStatement(statement)) continue;
    for (const { initializer, name } of statement.declarationList.declarations)
      if (initializer && (ts.isArrowFunction(initializer) || ts.isFunctionExpression(initializer)))
        yield [name.getText(), initializer];
  }
}

/** `file#function file#function …` of each body that several have. */
function writtenAgain(sources: readonly ts.SourceFile[]): string[] {
  const shapes = new Map<string, string[]>();
  for (const source of sources) {
    for (const [name, node] of functionsOf(source)) {
      if (statementsIn(node.body!) < fewestStatements) continue;
      const shape = shapeOf(node);
      shapes.set(shape, [...(shapes.get(shape) ?? []), `${source.fileName}#${name}`]);
    }
  }
  return [...shapes.values()].filter((places) => places.length > 1).map((places) => places.join(' '));
}

const planted =
  'function f(a: string) { const b = a.trim(); if (b === "") return 1; return g({ b, c: a }); }';

test('a body that is written again is found, whatever its names and types are', () => {
  const again = (text: string): string[] =>
    writtenAgain([parsedText('x.ts', planted), parsedText('y.ts', text)]);
  for (const text of [
    planted,
    planted.replace('function f(a: string)', 'const h = (a: unknown) =>'),
    planted.replaceAll(/\ba\b/g, 'q').replace('{', '{ /* why */'),
  ])
    assert.equal(again(text).length, 1, text);
  for (const text of [
    planted.replace('trim', 'trimEnd'),
    planted.replace('""', '"x"'),
    planted.replace('return 1', 'return 2'),
    planted.replace('g(', 'k('),
    planted.replace('===', '!=='),
    planted.replace('c: a', 'd: a'),
    planted.replace('c: a', 'c: b'),
  ])
    assert.deepEqual(again(text), [], text);
});

test('no two files have a function of the same body', () => {
  const files = globSync('src/**/*.ts').filter((file) => !/\/generated\/|\.test\.ts$/.test(file));
  assert.ok(files.length > 500, `${files.length} files were read`);
  assert.deepEqual(writtenAgain(files.map(parsedFile)), [], 'give it one home, below those who need it');
});

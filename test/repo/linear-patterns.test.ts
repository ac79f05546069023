// Every regular expression of `src` takes linear time: texts come from tenants, and one that is read in quadratic time stops a
// server, an agent, a command. Found by trying: long runs of what each expression speaks of, with an end that does not match.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import ts from 'typescript';
import { parsedFile } from './parsed.ts';

interface Found {
  readonly where: string;
  readonly expression: RegExp;
}

function expressionsOf(file: string): Found[] {
  const source = parsedFile(file);
  const found: Found[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/');
      const flags = node.text.slice(end + 1);
      const body = node.text.slice(1, end);
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      found.push({
        where: `${file}:${line + 1}`,
        expression: new RegExp(flags.includes('y') ? `^(?:${body})` : body, flags.replace(/[gy]/g, '')),
      });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** Only these can be slow: something repeats without a bound. */
const repeats = ({ expression }: Found): boolean => /[+*]|,\}/.test(expression.source);

const common = ['a', '0', ' ', '/', '.', '-', ':', '\n', '\0', '*', '[', '_', ','];

/** What may be repeated: characters that stand in the expression, those of its classes, and pairs of the first few. */
function pumps(source: string): string[] {
  const literal = [...source.replace(/\\[a-zA-Z]/g, '')].filter((c) => !/[()|{}?+^$\\\]]/.test(c));
  const singles = [...new Set([...common, ...literal])];
  // Of what is written one after the other, as a bracket and its quote.
  const pairs = [
    ...source.replace(/\\([^a-zA-Z])/g, '$1').matchAll(/(?=([^()|{}?+^$\\*.a-zA-Z0-9]{2}))/g),
  ].map(([, pair = '']) => pair);
  const escaped = /\\s/.test(source) ? ['\t', ' a', 'a '] : [];
  return [...singles, ...new Set(pairs), ...escaped, 'a0', 'a.', 'a-', 'a/', '0a'];
}

/** What may have to come before: the expression's own beginning, read as text. */
function prefixes(source: string): string[] {
  const literal = source
    .replace(/\\[a-zA-Z][*+?]?/g, '')
    .replace(/\\(.)/g, '$1')
    .replace(/^\^/, '');
  const starts = ['', 'a', '0', '/', '['];
  for (let length = 1; length <= Math.min(literal.length, 16); length++)
    starts.push(literal.slice(0, length));
  return [...new Set(starts)];
}

const cpuMs = (run: () => void): number => {
  const from = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
};

/**
 * What took no longer by the clock took no more of the processor, which costs far more to ask. Whatever else the process did
 * meanwhile, its collector for one, is not there each time.
 */
function least(run: () => void): number {
  const from = performance.now();
  run();
  const passed = performance.now() - from;
  if (passed <= slowMs) return passed;
  const worked = Math.min(passed, cpuMs(run));
  // No collector takes so long.
  return worked > 10 * slowMs ? worked : Math.min(worked, cpuMs(run), cpuMs(run));
}

/**
 * Linear expressions take far less than a millisecond for the longest of these. A quadratic one takes 200 ms and more, and each
 * that is slow is tried again: with 20,000 they took three times that.
 */
const lengths = [24, 400, 4_000, 12_000];
const slowMs = 10;

function slowText({ expression }: Found): string | undefined {
  for (const pump of pumps(expression.source))
    for (const prefix of prefixes(expression.source))
      for (const length of lengths) {
        const run = pump.repeat(Math.ceil(length / pump.length));
        for (const end of ['\u0001', '\u0001x']) {
          const ms = least(() => expression.test(prefix + run + end));
          if (ms > slowMs) return `${Math.round(ms)} ms for ${JSON.stringify(prefix + pump)}… of ${length}`;
        }
      }
  return undefined;
}

/** Whom this very test, on this engine, found linear: what it tries follows from the expression alone. CI remembers nothing. */
const memory = '.cache/linear-patterns';
const triedBy = createHash('sha256')
  .update(readFileSync(new URL(import.meta.url)))
  .update(process.versions.v8);
const keyOf = ({ expression }: Found): string => triedBy.copy().update(String(expression)).digest('hex');

test('each regular expression takes linear time, whatever text a tenant gives', (context) => {
  const all = globSync('src/**/*.ts')
    .filter(
      (file) => !file.endsWith('.test.ts') && !file.includes('/generated/') && !file.includes('/testing/'),
    )
    .sort()
    .flatMap(expressionsOf)
    .filter(repeats);
  const known = new Set(existsSync(memory) ? readFileSync(memory, 'utf8').split('\n') : []);
  const tried = all.filter((one) => !known.has(keyOf(one)));
  const slow = tried.flatMap((one) => {
    const how = slowText(one);
    return how === undefined ? [] : [`${one.where} ${one.expression}: ${how}`];
  });
  assert.deepEqual(slow, []);
  mkdirSync('.cache', { recursive: true });
  writeFileSync(memory, all.map(keyOf).join('\n'));
  context.diagnostic(`${all.length} expressions, ${tried.length} of them tried`);
});

test('expressions that are quadratic, cubic or exponential are found', () => {
  for (const expression of [
    /\/+$/,
    /^\?\(\s*@([^=!]*?)\s*(==|!=)/,
    /^(a+)+$/,
    /^(?:\d+\.?\d*(?:ns|s))+$/,
    /\[[^\]]+\]/,
  ])
    assert.notEqual(slowText({ where: '', expression }), undefined, String(expression));
});

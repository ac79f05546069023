// What is no expression, in the words of cel-go; limits of what is read.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standardMacros } from './macros.ts';
import { parseExpression } from './parser.ts';
import { Issues } from './source.ts';

function issuesOf(text: string, more: { optionalSyntax?: boolean; escapedNames?: boolean } = {}): string {
  const issues = new Issues(text);
  const options = { macros: standardMacros, optionalSyntax: false, escapedNames: false, ...more };
  parseExpression(text, options, issues);
  return String(issues);
}
const operand =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

test('a fault is told with its place, its line and a mark', () => {
  const table: [text: string, first: string][] = [
    [
      'a +',
      `ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting ${operand}\n | a +\n | ...^`,
    ],
    ['%a', `ERROR: <input>:1:1: Syntax error: extraneous input '%' expecting ${operand}\n | %a\n | ^`],
    ['a b', "ERROR: <input>:1:3: Syntax error: extraneous input 'b' expecting <EOF>\n | a b\n | ..^"],
    ['a b c', "ERROR: <input>:1:3: Syntax error: mismatched input 'b' expecting <EOF>\n | a b c\n | ..^"],
    ['f(a', "ERROR: <input>:1:4: Syntax error: missing ')' at '<EOF>'\n | f(a\n | ...^"],
    ['f(a b)', "ERROR: <input>:1:5: Syntax error: extraneous input 'b' expecting ')'\n | f(a b)\n | ....^"],
    ['((a', "ERROR: <input>:1:4: Syntax error: mismatched input '<EOF>' expecting ')'\n | ((a\n | ...^"],
    ['a.', "ERROR: <input>:1:3: Syntax error: no viable alternative at input '.'\n | a.\n | ..^"],
    [
      'a.true',
      "ERROR: <input>:1:3: Syntax error: mismatched input 'true' expecting IDENTIFIER\n | a.true\n | ..^",
    ],
    ['{a}', "ERROR: <input>:1:3: Syntax error: mismatched input '}' expecting ':'\n | {a}\n | ..^"],
    [
      '[a, b',
      "ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n | [a, b\n | .....^",
    ],
    [
      'a ? b',
      "ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting ':'\n | a ? b\n | .....^",
    ],
    ['a\n  && 1.0e999', 'ERROR: <input>:2:6: invalid double literal\n |   && 1.0e999\n | .....^'],
    ['99999999999999999999', 'ERROR: <input>:1:1: invalid int literal\n | 99999999999999999999\n | ^'],
    ['0x1ffffffffffffffffu', 'ERROR: <input>:1:1: invalid uint literal\n | 0x1ffffffffffffffffu\n | ^'],
    ['let', 'ERROR: <input>:1:1: reserved identifier: let\n | let\n | ^'],
    ["'\\ud800'", "ERROR: <input>:1:1: invalid unicode code point\n | '\\ud800'\n | ^"],
    ['a.`b-c`', "ERROR: <input>:1:3: unsupported syntax: '`'\n | a.`b-c`\n | ..^"],
    ['a.?b', "ERROR: <input>:1:2: unsupported syntax '.?'\n | a.?b\n | .^"],
    ['has(a)', 'ERROR: <input>:1:5: invalid argument to has() macro\n | has(a)\n | ....^'],
    ['a.map(b.c, d)', 'ERROR: <input>:1:8: argument is not an identifier\n | a.map(b.c, d)\n | .......^'],
    ['a.all(1, d)', 'ERROR: <input>:1:7: argument must be a simple name\n | a.all(1, d)\n | ......^'],
    [
      'a.all(__result__, d)',
      'ERROR: <input>:1:7: iteration variable overwrites accumulator variable\n | a.all(__result__, d)\n | ......^',
    ],
  ];
  for (const [text, issues] of table) assert.equal(issuesOf(text), issues, text);
});

test('characters that are no words are told one by one; wide ones have a wide mark', () => {
  assert.equal(
    issuesOf('1 + $'),
    [
      "ERROR: <input>:1:5: Syntax error: token recognition error at: '$'\n | 1 + $\n | ....^",
      `ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting ${operand}\n | 1 + $\n | .....^`,
    ].join('\n'),
  );
  assert.match(issuesOf('é + 1'), /token recognition error at: 'é'\n \| é \+ 1\n \| ＾/);
  assert.match(issuesOf('"é" + #'), /\n \| \.．\.\.\.\.\^/);
  assert.match(issuesOf("'abc"), /token recognition error at: ''abc'/);
  assert.match(issuesOf('"\\q"'), /token recognition error at: '"\\q'/);
  assert.match(issuesOf('a & b'), /token recognition error at: '& '/);
});

test('several faults are told, up to a hundred', () => {
  assert.equal(issuesOf('let + for').split('ERROR').length - 1, 2);
  const many = issuesOf(Array(130).fill('let').join(' || '));
  assert.equal(many.split('ERROR').length - 1, 100);
  assert.match(many, /\n30 more errors were truncated$/);
});

test('what is too deep or too long is refused as a whole', () => {
  const table: [text: string, issue: string][] = [
    ['['.repeat(251) + ']'.repeat(251), 'expression recursion limit exceeded: 250'],
    ['('.repeat(9_000), 'expression recursion limit exceeded: 250'],
    [`a${'.b'.repeat(251)}`, 'max recursion depth exceeded'],
    [Array(260).fill('1').join(' + '), 'max recursion depth exceeded'],
    [`"${'x'.repeat(100_001)}"`, 'expression code point size exceeds limit: size: 100003, limit 100000'],
  ];
  for (const [text, issue] of table) assert.equal(issuesOf(text), `ERROR: <input>:-1:0: ${issue}`);
  // A long chain of these is not deep.
  assert.equal(issuesOf(Array(3_000).fill('a').join(' && ')), '');
  assert.equal(issuesOf(`${'!'.repeat(5_000)}a`), '');
  assert.equal(issuesOf('['.repeat(200) + ']'.repeat(200)), '');
});

test('names may be in back-quotes, and parts optional, where that is on', () => {
  assert.equal(issuesOf('a.`b-c`', { escapedNames: true }), '');
  assert.equal(issuesOf('a.?b[?c] == [?d] && {?e: f}.size() > 0', { optionalSyntax: true }), '');
});

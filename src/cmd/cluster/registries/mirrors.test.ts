// What the command line may say of mirrors, and what becomes of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeMirrors, parseMirror } from './mirrors.ts';

test('one option names a registry and its mirrors, the next one another', () => {
  const first = parseMirror('docker.io=http://localhost:5001/,https://mirror.example/cache');
  assert.deepEqual(first, { 'docker.io': ['http://localhost:5001', 'https://mirror.example/cache'] });
  assert.deepEqual(parseMirror('[fd00::1]:5000=http://m', first), {
    ...first,
    '[fd00::1]:5000': ['http://m'],
  });
});

test('what is none is refused: its name would be a folder, its password in the list of processes', () => {
  const rows: readonly (readonly [string, RegExp])[] = [
    ['docker.io', /is not of the form/],
    ['=http://m', /is not of the form/],
    ['..=http://m', /is not of the form/],
    ['a/b=http://m', /is not of the form/],
    ['docker.io=m:5000', /is no URL of a mirror/],
    ['docker.io=ftp://m', /is no URL of a mirror/],
    ['docker.io=http://m,', /is no URL of a mirror/],
    ['docker.io=http://m?x', /has no query/],
    ['docker.io=http://u:p@m', /passwords on a command line/],
  ];
  for (const [text, reason] of rows) assert.throws(() => parseMirror(text), reason, text);
});

test('what was said once holds until something else is said of the same registry', () => {
  const before = { 'docker.io': ['http://a'], 'quay.io': ['http://b'] };
  assert.deepEqual(mergeMirrors(before, undefined), before);
  assert.deepEqual(mergeMirrors(before, parseMirror('docker.io=http://c')), {
    'docker.io': ['http://c'],
    'quay.io': ['http://b'],
  });
  assert.deepEqual(mergeMirrors(before, parseMirror('docker.io=')), { 'quay.io': ['http://b'] });
  assert.equal(mergeMirrors(undefined, parseMirror('docker.io=')), undefined);
});

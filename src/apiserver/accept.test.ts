// In which order the clauses of an Accept header are tried, and headers that nobody sends by mistake.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAccept, rememberingHeaders } from './accept.ts';
import { accepted } from './negotiation.ts';

const order = (header: string): string[] =>
  parseAccept(header).map(({ type, subType }) => `${type}/${subType}`);

test('what weighs more is tried first, and a wildcard after what is named', () => {
  assert.deepEqual(order('text/html;q=0.2, application/json;q=0.9'), ['application/json', 'text/html']);
  assert.deepEqual(order('*/*, application/yaml;q=0.1'), ['application/yaml', '*/*']);
  assert.deepEqual(order('application/*, application/json'), ['application/json', 'application/*']);
  assert.deepEqual(order('a/b, c/d, e/f'), ['a/b', 'c/d', 'e/f']);
  assert.deepEqual(order('*'), ['*/*']);
  assert.deepEqual(order('json, , /, a/b/c, a/'), []);
});

test('a clause is taken as a whole: one parameter that does not fit leaves it out', () => {
  const media = (header: string): string | undefined => accepted(header, 'resource')?.mediaType;
  assert.equal(media('application/yaml;stream=watch, application/json'), 'json');
  assert.equal(media('*/*;stream=watch'), 'json');
  assert.equal(media('application/json;stream=other'), undefined);
  assert.equal(media('application/yaml;sv=v1'), 'yaml');
  assert.equal(media('application/yaml;sv=v2'), undefined);
  assert.equal(media('application/vnd.kubernetes.protobuf;g=meta.k8s.io'), undefined);
  assert.equal(media('APPLICATION/json'), undefined);
  assert.equal(media('application/cbor'), undefined);
  assert.equal(accepted('application/json;unknown=1', 'plain')?.mediaType, 'json');
  const own = accepted('application/vnd.kubernetes.protobuf,application/json', 'custom');
  assert.equal(own?.mediaType, 'json');
});

test('a long header costs no more than a short one, and is not kept for ever', () => {
  const before = process.cpuUsage();
  for (const piece of [' ', ',', ';', '=', '/', '*/*;q=0.1,', 'a/b;c=d,', 'a/b;q=1e999,'])
    parseAccept(piece.repeat(1_000_000 / piece.length));
  const { user, system } = process.cpuUsage(before);
  assert.ok(user + system < 3_000_000);
  let read = 0;
  const reading = rememberingHeaders(() => ++read);
  for (let i = 0; i < 1000; i++) reading(`a/${i}`);
  reading('a/999');
  assert.equal(read, 1000);
  reading('a/0');
  assert.equal(read, 1001);
});

test('headers of tens of thousands of characters are not kept: each place for one would hold megabytes', () => {
  let read = 0;
  const reading = rememberingHeaders(() => ++read);
  const long = `a/b;c=${'d'.repeat(1024)}`;
  assert.equal(reading(long), 1);
  assert.equal(reading(long), 2);
  assert.equal(reading(long.slice(0, 1024)), 3);
  assert.equal(reading(long.slice(0, 1024)), 3);
});

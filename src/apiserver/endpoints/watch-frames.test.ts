// Who may share the frames of an event.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { frameKeysOf } from './watch-frames.ts';

const negotiated = { mediaType: 'json', form: 'object', formVersion: 'v1', pretty: false } as const;
const keys = (definedAs?: string) =>
  frameKeysOf(negotiated, { group: 'x.com', version: 'v1', kind: 'X', definedAs } as ResourceDeclaration);

test('kinds of one name share frames as long as their definition says the same', () => {
  assert.deepEqual(keys('uid/1'), keys('uid/1'));
  assert.notEqual(keys('uid/1').ADDED, keys('uid/2').ADDED);
  assert.notEqual(keys('uid/1').ADDED, keys('other/1').ADDED);
  assert.deepEqual(keys(), keys());
});

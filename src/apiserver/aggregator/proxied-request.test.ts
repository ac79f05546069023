// Who asks, in the headers that an extension server believes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { identityHeaders } from './proxied-request.ts';

test('extra keys that differ in case only are one header with the values of both', () => {
  const headers = identityHeaders({ name: 'u', groups: [], extra: { Foo: ['1'], foo: ['2'], none: [] } });
  assert.deepEqual(headers, { 'x-remote-user': 'u', 'x-remote-extra-foo': ['1', '2'] });
});

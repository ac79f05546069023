// The bearer token that a browser puts among the subprotocols of a WebSocket.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { offeredToken, withoutToken } from './websocket-token.ts';

const named = (token: string | Buffer): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

const rows: readonly (readonly [header: string, expected: ReturnType<typeof offeredToken>, rest: string])[] =
  [
    ['', undefined, ''],
    ['v4.channel.k8s.io', undefined, 'v4.channel.k8s.io'],
    [`${named('tökén')}, v4.channel.k8s.io`, { token: 'tökén' }, 'v4.channel.k8s.io'],
    [`a , b,${named('t')}`, { token: 't' }, 'a, b'],
    [named('t'), 'wrong', ''],
    [`${named('t')}, ${named('t')}, a`, 'wrong', 'a'],
    [`${named('')}, a`, undefined, 'a'],
    [`${named('t')}==, a`, 'wrong', 'a'],
    ['base64url.bearer.authorization.k8s.io.A, a', 'wrong', 'a'],
    ['base64url.bearer.authorization.k8s.io.a+b/, a', 'wrong', 'a'],
    [`${named(Buffer.from([0xff]))}, a`, 'wrong', 'a'],
    [`x${named('t')}, a`, undefined, `x${named('t')}, a`],
  ];

for (const [header, expected, rest] of rows)
  test(`subprotocols ${JSON.stringify(header)}`, () => {
    assert.deepEqual(offeredToken(header), expected);
    assert.equal(withoutToken(header), rest);
  });

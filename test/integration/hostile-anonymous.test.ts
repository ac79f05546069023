// Who shows no credential, or a made-up one, gets the health and the version, on no path anything else.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';

let plane: TestControlPlane;
before(async () => {
  plane = await startTestControlPlane();
});
after(() => plane.close());

const schema = new URL('../../src/api/schema/paths.json', import.meta.url);
const paths = JSON.parse(readFileSync(schema, 'utf8')) as Record<string, Record<string, unknown>>;
const open = ['/version/', '/healthz', '/livez', '/readyz'];

test('every path of the API is closed to the anonymous', async () => {
  let asked = 0;
  for (const [template, verbs] of Object.entries(paths)) {
    const path = template.replaceAll(/\{[^}]+\}/g, 'x');
    for (const verb of Object.keys(verbs)) {
      if (!/^(get|put|post|delete|options|head|patch)$/.test(verb)) continue;
      for (const url of [path, `${path}?watch=true`, `/${path}`]) {
        const answer = await plane.ask(verb.toUpperCase(), url, undefined, { anonymous: true });
        asked++;
        if (open.includes(path) && url !== `/${path}`) continue;
        assert.equal(answer.status, 401, `${verb} ${url} ${answer.text}`);
        assert.equal(answer.message, 'Unauthorized');
      }
    }
  }
  assert.ok(asked > 2000, String(asked));
  for (const path of [
    '/',
    '/metrics',
    '/openapi/v2',
    '/logs',
    '/debug/pprof',
    '/swagger-ui',
    '/apis',
    '/x',
    '/livez/../api',
  ])
    assert.ok(
      [400, 401].includes((await plane.ask('GET', path, undefined, { anonymous: true })).status),
      path,
    );
});

test('health and version tell nothing else and take no other method', async () => {
  for (const path of ['/livez', '/readyz', '/healthz', '/version']) {
    assert.equal((await plane.ask('GET', path, undefined, { anonymous: true })).status, 200, path);
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
      const { status } = await plane.ask(method, path, {}, { anonymous: true });
      assert.ok([401, 403, 405].includes(status), `${method} ${path} ${status}`);
    }
  }
});

test('tokens that are forged, unsigned, foreign or stale are worth nothing', async () => {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  await plane.ask('POST', accounts, { metadata: { name: 'robot' } });
  const made = await plane.ask('POST', `${accounts}/robot/token`, { spec: { expirationSeconds: 600 } });
  const token = (made.body['status'] as { token: string }).token;
  const [head = '', body = '', mac = ''] = token.split('.');
  const decode = (part: string): Record<string, unknown> =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>;
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = decode(head);
  const claims = decode(body);
  const hmac = (key: string): string => {
    const input = `${encode({ ...header, alg: 'HS256' })}.${body}`;
    return `${input}.${createHmac('sha256', key).update(input).digest('base64url')}`;
  };
  const forged = [
    `${encode({ ...header, alg: 'none' })}.${body}.`,
    `${encode({ ...header, alg: 'none' })}.${body}.${mac}`,
    `${encode({ ...header, alg: 'None' })}.${body}.`,
    hmac(''),
    hmac(plane.pki.caCertificatePem),
    `${encode({ alg: header['alg'] })}.${body}.${mac}`,
    `${encode({ ...header, kid: '../../dev/null' })}.${body}.${mac}`,
    `${encode({ ...header, crit: ['x'] })}.${body}.${mac}`,
    `${head}.${encode({ ...claims, sub: 'system:serviceaccount:kube-system:admin' })}.${mac}`,
    `${head}.${encode({ ...claims, exp: 9_999_999_999 })}.${mac}`,
    `${head}.${encode({ ...claims, aud: ['other'] })}.${mac}`,
    `${head}.${body}.${'A'.repeat(mac.length)}`,
    `${head}.${body}.`,
    `${head}.${body}`,
    `${token}.x`,
    `${token}A`,
    token.toUpperCase(),
    'x'.repeat(100_000),
    '',
    'abcdef.0123456789abcdef',
  ];
  for (const bad of forged) {
    const { status } = await plane.ask('GET', '/api/v1/namespaces', undefined, { token: bad });
    assert.equal(status, 401, bad.slice(0, 80));
  }
  // The health is no way round: whoever shows a wrong credential is refused there too.
  assert.equal((await plane.ask('GET', '/livez', undefined, { token: 'wrong' })).status, 401);
  assert.equal((await plane.ask('GET', '/api/v1/namespaces', undefined, { token })).status, 403);
  await plane.ask('DELETE', `${accounts}/robot`);
  assert.equal((await plane.ask('GET', '/api/v1/namespaces', undefined, { token })).status, 401);
});

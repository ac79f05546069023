// A pod, a service's endpoint or a kubelet that answers with a redirect sends nobody anywhere: the API server passes it on, and asks
// no other address for it.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import type { ApiRequest } from '../../src/apiserver/http.ts';
import { proxyRequest } from '../../src/apiserver/streaming/http-proxy.ts';
import { upgradeToSpdy } from '../../src/apiserver/streaming/spdy-upgrade.ts';
import { passUpgrade } from '../../src/apiserver/streaming/upgrade-proxy.ts';
import { wholeBody } from '../../src/apiserver/testing/whole-body.ts';

const statuses = [300, 301, 302, 303, 305, 307, 308];

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

const requestOf = (method: string, more: Partial<ApiRequest> = {}): ApiRequest => ({
  method,
  url: '/',
  headers: {},
  readBody: async () => Buffer.alloc(method === 'POST' ? 3 : 0),
  signal: new AbortController().signal,
  remoteAddress: '192.0.2.7',
  ...more,
});

test('redirects of backends are passed on, never followed', async (t) => {
  let reached = 0;
  const inside = createServer((_, response) => {
    reached++;
    response.end('secret');
  });
  // Whatever connects, also without a request.
  inside.on('connection', () => reached++);
  const insidePort = await listen(t, inside);
  let asked = 0;
  const redirecting = createServer();
  const answer = (url: string | undefined): { status: number; location: string } => {
    asked++;
    const status = Number(url?.slice(1));
    return { status, location: `http://127.0.0.1:${insidePort}/latest/meta-data` };
  };
  redirecting.on('request', (request, response) => {
    const { status, location } = answer(request.url);
    response.writeHead(status, { location, refresh: `0; url=${location}` }).end('gone there');
  });
  redirecting.on('upgrade', (request, socket) => {
    const { status, location } = answer(request.url);
    socket.end(`HTTP/1.1 ${status} Redirect\r\nLocation: ${location}\r\nContent-Length: 2\r\n\r\nno`);
  });
  const target = { host: '127.0.0.1', port: await listen(t, redirecting) };

  for (const status of statuses)
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const response = await proxyRequest(requestOf(method), target, `/${status}`);
      assert.equal(response.status, status);
      await wholeBody(response.body);
    }
  let upgrades = 0;
  for (const status of statuses) {
    const upgrade = { socket: new PassThrough(), head: Buffer.alloc(0) } as never;
    const headers = { connection: 'Upgrade', upgrade: 'SPDY/3.1' };
    const request = requestOf('POST', { headers, upgrade });
    const passed = await passUpgrade(request, target, `/${status}`, headers);
    assert.equal(passed.status, status);
    await wholeBody(passed.body);
    await assert.rejects(upgradeToSpdy(target, `/${status}`, 'v4.channel.k8s.io'));
    upgrades += 2;
  }
  assert.equal(reached, 0);
  assert.equal(asked, statuses.length * 8);
  t.diagnostic(`${asked} redirects, ${upgrades} of them of upgrades; 0 were followed`);
});

// What becomes of a request that is on its way to another server when its client waits no longer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { SpokenProtocols } from '../../wire/spoken-protocols.ts';
import type { ApiRequest } from '../http.ts';
import { RequestContext } from '../request-context.ts';
import { RemoteProxy } from './remote-proxy.ts';

test('a server that does not switch protocols is asked no longer than its client waits', {
  timeout: 20_000,
}, async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const spoken = new SpokenProtocols();
  const proxy = new RemoteProxy(
    {
      resolve: () => ({ host: '127.0.0.1', port }),
      credentials: () => undefined,
      frontProxy: { names: [], prefixes: [] },
    },
    spoken,
  );
  t.after(() => {
    silent.close();
    proxy.close();
    spoken.close();
  });
  const late = new AbortController();
  const context = new RequestContext({
    method: 'GET',
    url: '/apis/a.example.com/v1/namespaces/default/things/one/console?timeout=1s',
    headers: { connection: 'Upgrade', upgrade: 'websocket' },
    upgrade: { socket: new PassThrough(), head: Buffer.alloc(0) },
    signal: new AbortController().signal,
    remoteAddress: '127.0.0.1',
  } as unknown as ApiRequest);
  context.readInfo();
  context.user = { name: 'ada', groups: [] };
  context.endsWithin(1000, late.signal);
  const asked = once(silent, 'connection') as Promise<[Socket]>;
  const answer = proxy.forward(context, {
    name: 'v1.a.example.com',
    group: 'a.example.com',
    version: 'v1',
    service: { namespace: 'n', name: 's', port: 443 },
    caBundle: '',
    insecure: true,
    groupPriority: 1,
    versionPriority: 1,
    available: true,
  });
  const [socket] = await asked;
  socket.resume();
  const left = once(socket, 'close');
  late.abort();
  assert.equal((await answer).status, 503);
  await left;
});

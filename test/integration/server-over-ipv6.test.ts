// A server that listens at an address of IPv6, beside the loopback at which nodes reach it.
import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { loadKubeconfig } from '../../src/client/kubeconfig.ts';
import { readAll } from '../../src/client/transport.ts';
import { httpTransport } from '../../src/client/transport-http.ts';
import { freePort } from '../../src/cmd/cluster/free-port.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { startServerChild } from '../harness/server-child.ts';

test('a server at ::1 is reached there by its certificate, and its DNS answers', async (t) => {
  const scratch = scratchDirectory('over-ipv6');
  t.after(() => scratch.remove());
  const dnsPort = await freePort('127.0.0.1', 20_053);
  const server = await startServerChild({
    dataDir: scratch.path,
    disable: ['scheduler', 'controllers'],
    arguments: ['--bind-address', '::1', '--dns-port', String(dnsPort)],
  });
  t.after(() => server.kill());
  const { transport } = await loadKubeconfig(join(scratch.path, 'admin.kubeconfig'), (path) =>
    readFile(path),
  );
  const { port } = new URL(transport.server);
  const direct = httpTransport(systemClock, { ...transport, server: `https://[::1]:${port}` });
  t.after(() => direct.close());
  const { status, body } = await direct.request({ method: 'GET', path: '/api', headers: {} });
  assert.equal(status, 200);
  assert.match(String(await readAll(body, 10_000)), new RegExp(`"serverAddress":"127\\.0\\.0\\.1:${port}"`));
  const resolver = new Resolver({ timeout: 1000, tries: 1 });
  resolver.setServers([`127.0.0.1:${dnsPort}`]);
  const found = await eventually(() => resolver.resolve4('kubernetes.default.svc.cluster.local'));
  assert.deepEqual(found, ['10.96.0.1']);
  server.signal('SIGTERM');
  assert.equal((await server.ended).code, 0, server.said());
});

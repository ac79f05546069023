// Objects without end: the store says no as etcd does, lets go what is deleted, and goes on when there is room.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAll } from '../../src/client/transport.ts';
import { inProcessTransport } from '../../src/client/transport-in-process.ts';
import { startServer } from '../../src/cmd/compose/compose-server.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { administrator } from '../../src/controlplane/testing/test-control-plane.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const quotaBytes = 8 << 20;

test('a store that is full refuses what grows, and deleting, leases and node status go on', async () => {
  const scratch = scratchDirectory('store-quota');
  const server = await startServer({
    dataDir: scratch.path,
    securePort: 0,
    bindAddress: '127.0.0.1',
    quotaBytes,
    log: silentLogger,
  });
  const transport = inProcessTransport(server.controlPlane.handle, administrator);
  const ask = async (
    method: string,
    path: string,
    object?: object,
    type = 'application/json',
  ): Promise<{ status: number; text: string }> => {
    const { status, body } = await transport.request({
      method,
      path,
      headers: { 'content-type': type },
      ...(object === undefined ? {} : { body: Buffer.from(JSON.stringify(object)) }),
    });
    return { status, text: (await readAll(body, 100 << 20)).toString() };
  };
  const must = async (code: number, ...request: Parameters<typeof ask>): Promise<string> => {
    const { status, text } = await ask(...request);
    assert.equal(status, code, `${request[0]} ${request[1]}: ${text.slice(0, 300)}`);
    return text;
  };
  const merge = 'application/merge-patch+json';
  const map = (name: string, length: number, finalizers: string[] = []): object => ({
    metadata: { name, finalizers },
    data: { value: 'x'.repeat(length) },
  });
  const lease = (name: string): object => ({
    metadata: { name },
    spec: { holderIdentity: name, renewTime: '2026-01-01T00:00:00.000000Z' },
  });
  try {
    await must(201, 'POST', '/api/v1/nodes', { metadata: { name: 'n' } });
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    await must(201, 'POST', leases, lease('n'));
    await must(201, 'POST', maps, map('held', 10, ['example.com/a']));
    const pod = {
      metadata: { name: 'p' },
      spec: {
        nodeName: 'n',
        automountServiceAccountToken: false,
        containers: [{ name: 'c', image: 'i' }],
      },
    };
    await must(201, 'POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    await must(201, 'POST', '/api/v1/namespaces/default/pods', pod);

    let last = { status: 201, text: '' };
    let made = 0;
    for (; last.status === 201; made++) last = await ask('POST', maps, map(`m-${made}`, 500_000));
    assert.ok(made > 10 && made < 20, `${made} objects of 500 KB in 8 MiB`);
    assert.equal(last.status, 500);
    assert.deepEqual(JSON.parse(last.text), {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'etcdserver: mvcc: database space exceeded',
      code: 500,
    });
    while ((await ask('POST', maps, map(`s-${made++}`, 10_000))).status === 201);
    assert.match(await must(500, 'GET', '/readyz?verbose'), /\[-\]etcd-quota failed: reason withheld/);
    await must(200, 'GET', '/livez');
    const metrics = await must(200, 'GET', '/metrics');
    const size = Number(
      /apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} (\d+)/.exec(metrics)?.[1],
    );
    assert.ok(size > quotaBytes - 20_000 && size < quotaBytes + 20_000, String(size));

    // What the system needs.
    await must(200, 'PATCH', `${leases}/n`, { spec: { renewTime: '2026-01-01T00:00:10.000000Z' } }, merge);
    await must(201, 'POST', leases, lease('another'));
    await must(201, 'POST', '/api/v1/nodes', { metadata: { name: 'another' } });
    const conditions = [{ type: 'Ready', status: 'True', message: 'm'.repeat(5_000) }];
    await must(200, 'PATCH', '/api/v1/nodes/n/status', { status: { conditions } }, merge);
    // What makes room: by grace, by finalizers, by writing less.
    await must(200, 'DELETE', '/api/v1/namespaces/default/pods/p');
    const ended = { status: { phase: 'Failed', message: 'm'.repeat(1_000) } };
    await must(200, 'PATCH', '/api/v1/namespaces/default/pods/p/status', ended, merge);
    await must(200, 'DELETE', `${maps}/held`);
    await must(200, 'PATCH', `${maps}/held`, { metadata: { finalizers: null } }, merge);
    await must(404, 'GET', `${maps}/held`);
    await must(500, 'PATCH', `${maps}/m-1`, { data: { more: 'x'.repeat(20_000) } }, merge);
    await must(200, 'PATCH', `${maps}/m-1`, { data: { value: 'y' } }, merge);
    await must(200, 'DELETE', `${maps}/m-2`);
    await must(200, 'GET', '/readyz');
    await must(201, 'POST', maps, map('again', 500_000));
  } finally {
    await server.stop();
    scratch.remove();
  }
});

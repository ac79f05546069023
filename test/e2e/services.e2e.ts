// Services as pods and as the outside see them: cluster IPs, names, headless and node ports, nobody behind them, proxies.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import {
  limit,
  listManifest,
  podManifest,
  podSpec,
  serve,
  startLinuxCluster,
  untilTerm,
} from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
const service = (name: string, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec,
});
const http = { name: 'http', port: 80, targetPort: 'web' };
/** Answers with its own name. */
const names = podSpec({ command: serve('$(hostname)'), ports: [{ name: 'web', containerPort: 8080 }] });

before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  await kubectl.apply(podManifest('client', { command: untilTerm }));
  await kubectl.apply(
    listManifest(
      {
        apiVersion: 'apps/v1',
        kind: 'StatefulSet',
        metadata: { name: 'db' },
        spec: {
          serviceName: 'db',
          replicas: 2,
          podManagementPolicy: 'Parallel',
          selector: { matchLabels: { app: 'db' } },
          template: { metadata: { labels: { app: 'db' } }, spec: names },
        },
      },
      service('db', { clusterIP: 'None', selector: { app: 'db' }, ports: [http] }),
      service('web', { selector: { app: 'db' }, ports: [http] }),
      service('door', { type: 'NodePort', selector: { app: 'db' }, ports: [{ ...http, nodePort: 30080 }] }),
      service('nobody', { selector: { app: 'nobody' }, ports: [http] }),
      service('alias', { type: 'ExternalName', externalName: 'web.default.svc.cluster.local' }),
    ),
  );
  await kubectl.ok(['rollout', 'status', 'statefulset/db', '--timeout=60s']);
  await kubectl.ok(['wait', '--for=condition=Ready', 'pod/client', '--timeout=60s']);
}, limit);
after(() => cluster?.down(), limit);

const inClient = (...command: string[]): ReturnType<Kubectl['run']> =>
  kubectl.run(['exec', 'client', '--', 'timeout', '20', ...command]);
const get = async (url: string): Promise<string> => {
  const { code, stdout, stderr } = await inClient('wget', '-qO-', url);
  assert.equal(code, 0, `${url}: ${stderr}`);
  return stdout.trim();
};
const fieldOf = (name: string, path: string): Promise<string> =>
  kubectl.ok(['get', 'service', name, '-o', `jsonpath={${path}}`]);
const addressesOf = async (name: string): Promise<string[]> => {
  const { stdout } = await inClient('nslookup', '-type=a', name);
  return [...stdout.matchAll(/^Address: (.+)$/gm)].map((match) => match[1]!).sort();
};
const podIps = async (): Promise<string[]> =>
  (await kubectl.ok(['get', 'pods', '-l', 'app=db', '-o', 'jsonpath={.items[*].status.podIP}']))
    .split(' ')
    .sort();

describe('a Service', () => {
  test('answers at its cluster IP, from each pod behind it', limit, async () => {
    const ip = await fieldOf('web', '.spec.clusterIP');
    const seen = new Set<string>();
    await eventually(async () => {
      seen.add(await get(`http://${ip}/`));
      assert.deepEqual([...seen].sort(), ['db-0', 'db-1']);
    });
  });

  test('answers at all its names', limit, async () => {
    for (const name of ['web', 'web.default', 'web.default.svc', 'web.default.svc.cluster.local', 'alias'])
      assert.match(await get(`http://${name}/`), /^db-[01]$/);
    assert.deepEqual(await addressesOf('kubernetes.default.svc.cluster.local'), [
      await fieldOf('kubernetes', '.spec.clusterIP'),
    ]);
  });

  test('is reached by a pod behind it, itself included', limit, async () => {
    const seen = new Set<string>();
    await eventually(async () => {
      seen.add((await kubectl.ok(['exec', 'db-0', '--', 'wget', '-qO-', 'http://web/'])).trim());
      assert.deepEqual([...seen].sort(), ['db-0', 'db-1']);
    });
  });

  test('without a cluster IP is its pods, each with a name', limit, async () => {
    assert.deepEqual(await addressesOf('db.default.svc.cluster.local'), await podIps());
    assert.equal(await get('http://db-0.db:8080/'), 'db-0');
    assert.equal(await get('http://db-1.db.default.svc.cluster.local:8080/'), 'db-1');
  });

  test('without endpoints refuses at once', limit, async () => {
    const { code, stderr } = await inClient('wget', '-qO-', 'http://nobody/');
    assert.notEqual(code, 0);
    assert.match(stderr, /Connection refused/);
  });

  test('that does not exist has no address, and asking for it harms nobody', limit, async () => {
    assert.match((await inClient('wget', '-qO-', 'http://nowhere/')).stderr, /bad address 'nowhere'/);
    assert.match((await inClient('nslookup', 'no-such.default.svc.cluster.local')).stdout, /NXDOMAIN/);
    assert.match(await get('http://web/'), /^db-/);
  });

  test('of type NodePort answers outside, and through the node from inside', limit, async () => {
    const node = await kubectl.ok(['get', 'nodes', '-o', 'jsonpath={.items[0].status.addresses[0].address}']);
    await eventually(async () =>
      assert.match(await (await fetch(`http://${node}:30080/`)).text(), /^db-[01]\n$/),
    );
    assert.match(await get(`http://${node}:30080/`), /^db-[01]$/);
  });

  test('follows its pods: readiness, selector, session affinity', limit, async () => {
    await kubectl.ok(['label', 'pod', 'db-1', 'app=other', '--overwrite']);
    try {
      // the set makes another pod of that name only when the old one is gone: one endpoint is left
      const ip0 = await kubectl.ok(['get', 'pod', 'db-0', '-o', 'jsonpath={.status.podIP}']);
      await eventually(async () =>
        assert.deepEqual(await addressesOf('db.default.svc.cluster.local'), [ip0]),
      );
      for (let i = 0; i < 5; i++) assert.equal(await get('http://web/'), 'db-0');
    } finally {
      await kubectl.ok(['label', 'pod', 'db-1', 'app=db', '--overwrite']);
    }
    await eventually(async () =>
      assert.deepEqual(await addressesOf('db.default.svc.cluster.local'), await podIps()),
    );
    await kubectl.ok(['patch', 'service', 'web', '-p', '{"spec":{"sessionAffinity":"ClientIP"}}']);
    await eventually(async () => {
      const seen = new Set<string>();
      for (let i = 0; i < 6; i++) seen.add(await get('http://web/'));
      assert.equal(seen.size, 1);
    });
  });

  test('is reached through port-forward and the API server', limit, async () => {
    assert.match(
      await kubectl.ok(['get', '--raw', '/api/v1/namespaces/default/services/web:http/proxy/']),
      /^db-/,
    );
    assert.equal(
      await kubectl.ok(['get', '--raw', '/api/v1/namespaces/default/pods/db-0:8080/proxy/index.html']),
      'db-0\n',
    );
    const child = linuxProcesses.spawn(kubectl.path, ['port-forward', 'service/web', ':80'], {
      env: kubectl.env,
    });
    try {
      const line = await new Promise<string>((resolve, reject) => {
        child.stdout!.once('data', (data: Buffer) => resolve(data.toString()));
        child.stderr!.once('data', (data: Buffer) => reject(new Error(data.toString())));
      });
      const port = /127\.0\.0\.1:(\d+) -> 8080/.exec(line)?.[1];
      assert.match(await (await fetch(`http://127.0.0.1:${port}/`)).text(), /^db-/);
    } finally {
      child.kill('SIGINT');
      await child.exited;
    }
  });

  test('keeps answering by name when the server process is killed and started again', limit, async () => {
    await cluster.crashAndRepair('server');
    assert.match(await get('http://web/'), /^db-/);
  });

  test('is gone when it is deleted', limit, async () => {
    const ip = await fieldOf('door', '.spec.clusterIP');
    await kubectl.ok(['delete', 'service', 'door']);
    await eventually(async () => assert.notEqual((await inClient('wget', '-qO-', `http://${ip}/`)).code, 0));
    await eventually(async () =>
      assert.match((await inClient('nslookup', 'door.default.svc.cluster.local')).stdout, /NXDOMAIN/),
    );
  });
});

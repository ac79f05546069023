// A person's kubeconfig over the life of a cluster: what its owner put in stays.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseYaml, toYaml } from '../../base/yaml.ts';
import { type ClusterCredentials, issueClusterCredentials } from './cluster-credentials.ts';

interface Named {
  readonly name: string;
}
interface Config {
  readonly clusters: readonly (Named & { cluster: { server: string } })[];
  readonly users: readonly Named[];
  readonly contexts: readonly (Named & { context: Record<string, string> })[];
  readonly 'current-context': string;
}

test('namespace, other entries and the chosen context stay, also when the certificates are made anew', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const kubeconfig = join(folder, 'kubeconfig');
  const options: ClusterCredentials = {
    clusterName: 'x',
    serverDir: join(folder, 'server'),
    localUrl: 'https://127.0.0.1:6443',
    nodeUrl: 'https://127.0.0.1:6443',
    kubeconfig,
    nodes: [],
  };
  const read = (): Config => parseYaml(readFileSync(kubeconfig, 'utf8')) as unknown as Config;
  await issueClusterCredentials(options);
  const fresh = read();
  // As kubectl writes it: by name.
  const mine: Config = {
    ...fresh,
    clusters: [{ name: 'a', cluster: { server: 'https://a' } }, ...fresh.clusters],
    users: [{ name: 'a' }, ...fresh.users],
    contexts: [
      { name: 'a', context: { cluster: 'a', user: 'a' } },
      ...fresh.contexts.map((one) => ({ ...one, context: { ...one.context, namespace: 't' } })),
    ],
    'current-context': 'a',
  };
  const text = toYaml(mine);
  writeFileSync(kubeconfig, text);
  await issueClusterCredentials(options);
  assert.equal(readFileSync(kubeconfig, 'utf8'), text, 'nothing to do');
  await issueClusterCredentials({ ...options, localUrl: 'https://127.0.0.1:6444' });
  const moved = read();
  assert.equal(moved.clusters.find(({ name }) => name === 'x')?.cluster.server, 'https://127.0.0.1:6444');
  assert.deepEqual(
    { ...moved, clusters: [], users: [] },
    { ...mine, clusters: [], users: [] },
    'contexts, and which of them is chosen',
  );
  assert.deepEqual(moved.clusters[0], mine.clusters[0]);
  assert.deepEqual(
    moved.users.map(({ name }) => name),
    mine.users.map(({ name }) => name),
  );
  writeFileSync(kubeconfig, 'damaged: [');
  await issueClusterCredentials(options);
  assert.deepEqual(read().contexts, fresh.contexts);
});

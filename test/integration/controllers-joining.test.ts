// What a node that joins believes and is told: cluster-info signed by its token, and how long it may keep what it was given.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configmaps, nodes, secrets } from '../../src/api/generated/resources.ts';
import { detachedSignature } from '../../src/controllers/bootstrap/cluster-info-signatures.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const info = { name: 'cluster-info', namespace: 'kube-public' };
const namespace = 'kube-system';
const signaturesOf = (data: Readonly<Record<string, string>> = {}): string =>
  Object.keys(data)
    .filter((key) => key.startsWith('jws-kubeconfig-'))
    .sort()
    .join();
const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

const createToken = ({ client }: ControllersCluster, id: string, more: object = {}): Promise<unknown> =>
  client.create(secrets, {
    metadata: { name: `bootstrap-token-${id}`, namespace },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      'token-id': id,
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-signing': 'true',
      ...more,
    },
  } as never);

test('cluster-info has a signature for each token that is meant for it, and for no other', async (t) => {
  const cluster = await startCluster(t);
  const { client, until } = cluster;
  await createToken(cluster, 'aaaaaa');
  await createToken(cluster, 'unused', { 'usage-bootstrap-signing': 'false' });
  await createToken(cluster, 'passed', { expiration: inSeconds(-60) });
  await client.create(configmaps, {
    metadata: info,
    data: { kubeconfig: 'first', 'jws-kubeconfig-gone00': 'x' },
  });
  const signedBy = (ids: string): Promise<Record<string, string>> =>
    until(
      configmaps,
      (l) => {
        const { data } = l.get(info.name, info.namespace) ?? {};
        return signaturesOf(data) === ids && data;
      },
      `signatures ${ids}`,
    );
  const first = await signedBy('jws-kubeconfig-aaaaaa');
  const token = { id: 'aaaaaa', secret: '0123456789abcdef' };
  assert.equal(first['jws-kubeconfig-aaaaaa'], detachedSignature('first', token));
  await createToken(cluster, 'bbbbbb', { expiration: inSeconds(3) });
  await signedBy('jws-kubeconfig-aaaaaa,jws-kubeconfig-bbbbbb');
  await client.patch(configmaps, info, { type: 'merge', body: { data: { kubeconfig: 'second' } } });
  await until(
    configmaps,
    (l) =>
      l.get(info.name, info.namespace)?.data?.['jws-kubeconfig-aaaaaa'] ===
      detachedSignature('second', token),
    'what was changed is signed again',
  );
  await signedBy('jws-kubeconfig-aaaaaa');
  await client.delete(secrets, { name: 'bootstrap-token-aaaaaa', namespace });
  await signedBy('');
});

test('nodes of a large cluster are told how long they may keep what they were given, when they change the next time', async (t) => {
  const { client, until } = await startCluster(t);
  const nameOf = (i: number): string => `n${i}`;
  const all = Array.from({ length: 101 }, (_, i) => nameOf(i));
  await Promise.all(all.map((name) => client.create(nodes, { metadata: { name }, spec: {} })));
  const told = (name: string, seconds: string): Promise<unknown> =>
    until(
      nodes,
      (l) => l.get(name)?.metadata.annotations?.['node.alpha.kubernetes.io/ttl'] === seconds,
      `${name} is told ${seconds}`,
    );
  await until(nodes, (l) => l.list().length === all.length, 'all of them');
  const change = (label: string): Promise<unknown> =>
    client.patch(nodes, { name: 'n0' }, { type: 'merge', body: { metadata: { labels: { label } } } });
  await change('a');
  await told('n0', '15');
  await Promise.all(all.slice(80).map((name) => client.delete(nodes, { name })));
  await until(nodes, (l) => l.list().length === 80, 'the others');
  await change('b');
  await told('n0', '0');
});

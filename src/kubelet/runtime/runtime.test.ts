// A container's environment: references, services, what is missing, names.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { parseResolvConf, podDns } from './dns-config.ts';
import { expand } from './env-expansion.ts';
import { containerEnvironment } from './env-vars.ts';
import { hostsFile, podHostname } from './hosts-file.ts';
import { goSeconds, RestartBackoff } from './restart-backoff.ts';
import type { ServiceLister } from './service-env-vars.ts';

test('references are expanded as in Kubernetes', () => {
  const values = new Map([
    ['A', '1'],
    ['B', '$(A)'],
  ]);
  const rows: [string, string][] = [
    ['$(A)', '1'],
    ['$$(A)', '$(A)'],
    ['$$$(A)', '$1'],
    ['$(NO)', '$(NO)'],
    ['$(A', '$(A'],
    ['$A $', '$A $'],
    ['$(B)', '$(A)'],
    ['$()', '$()'],
  ];
  for (const [from, to] of rows)
    assert.equal(
      expand(from, (n) => values.get(n)),
      to,
      from,
    );
});

/** `A22` would be 260 MiB, and so would each of those that name it. */
const doubling = (lines: number): { name: string; value: string }[] => [
  { name: 'A0', value: 'x'.repeat(65) },
  ...Array.from({ length: lines }, (_, i) => ({ name: `A${i + 1}`, value: `$(A${i})$(A${i})` })),
];

test('variables that name each other grow no further than a program can be given', async () => {
  const attempt = (env: { name: string; value: string }[]): Promise<unknown> => {
    const container = aContainer('main', { env });
    return containerEnvironment({
      pod: aPod({ containers: [container] }),
      container,
      services: noServices,
      objects,
      fields,
    });
  };
  await assert.rejects(attempt(doubling(22)), /^Error: expands to more than 131072 characters$/);
  const many = Array.from({ length: 100 }, (_, i) => ({ name: `B${i}`, value: '$(A10)' }));
  await assert.rejects(
    attempt([...doubling(10), ...many]),
    /^Error: the environment of container "main" has more than 1048576 bytes$/,
  );
  await attempt([...doubling(10), ...many.slice(0, 10)]);
});

const noServices: ServiceLister = { get: () => undefined, list: () => [] };
const fields = {
  podIPs: ['10.0.0.9'],
  nodeIPs: ['10.1.0.1'],
  allocatable: { milliCpu: 4000, memoryBytes: 8e9, ephemeralBytes: 1e9 },
};
const objects = {
  configMap: async (_: string, name: string) =>
    name === 'cm' ? { metadata: { name }, data: { k: 'v', 'bad=key': 'x', __proto__x: 'y' } } : undefined,
  secret: async () => undefined,
};

test('variables come from services, envFrom and env, the later ones win', async () => {
  const service = {
    metadata: { name: 'my-svc', namespace: 'ns' },
    spec: { clusterIP: '10.96.0.7', ports: [{ port: 80, name: 'web' }] },
  };
  const skipped: string[] = [];
  const container = aContainer('main', {
    envFrom: [{ prefix: 'P_', configMapRef: { name: 'cm' } }],
    env: [
      { name: 'URL', value: 'http://$(MY_SVC_SERVICE_HOST)' },
      { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
      { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
      { name: 'OPT', valueFrom: { configMapKeyRef: { name: 'none', key: 'k', optional: true } } },
    ],
  });
  const env = await containerEnvironment({
    pod: aPod({ containers: [container] }),
    container,
    services: { get: () => undefined, list: (ns) => (ns === 'ns' ? [service] : []) },
    objects,
    fields,
    skipped: (m) => skipped.push(m),
  });
  assert.equal(env.get('P_k'), 'v');
  assert.equal(env.get('URL'), 'http://10.96.0.7');
  assert.equal(env.get('IP'), '10.0.0.9');
  assert.equal(env.get('CPU'), '4');
  assert.equal(env.has('OPT'), false);
  assert.equal(env.get('MY_SVC_PORT_80_TCP'), 'tcp://10.96.0.7:80');
  assert.equal(env.get('MY_SVC_SERVICE_PORT_WEB'), '80');
  assert.match(skipped[0] ?? '', /^Keys \[P_bad=key\] from the EnvFrom configMap ns\/cm were skipped/);
});

test('what is missing is named as upstream names it', async () => {
  const env = (container: ReturnType<typeof aContainer>) =>
    containerEnvironment({ pod: aPod(), container, services: noServices, objects, fields });
  await assert.rejects(env(aContainer('c', { envFrom: [{ secretRef: { name: 's' } }] })), {
    message: 'secret "s" not found',
  });
  const key = { name: 'X', valueFrom: { configMapKeyRef: { name: 'cm', key: 'nope' } } };
  await assert.rejects(env(aContainer('c', { env: [key] })), {
    message: "couldn't find key nope in ConfigMap ns/cm",
  });
  // N15: a variable that this node can't read is an error as an absent one is.
  const file = { name: 'X', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'env', key: 'k' } } };
  await assert.rejects(
    env(aContainer('c', { env: [file] })),
    /^Error: variable "X": this node does not read/,
  );
});

test('names are resolved by the pod policy', () => {
  const host = parseResolvConf('search corp.example.\nnameserver 1.1.1.1\noptions timeout:1\n');
  const dns = { servers: ['10.96.0.10'], domain: 'cluster.local', host };
  assert.deepEqual(podDns(aPod(), dns, false), {
    servers: ['10.96.0.10'],
    searches: ['ns.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'corp.example'],
    options: ['ndots:5'],
  });
  assert.deepEqual(podDns(aPod({ dnsPolicy: 'Default' }), dns, false), host);
  assert.deepEqual(podDns(aPod({ hostNetwork: true }), dns, true).servers, ['1.1.1.1']);
  const none = aPod({
    dnsPolicy: 'None',
    dnsConfig: { nameservers: ['8.8.8.8'], options: [{ name: 'ndots', value: '1' }] },
  });
  assert.deepEqual(podDns(none, dns, false), { servers: ['8.8.8.8'], searches: [], options: ['ndots:1'] });
});

test('hosts file and hostname follow subdomain and aliases, and an alias adds no lines of its own', () => {
  const pod = aPod({
    hostname: 'h',
    subdomain: 'sub',
    hostAliases: [{ ip: '1.2.3.4', hostnames: ['x\n6.6.6.6\tevil'] }],
  });
  const text = hostsFile(pod, { podIPs: ['10.0.0.9'], clusterDomain: 'cluster.local' });
  assert.ok(text.includes('10.0.0.9\th.sub.ns.svc.cluster.local\th\n'));
  assert.ok(text.endsWith('# Entries added by HostAliases.\n1.2.3.4\tx6.6.6.6evil\n'));
  const long = aPod();
  long.metadata.name = `${'a'.repeat(62)}-b`;
  assert.equal(podHostname(long, 'c').hostname, 'a'.repeat(62));
});

test('waits double from 10 s to 5 minutes, and a good run forgets them', () => {
  const backoff = new RestartBackoff();
  let now = 0;
  const delays: number[] = [];
  for (let i = 0; i < 8; i++) {
    now += backoff.remainingMs('k', now, now);
    backoff.next('k', now, now);
    delays.push(backoff.delayMs('k') / 1000);
  }
  assert.deepEqual(delays, [10, 20, 40, 80, 160, 300, 300, 300]);
  assert.equal(backoff.remainingMs('k', now + 700_000, now + 700_000), 0);
  // The clock was set back by two days since it ended.
  assert.equal(backoff.remainingMs('k', now, now - 172_800_000), backoff.delayMs('k'));
  assert.deepEqual([10_000, 80_000, 300_000].map(goSeconds), ['10s', '1m20s', '5m0s']);
});

// What a program is started with is bounded before it is made, whoever wrote it: Services, ConfigMaps, the pod.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap, Container, PodSpec, Secret, Service } from '../../api/generated/types/core-v1.ts';
import { ObjectStore, objectKey } from '../../client/cache/object-store.ts';
import { createLinuxNodeOs } from '../node-os/linux.ts';
import { aContainer, aPod } from '../testing/observed-builder.ts';
import { containerConfig } from './container-config.ts';
import { expand } from './env-expansion.ts';
import { containerEnvironment, type Environment } from './env-vars.ts';

const aService = (name: string, ports: number, namespace = 'ns'): Service => ({
  metadata: { name, namespace },
  spec: {
    clusterIP: '10.96.0.7',
    ports: Array.from({ length: ports }, (_, i) => ({ name: `p${i}`, port: 1000 + i })),
  },
});

function storeOf(services: readonly Service[]): ObjectStore<Service> {
  const store = new ObjectStore<Service>();
  for (const service of [aService('kubernetes', 1, 'default'), ...services])
    store.set(objectKey(service), service);
  return store;
}

interface Given {
  readonly services?: readonly Service[];
  readonly data?: Readonly<Record<string, string>>;
  readonly secret?: Readonly<Record<string, string>>;
  readonly container?: Partial<Container>;
  readonly spec?: Partial<PodSpec>;
}

function environment(given: Given): Promise<Environment> {
  const container = aContainer('main', given.container ?? {});
  const object = (data: Given['data']): ConfigMap & Secret => ({
    metadata: { name: 'o' },
    data: { ...data },
  });
  return containerEnvironment({
    pod: aPod({ containers: [container], ...given.spec }),
    container,
    services: storeOf(given.services ?? []),
    objects: { configMap: async () => object(given.data), secret: async () => object(given.secret) },
    fields: { podIPs: [], nodeIPs: [], allocatable: { milliCpu: 1, memoryBytes: 1, ephemeralBytes: 1 } },
  });
}

/** Tells of each reading of a port's number: counting needs none, each variable does. */
function watched(service: Service, seen: () => void): Service {
  const ports = service.spec!.ports!.map(
    (port) =>
      new Proxy(port, {
        get: (target, key) => {
          if (key === 'port') seen();
          return Reflect.get(target, key);
        },
      }),
  );
  return { ...service, spec: { ...service.spec, ports } };
}

test('variables of Services that no program can be started with are counted, and not made', async () => {
  let made = 0;
  const services = Array.from({ length: 30 }, (_, i) => watched(aService(`e${i}`, 4000), () => made++));
  await assert.rejects(environment({ services }), {
    message:
      'the environment of container "main" has more than 16384 entries, 600098 variables of Services among them: ' +
      "enableServiceLinks: false in the pod's spec leaves out those of its namespace",
  });
  assert.equal(made, 0, 'variables were made before they were refused');
  const without = await environment({ services, spec: { enableServiceLinks: false } });
  assert.equal(without.size, 8, 'those of the API server stay');
  assert.equal(without.get('KUBERNETES_SERVICE_HOST'), '10.96.0.7');
});

test('as many Services as fit are told of; what they are counted as is what is made', async () => {
  const services = Array.from({ length: 1000 }, (_, i) => aService(`web-${i}`, 1));
  const all = await environment({ services: [...services, aService('no-ports', 0), aService('two', 2)] });
  assert.equal(all.size, 8 + 1000 * 8 + 2 + 13);
  assert.equal(all.get('WEB_999_PORT_1000_TCP_ADDR'), '10.96.0.7');
  assert.equal(all.get('TWO_SERVICE_PORT_P1'), '1001');
});

test('variables of Services with long names are bounded in bytes, and making them stops there', async () => {
  let made = 0;
  const long = Array.from({ length: 2000 }, (_, i) =>
    watched(aService(`${'x'.repeat(58)}${i}`, 1), () => made++),
  );
  const refused = /^Error: the environment of container "main" has more than 1048576 bytes, 16008 variables/;
  await assert.rejects(environment({ services: long }), refused);
  // Five for each Service, were all made.
  assert.ok(made > 0 && made < 2000 * 4.5, `making went on: ${made}`);
});

test('ConfigMaps and Secrets by envFrom have the same bounds', async () => {
  const from = (times: number, kind: 'configMapRef' | 'secretRef'): Partial<Container> => ({
    envFrom: Array.from({ length: times }, (_, i) => ({ prefix: `P${i}_`, [kind]: { name: 'o' } })),
  });
  const data = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, '']));
  assert.equal((await environment({ data, container: from(10, 'configMapRef') })).size, 10_008);
  const entries = { message: 'the environment of container "main" has more than 16384 entries' };
  await assert.rejects(environment({ data, container: from(17, 'configMapRef') }), entries);
  await assert.rejects(environment({ secret: data, container: from(17, 'secretRef') }), entries);
  const secret = { k: Buffer.from('é'.repeat(50_000)).toString('base64') };
  assert.equal((await environment({ secret, container: from(10, 'secretRef') })).size, 18);
  const bytes = { message: 'the environment of container "main" has more than 1048576 bytes' };
  await assert.rejects(environment({ secret, container: from(11, 'secretRef') }), bytes);
  const one = {
    message: 'the environment of container "main" has an entry "P0_k" of more than 131072 bytes',
  };
  const long = { k: 'x'.repeat(131_072) };
  await assert.rejects(environment({ data: long, container: from(1, 'configMapRef') }), one);
});

test('a key of a Secret is decoded where it is asked for, not with all others for each variable', async () => {
  let read = 0;
  const secret = {
    asked: Buffer.from('v').toString('base64'),
    get other() {
      read++;
      return '';
    },
  };
  const container = aContainer('main', {
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'o', key: 'asked' } } }],
  });
  const env = await containerEnvironment({
    pod: aPod({ containers: [container] }),
    container,
    services: storeOf([]),
    objects: {
      configMap: async () => undefined,
      secret: async () => ({ metadata: { name: 'o' }, data: secret }),
    },
    fields: { podIPs: [], nodeIPs: [], allocatable: { milliCpu: 1, memoryBytes: 1, ephemeralBytes: 1 } },
  });
  assert.equal(env.get('A'), 'v');
  assert.equal(read, 0);
});

test('commands and arguments have the same bounds, together', () => {
  const value = 'x'.repeat(100_000);
  const config = (more: Partial<Container>): unknown => {
    const container = aContainer('main', more);
    return containerConfig({
      pod: aPod({ containers: [container] }),
      container,
      attempt: 0,
      image: { id: 'sha256:x' },
      environment: new Map([['V', value]]),
      mounts: [],
      nodeOs: createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' }),
      seccompRoot: '',
      nodeMemoryBytes: 1e9,
      nodeCpuCount: 2,
    });
  };
  const times = (n: number): string[] => Array.from({ length: n }, () => '$(V)');
  config({ command: times(5), args: times(5) });
  const line = 'the command line of container "main" has';
  assert.throws(() => config({ command: times(5), args: times(6) }), {
    message: `${line} more than 1048576 bytes`,
  });
  assert.throws(() => config({ command: ['sh'], args: Array.from({ length: 16_384 }, () => '') }), {
    message: `${line} more than 16384 entries`,
  });
  assert.throws(() => config({ args: ['x'.repeat(131_072)] }), {
    message: `${line} an entry of more than 131072 bytes`,
  });
});

test('a text of references that are never closed is read once, not once for each', () => {
  const text = `)${'$('.repeat(700_000)}`;
  const started = performance.now();
  assert.equal(
    expand(text, () => ''),
    text,
  );
  // Where each looks for its end, this takes half a minute.
  assert.ok(performance.now() - started < 5000, `${performance.now() - started} ms`);
});

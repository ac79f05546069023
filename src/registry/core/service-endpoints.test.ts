// Which address a port of a Service stands for, and which it never may.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { serviceEndpoints } from './service-endpoints.ts';

const machine = '192.0.2.2';

interface Given {
  readonly spec?: object;
  readonly addresses?: readonly string[];
  readonly ready?: boolean;
  readonly addressType?: string;
  /** Of the first slice's endpoints. */
  readonly nodeName?: string;
  /** Addresses of a further endpoint, of a node that runs. */
  readonly more?: readonly string[];
}

const labelled: Readonly<Record<string, object>> = {
  paper: { 'porthole.dev/simulated': 'true' },
  real: {},
};

function resolve(given: Given | undefined, port = 443): string {
  const {
    spec = { ports: [{ name: 'https', port: 443 }] },
    addresses = [],
    ready,
    addressType = 'IPv4',
    nodeName,
    more = [],
  } = given ?? {};
  const slice = (name: string): object => ({
    metadata: { labels: { 'kubernetes.io/service-name': name } },
    addressType,
    ports: [
      { name: 'other', port: 1 },
      { name: 'https', port: 8443 },
    ],
    endpoints: [
      { addresses: more, conditions: { ready }, nodeName: 'real' },
      { addresses, conditions: { ready }, nodeName },
    ],
  });
  const live = {
    get: ({ resource }: ResourceRef, name: string) => {
      if (resource === 'nodes') return labelled[name] && { metadata: { labels: labelled[name] } };
      return given && name === 'hook' ? { spec } : undefined;
    },
    list: () => [slice('another'), slice('hook')],
  } as unknown as LiveObjects;
  const endpoints = serviceEndpoints({ live, pick: (below) => below - 1, isMachine: (ip) => ip === machine });
  try {
    const { host, port: reached } = endpoints('hooks', 'hook', port);
    return `${host} ${reached}`;
  } catch (error) {
    return (error as Error).message;
  }
}

test('the port of the slice that has the name of the port of the Service', () => {
  assert.equal(resolve({ addresses: ['10.244.0.7', '10.244.0.8'] }), '10.244.0.8 8443');
  assert.equal(
    resolve({ spec: { type: 'ExternalName', externalName: 'hook.example.com' } }),
    'hook.example.com 443',
  );
});

test("what is not there is told in upstream's words", () => {
  assert.equal(resolve(undefined), 'service "hook" not found');
  assert.equal(resolve({}, 80), 'no service port 80 found for service "hook"');
  assert.equal(resolve({}), 'no endpoints available for service "hook"');
  assert.equal(
    resolve({ addresses: ['10.244.0.7'], ready: false }),
    'no endpoints available for service "hook"',
  );
  assert.equal(
    resolve({ addresses: ['a.b'], addressType: 'FQDN' }),
    'no endpoints available for service "hook"',
  );
});

test('nobody dials the address of a simulated pod, and who wanted to is told why', () => {
  const addresses = ['10.244.0.7'];
  assert.equal(
    resolve({ addresses, nodeName: 'paper' }),
    'no endpoints that run for service "hook": its pods are on simulated nodes, where nothing runs and nobody answers',
  );
  assert.equal(resolve({ addresses, nodeName: 'paper', more: ['10.244.1.9'] }), '10.244.1.9 8443');
  for (const nodeName of ['real', 'gone', '', undefined])
    assert.equal(resolve({ addresses, nodeName: nodeName as string }), '10.244.0.7 8443', String(nodeName));
});

test('slices lead neither to the machine of the server nor to what only it can reach', () => {
  for (const address of [machine, '127.0.0.1', '169.254.169.254', '::1', '::ffff:127.0.0.1'])
    assert.equal(resolve({ addresses: [address] }), 'address not allowed', address);
});

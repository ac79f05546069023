// The Service of the cluster DNS is made once and kept right.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusError } from '../../apimachinery/errors.ts';
import type { Client } from '../../client/client.ts';
import { ensureDnsService, lastDnsPort } from './dns-service.ts';

test('the Service and its EndpointSlice are made once and patched after', async () => {
  const stored = new Map<string, object>();
  const calls: string[] = [];
  const client = {
    get: async (resource: { resource: string }) => {
      const found = stored.get(resource.resource);
      if (found === undefined) throw new StatusError(404, 'NotFound', 'not there');
      return found;
    },
    create: async (resource: { resource: string }, object: object) => {
      calls.push(`create ${resource.resource}`);
      stored.set(resource.resource, object);
    },
    patch: async (resource: { resource: string }, _: unknown, patch: { body: { endpoints?: unknown } }) => {
      calls.push(`patch ${resource.resource} ${JSON.stringify(patch.body.endpoints ?? '')}`);
    },
  } as unknown as Client;
  const options = { clusterIP: '10.96.0.10', address: '172.30.0.1', port: 5353 };
  assert.equal(await lastDnsPort(client), undefined);
  await ensureDnsService(client, options);
  assert.equal(await lastDnsPort(client), 5353);
  await ensureDnsService(client, { ...options, address: '172.30.1.1' });
  assert.deepEqual(calls, [
    'create services',
    'create endpointslices',
    'patch services ""',
    'patch endpointslices [{"addresses":["172.30.1.1"],"conditions":{"ready":true,"serving":true,"terminating":false}}]',
  ]);
});

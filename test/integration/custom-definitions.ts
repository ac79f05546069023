// Definitions of custom resources with two versions, made and served.
import assert from 'node:assert/strict';
import type { TestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

export const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
export const definition = (plural: string, kind: string, more: object = {}): object => ({
  metadata: { name: `${plural}.test.example.com` },
  spec: {
    group: 'test.example.com',
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: { type: 'integer', default: 1, minimum: 1 },
                  replicas: { type: 'integer' },
                },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
        ...more,
      },
      {
        name: 'v2',
        served: true,
        storage: false,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
});
export const path = (plural: string, version = 'v1'): string =>
  `/apis/test.example.com/${version}/namespaces/default/${plural}`;

/** Until it is served. */
export async function define(
  cluster: TestControlPlane,
  plural: string,
  kind: string,
  more: object = {},
): Promise<void> {
  const made = await cluster.ask('POST', crds, definition(plural, kind, more));
  assert.equal(made.status, 201, made.text);
  await eventually(async () => assert.equal((await cluster.ask('GET', path(plural))).status, 200), {
    everyMs: 5,
  });
}

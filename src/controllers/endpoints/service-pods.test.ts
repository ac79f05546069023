// Which Services a pod's change concerns.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, Service } from '../../api/generated/types/core-v1.ts';
import { countReads } from '../../base/testing/counted-reads.ts';
import type { ControllerContext } from '../../controller-runtime/define-controller.ts';
import { selectedPods, servicesOf } from './service-pods.ts';

const service = (name: string, selector?: Record<string, string>, type?: string): Service => ({
  metadata: { namespace: 'd', name },
  spec: { clusterIP: '10.96.0.1', selector, type } as Service['spec'],
});
const pod = (labels: Record<string, string>, podIP = '10.244.0.2'): Pod => ({
  metadata: { namespace: 'd', name: 'p', labels },
  spec: { containers: [] },
  status: { podIP },
});
const reading = (objects: readonly unknown[]): ControllerContext =>
  ({ read: () => ({ list: () => objects }) }) as unknown as ControllerContext;

test('a pod concerns the Services that select it now and those that did', () => {
  const context = reading([
    service('now', { app: 'web' }),
    service('both', { tier: 'front' }),
    service('before', { app: 'old' }),
    service('more', { app: 'web', track: 'canary' }),
    service('all', {}),
    service('none'),
    service('outside', { app: 'web' }, 'ExternalName'),
    service('inherited', { constructor: 'web' }),
  ]);
  const [before, now] = [pod({ app: 'old', tier: 'front' }), pod({ app: 'web', tier: 'front' })];
  assert.deepEqual(servicesOf(now, before, context), ['d/now', 'd/both', 'd/before']);
  assert.deepEqual(servicesOf(now, undefined, context), ['d/now', 'd/both']);
  assert.deepEqual(servicesOf(now, now, context), []);
  assert.deepEqual(selectedPods(reading([now, before]), service('now', { app: 'web' })), [now]);
});

test('only what endpoints say of a pod concerns its Services', () => {
  const context = reading([service('web', { app: 'web' })]);
  const old = { ...pod({ app: 'web' }), status: { podIP: '10.244.0.2', phase: 'Running' } };
  const concerns = (change: { metadata?: object; spec?: object; status?: object }): boolean => {
    const copy = structuredClone(old);
    for (const part of ['metadata', 'spec', 'status'] as const) Object.assign(copy[part], change[part]);
    return servicesOf(copy, old, context).length > 0;
  };
  const ready = { type: 'Ready', status: 'True' };
  for (const change of [
    { metadata: { labels: { app: 'web', more: 'x' } } },
    { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } },
    { spec: { nodeName: 'n' } },
    { spec: { hostname: 'h' } },
    { spec: { subdomain: 's' } },
    { status: { podIP: '10.244.0.3' } },
    { status: { podIPs: [{ ip: '10.244.0.2' }, { ip: 'fd00::2' }] } },
    { status: { conditions: [ready] } },
    { status: { phase: 'Succeeded' } },
  ])
    assert.ok(concerns(change), JSON.stringify(change));
  for (const change of [
    { metadata: { annotations: { a: 'b' }, resourceVersion: '7' } },
    { status: { conditions: [{ type: 'PodScheduled', status: 'False' }], podIPs: [{ ip: '10.244.0.2' }] } },
    {},
  ])
    assert.ok(!concerns(change), JSON.stringify(change));
});

test('selectors of thousands of labels are not read for each change of a pod', () => {
  const counted = countReads(1000);
  const labels = (i: number) =>
    Object.fromEntries(Array.from({ length: 2000 }, (_, k) => [`k${k}`, `${i}`] as const));
  const context = reading(Array.from({ length: 20 }, (_, i) => service(`s${i}`, counted.of(labels(i)))));
  for (let i = 0; i < 10; i++)
    assert.deepEqual(servicesOf(pod({ k0: 'x' }, `10.244.0.${i}`), pod({ k0: 'y' }), context), []);
});

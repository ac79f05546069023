// Effective requests, QoS classes and matching of nodes follow upstream's examples.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podQosClass } from '../api/core/v1/pod-qos.ts';
import { podLimitAmounts, podRequests } from '../api/core/v1/pod-resources.ts';
import type { Container, Pod, ResourceQuota } from '../api/generated/types/core-v1.ts';
import type { JsonObject } from '../apimachinery/declaration.ts';
import { matchesRequiredNodeAffinity } from './node-affinity.ts';
import { isUnderQuota, podUsage, quotaShape, usageText } from './quota-usage.ts';
import { toleratesTaint } from './taints.ts';

const c = (cpu: string, more: Partial<Container> = {}): Container => ({
  name: 'c',
  resources: { requests: { cpu } },
  ...more,
});
const pod = (spec: Partial<Pod['spec']>): Pod => ({
  metadata: { name: 'p' },
  spec: { containers: [], ...spec },
});

test('requests are the larger of the containers with sidecars and the greediest init container', () => {
  assert.deepEqual(podRequests(pod({ containers: [c('1'), c('500m')] })), { cpu: '1500m' });
  assert.deepEqual(podRequests(pod({ containers: [c('1')], initContainers: [c('3')] })), { cpu: '3' });
  const sidecar = c('1', { restartPolicy: 'Always' });
  assert.deepEqual(podRequests(pod({ containers: [c('1')], initContainers: [sidecar, c('3')] })), {
    cpu: '4',
  });
  assert.deepEqual(podRequests(pod({ containers: [c('1')], overhead: { cpu: '250m' } })), { cpu: '1250m' });
  assert.equal(podLimitAmounts(pod({ containers: [c('1')], overhead: { cpu: '250m' } })).size, 0);
});

test('of a pod that is resized the larger of what it asks for and what its node holds counts, and only that when it never fits', () => {
  const status = (held: string, more: object = {}): Pod['status'] => ({
    containerStatuses: [
      {
        name: 'c',
        resources: { requests: { cpu: held } },
        allocatedResources: { cpu: '100m' },
        ready: true,
        restartCount: 0,
        image: '',
        imageID: '',
      },
    ],
    ...more,
  });
  const counted = (asked: string, held: Pod['status']): Record<string, string> =>
    podRequests({ ...pod({ containers: [c(asked)] }), status: held }, { heldByNode: true });
  assert.deepEqual(counted('500m', status('1')), { cpu: '1' });
  assert.deepEqual(counted('2', status('1')), { cpu: '2' });
  assert.deepEqual(counted('50m', status('60m')), { cpu: '100m' });
  const condition = { type: 'PodResizePending', status: 'True', reason: 'Infeasible' };
  assert.deepEqual(counted('90', status('1', { conditions: [condition] })), { cpu: '1' });
  assert.deepEqual(counted('1', undefined), { cpu: '1' });
});

const qosOf = (spec: Partial<Pod['spec']>): string => podQosClass(pod(spec) as unknown as JsonObject);

test('a pod is Guaranteed only when every container has equal requests and limits', () => {
  const both = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1000m', memory: '1024Mi' } };
  assert.equal(qosOf({ containers: [{ name: 'a', resources: both }] }), 'Guaranteed');
  assert.equal(qosOf({ containers: [{ name: 'a', resources: both }, c('1')] }), 'Burstable');
  assert.equal(qosOf({ containers: [{ name: 'a' }] }), 'BestEffort');
});

test('tolerations and node affinity match as upstream', () => {
  const taint = { key: 'os', value: 'windows', effect: 'NoSchedule' };
  assert.ok(toleratesTaint({ operator: 'Exists' }, taint));
  assert.ok(toleratesTaint({ key: 'os', value: 'windows' }, taint));
  assert.ok(!toleratesTaint({ key: 'os', value: 'linux' }, taint));
  const node = { metadata: { name: 'n1', labels: { os: 'windows' } } };
  assert.ok(matchesRequiredNodeAffinity(pod({ nodeSelector: { os: 'windows' } }), node));
  assert.ok(!matchesRequiredNodeAffinity(pod({ nodeSelector: { constructor: 'x' } }), node));
});

test('a pod that has resources as a whole counts so, and is no BestEffort one for a quota', () => {
  const shared = pod({ resources: { limits: { memory: '1Gi' } }, containers: [{ name: 'a' }] });
  const quota = { spec: { scopes: ['BestEffort'] } } as ResourceQuota;
  assert.equal(isUnderQuota(quota, quotaShape(shared)), false);
  assert.equal(isUnderQuota(quota, quotaShape(pod({ containers: [{ name: 'a' }] }))), true);
  assert.equal(usageText(podUsage(shared)), 'count/pods=1,limits.memory=1Gi,pods=1');
});

// Daemon pods on nodes that come, go and are updated.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DaemonSet } from '../../api/generated/types/apps-v1.ts';
import type { Node, Pod } from '../../api/generated/types/core-v1.ts';
import { type DaemonPlan, type DaemonView, daemonPlan, daemonStatus, updatePlan } from './daemon-plan.ts';
import { nodeFit, podSpecFor, targetNode } from './node-fit.ts';

const ds = (update: object = {}, spec: object = {}): DaemonSet =>
  ({
    metadata: { name: 'd', generation: 2 },
    spec: {
      template: { spec: { containers: [], ...spec } },
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: update },
    },
  }) as unknown as DaemonSet;
const node = (name: string, taints: object[] = [], labels: object = {}): Node =>
  ({ metadata: { name, labels }, spec: { taints } }) as unknown as Node;
const pod = (
  nodeName: string,
  hash: string,
  facts: { ready?: boolean; phase?: string; name?: string } = {},
): Pod =>
  ({
    metadata: {
      name: facts.name ?? `${nodeName}-${hash}`,
      labels: { 'controller-revision-hash': hash },
      creationTimestamp: hash === 'old' ? '2026-01-01T00:00:00Z' : '2026-01-01T00:01:00Z',
    },
    spec: { nodeName, containers: [] },
    status: {
      phase: facts.phase ?? 'Running',
      conditions: [{ type: 'Ready', status: facts.ready === false ? 'False' : 'True' }],
    },
  }) as unknown as Pod;
const view = (set: DaemonSet, nodes: readonly Node[], pods: readonly Pod[]): DaemonView => ({
  ds: set,
  nodes,
  pods,
  hash: 'new',
  now: Date.parse('2026-01-01T01:00:00Z'),
});
const named = (plan: DaemonPlan): unknown => [plan.create, plan.remove.map((p) => p.metadata.name)];

describe('a DaemonSet without a selector', () => {
  const of = (os: string): Node => node(os, [], { 'kubernetes.io/os': os });
  it('is for the Linux nodes of a cluster that has both, and lets a pod be that runs elsewhere', () => {
    const both = [of('linux'), of('windows')];
    assert.deepEqual(named(daemonPlan(view(ds(), both, []))), [['linux'], []]);
    assert.deepEqual(named(daemonPlan(view(ds({}, { os: { name: 'windows' } }), both, []))), [
      ['windows'],
      [],
    ]);
    assert.deepEqual(named(daemonPlan(view(ds(), both, [pod('windows', 'new')]))), [['linux'], []]);
    assert.equal(daemonStatus(view(ds(), both, []), undefined).desiredNumberScheduled, 1);
  });
  it('is for all nodes of a cluster of one system', () => {
    assert.deepEqual(named(daemonPlan(view(ds(), [of('windows')], []))), [['windows'], []]);
  });
});

describe('nodeFit', () => {
  const taint = (key: string, effect: string): object => ({ key, effect });
  it('ignores the troubles of a node, but not what keeps others away', () => {
    const fits = (n: Node, set = ds()): boolean[] => Object.values(nodeFit(set, n));
    assert.deepEqual(fits(node('a', [taint('node.kubernetes.io/unreachable', 'NoExecute')])), [true, true]);
    assert.deepEqual(fits(node('a', [taint('node.kubernetes.io/unschedulable', 'NoSchedule')])), [
      true,
      true,
    ]);
    assert.deepEqual(fits(node('a', [taint('os', 'NoSchedule')])), [false, true]);
    assert.deepEqual(fits(node('a', [taint('os', 'NoExecute')])), [false, false]);
    assert.deepEqual(fits(node('a', [], { os: 'linux' }), ds({}, { nodeSelector: { os: 'windows' } })), [
      false,
      false,
    ]);
    assert.deepEqual(fits(node('a', [taint('node.kubernetes.io/network-unavailable', 'NoSchedule')])), [
      false,
      true,
    ]);
    assert.deepEqual(
      fits(
        node('a', [taint('node.kubernetes.io/network-unavailable', 'NoSchedule')]),
        ds({}, { hostNetwork: true }),
      ),
      [true, true],
    );
  });
  it('pins a pod to its node by every term of its affinity', () => {
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }, {}],
        },
      },
    };
    const spec = podSpecFor({ containers: [], affinity } as never, 'n1');
    const terms =
      spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
    assert.ok(terms.every((term) => term.matchFields?.[0]?.values?.[0] === 'n1'));
    assert.equal(targetNode({ metadata: { name: 'p' }, spec } as Pod), 'n1');
  });
});

describe('daemonPlan', () => {
  it('adds what is missing and removes what should not be there', () => {
    const away = node('c', [{ key: 'k', effect: 'NoExecute' }]);
    const plan = daemonPlan(
      view(
        ds(),
        [node('a'), node('b'), away],
        [pod('b', 'new'), pod('b', 'new', { name: 'twin' }), pod('c', 'new')],
      ),
    );
    assert.deepEqual(named(plan), [['a'], ['twin', 'c-new']]);
  });
  it('replaces a pod that failed', () => {
    const plan = daemonPlan(view(ds(), [node('a')], [pod('a', 'new', { phase: 'Failed' })]));
    assert.deepEqual([named(plan), plan.failed.length], [[[], ['a-new']], 1]);
  });
});

describe('updatePlan', () => {
  const nodes = [node('a'), node('b'), node('c')];
  it('takes as many old pods at a time as may be unavailable', () => {
    const old = [pod('a', 'old'), pod('b', 'old'), pod('c', 'old')];
    assert.deepEqual(named(updatePlan(view(ds(), nodes, old))), [[], ['a-old']]);
    assert.deepEqual(named(updatePlan(view(ds({ maxUnavailable: '50%' }), nodes, old))), [
      [],
      ['a-old', 'b-old'],
    ]);
    const half = [pod('a', 'new', { ready: false }), pod('b', 'old'), pod('c', 'old')];
    assert.deepEqual(named(updatePlan(view(ds(), nodes, half))), [[], []]);
  });
  it('takes old pods that do not work whatever the limit', () => {
    const pods = [pod('a', 'new', { ready: false }), pod('b', 'old', { ready: false }), pod('c', 'old')];
    assert.deepEqual(named(updatePlan(view(ds(), nodes, pods))), [[], ['b-old']]);
  });
  it('with surge starts the new pod beside the old one, and removes the old one once that works', () => {
    const surge = ds({ maxSurge: 1, maxUnavailable: 0 });
    const old = [pod('a', 'old'), pod('b', 'old'), pod('c', 'old')];
    assert.deepEqual(named(updatePlan(view(surge, nodes, old))), [['a'], []]);
    const starting = [...old, pod('a', 'new', { ready: false })];
    assert.deepEqual(named(daemonPlan(view(surge, nodes, starting))), [[], []]);
    assert.deepEqual(named(updatePlan(view(surge, nodes, starting))), [[], []]);
    assert.deepEqual(named(daemonPlan(view(surge, nodes, [...old, pod('a', 'new')]))), [[], ['a-old']]);
  });
});

describe('a DaemonSet that surges', () => {
  const surge = ds({ maxSurge: 1, maxUnavailable: 0 });
  it('makes another beside a pod that does not work whatever the limit, and takes it away only then', () => {
    const nodes = [node('a'), node('b')];
    const broken = [pod('a', 'old', { ready: false }), pod('b', 'old')];
    assert.deepEqual(named(updatePlan(view(surge, nodes, broken))), [['a', 'b'], []]);
    const beside = [...broken, pod('a', 'new', { ready: false })];
    assert.deepEqual(named(daemonPlan(view(surge, nodes, beside))), [[], ['a-old']]);
  });
});

describe('daemonPlan, pods that are on their way out', () => {
  it('a pod that ended and is kept by somebody does not stand in the way, one that still ends does', () => {
    const leaving = (phase: string): Pod => {
      const one = pod('a', 'new', { phase });
      return { ...one, metadata: { ...one.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    };
    assert.deepEqual(named(daemonPlan(view(ds(), [node('a')], [leaving('Failed')]))), [['a'], []]);
    assert.deepEqual(named(daemonPlan(view(ds(), [node('a')], [leaving('Running')]))), [[], []]);
  });
});

describe('daemonStatus', () => {
  it('counts nodes, not pods, and of two on a node the older one', () => {
    const status = daemonStatus(
      view(
        ds(),
        [node('a'), node('b'), node('c', [{ key: 'k', effect: 'NoSchedule' }])],
        [pod('a', 'old'), pod('a', 'new'), pod('c', 'new')],
      ),
      undefined,
    );
    assert.deepEqual(status, {
      observedGeneration: 2,
      desiredNumberScheduled: 2,
      currentNumberScheduled: 1,
      numberMisscheduled: 1,
      numberReady: 1,
      updatedNumberScheduled: 0,
      numberAvailable: 1,
      numberUnavailable: 1,
    });
  });
});

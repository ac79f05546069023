// Silent nodes, their conditions and taints.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../api/generated/types/core-v1.ts';
import { evictionDelay } from './eviction-time.ts';
import {
  desiredTaints,
  nodeHealth,
  silentAt,
  usualNodeTimes as times,
  unknownConditions,
} from './node-health.ts';

const start = Date.parse('2026-01-01T00:00:00Z');
const node = (conditions: Record<string, string>, spec: object = {}, heartbeat = 'h1'): Node =>
  ({
    metadata: { name: 'n', creationTimestamp: '2026-01-01T00:00:00Z' },
    spec,
    status: {
      conditions: Object.entries(conditions).map(([type, status]) => ({
        type,
        status,
        lastHeartbeatTime: heartbeat,
      })),
    },
  }) as unknown as Node;
const taints = (n: Node, mayEvict = true): string[] | undefined =>
  desiredTaints(n, mayEvict, start)?.map((t) => `${t.key.split('/')[1]}:${t.effect}`);

describe('nodeHealth', () => {
  it('takes a new heartbeat or a renewed lease for a sign of life, by its own clock', () => {
    const first = nodeHealth(node({ Ready: 'True' }), 'r1', undefined, start);
    assert.equal(nodeHealth(node({ Ready: 'True' }), 'r1', first, start + 5000), first);
    assert.equal(nodeHealth(node({ Ready: 'True' }), 'r2', first, start + 5000).heardAt, start + 5000);
    assert.equal(
      nodeHealth(node({ Ready: 'True' }, {}, 'h2'), 'r1', first, start + 6000).heardAt,
      start + 6000,
    );
  });
  it('does not take what it wrote itself for a sign of life', () => {
    const first = nodeHealth(node({ Ready: 'True' }), 'r1', undefined, start);
    assert.equal(nodeHealth(node({ Ready: 'Unknown' }), 'r1', first, start + 50_000), first);
  });
  it('gives a node that never spoke longer to begin', () => {
    const never = node({});
    assert.equal(
      silentAt(never, nodeHealth(never, undefined, undefined, start + 1000), times),
      start + 60_000,
    );
    const ready = node({ Ready: 'True' });
    assert.equal(silentAt(ready, nodeHealth(ready, 'r', undefined, start + 1000), times), start + 51_000);
  });
});

describe('unknownConditions', () => {
  it('turns what is known into unknown, once', () => {
    const result = unknownConditions(node({ Ready: 'True', NetworkUnavailable: 'False' }), start) ?? [];
    assert.deepEqual(
      result.map((c) => `${c.type} ${c.status} ${c.reason ?? ''}`),
      [
        'Ready Unknown NodeStatusUnknown',
        'NetworkUnavailable False ',
        'MemoryPressure Unknown NodeStatusNeverUpdated',
        'DiskPressure Unknown NodeStatusNeverUpdated',
        'PIDPressure Unknown NodeStatusNeverUpdated',
      ],
    );
    const again = { ...node({}), status: { conditions: result } } as unknown as Node;
    assert.equal(unknownConditions(again, start), undefined);
  });
});

describe('desiredTaints', () => {
  it('follow the conditions', () => {
    assert.equal(taints(node({ Ready: 'True' })), undefined);
    assert.deepEqual(taints(node({ Ready: 'False' })), ['not-ready:NoSchedule', 'not-ready:NoExecute']);
    assert.deepEqual(taints(node({ Ready: 'Unknown' })), ['unreachable:NoSchedule', 'unreachable:NoExecute']);
    assert.deepEqual(
      taints(node({ Ready: 'True', MemoryPressure: 'True', DiskPressure: 'True', PIDPressure: 'True' })),
      ['memory-pressure:NoSchedule', 'disk-pressure:NoSchedule', 'pid-pressure:NoSchedule'],
    );
    assert.deepEqual(taints(node({ Ready: 'True' }, { unschedulable: true })), ['unschedulable:NoSchedule']);
  });
  it('evict nobody before it is the turn of the node', () => {
    assert.deepEqual(taints(node({ Ready: 'Unknown' }), false), ['unreachable:NoSchedule']);
  });
  it('leave what others put there, and take away only their own', () => {
    const spec = {
      taints: [
        { key: 'os', value: 'windows', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' },
      ],
    };
    assert.deepEqual(
      desiredTaints(node({ Ready: 'True' }, spec), true, start)?.map((t) => t.key),
      ['os', 'node.kubernetes.io/out-of-service'],
    );
  });
});

describe('evictionDelay', () => {
  const taint = { key: 'k', effect: 'NoExecute', timeAdded: '2026-01-01T00:00:00Z' };
  const key = { key: 'k', operator: 'Exists' };
  it('is nothing, a while or for ever', () => {
    assert.equal(evictionDelay([taint], []), 0);
    assert.equal(evictionDelay([taint], [key]), undefined);
    assert.equal(evictionDelay([taint], [{ ...key, tolerationSeconds: 300 }]), 300_000);
    assert.equal(evictionDelay([taint], [{ ...key, tolerationSeconds: -1 }]), 0);
    const longest = [{ ...key, tolerationSeconds: 2n ** 63n - 1n }];
    assert.equal(evictionDelay([taint], longest), 2 ** 63 * 1000);
    assert.equal(evictionDelay([{ key: 'k', effect: 'NoSchedule' }], []), undefined);
    assert.equal(evictionDelay([], []), undefined);
    assert.equal(evictionDelay(undefined, undefined), undefined);
  });
  it('is the shortest of all taints', () => {
    const other = { ...taint, key: 'j' };
    const tolerations = [
      { ...key, tolerationSeconds: 300 },
      { key: 'j', operator: 'Exists', tolerationSeconds: 30 },
    ];
    assert.equal(evictionDelay([taint, other], tolerations), 30_000);
  });
  it('is that of the first toleration that fits a taint', () => {
    const everything = { operator: 'Exists' };
    const narrow = { ...key, tolerationSeconds: 2 };
    assert.equal(evictionDelay([taint], [everything, narrow]), undefined);
    assert.equal(evictionDelay([taint], [narrow, everything]), 2000);
  });
});

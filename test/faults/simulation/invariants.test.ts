// Planted lies: each invariant is told of a write that breaks it, and of one like it that does not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ClusterModel } from './cluster-model.ts';
import { Invariants } from './invariants.ts';

const owned = (uid: string): object => ({ ownerReferences: [{ uid, controller: true }] });
const ready = { conditions: [{ type: 'Ready', status: 'True' }] };

/** What is said of these writes, in order; a value of undefined deletes. */
class Teller {
  readonly violations: string[] = [];
  seconds = 0;
  readonly #model = new ClusterModel();
  readonly invariants: Invariants = new Invariants({
    model: this.#model,
    staleSeconds: 2,
    answersAreLost: false,
    violated: (text) => void this.violations.push(text),
  });

  write(
    path: string,
    object: { metadata?: object; [member: string]: unknown },
    type: 'put' | 'delete' = 'put',
  ): void {
    this.seconds += 10;
    const [name, namespace] = path.split('/').reverse();
    const metadata = {
      name,
      namespace,
      uid: name,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...object.metadata,
    };
    const value = Buffer.from(JSON.stringify({ ...object, metadata }));
    const change = this.#model.take({ seconds: this.seconds, type, key: `/registry/${path}`, value });
    if (change !== undefined) this.invariants.see(change);
  }

  node(more: object = {}): void {
    const labels = { 'kubernetes.io/os': 'linux' };
    const status = { allocatable: { cpu: '1', memory: '1Gi' } };
    this.write('core/nodes/n', { metadata: { labels }, spec: more, status });
  }
  pod(
    name: string,
    {
      owner = 'rs',
      spec = {},
      status = {},
      ...more
    }: { owner?: string; spec?: object; status?: object; deletionTimestamp?: string } = {},
  ): void {
    const metadata = { ...owned(owner), labels: { app: 'd' }, ...more };
    this.write(`core/pods/x/${name}`, { metadata, spec: { containers: [], ...spec }, status });
  }
  /** Of three replicas, one more at most, and none less. */
  deployment(): void {
    const rollingUpdate = { maxSurge: 1, maxUnavailable: 0 };
    this.write('apps/deployments/x/d', { spec: { replicas: 3, strategy: { rollingUpdate } } });
    this.write('apps/replicasets/x/rs', { metadata: owned('d'), spec: {} });
  }
  /** Words of the one invariant that is broken now, and none before. */
  breaks(words: RegExp, lie: () => void): void {
    assert.deepEqual(this.violations, []);
    lie();
    assert.equal(this.violations.length, 1, this.violations.join('\n'));
    assert.match(this.violations[0]!, words);
  }
}

const bound = { nodeName: 'n' };

test('a pod that goes from one node to another', () => {
  const told = new Teller();
  told.node();
  told.pod('a');
  told.pod('a', { spec: bound });
  told.breaks(/^a pod is bound once: x\/a went from n to m/, () =>
    told.pod('a', { spec: { nodeName: 'm' } }),
  );
});

test('a pod on a node of another system, and on one that keeps it out', () => {
  const told = new Teller();
  told.node();
  told.pod('a', { spec: { os: { name: 'windows' } } });
  told.breaks(/^a pod is bound to a node of its system/, () =>
    told.pod('a', { spec: { os: { name: 'windows' }, ...bound } }),
  );
  const tainted = new Teller();
  tainted.node({ taints: [{ key: 'k', effect: 'NoExecute' }] });
  tainted.pod('b');
  tainted.breaks(/^a pod is bound to a node that takes it/, () => tainted.pod('b', { spec: bound }));
});

test('more than a node has room for; what has ended takes none', () => {
  const told = new Teller();
  told.node();
  const half = { containers: [{ name: 'c', resources: { requests: { cpu: '500m' } } }] };
  for (const name of ['a', 'b', 'c']) told.pod(name, { spec: half });
  told.pod('a', { spec: { ...half, ...bound } });
  told.pod('b', { spec: { ...half, ...bound } });
  told.pod('b', { spec: { ...half, ...bound }, status: { phase: 'Succeeded' } });
  told.pod('c', { spec: { ...half, ...bound } });
  told.pod('d', { spec: half });
  told.breaks(/^a node has room for its pods/, () => told.pod('d', { spec: { ...half, ...bound } }));
});

test('one pod more than replicas and surge', () => {
  const told = new Teller();
  told.deployment();
  for (const name of ['a', 'b', 'c', 'd']) told.pod(name);
  told.breaks(/^a Deployment never has more than its surge: d has 5 pods/, () => told.pod('e'));
});

test('a ready pod that goes while no other has come; after a disturbance nobody is blamed', () => {
  const told = new Teller();
  told.deployment();
  for (const name of ['a', 'b', 'c', 'd']) {
    told.pod(name);
    told.pod(name, { status: ready });
  }
  const going = { status: ready, deletionTimestamp: '2026-01-01T00:00:00Z' };
  told.pod('a', going);
  told.breaks(/^a rollout never takes more than it may: d has 2 available/, () => told.pod('b', going));
  told.invariants.disturbed(told.seconds);
  told.pod('c', going);
  assert.equal(told.violations.length, 1);
});

test('an eviction below the budget', () => {
  const told = new Teller();
  told.deployment();
  const spec = { minAvailable: 2, selector: { matchLabels: { app: 'd' } } };
  told.write('policy/poddisruptionbudgets/x/d', { spec });
  for (const name of ['a', 'b', 'c']) {
    told.pod(name);
    told.pod(name, { status: ready });
  }
  const evict = (name: string): void => {
    const asked = told.invariants.evicting(name);
    told.pod(name, { status: ready, deletionTimestamp: '2026-01-01T00:00:00Z' });
    asked.answered();
  };
  evict('a');
  told.breaks(/^an eviction leaves what the budget asks for: d has 1 healthy/, () => evict('b'));
});

test('more pods than the quota, a second daemon on a node, a Job that runs too many', () => {
  const told = new Teller();
  told.write('core/resourcequotas/x/q', { spec: { hard: { pods: '1' } } });
  told.pod('a');
  told.breaks(/^a quota is never passed: 2 pods of 1/, () => told.pod('b'));
  const daemons = new Teller();
  daemons.write('apps/daemonsets/x/ds', { spec: { updateStrategy: {} } });
  daemons.pod('a', { owner: 'ds' });
  daemons.breaks(/^a DaemonSet has one pod on a node/, () => daemons.pod('b', { owner: 'ds' }));
  const jobs = new Teller();
  jobs.write('batch/jobs/x/j', { spec: { parallelism: 1, completions: 2 } });
  jobs.pod('a', { owner: 'j' });
  jobs.breaks(/^a Job runs no more than it may at once/, () => jobs.pod('b', { owner: 'j' }));
  const ended = new Teller();
  ended.breaks(/^a Job completes no more than it is to/, () =>
    ended.write('batch/jobs/x/j', { spec: { completions: 1 }, status: { succeeded: 2 } }),
  );
});

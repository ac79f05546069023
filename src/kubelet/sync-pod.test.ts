// Which actions are due, from what a pod asks for and what runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podActions } from './sync-pod.ts';
import {
  aContainer,
  aPod,
  aSandbox,
  exited,
  observedContainer,
  observedPod,
} from './testing/observed-builder.ts';

const well = { liveness: () => undefined, startup: () => undefined };
const names = (actions: ReturnType<typeof podActions>): string[] =>
  actions.start.map((s) => `${s.kind}/${s.name}`);

test('a new pod gets a sandbox first', () => {
  const actions = podActions(aPod(), observedPod([], []), well);
  assert.equal(actions.createSandbox, true);
  assert.equal(actions.sandboxAttempt, 0);
});

test('a dead sandbox is replaced with the next attempt, one without an address too', () => {
  for (const sandbox of [aSandbox({ ready: false, attempt: 4 }), aSandbox({ ips: [], attempt: 4 })]) {
    const actions = podActions(aPod(), observedPod([exited('main', 0)], [sandbox]), well);
    assert.deepEqual([actions.killPod, actions.createSandbox, actions.sandboxAttempt], [true, true, 5]);
  }
});

test('a pod that never restarts gets no second sandbox', () => {
  const actions = podActions(
    aPod({ restartPolicy: 'Never' }),
    observedPod([exited('main', 1)], [aSandbox({ ready: false })]),
    well,
  );
  assert.deepEqual([actions.killPod, actions.createSandbox], [true, false]);
});

test('what ended is started again by the restart policy and only then', () => {
  const started = (restartPolicy: string, code: number): boolean =>
    podActions(aPod({ restartPolicy }), observedPod([exited('main', code)]), well).start.length === 1;
  assert.deepEqual(
    ['Always', 'OnFailure', 'Never'].map((policy) => [started(policy, 0), started(policy, 1)]),
    [
      [true, true],
      [false, true],
      [false, false],
    ],
  );
});

test('a rule of the container restarts by exit code against the pod', () => {
  const rules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
  const pod = aPod({
    restartPolicy: 'Never',
    containers: [aContainer('main', { restartPolicy: 'Never', restartPolicyRules: rules })],
  });
  assert.deepEqual(names(podActions(pod, observedPod([exited('main', 42)]), well)), ['container/main']);
  assert.equal(podActions(pod, observedPod([exited('main', 1)]), well).killPod, true);
});

test('init containers run one after the other, the rest waits', () => {
  const pod = aPod({ initContainers: [aContainer('i1'), aContainer('i2')] });
  const next = (containers: Parameters<typeof observedPod>[0]): string[] =>
    names(podActions(pod, observedPod(containers), well));
  assert.deepEqual(next([]), ['init/i1']);
  assert.deepEqual(next([observedContainer('i1')]), []);
  assert.deepEqual(next([exited('i1', 1)]), ['init/i1']);
  assert.deepEqual(next([exited('i1', 0)]), ['init/i2']);
  assert.deepEqual(next([exited('i1', 0), exited('i2', 0)]), ['container/main']);
});

test('a failed init container ends a pod that never restarts', () => {
  const pod = aPod({ restartPolicy: 'Never', initContainers: [aContainer('i1')] });
  assert.equal(podActions(pod, observedPod([exited('i1', 1)]), well).killPod, true);
});

test('a sidecar lets the next start once it has started, and is restarted beside the others', () => {
  const side = aContainer('side', { restartPolicy: 'Always', startupProbe: { exec: { command: ['x'] } } });
  const pod = aPod({ initContainers: [side, aContainer('i2')] });
  const running = observedPod([observedContainer('side')]);
  assert.deepEqual(names(podActions(pod, running, well)), []);
  assert.deepEqual(names(podActions(pod, running, { ...well, startup: () => true })), ['init/i2']);
  const later = observedPod([exited('side', 1), exited('i2', 0), observedContainer('main')]);
  assert.deepEqual(names(podActions(pod, later, well)), ['init/side']);
});

test('sidecars end when everything else is done', () => {
  const pod = aPod({
    restartPolicy: 'Never',
    initContainers: [aContainer('side', { restartPolicy: 'Always' })],
  });
  const actions = podActions(pod, observedPod([observedContainer('side'), exited('main', 0)]), well);
  assert.equal(actions.killPod, true);
});

test('a container that is not alive, or another one now, is killed and started again', () => {
  const dead = podActions(aPod(), observedPod([observedContainer('main')]), {
    ...well,
    liveness: () => false,
  });
  assert.deepEqual(dead.kill, [
    {
      id: 'main-id',
      name: 'main',
      why: 'liveness',
      message: 'Container main failed liveness probe, will be restarted',
    },
  ]);
  const changed = podActions(aPod(), observedPod([observedContainer('main', { hash: 'old' })]), well);
  assert.equal(changed.kill[0]?.message, 'Container main definition changed, will be restarted');
  assert.deepEqual(names(changed), ['container/main']);
});

test('an ephemeral container is started once, whatever became of it', () => {
  const pod = aPod({ ephemeralContainers: [{ name: 'debug', image: 'x' }] });
  assert.deepEqual(names(podActions(pod, observedPod([observedContainer('main')]), well)), [
    'ephemeral/debug',
  ]);
  const after = observedPod([observedContainer('main'), exited('debug', 1)]);
  assert.deepEqual(names(podActions(pod, after, well)), []);
});

// A pod's status out of what runs: phase, conditions, back-off, the end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodStatus } from '../api/generated/types/core-v1.ts';
import type { ObservedPod } from './observed-pod.ts';
import { podAsTold, podStatusFrom, type StatusInput } from './pod-status.ts';
import { aContainer, aPod, exited, observedContainer, observedPod } from './testing/observed-builder.ts';

const status = (pod: Pod, observed: ObservedPod, more: Partial<StatusInput> = {}) =>
  podStatusFrom({
    pod,
    observed,
    waiting: new Map(),
    terminationMessage: () => undefined,
    readiness: () => true,
    startup: () => true,
    terminal: false,
    nodeIPs: ['10.1.0.1'],
    runtimeName: 'containerd',
    startTimeMs: 0,
    nowMs: 5000,
    ...more,
  });
const condition = (s: ReturnType<typeof status>, type: string) => s.conditions?.find((c) => c.type === type);

test('a pod without containers is Pending and says what it waits for', () => {
  const s = status(aPod(), observedPod([], []));
  assert.equal(s.phase, 'Pending');
  assert.deepEqual(s.containerStatuses?.[0]?.state, { waiting: { reason: 'ContainerCreating' } });
  assert.equal(condition(s, 'Ready')?.message, 'containers with unready status: [main]');
  assert.equal(condition(s, 'PodReadyToStartContainers')?.status, 'False');
  const init = status(aPod({ initContainers: [aContainer('i')] }), observedPod([]));
  assert.deepEqual(init.containerStatuses?.[0]?.state, { waiting: { reason: 'PodInitializing' } });
  assert.equal(condition(init, 'Initialized')?.message, 'containers with incomplete status: [i]');
});

test('a running pod is Ready when its containers are', () => {
  const s = status(aPod(), observedPod([observedContainer('main')]));
  assert.equal(s.phase, 'Running');
  assert.equal(condition(s, 'Ready')?.status, 'True');
  assert.deepEqual([s.podIP, s.hostIP, s.qosClass], ['10.0.0.2', '10.1.0.1', 'BestEffort']);
  const probed = aPod({ containers: [aContainer('main', { readinessProbe: { tcpSocket: { port: 1 } } })] });
  const unready = status(probed, observedPod([observedContainer('main')]), { readiness: () => undefined });
  assert.equal(condition(unready, 'ContainersReady')?.reason, 'ContainersNotReady');
});

test('a kubelet that starts again leaves ready and started as they were told, of this very container', () => {
  const probe = { tcpSocket: { port: 1 } };
  const spec = { containers: [aContainer('main', { readinessProbe: probe, startupProbe: probe })] };
  const told = (containerID: string, value: boolean): Pod => {
    const before = { name: 'main', image: '', imageID: '', restartCount: 0, containerID };
    return {
      ...aPod(spec),
      status: { containerStatuses: [{ ...before, ready: value, started: value }] },
    };
  };
  const notProbed = { readiness: () => undefined, startup: () => undefined };
  const rows: readonly (readonly [Pod, Partial<StatusInput>, boolean])[] = [
    [told('containerd://main-id', true), notProbed, true],
    [told('containerd://main-id', false), notProbed, false],
    [told('containerd://another', true), notProbed, false],
    [aPod(spec), notProbed, false],
    [told('containerd://main-id', true), { readiness: () => false, startup: () => false }, false],
  ];
  for (const [pod, probed, expected] of rows) {
    const [main] = status(pod, observedPod([observedContainer('main')]), probed).containerStatuses ?? [];
    assert.deepEqual([main?.ready, main?.started], [expected, expected]);
  }
});

test('a container in back-off waits, its end moves to lastState, and the pod stays Running', () => {
  const waiting = new Map([['main', { reason: 'CrashLoopBackOff', message: 'back-off 10s' }]]);
  const s = status(aPod(), observedPod([exited('main', 3, { restartCount: 2 })]), { waiting });
  assert.equal(s.phase, 'Running');
  assert.deepEqual(s.containerStatuses?.[0]?.state, {
    waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' },
  });
  assert.equal(s.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 3);
  assert.equal(s.containerStatuses?.[0]?.restartCount, 2);
});

test('the phase after the end follows policy and exit codes', () => {
  const phase = (restartPolicy: string, code: number, terminal = false) =>
    status(aPod({ restartPolicy }), observedPod([exited('main', code)]), { terminal }).phase;
  assert.deepEqual(
    [
      phase('Never', 0),
      phase('Never', 1),
      phase('OnFailure', 1),
      phase('Always', 0),
      phase('Always', 0, true),
      phase('Always', 1, true),
    ],
    ['Succeeded', 'Failed', 'Running', 'Running', 'Succeeded', 'Failed'],
  );
});

test('a container that its rules start again keeps the pod Running, whatever the policy of the pod', () => {
  const restartPolicyRules = [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }];
  const ruled = { restartPolicy: 'Never', restartPolicyRules };
  const never = aPod({ restartPolicy: 'Never', containers: [aContainer('main', ruled)] });
  const phase = (pod: Pod, code: number) => status(pod, observedPod([exited('main', code)])).phase;
  assert.deepEqual([phase(never, 42), phase(never, 1), phase(never, 0)], ['Running', 'Failed', 'Succeeded']);
  const own = aPod({ containers: [aContainer('main', { restartPolicy: 'Never' })] });
  assert.deepEqual([phase(own, 0), phase(own, 1)], ['Succeeded', 'Failed']);
  const init = { initContainers: [aContainer('first', ruled)] };
  const begins = (code: number) =>
    status(aPod({ restartPolicy: 'Never', ...init }), observedPod([exited('first', code)])).phase;
  assert.deepEqual([begins(42), begins(1)], ['Pending', 'Failed']);
});

test('a pod is not over while a sidecar runs', () => {
  const pod = aPod({
    restartPolicy: 'Never',
    initContainers: [aContainer('side', { restartPolicy: 'Always' })],
  });
  assert.equal(status(pod, observedPod([observedContainer('side'), exited('main', 0)])).phase, 'Running');
  assert.equal(status(pod, observedPod([exited('side', 0), exited('main', 0)])).phase, 'Succeeded');
});

test('a terminal phase is never left and a verdict fails the pod', () => {
  const done = { ...aPod(), status: { phase: 'Failed', reason: 'Evicted', message: 'm' } };
  const s = status(done, observedPod([observedContainer('main')]));
  assert.deepEqual([s.phase, s.reason, s.message], ['Failed', 'Evicted', 'm']);
  const refused = status(aPod(), observedPod([], []), { verdict: { reason: 'OutOfcpu', message: 'x' } });
  assert.deepEqual([refused.phase, refused.reason], ['Failed', 'OutOfcpu']);
});

test('of a pod that was rejected there is nothing of containers, conditions and addresses', () => {
  const verdict = { reason: 'OutOfcpu', message: 'x', rejected: true };
  const rejected = status(aPod({ initContainers: [aContainer('i')] }), observedPod([], []), {
    verdict,
    startTimeMs: 0,
  });
  assert.deepEqual(rejected, {
    phase: 'Failed',
    reason: 'OutOfcpu',
    message: 'x',
    startTime: '1970-01-01T00:00:00Z',
    qosClass: 'BestEffort',
  });
});

test('lastTransitionTime stays while the status stays', () => {
  const first = status(aPod(), observedPod([observedContainer('main')]), { nowMs: 1000 });
  const second = status({ ...aPod(), status: first }, observedPod([observedContainer('main')]), {
    nowMs: 9000,
  });
  assert.equal(condition(second, 'Ready')?.lastTransitionTime, condition(first, 'Ready')?.lastTransitionTime);
});

test('what was told of a pod goes before what the API shows, except for conditions of others', () => {
  const shown = (conditions: readonly object[]): Pod => ({ ...aPod(), status: { conditions } }) as Pod;
  const told: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  const gate = { type: 'example.com/gate', status: 'False' };
  const stale = { type: 'Ready', status: 'False' };
  assert.deepEqual(podAsTold(shown([stale, gate]), told).status, {
    ...told,
    conditions: [...told.conditions!, gate],
  });
  const none = shown([gate]);
  assert.equal(podAsTold(none, undefined), none);
});

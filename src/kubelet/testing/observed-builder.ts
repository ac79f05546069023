// Builds observed sandboxes and containers for tests.
import type { Container, Pod, PodSpec } from '../../api/generated/types/core-v1.ts';
import type { ObservedContainer, ObservedPod, ObservedSandbox } from '../observed-pod.ts';
import { containerHash } from '../pod-format.ts';

const image = 'example.com/x:1';
export const aContainer = (name: string, more: Partial<Container> = {}): Container => ({
  name,
  image,
  ...more,
});

export function aPod(spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name: 'p', namespace: 'ns', uid: 'uid-1' },
    spec: { restartPolicy: 'Always', nodeName: 'n', containers: [aContainer('main')], ...spec },
  };
}

export const aSandbox = (more: Partial<ObservedSandbox> = {}): ObservedSandbox => ({
  id: 's1',
  ready: true,
  attempt: 0,
  createdAtMs: 1000,
  ips: ['10.0.0.2'],
  ...more,
});

export const observedContainer = (
  name: string,
  more: Partial<ObservedContainer> = {},
): ObservedContainer => ({
  id: `${name}-id`,
  name,
  sandboxId: 's1',
  state: 'running',
  restartCount: 0,
  createdAtMs: 2000,
  startedAtMs: 2000,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image,
  imageId: 'sha256:x',
  hash: containerHash({ name, image }),
  logPath: '',
  resources: undefined,
  ...more,
});

export const exited = (
  name: string,
  exitCode: number,
  more: Partial<ObservedContainer> = {},
): ObservedContainer =>
  observedContainer(name, {
    state: 'exited',
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    finishedAtMs: 3000,
    ...more,
  });

export const observedPod = (
  containers: readonly ObservedContainer[] = [],
  sandboxes: readonly ObservedSandbox[] = [aSandbox()],
): ObservedPod => ({ sandboxes, containers });

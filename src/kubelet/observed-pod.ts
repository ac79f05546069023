// What the runtime says of one pod: its sandboxes and containers, newest first.
import type { RuntimeService } from '../rpc-api/cri.ts';
import type * as v1 from '../rpc-api/generated/cri-v1.ts';
import { isGrpcError } from '../wire/grpc-client.ts';
import * as names from './pod-format.ts';

export interface ObservedSandbox {
  readonly id: string;
  readonly ready: boolean;
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly ips: readonly string[];
}

export interface ObservedContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly restartCount: number;
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly exitCode: number;
  readonly reason: string;
  /** The runtime's own message; the termination message is read apart. */
  readonly message: string;
  readonly image: string;
  readonly imageId: string;
  readonly hash: string;
  readonly logPath: string;
  /** What it may take; undefined: the runtime does not tell. */
  readonly resources: v1.LinuxContainerResources | undefined;
}

export interface ObservedPod {
  readonly sandboxes: readonly ObservedSandbox[];
  readonly containers: readonly ObservedContainer[];
}

export const nothingObserved: ObservedPod = { sandboxes: [], containers: [] };

const ms = (ns: number | undefined): number => Math.floor((ns ?? 0) / 1e6);
const states = {
  CONTAINER_CREATED: 'created',
  CONTAINER_RUNNING: 'running',
  CONTAINER_EXITED: 'exited',
  CONTAINER_UNKNOWN: 'unknown',
} as const;

function observedContainer(status: v1.ContainerStatus, sandboxId: string): ObservedContainer {
  const count = Number(status.annotations?.[names.annotationRestartCount] ?? status.metadata?.attempt ?? 0);
  return {
    id: status.id ?? '',
    name: status.labels?.[names.labelContainerName] ?? status.metadata?.name ?? '',
    sandboxId,
    state: states[status.state ?? 'CONTAINER_UNKNOWN'],
    restartCount: Number.isSafeInteger(count) && count >= 0 ? count : 0,
    createdAtMs: ms(status.createdAt),
    startedAtMs: ms(status.startedAt),
    finishedAtMs: ms(status.finishedAt),
    exitCode: status.exitCode ?? 0,
    reason: status.reason ?? '',
    message: status.message ?? '',
    image: status.image?.image ?? '',
    imageId: status.imageRef ?? '',
    hash: status.annotations?.[names.annotationHash] ?? '',
    logPath: status.logPath ?? '',
    resources: status.resources?.linux ?? undefined,
  };
}

function observedSandbox(id: string, answer: v1.PodSandboxStatusResponse): ObservedSandbox {
  const { status } = answer;
  const ip = status?.network?.ip ?? '';
  const more = (status?.network?.additionalIps ?? []).map((a) => a.ip ?? '');
  return {
    id,
    ready: status?.state === 'SANDBOX_READY',
    attempt: status?.metadata?.attempt ?? 0,
    createdAtMs: ms(status?.createdAt),
    ips: [ip, ...more].filter((address) => address !== ''),
  };
}

/** Gone between list and status is not an error: it is then left out. */
async function unlessGone<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (isGrpcError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Exited containers never change, so their status is asked for once. */
export type ExitedCache = Map<string, ObservedContainer>;

export async function observePod(
  runtime: RuntimeService,
  uid: string,
  exited: ExitedCache,
  signal?: AbortSignal,
): Promise<ObservedPod> {
  const labelSelector = { [names.labelPodUid]: uid };
  const [sandboxList, containerList] = await Promise.all([
    runtime.listPodSandbox({ labelSelector }, signal),
    runtime.listContainers({ labelSelector }, signal),
  ]);
  const sandboxes = await Promise.all(
    sandboxList.map(async ({ id = '' }) => {
      const answer = await unlessGone(runtime.podSandboxStatus(id, signal));
      return answer && observedSandbox(id, answer);
    }),
  );
  const containers = await Promise.all(
    containerList.map(async ({ id = '', podSandboxId = '' }) => {
      const known = exited.get(id);
      if (known) return known;
      const status = await unlessGone(runtime.containerStatus(id, signal));
      return status && observedContainer(status, podSandboxId);
    }),
  );
  const there = containers.filter((c) => c !== undefined);
  exited.clear();
  for (const c of there) if (c.state === 'exited') exited.set(c.id, c);
  return {
    sandboxes: sandboxes
      .filter((s) => s !== undefined)
      .sort((a, b) => b.attempt - a.attempt || b.createdAtMs - a.createdAtMs),
    // Counted, not by the time of day, by which a container of before may be from tomorrow.
    containers: there.sort((a, b) => b.restartCount - a.restartCount || b.createdAtMs - a.createdAtMs),
  };
}

export const latestOf = (observed: ObservedPod, name: string): ObservedContainer | undefined =>
  observed.containers.find((c) => c.name === name);
export const readySandbox = (observed: ObservedPod): ObservedSandbox | undefined =>
  observed.sandboxes.find((s) => s.ready);
export const runningContainers = (observed: ObservedPod): readonly ObservedContainer[] =>
  observed.containers.filter((c) => c.state === 'running' || c.state === 'unknown');

// One pod's change of what it may take while it runs: what it is given, what it waits for, and what is told of both (upstream:
// allocation manager and the resize conditions of the status manager).
import type { Pod, PodCondition } from '../api/generated/types/core-v1.ts';
import { rfc3339 } from '../base/clock.ts';
import type { LinuxContainerResources } from '../rpc-api/generated/cri-v1.ts';
import { type KubeletContext, podEvent } from './kubelet-context.ts';
import type { ObservedContainer } from './observed-pod.ts';
import type { AnyContainer } from './pod-format.ts';
import { changeOf, restartsFor } from './resources/actual-resources.ts';
import {
  asksForMore,
  differsFrom,
  type PodAllocation,
  resizeConditionTypes,
  toldAllocation,
  wholeAllocation,
  withAllocation,
} from './resources/pod-allocation.ts';

export interface ResizeRefusal {
  /** Deferred: it may have it once others leave. Infeasible: never on this node. */
  readonly reason: 'Deferred' | 'Infeasible';
  readonly message: string;
}

/** A running container that does not have yet what it is to have. */
export interface ContainerResize {
  readonly id: string;
  readonly name: string;
  readonly resources: LinuxContainerResources;
  readonly restart: boolean;
  readonly shrinks: boolean;
  readonly lessMemoryBytes: number | undefined;
}

/** Those of a pod as the node holds it. */
export interface ContainerResizes {
  of(pod: Pod, container: AnyContainer, observed: ObservedContainer): ContainerResize | undefined;
}

interface Said {
  readonly reason?: string;
  readonly message?: string;
  readonly generation: Pod['metadata']['generation'];
  readonly atMs: number;
}

/** As upstream's events: the whole of what the pod asks for. */
function resizeMessage(pod: Pod, what: string, error = ''): string {
  const listed = (containers: readonly AnyContainer[] | undefined) =>
    containers?.map(({ name, resources: { limits, requests, claims } = {} }) => ({
      name,
      resources: {
        ...(limits ? { limits } : {}),
        ...(requests ? { requests } : {}),
        ...(claims ? { claims } : {}),
      },
    }));
  const { initContainers, containers } = pod.spec;
  const summary = {
    ...(initContainers?.length ? { initContainers: listed(initContainers) } : {}),
    containers: listed(containers),
    generation: Number(pod.metadata.generation ?? 0),
    ...(error === '' ? {} : { error }),
  };
  return `Pod resize ${what}: ${JSON.stringify(summary)}`;
}

export class PodResize implements ContainerResizes {
  readonly #ctx: KubeletContext;
  #has: PodAllocation | undefined;
  #pending: Said | undefined;
  #progress: Said | undefined;
  /** By container: what it was given last, however its runtime tells it. */
  readonly #given = new Map<string, string>();

  constructor(ctx: KubeletContext) {
    this.#ctx = ctx;
  }

  /** `isNew`: nothing of it has run; else what a kubelet of before gave it counts. */
  admitted(pod: Pod, isNew: boolean): void {
    this.#has ??= isNew ? wholeAllocation(pod) : toldAllocation(pod);
  }

  get isAdmitted(): boolean {
    return this.#has !== undefined;
  }

  /** The pod as the node holds it. */
  held(pod: Pod): Pod {
    return this.#has === undefined ? pod : withAllocation(pod, this.#has);
  }

  isWanted(pod: Pod): boolean {
    return this.#has !== undefined && differsFrom(pod, this.#has);
  }

  asksForMore(pod: Pod): boolean {
    return this.#has !== undefined && asksForMore(pod, this.#has);
  }

  /** Since when it waits for room; undefined: it does not. */
  get pendingSinceMs(): number | undefined {
    return this.#pending?.atMs;
  }

  get isInProgress(): boolean {
    return this.#progress !== undefined;
  }

  /** What was asked for before has gone again: nothing is waited for. */
  nothingWanted(): void {
    this.#pending = undefined;
  }

  refused(pod: Pod, { reason, message }: ResizeRefusal): void {
    const before = this.#pending;
    const { generation } = pod.metadata;
    if (before?.reason === reason && before.message === message && before.generation === generation) return;
    const atMs = before?.atMs ?? this.#ctx.clock.now();
    this.#pending = { reason, message, generation, atMs };
    if (before?.reason === reason && before.generation === generation) return;
    podEvent(this.#ctx, pod, {
      type: 'Warning',
      reason: `Resize${reason}`,
      message: resizeMessage(pod, reason, message),
    });
  }

  granted(pod: Pod): void {
    this.#has = wholeAllocation(pod);
    this.#pending = undefined;
    this.#progress = { generation: pod.metadata.generation, atMs: this.#ctx.clock.now() };
    this.#given.clear();
    podEvent(this.#ctx, pod, {
      type: 'Normal',
      reason: 'ResizeStarted',
      message: resizeMessage(pod, 'started'),
    });
  }

  failed(pod: Pod, message: string): void {
    const before = this.#progress;
    if (before === undefined || before.message === message) return;
    this.#progress = { ...before, reason: 'Error', message };
    podEvent(this.#ctx, pod, {
      type: 'Warning',
      reason: 'ResizeError',
      message: resizeMessage(pod, 'error', message),
    });
  }

  /** All of `pod`, as the node held it when it was looked at, has what it is to have. */
  settled(pod: Pod): void {
    if (this.#progress === undefined || this.isWanted(pod)) return;
    this.#progress = undefined;
    this.#given.clear();
    podEvent(this.#ctx, pod, {
      type: 'Normal',
      reason: 'ResizeCompleted',
      message: resizeMessage(pod, 'completed'),
    });
  }

  given({ id, resources }: ContainerResize): void {
    this.#given.set(id, JSON.stringify(resources));
  }

  /** What is to be changed of a running container of `pod`, which is the pod as the node holds it. */
  of(pod: Pod, container: AnyContainer, observed: ObservedContainer): ContainerResize | undefined {
    const { nodeOs, machine } = this.#ctx;
    if (this.#progress === undefined || nodeOs.containerResources === undefined) return undefined;
    // A look that was begun before it was granted.
    if (this.isWanted(pod)) return undefined;
    const input = { pod, container, nodeMemoryBytes: machine.memoryBytes };
    // Nobody changes how likely a program that runs is to be killed, as upstream.
    const { oomScoreAdj: _as, ...resources } = nodeOs.containerResources(input);
    const change = changeOf(observed.resources, resources);
    if (change === undefined || this.#given.get(observed.id) === JSON.stringify(resources)) return undefined;
    const restart = restartsFor(container, change);
    const { shrinks, lessMemoryBytes } = change;
    return { id: observed.id, name: container.name, resources, restart, shrinks, lessMemoryBytes };
  }

  conditions(before: readonly PodCondition[] = []): PodCondition[] {
    const said = { PodResizePending: this.#pending, PodResizeInProgress: this.#progress };
    return resizeConditionTypes.flatMap((type) => {
      const what = said[type];
      if (what === undefined) return [];
      const { reason, message, generation, atMs } = what;
      const told = before.find((c) => c.type === type && c.status === 'True');
      return {
        type,
        status: 'True',
        ...(reason === undefined ? {} : { reason }),
        ...(message === undefined ? {} : { message }),
        ...(generation === undefined ? {} : { observedGeneration: generation }),
        lastProbeTime: rfc3339(atMs),
        lastTransitionTime: told?.lastTransitionTime ?? rfc3339(atMs),
      };
    });
  }
}

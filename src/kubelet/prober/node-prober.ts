// Runs the probes of all containers on the node: one worker for each probe of each running container.
import type { Pod, Probe } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { ObservedContainer, ObservedPod } from '../observed-pod.ts';
import { type AnyContainer, isSidecar, podUid } from '../pod-format.ts';
import type { Commands } from '../runtime/commands.ts';
import type { Prober } from './prober.ts';
import { type ProbeOutcome, runProbe, shownOutput } from './run-probe.ts';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

export interface NodeProberDeps {
  readonly commands: Commands;
  readonly clock: Clock;
  readonly random: Random;
  /** A result changed: look at the pod again. */
  readonly changed: (uid: string) => void;
  readonly event: (
    pod: Pod,
    event: { type: 'Normal' | 'Warning'; reason: string; message: string; container: string },
  ) => void;
}

interface ProbeWorker {
  readonly uid: string;
  readonly kind: ProbeKind;
  readonly containerId: string;
  readonly stop: AbortController;
  /** Milliseconds that its container had run when the worker began, and when that was: monotonic, the clock may be set. */
  readonly hadRunMs: number;
  readonly begunAt: number;
}

interface Count {
  ok: number;
  failed: number;
}

const title = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;

const unhealthy = (kind: ProbeKind, { unknown, output }: ProbeOutcome): string =>
  `${title[kind]} probe ${unknown ? 'errored and resulted in unknown state' : 'failed'}: ${shownOutput(output)}`;

const probesOf = (container: AnyContainer): Readonly<Record<ProbeKind, Probe | undefined>> => ({
  liveness: container.livenessProbe,
  readiness: container.readinessProbe,
  startup: container.startupProbe,
});

export function createNodeProber(deps: NodeProberDeps): Prober {
  const results = new Map<string, boolean>();
  const workers = new Map<string, ProbeWorker>();
  const key = (kind: ProbeKind, containerId: string): string => `${kind} ${containerId}`;
  const result = (kind: ProbeKind) => (containerId: string) => results.get(key(kind, containerId));

  /** False: this worker has nothing left to do. */
  async function once(
    worker: ProbeWorker,
    input: { pod: Pod; container: AnyContainer; observed: ObservedContainer; podIP: string; probe: Probe },
    count: Count,
  ): Promise<boolean> {
    const { pod, container, probe } = input;
    const { kind, containerId } = worker;
    const ranMs = worker.hadRunMs + deps.clock.monotonic() - worker.begunAt;
    if (ranMs < (probe.initialDelaySeconds ?? 0) * 1000) return true;
    // Until it has started, only the startup probe is run.
    if (kind !== 'startup' && container.startupProbe && results.get(key('startup', containerId)) !== true)
      return true;
    const { signal } = worker.stop;
    const target = { pod, container, containerId, podIP: input.podIP };
    const outcome = await runProbe(deps.commands, target, probe, signal);
    if (signal.aborted) return false;
    if (!outcome.ok) {
      const message = unhealthy(kind, outcome);
      deps.event(pod, { type: 'Warning', reason: 'Unhealthy', message, container: container.name });
    }
    if (outcome.unknown) return true;
    count.ok = outcome.ok ? count.ok + 1 : 0;
    count.failed = outcome.ok ? 0 : count.failed + 1;
    if (outcome.ok ? count.ok < (probe.successThreshold ?? 1) : count.failed < (probe.failureThreshold ?? 3))
      return true;
    const before = results.get(key(kind, containerId));
    if (before !== outcome.ok) {
      results.set(key(kind, containerId), outcome.ok);
      deps.changed(worker.uid);
    }
    // A container that is to be killed is not probed any more; a started one has started.
    if (kind === 'startup') return false;
    return kind === 'readiness' || outcome.ok;
  }

  async function run(worker: ProbeWorker, input: Parameters<typeof once>[1]): Promise<void> {
    const count: Count = { ok: 0, failed: 0 };
    const periodMs = Math.max((input.probe.periodSeconds ?? 10) * 1000, 1000);
    try {
      const delay = (input.probe.initialDelaySeconds ?? 0) * 1000;
      if (delay > 0) await deps.clock.sleep(delay, worker.stop.signal);
      // After an agent's restart not all probes run at once.
      else if (worker.hadRunMs > periodMs) {
        await deps.clock.sleep(deps.random.uint(periodMs), worker.stop.signal);
      }
      while (!worker.stop.signal.aborted && (await once(worker, input, count))) {
        await deps.clock.sleep(
          count.ok === 0 && worker.kind === 'startup' ? Math.min(periodMs, 1000) : periodMs,
          worker.stop.signal,
        );
      }
    } catch (error) {
      if (!worker.stop.signal.aborted) throw error;
    }
  }

  function end(id: string): void {
    workers.get(id)?.stop.abort();
    workers.delete(id);
  }

  function startFor(
    pod: Pod,
    container: AnyContainer,
    observed: ObservedContainer,
    podIP: string,
  ): Set<string> {
    const ids = new Set<string>();
    const probes = probesOf(container);
    for (const kind of ['startup', 'readiness', 'liveness'] as const) {
      const probe = probes[kind];
      if (!probe) continue;
      const id = key(kind, observed.id);
      ids.add(id);
      if (workers.has(id)) continue;
      const worker: ProbeWorker = {
        uid: podUid(pod),
        kind,
        containerId: observed.id,
        stop: new AbortController(),
        hadRunMs: Math.max(0, deps.clock.now() - observed.startedAtMs),
        begunAt: deps.clock.monotonic(),
      };
      workers.set(id, worker);
      void run(worker, { pod, container, observed, podIP, probe });
    }
    return ids;
  }

  return {
    update: (pod: Pod, observed: ObservedPod, podIP: string) => {
      const uid = podUid(pod);
      const wanted = new Set<string>();
      const long = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
      for (const container of long) {
        const latest = observed.containers.find((c) => c.name === container.name);
        if (latest?.state !== 'running') continue;
        for (const id of startFor(pod, container, latest, podIP)) wanted.add(id);
      }
      for (const [id, worker] of workers) if (worker.uid === uid && !wanted.has(id)) end(id);
      const there = new Set(observed.containers.filter((c) => c.state === 'running').map((c) => c.id));
      for (const c of observed.containers) {
        if (there.has(c.id)) continue;
        for (const kind of ['liveness', 'readiness', 'startup'] as const) results.delete(key(kind, c.id));
      }
    },
    stopLiveness: (uid) => {
      for (const [id, worker] of workers) if (worker.uid === uid && worker.kind !== 'readiness') end(id);
    },
    remove: (uid) => {
      for (const [id, worker] of workers) {
        if (worker.uid !== uid) continue;
        results.delete(id);
        end(id);
      }
    },
    liveness: result('liveness'),
    readiness: result('readiness'),
    startup: result('startup'),
    stop: () => {
      for (const id of [...workers.keys()]) end(id);
    },
  };
}

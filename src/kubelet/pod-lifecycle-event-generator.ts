// Notices what changes in the runtime: a relist every second, sooner where the runtime sends events (upstream: PLEG).
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../component-base/logger.ts';
import { defaultBuckets, type MetricsRegistry } from '../component-base/metrics.ts';
import type { RuntimeService } from '../rpc-api/cri.ts';
import { isGrpcError } from '../wire/grpc-client.ts';
import { labelPodUid } from './pod-format.ts';

export interface PlegDeps {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<MetricsRegistry, 'histogram' | 'gauge'>;
}

export interface PlegOptions {
  /** A pod's sandboxes or containers changed. */
  readonly changed: (uid: string) => void;
  /** After each relist: uids of all pods that the runtime knows. */
  readonly relisted: (uids: ReadonlySet<string>) => void;
  /** Default 1,000. */
  readonly relistMs?: number;
}

export interface Pleg {
  /** Whether the runtime answered lately; the node is not ready otherwise. */
  healthy(): { readonly ok: boolean; readonly message: string };
  stop(): Promise<void>;
}

/** Upstream's threshold of a healthy PLEG. */
const healthyWithinMs = 180_000;

type Snapshot = Map<string, string>;

async function snapshot(runtime: RuntimeService): Promise<Snapshot> {
  const [sandboxes, containers] = await Promise.all([runtime.listPodSandbox(), runtime.listContainers()]);
  const parts = new Map<string, string[]>();
  const add = (uid: string | undefined, text: string): void => {
    if (uid === undefined || uid === '') return;
    const list = parts.get(uid) ?? [];
    list.push(text);
    parts.set(uid, list);
  };
  for (const s of sandboxes) add(s.labels?.[labelPodUid], `${s.id} ${s.state}`);
  for (const c of containers) add(c.labels?.[labelPodUid], `${c.id} ${c.state}`);
  return new Map([...parts].map(([uid, list]) => [uid, list.sort().join('\n')]));
}

/** Prometheus' own, as upstream takes them. */

/** What is told of each relist that came to its end. */
function relistMetrics({ metrics, clock }: PlegDeps): (began: number, before: number) => void {
  const duration = metrics.histogram(
    'kubelet_pleg_relist_duration_seconds',
    'Duration in seconds for relisting pods in PLEG.',
    [],
    defaultBuckets,
  );
  const interval = metrics.histogram(
    'kubelet_pleg_relist_interval_seconds',
    'Interval in seconds between relisting in PLEG.',
    [],
    defaultBuckets,
  );
  const lastSeen = metrics.gauge(
    'kubelet_pleg_last_seen_seconds',
    'Timestamp in seconds when PLEG was last seen active.',
    [],
  );
  return (began, before) => {
    duration.observe({}, (clock.monotonic() - began) / 1000);
    interval.observe({}, (began - before) / 1000);
    lastSeen.set({}, clock.now() / 1000);
  };
}

/** Where the runtime has them. Each is a reason to look at once. */
async function followEvents(
  { runtime, clock }: PlegDeps,
  signal: AbortSignal,
  happened: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const _ of runtime.containerEvents(signal)) happened();
    } catch (error) {
      // containerd before 1.7 has no events; the relist is enough.
      if (isGrpcError(error, 'Unimplemented') || signal.aborted) return;
    }
    try {
      await clock.sleep(1000, signal);
    } catch {
      return; // stopped
    }
  }
}

export function startPleg(deps: PlegDeps, options: PlegOptions): Pleg {
  const stopped = new AbortController();
  let last: Snapshot = new Map();
  let lastMs = deps.clock.monotonic();
  let begunMs = lastMs;
  let kick: (() => void) | undefined;
  const relisted = relistMetrics(deps);

  async function relist(): Promise<void> {
    const before = begunMs;
    begunMs = deps.clock.monotonic();
    const now = await snapshot(deps.runtime);
    relisted(begunMs, before);
    lastMs = deps.clock.monotonic();
    const known = last;
    last = now;
    for (const uid of new Set([...known.keys(), ...now.keys()])) {
      if (known.get(uid) !== now.get(uid)) options.changed(uid);
    }
    options.relisted(new Set(now.keys()));
  }

  async function pause(): Promise<void> {
    const early = new AbortController();
    kick = () => early.abort();
    try {
      await deps.clock.sleep(options.relistMs ?? 1000, AbortSignal.any([stopped.signal, early.signal]));
    } catch {
      // woken early, or stopped
    }
  }

  async function loop(): Promise<void> {
    while (!stopped.signal.aborted) {
      try {
        await relist();
      } catch (error) {
        if (!stopped.signal.aborted) deps.log.warn({ error }, 'the runtime did not list its containers');
      }
      await pause();
    }
  }

  const work = Promise.all([loop(), followEvents(deps, stopped.signal, () => kick?.())]);
  return {
    healthy: () => {
      const age = deps.clock.monotonic() - lastMs;
      return {
        ok: age < healthyWithinMs,
        message: `pleg was last seen active ${Math.round(age / 1000)}s ago; threshold is 3m0s`,
      };
    },
    stop: async () => {
      stopped.abort();
      await work;
    },
  };
}

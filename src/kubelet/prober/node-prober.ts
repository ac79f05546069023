// Runs the probes of all containers on the node: one worker for each probe of each running container.
import type { Pod, Probe } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { ProbeLabels, ProbeMetrics, ProbeResult } from '../metrics/probe-metrics.ts';
import type { ObservedContainer, ObservedPod } from '../observed-pod.ts';
import { type AnyContainer, isSidecar, podNamespace, podUid } from '../pod-format.ts';
import type { Commands } from '../runtime/commands.ts';
import type { Prober } from './prober.ts';
import { type ProbeOutcome, runProbe, shownOutput } from './run-probe.ts';

export type ProbeKind = 'liveness' | 'readiness' | 'startup';

export interface NodeProberDeps {
  readonly commands: Commands;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: ProbeMetrics;
  /** A result changed: look at the pod again. */
  readonly changed: (uid: string) => void;
  readonly event: (
    pod: Pod,
    event: { type: 'Normal' | 'Warning'; reason: string; message: string; container: string },
  ) => void;
}

const kinds = ['startup', 'readiness', 'liveness'] as const satisfies readonly ProbeKind[];

const title = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;

const unhealthy = (kind: ProbeKind, { unknown, output }: ProbeOutcome): string =>
  `${title[kind]} probe ${unknown ? 'errored and resulted in unknown state' : 'failed'}: ${shownOutput(output)}`;

const resultOf = ({ ok, unknown }: ProbeOutcome): ProbeResult =>
  unknown ? 'unknown' : ok ? 'successful' : 'failed';

const probesOf = (container: AnyContainer): Readonly<Record<ProbeKind, Probe | undefined>> => ({
  liveness: container.livenessProbe,
  readiness: container.readinessProbe,
  startup: container.startupProbe,
});

const keyOf = (kind: ProbeKind, containerId: string): string => `${kind} ${containerId}`;

interface ProbeInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly observed: ObservedContainer;
  readonly podIP: string;
  readonly kind: ProbeKind;
  readonly probe: Probe;
}

/** Which probes said what, by container. */
class ProbeResults {
  readonly #results = new Map<string, { readonly uid: string; readonly of: Map<ProbeKind, boolean> }>();

  of(kind: ProbeKind, containerId: string): boolean | undefined {
    return this.#results.get(containerId)?.of.get(kind);
  }
  /** Whether that is new. */
  set(uid: string, kind: ProbeKind, containerId: string, ok: boolean): boolean {
    const isNew = this.of(kind, containerId) !== ok;
    const results = this.#results.get(containerId) ?? { uid, of: new Map() };
    this.#results.set(containerId, results);
    results.of.set(kind, ok);
    return isNew;
  }
  /** Nothing of the pod's other containers is of use any more. */
  keepOnly(uid: string, running: ReadonlySet<string>): void {
    for (const [id, { uid: of }] of this.#results)
      if (of === uid && !running.has(id)) this.#results.delete(id);
  }
}

/** One probe of one running container. */
class ProbeWorker {
  readonly uid: string;
  readonly kind: ProbeKind;
  readonly containerId: string;
  readonly #deps: NodeProberDeps;
  readonly #results: ProbeResults;
  readonly #input: ProbeInput;
  readonly #stop = new AbortController();
  /** Milliseconds that its container had run when the worker began, and when that was: monotonic, the clock may be set. */
  readonly #hadRunMs: number;
  readonly #begunAt: number;
  /** Of the same answer, one after the other. */
  #ok = 0;
  #failed = 0;

  constructor(deps: NodeProberDeps, results: ProbeResults, input: ProbeInput) {
    this.#deps = deps;
    this.#results = results;
    this.#input = input;
    this.uid = podUid(input.pod);
    this.kind = input.kind;
    this.containerId = input.observed.id;
    this.#hadRunMs = Math.max(0, deps.clock.now() - input.observed.startedAtMs);
    this.#begunAt = deps.clock.monotonic();
  }

  stop(): void {
    this.#stop.abort();
    this.#deps.metrics.forget(this.#labels(), this.uid);
  }

  async run(): Promise<void> {
    const { probe } = this.#input;
    const { clock } = this.#deps;
    const { signal } = this.#stop;
    const periodMs = Math.max((probe.periodSeconds ?? 10) * 1000, 1000);
    try {
      await this.#firstRest(periodMs);
      while (!signal.aborted && (await this.#once())) {
        const isStarting = this.#ok === 0 && this.kind === 'startup';
        await clock.sleep(isStarting ? Math.min(periodMs, 1000) : periodMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #firstRest(periodMs: number): Promise<void> {
    const { clock, random } = this.#deps;
    const delay = (this.#input.probe.initialDelaySeconds ?? 0) * 1000;
    if (delay > 0) await clock.sleep(delay, this.#stop.signal);
    // After an agent's restart not all probes run at once.
    else if (this.#hadRunMs > periodMs) await clock.sleep(random.uint(periodMs), this.#stop.signal);
  }

  #isDue(): boolean {
    const { clock } = this.#deps;
    const { container, probe } = this.#input;
    const ranMs = this.#hadRunMs + clock.monotonic() - this.#begunAt;
    if (ranMs < (probe.initialDelaySeconds ?? 0) * 1000) return false;
    // Until it has started, only the startup probe is run.
    const waits = this.kind !== 'startup' && container.startupProbe !== undefined;
    return !waits || this.#results.of('startup', this.containerId) === true;
  }

  /** False: this worker has nothing left to do. */
  async #once(): Promise<boolean> {
    if (!this.#isDue()) return true;
    const { pod, container, podIP, probe } = this.#input;
    const { signal } = this.#stop;
    const target = { pod, container, containerId: this.containerId, podIP };
    const began = this.#deps.clock.monotonic();
    const outcome = await runProbe(this.#deps.commands, target, probe, signal);
    if (signal.aborted) return false;
    const seconds = (this.#deps.clock.monotonic() - began) / 1000;
    this.#deps.metrics.answered(this.#labels(), this.uid, resultOf(outcome), seconds);
    if (!outcome.ok) {
      const message = unhealthy(this.kind, outcome);
      this.#deps.event(pod, { type: 'Warning', reason: 'Unhealthy', message, container: container.name });
    }
    if (outcome.unknown || !this.#counts(outcome.ok)) return true;
    if (this.#results.set(this.uid, this.kind, this.containerId, outcome.ok)) this.#deps.changed(this.uid);
    // A container that is to be killed is not probed any more; a started one has started.
    if (this.kind === 'startup') return false;
    return this.kind === 'readiness' || outcome.ok;
  }

  #labels(): ProbeLabels {
    const { pod, container } = this.#input;
    const { name = '' } = pod.metadata;
    const namespace = podNamespace(pod);
    return { probe_type: title[this.kind], container: container.name, pod: name, namespace };
  }

  /** Whether it was so often enough. */
  #counts(ok: boolean): boolean {
    const { successThreshold = 1, failureThreshold = 3 } = this.#input.probe;
    this.#ok = ok ? this.#ok + 1 : 0;
    this.#failed = ok ? 0 : this.#failed + 1;
    return ok ? this.#ok >= successThreshold : this.#failed >= failureThreshold;
  }
}

class NodeProber implements Prober {
  readonly #deps: NodeProberDeps;
  readonly #results = new ProbeResults();
  readonly #workers = new Map<string, ProbeWorker>();

  constructor(deps: NodeProberDeps) {
    this.#deps = deps;
  }

  update(pod: Pod, observed: ObservedPod, podIP: string): void {
    const uid = podUid(pod);
    const wanted = new Set<string>();
    const long = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isSidecar)];
    for (const container of long) {
      const latest = observed.containers.find((c) => c.name === container.name);
      if (latest?.state !== 'running') continue;
      for (const kind of kinds) {
        const probe = probesOf(container)[kind];
        if (probe) wanted.add(this.#begin({ pod, container, observed: latest, podIP, kind, probe }));
      }
    }
    this.#end((worker, id) => worker.uid === uid && !wanted.has(id));
    const running = observed.containers.filter(({ state }) => state === 'running').map(({ id }) => id);
    this.#results.keepOnly(uid, new Set(running));
  }

  stopLiveness(uid: string): void {
    this.#end((worker) => worker.uid === uid && worker.kind !== 'readiness');
  }
  remove(uid: string): void {
    this.#end((worker) => worker.uid === uid);
    this.#results.keepOnly(uid, new Set());
  }
  liveness(containerId: string): boolean | undefined {
    return this.#results.of('liveness', containerId);
  }
  readiness(containerId: string): boolean | undefined {
    return this.#results.of('readiness', containerId);
  }
  startup(containerId: string): boolean | undefined {
    return this.#results.of('startup', containerId);
  }
  stop(): void {
    this.#end(() => true);
  }

  /** Its id, also of one that runs already. */
  #begin(input: ProbeInput): string {
    const id = keyOf(input.kind, input.observed.id);
    if (this.#workers.has(id)) return id;
    const worker = new ProbeWorker(this.#deps, this.#results, input);
    this.#workers.set(id, worker);
    void worker.run();
    return id;
  }

  #end(which: (worker: ProbeWorker, id: string) => boolean): void {
    for (const [id, worker] of this.#workers) {
      if (!which(worker, id)) continue;
      worker.stop();
      this.#workers.delete(id);
    }
  }
}

export const createNodeProber = (deps: NodeProberDeps): Prober => new NodeProber(deps);

// Writes pod statuses to the API: one request a pod at a time, the last one wins.
import { pods } from '../api/generated/resources.ts';
import type { Pod, PodStatus } from '../api/generated/types/core-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import type { Clock } from '../base/clock.ts';
import type { Client } from '../client/client.ts';
import type { Logger } from '../component-base/logger.ts';
import type { HistogramMetric, MetricsRegistry } from '../component-base/metrics.ts';
import { podText, podUid } from './pod-format.ts';
import { resizeConditionTypes } from './resources/pod-allocation.ts';

export interface StatusManager {
  set(pod: Pod, status: PodStatus): void;
  /** What the API shows of a pod. Where another has written over the last status that was set, it is written again. */
  seen(pod: Pod): void;
  /** The last status that was set; newer than the API's. */
  get(uid: string): PodStatus | undefined;
  /** Resolves when the last status is written, or the pod is gone; throws when it will not be, as the agent leaves. */
  written(uid: string): Promise<void>;
  forget(uid: string): void;
  stop(): void;
}

interface Entry {
  pod: Pod;
  status: PodStatus;
  text: string;
  sent: string;
  work: Promise<void> | undefined;
  gone: boolean;
  /** Types of those that the API may show. */
  readonly passingSaid: Set<string>;
}

const retryMs = 1000;

/** A strategic merge keeps what is not named, so what must go is named as null. */
const notNamed = { reason: null, message: null, containerStatuses: null, initContainerStatuses: null };

/** Addresses are merged by themselves: those of a sandbox that is gone would stay. */
const replaced = <T extends object>(list: readonly T[] | undefined): object[] | undefined =>
  list && [...list, { $patch: 'replace' }];

/** Conditions that are there or not; others are True or False. */
const passing: readonly string[] = resizeConditionTypes;

const passingOf = (status: PodStatus | undefined): string[] =>
  (status?.conditions ?? []).flatMap(({ type }) => (passing.includes(type) ? [type] : []));

/** What was said of the pod before and is not any more. */
const gone = (before: readonly string[], status: PodStatus): object[] =>
  before
    .filter((type) => !status.conditions?.some((c) => c.type === type))
    .map((type) => ({ type, $patch: 'delete' }));

function statusPatch({ pod, status, passingSaid }: Entry): object {
  const conditions = status.conditions && [
    ...status.conditions.map((c) => ({ reason: null, message: null, ...c })),
    ...gone([...passingSaid], status),
  ];
  const [podIPs, hostIPs] = [replaced(status.podIPs), replaced(status.hostIPs)];
  return {
    metadata: { uid: podUid(pod) },
    status: {
      ...notNamed,
      ...status,
      ...(conditions ? { conditions } : {}),
      ...(podIPs ? { podIPs } : {}),
      ...(hostIPs ? { hostIPs } : {}),
    },
  };
}

/** The node lifecycle controller, for one, says `Ready: False` of the pods of a node that fell silent. */
const shows = (shown: PodStatus | undefined, ours: PodStatus): boolean =>
  shown?.phase === ours.phase &&
  (ours.conditions ?? []).every(({ type, status }) =>
    shown?.conditions?.some((condition) => condition.type === type && condition.status === status),
  );

export interface StatusManagerDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<MetricsRegistry, 'histogram'>;
  /** Each status that is set. */
  readonly changed: (pod: Pod, status: PodStatus) => void;
}

/** Upstream's buckets of kubelet_pod_status_sync_duration_seconds. */
const syncBuckets = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60];

class ApiStatusManager implements StatusManager {
  readonly #deps: StatusManagerDeps;
  readonly #entries = new Map<string, Entry>();
  readonly #stopped = new AbortController();
  readonly #duration: HistogramMetric;

  constructor(deps: StatusManagerDeps) {
    this.#deps = deps;
    this.#duration = deps.metrics.histogram(
      'kubelet_pod_status_sync_duration_seconds',
      'Duration in seconds to sync a pod status update. Measures time from detection of a change to pod status until the API is successfully updated for that pod, even if multiple intevening changes to pod status occur.',
      [],
      syncBuckets,
    );
  }

  set(pod: Pod, status: PodStatus): void {
    const uid = podUid(pod);
    const text = JSON.stringify(status);
    const entry = this.#entries.get(uid) ?? {
      pod,
      status,
      text,
      sent: JSON.stringify(pod.status ?? {}),
      work: undefined,
      gone: false,
      passingSaid: new Set(passingOf(pod.status)),
    };
    this.#entries.set(uid, entry);
    Object.assign(entry, { pod, status, text });
    this.#deps.changed(pod, status);
    if (text !== entry.sent && !entry.gone) this.#start(entry);
  }

  seen(pod: Pod): void {
    const entry = this.#entries.get(podUid(pod));
    const atRest = entry?.work === undefined && entry?.sent === entry?.text;
    if (entry === undefined || entry.gone || !atRest || shows(pod.status, entry.status)) return;
    entry.sent = '';
    this.#start(entry);
  }

  get(uid: string): PodStatus | undefined {
    return this.#entries.get(uid)?.status;
  }
  async written(uid: string): Promise<void> {
    const entry = this.#entries.get(uid);
    await entry?.work;
    if (entry && !entry.gone && entry.sent !== entry.text) this.#stopped.signal.throwIfAborted();
  }
  forget(uid: string): void {
    this.#entries.delete(uid);
  }
  stop(): void {
    this.#stopped.abort();
  }

  #start(entry: Entry): void {
    entry.work ??= this.#send(entry);
  }

  async #send(entry: Entry): Promise<void> {
    const { signal } = this.#stopped;
    const began = this.#deps.clock.monotonic();
    while (entry.sent !== entry.text && !entry.gone && !signal.aborted) {
      const { text } = entry;
      try {
        await this.#write(entry);
        entry.sent = text;
        if (text === entry.text) this.#duration.observe({}, (this.#deps.clock.monotonic() - began) / 1000);
      } catch (error) {
        if (this.#isFinal(entry, error)) entry.sent = text;
        else await this.#deps.clock.sleep(retryMs, signal).catch(() => undefined);
      }
    }
    // Not a moment later: what is set then has to begin anew.
    entry.work = undefined;
  }

  async #write(entry: Entry): Promise<void> {
    const { pod, status, passingSaid } = entry;
    const key = { name: pod.metadata.name ?? '', namespace: pod.metadata.namespace };
    const patch = { type: 'strategic', body: statusPatch(entry) } as const;
    // It may be written although no answer comes.
    for (const type of passingOf(status)) passingSaid.add(type);
    await this.#deps.client.patch(pods, key, patch, { subresource: 'status' });
    passingSaid.clear();
    for (const type of passingOf(status)) passingSaid.add(type);
  }

  /** Whether to try the same again would be of no use. */
  #isFinal(entry: Entry, error: unknown): boolean {
    const pod = podText(entry.pod);
    // Gone, or a namesake took its place (the uid in the patch does not match).
    if (isStatusError(error, 'NotFound') || isStatusError(error, 'Conflict')) {
      entry.gone = true;
      return true;
    }
    if (isStatusError(error, 'Invalid')) {
      this.#deps.log.error({ error, pod }, 'the API refused a pod status');
      return true;
    }
    this.#deps.log.warn({ error, pod }, 'a pod status could not be written, trying again');
    return false;
  }
}

export const createStatusManager = (deps: StatusManagerDeps): StatusManager => new ApiStatusManager(deps);

// Ends pods that use more of the node's disk than they may, and, when the node runs short, those that use most.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../component-base/logger.ts';
import { toleratesTaint } from '../../component-helpers/taints.ts';
import type { Rejection } from '../node-os/node-os.ts';
import { podText } from '../pod-format.ts';
import { qosClass } from '../resources/qos.ts';
import { runEvery } from '../run-every.ts';
import { isCritical, type MeasuredPod, pressureMessage, rankedForEviction } from './choose-pod.ts';
import { type Excess, hasStorageLimit, hidesFromLimit, storageExcess } from './pod-usage.ts';
import {
  conditionOf,
  type MetThreshold,
  metThresholds,
  type NodeMeasures,
  observe,
  type PressureCondition,
  resourceOf,
  type Signal,
  type StarvedResource,
  shortageOf,
  type Threshold,
} from './thresholds.ts';

const scarceMemory = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' };
const toleratesScarceMemory = (pod: Pod): boolean =>
  (pod.spec.tolerations ?? []).some((toleration) => toleratesTaint(toleration, scarceMemory));

export interface Eviction {
  readonly pod: Pod;
  /** Of the event and of the pod's status. */
  readonly message: string;
  /** For the node's sake: the pod gets the condition DisruptionTarget. */
  readonly disruption: boolean;
  /** What the node, or the pod's limit, was short of. */
  readonly signal: Signal | Excess['signal'];
}

export interface EvictionDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly thresholds: readonly Threshold[];
  readonly node: () => Promise<NodeMeasures>;
  /** Pods that are not over. */
  readonly active: () => readonly Pod[];
  readonly measure: (pods: readonly Pod[], resource: StarvedResource) => Promise<readonly MeasuredPod[]>;
  /** Resolves when the pod has ended and its files are gone, or when that takes too long. */
  readonly evict: (eviction: Eviction) => Promise<void>;
  /** An event of the node. */
  readonly announce: (message: string) => void;
  readonly conditionsChanged: () => void;
}

export interface EvictionManager {
  /** What the node is short of now, or was a while ago. */
  conditions(): readonly PressureCondition[];
  admit(pod: Pod): Rejection | undefined;
  stop(): Promise<void>;
}

/** Upstream's monitoringInterval and evictionPressureTransitionPeriod. */
const monitorMs = 10_000;
const transitionMs = 300_000;

/** Whoever has a limit must be measurable: files without number are no way around it. */
function overLimit({ pod, usage, unmeasured }: MeasuredPod): Excess | undefined {
  const hides = unmeasured?.settled === true && hidesFromLimit(pod, usage);
  const hidden: Excess | undefined = hides
    ? { signal: 'ephemeralpodfs.limit', message: unmeasured.message }
    : undefined;
  return storageExcess(pod, usage) ?? hidden;
}

/** Undefined: it can't be known. Limits of pods hold also then. */
async function shortages({ thresholds, node, log }: EvictionDeps): Promise<MetThreshold[] | undefined> {
  try {
    return metThresholds(thresholds, observe(await node()));
  } catch (error) {
    log.warn({ error }, 'what the node has left was not measured');
    return undefined;
  }
}

export function startEvictionManager(deps: EvictionDeps): EvictionManager {
  const lastMet = new Map<PressureCondition, number>();
  let told = '';

  const conditions = (): PressureCondition[] =>
    [...lastMet].filter(([, at]) => deps.clock.monotonic() - at < transitionMs).map(([name]) => name);

  function note(met: readonly MetThreshold[]): void {
    for (const { signal } of met) lastMet.set(conditionOf(signal), deps.clock.monotonic());
    const now = conditions().join();
    if (now !== told) deps.conditionsChanged();
    told = now;
  }

  async function evictOverLimit(): Promise<boolean> {
    const limited = deps.active().filter((pod) => hasStorageLimit(pod) && !isCritical(pod));
    const evictions = (await deps.measure(limited, 'ephemeral-storage')).flatMap((measured) => {
      const excess = overLimit(measured);
      return excess === undefined ? [] : [{ ...excess, pod: measured.pod, disruption: false }];
    });
    await Promise.all(evictions.map((eviction) => deps.evict(eviction)));
    return evictions.length > 0;
  }

  /** One pod at a time: what it leaves behind may be enough. */
  async function relieve(met: MetThreshold): Promise<void> {
    const resource = resourceOf(met.signal);
    deps.announce(`Attempting to reclaim ${resource}`);
    const active = deps.active().filter((pod) => !isCritical(pod));
    const candidates = await deps.measure(active, resource);
    const [first] = rankedForEviction(candidates, resource, shortageOf(met));
    if (first === undefined) {
      deps.log.warn({ resource }, 'the node is short, and there is no pod to evict');
      return;
    }
    deps.log.info({ resource, pod: podText(first.pod) }, 'evicting a pod');
    const { signal } = met;
    await deps.evict({ pod: first.pod, message: pressureMessage(first, met), disruption: true, signal });
  }

  async function look(): Promise<void> {
    const met = await shortages(deps);
    if (met) note(met);
    if (await evictOverLimit()) return;
    if (met?.[0] !== undefined) await relieve(met[0]);
  }

  const stop = runEvery(deps.clock, monitorMs, async () => {
    try {
      await look();
    } catch (error) {
      deps.log.warn({ error }, 'what pods use was not measured');
    }
  });

  return {
    conditions,
    admit: (pod) => {
      const short = conditions();
      if (short.length === 0 || isCritical(pod)) return undefined;
      // Who asked for memory has it, and who tolerates its want was sent here in spite of it.
      if (!short.includes('DiskPressure') && (qosClass(pod) !== 'BestEffort' || toleratesScarceMemory(pod)))
        return undefined;
      return { reason: 'Evicted', message: `The node had condition: [${short.join(' ')}]. ` };
    },
    stop,
  };
}

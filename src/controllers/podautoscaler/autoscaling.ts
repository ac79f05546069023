// Looks at each autoscaler in its turn: reads its target's scale, measures, decides, writes, and says what it did.
import { horizontalpodautoscalersV2, pods } from '../../api/generated/resources.ts';
import type { Scale } from '../../api/generated/types/autoscaling-v1.ts';
import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerStatus,
  MetricStatus,
} from '../../api/generated/types/autoscaling-v2.ts';
import { matchesSelector, parseLabelSelector, type Selector } from '../../apimachinery/label-selector.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { rfc3339 } from '../../base/clock.ts';
import { keyOf } from '../../client/cache/object-store.ts';
import type { ObjectKey } from '../../client/client.ts';
import { referenceTo } from '../../client/event-recorder.ts';
import type { ControllerContext, Result } from '../../controller-runtime/define-controller.ts';
import { sameStatus } from '../workload/same-status.ts';
import { type Action, autoscalerMetrics, type Fault } from './autoscaler-metrics.ts';
import {
  type AutoscalerSettings,
  boundedDecision,
  type Decision,
  historyAfter,
  measuredDecision,
  questionOf,
  type Said,
  saying,
  statusWith,
} from './decide.ts';
import { KeptDiscovery } from './kept-discovery.ts';
import { Measurements } from './measure-metrics.ts';
import {
  type Computed,
  computedFrom,
  isFailure,
  type Proposal,
  proposalOf,
  tolerancesOf,
} from './metric-proposals.ts';
import { type ScaleTarget, scaleTargetOf } from './scale-target.ts';
import { type History, newHistory } from './scaling-rules.ts';
import { controllersOf, keysText, type Selecting } from './selector-conflicts.ts';

/** What is remembered of an autoscaler, as long as it is there. */
interface Remembered {
  readonly uid: string | undefined;
  lookedAt: number;
  history: History | undefined;
  selector: Selector | undefined;
}

interface Looked {
  readonly action: Action;
  readonly fault: Fault;
}

const spoiled = (fault: Fault): Looked => ({ action: 'none', fault });
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export class Autoscaling {
  readonly #context: ControllerContext;
  readonly #settings: AutoscalerSettings;
  readonly #known = new Map<string, Remembered>();
  readonly #discovery: KeptDiscovery;
  readonly #ends: (() => void)[];

  constructor(context: ControllerContext, settings: AutoscalerSettings) {
    this.#context = context;
    this.#settings = settings;
    this.#discovery = new KeptDiscovery(context);
    const { autoscalers, desired } = autoscalerMetrics(context.metrics);
    const all = (): readonly HorizontalPodAutoscaler[] => context.read(horizontalpodautoscalersV2).list();
    this.#ends = [
      autoscalers.add(() => [[{}, all().length]]),
      desired.add(() =>
        all().map(
          ({ metadata, status }) =>
            [
              { namespace: metadata.namespace ?? '', hpa_name: metadata.name },
              status?.desiredReplicas ?? 0,
            ] as const,
        ),
      ),
    ];
  }

  close(): void {
    for (const end of this.#ends) end();
  }

  /** Once in each period, whatever happens meanwhile: its own writes would wake it. */
  async look({ name, namespace }: ObjectKey): Promise<Result | undefined> {
    const { clock, read, log } = this.#context;
    const { syncMs } = this.#settings;
    const key = keyOf(name, namespace);
    const hpa = read(horizontalpodautoscalersV2).get(name, namespace);
    if (hpa === undefined) {
      this.#known.delete(key);
      return undefined;
    }
    const now = clock.monotonic();
    const before = this.#known.get(key);
    const remembered: Remembered =
      before?.uid === hpa.metadata.uid && before !== undefined
        ? before
        : {
            uid: hpa.metadata.uid,
            lookedAt: Number.NEGATIVE_INFINITY,
            history: undefined,
            selector: undefined,
          };
    this.#known.set(key, remembered);
    const dueMs = remembered.lookedAt + syncMs - now;
    if (dueMs > 0) return { requeueAfterMs: dueMs };
    remembered.lookedAt = now;
    const { reconciliations, reconciliationDuration } = autoscalerMetrics(this.#context.metrics);
    const selecting = (): Selecting[] => this.#selecting(namespace ?? '');
    const shared = { settings: this.#settings, discovery: this.#discovery, selecting };
    const { action, fault } = await new Look(this.#context, shared, hpa, remembered)
      .run()
      .catch((error: unknown): Looked => {
        if (!this.#context.signal.aborted) log.warn({ error, key }, 'an autoscaler was not looked at');
        return spoiled('internal');
      });
    reconciliations.inc({ action, error: fault });
    reconciliationDuration.observe({ action, error: fault }, (clock.monotonic() - now) / 1000);
    return { requeueAfterMs: syncMs };
  }

  #selecting(namespace: string): Selecting[] {
    const all = this.#context.read(horizontalpodautoscalersV2).list(namespace);
    return all.map(({ metadata: { name } }) => ({
      ...{ namespace, name },
      selector: this.#known.get(keyOf(name, namespace))?.selector,
    }));
  }
}

interface Shared {
  readonly settings: AutoscalerSettings;
  readonly discovery: KeptDiscovery;
  /** All autoscalers of the namespace. */
  readonly selecting: () => Selecting[];
}

/** One look at one autoscaler. */
class Look {
  readonly #context: ControllerContext;
  readonly #shared: Shared;
  readonly #hpa: HorizontalPodAutoscaler;
  readonly #remembered: Remembered;
  #conditions: NonNullable<HorizontalPodAutoscalerStatus['conditions']>;

  constructor(
    context: ControllerContext,
    shared: Shared,
    hpa: HorizontalPodAutoscaler,
    remembered: Remembered,
  ) {
    this.#context = context;
    this.#shared = shared;
    this.#hpa = hpa;
    this.#remembered = remembered;
    this.#conditions = hpa.status?.conditions ?? [];
  }

  async run(): Promise<Looked> {
    const found = await this.#target();
    if ('fault' in found) return found;
    const current = found.scale.spec?.replicas ?? 0;
    const { clock } = this.#context;
    const history = this.#remembered.history ?? newHistory(current, clock.monotonic());
    this.#remembered.history = history;
    if (questionOf(this.#hpa, current) !== 'metrics')
      return this.#apply(found, boundedDecision(this.#hpa, current, history), []);
    const computed = await this.#compute(found.scale, current);
    if (computed.wanted === undefined) {
      const desired = this.#hpa.status?.desiredReplicas ?? 0;
      await this.#writeStatus({ current, desired, metrics: computed.statuses });
      this.#event('Warning', 'FailedComputeMetricsReplicas', computed.error ?? '');
      return spoiled(computed.failures[0]?.isOfSpec === true ? 'spec' : 'internal');
    }
    const decision = measuredDecision(this.#hpa, current, computed.wanted, {
      history,
      nowMs: clock.monotonic(),
      settings: this.#shared.settings,
    });
    const { action, fault } = await this.#apply(found, decision, computed.statuses);
    return { action, fault: fault === 'none' && computed.error !== undefined ? 'internal' : fault };
  }

  async #target(): Promise<ScaleTarget | Looked> {
    try {
      const found = await scaleTargetOf(this.#context, this.#shared.discovery, this.#hpa);
      this.#say([
        'AbleToScale',
        'True',
        'SucceededGetScale',
        "the HPA controller was able to get the target's current scale",
      ]);
      return found;
    } catch (error) {
      const text = textOf(error);
      this.#event('Warning', 'FailedGetScale', text);
      this.#say([
        'AbleToScale',
        'False',
        'FailedGetScale',
        `the HPA controller was unable to get the target's current scale: ${text}`,
      ]);
      await this.#writeStatus(undefined);
      return spoiled(text.startsWith('unexpected GroupVersion string') ? 'spec' : 'internal');
    }
  }

  /** The target's pods, or what is wrong with how it selects them. */
  #selectorOf(scale: Scale): Selector | string {
    const text = scale.status?.selector ?? '';
    const refuse = (reason: string, message: string, said: string = message): string => {
      this.#event('Warning', reason, message);
      const condition = reason === 'SelectorRequired' ? 'InvalidSelector' : reason;
      this.#say(['ScalingActive', 'False', condition, said]);
      return message;
    };
    if (text === '')
      return refuse(
        'SelectorRequired',
        'selector is required',
        "the HPA target's scale is missing a selector",
      );
    let selector: Selector;
    try {
      selector = parseLabelSelector(text);
    } catch (error) {
      return refuse(
        'InvalidSelector',
        `couldn't convert selector into a corresponding internal selector object: ${textOf(error)}`,
      );
    }
    this.#remembered.selector = selector;
    const rivals = controllersOf(this.#podsOf(selector), this.#shared.selecting());
    if (rivals.length < 2) return selector;
    return refuse(
      'AmbiguousSelector',
      `pods by selector ${text} are controlled by multiple HPAs: ${keysText(rivals)}`,
    );
  }

  #podsOf(selector: Selector) {
    const all = this.#context.read(pods).list(this.#hpa.metadata.namespace);
    return all.filter(({ metadata }) => matchesSelector(selector, metadata.labels));
  }

  async #compute(scale: Scale, specReplicas: number): Promise<Computed> {
    const selector = this.#selectorOf(scale);
    if (typeof selector === 'string')
      return { wanted: undefined, statuses: [], failures: [], error: selector };
    const { clock } = this.#context;
    const { discovery, settings } = this.#shared;
    const { tolerance, cpuInitializationMs, initialReadinessMs } = settings;
    const podSelector = scale.status?.selector ?? '';
    const measurements = new Measurements(this.#context, discovery, this.#hpa, podSelector);
    const proposals: Proposal[] = [];
    for (const spec of this.#hpa.spec.metrics ?? []) {
      const began = clock.monotonic();
      const measured = await measurements.of(spec);
      const proposal = proposalOf(spec, measured, {
        namespace: this.#hpa.metadata.namespace ?? '',
        specReplicas,
        statusReplicas: scale.status?.replicas ?? 0,
        workload: {
          pods: this.#podsOf(selector),
          nowMs: clock.now(),
          cpuInitializationMs,
          initialReadinessMs,
        },
        tolerances: tolerancesOf(this.#hpa, tolerance),
      });
      proposals.push(proposal);
      if (isFailure(proposal)) this.#event('Warning', proposal.reason, proposal.message);
      this.#observe(spec.type, proposal, began);
    }
    const computed = computedFrom(proposals, specReplicas);
    const [first] = computed.failures;
    if (computed.wanted === undefined && first !== undefined)
      this.#say([
        'ScalingActive',
        'False',
        first.reason,
        `the HPA was unable to compute the replica count: ${first.message}`,
      ]);
    return computed;
  }

  #observe(type: string, proposal: Proposal, began: number): void {
    const { computations, computationDuration } = autoscalerMetrics(this.#context.metrics);
    const current = this.#hpa.status?.currentReplicas ?? 0;
    const [action, error]: [Action, Fault] = isFailure(proposal)
      ? ['none', proposal.isOfSpec === true ? 'spec' : 'internal']
      : [
          proposal.replicas > current ? 'scale_up' : proposal.replicas < current ? 'scale_down' : 'none',
          'none',
        ];
    const labels = { action, error, metric_type: type };
    computations.inc(labels);
    computationDuration.observe(labels, (this.#context.clock.monotonic() - began) / 1000);
  }

  async #apply(
    { resource, scale }: ScaleTarget,
    decision: Decision,
    metrics: readonly MetricStatus[],
  ): Promise<Looked> {
    const { clock, write } = this.#context;
    const current = scale.spec?.replicas ?? 0;
    const { replicas, reason } = decision;
    for (const said of decision.said) this.#say(said);
    this.#remembered.history = decision.history;
    if (!decision.isChange) {
      await this.#writeStatus({ current, desired: current, metrics });
      return { action: 'none', fault: 'none' };
    }
    try {
      const next = { ...scale, spec: { ...scale.spec, replicas } };
      await write.update(resource as ResourceRef<Scale>, next, { subresource: 'scale' });
    } catch (error) {
      const text = textOf(error);
      this.#event('Warning', 'FailedRescale', `New size: ${replicas}; reason: ${reason}; error: ${text}`);
      this.#say([
        'AbleToScale',
        'False',
        'FailedUpdateScale',
        `the HPA controller was unable to update the target scale: ${text}`,
      ]);
      await this.#writeStatus({ current, desired: this.#hpa.status?.desiredReplicas ?? 0, metrics });
      return spoiled('internal');
    }
    this.#say([
      'AbleToScale',
      'True',
      'SucceededRescale',
      `the HPA controller was able to update the target scale to ${replicas}`,
    ]);
    this.#event('Normal', 'SuccessfulRescale', `New size: ${replicas}; reason: ${reason}`);
    this.#remembered.history = historyAfter(this.#hpa, decision.history, {
      before: current,
      after: replicas,
      nowMs: clock.monotonic(),
    });
    await this.#writeStatus({ current, desired: replicas, metrics, scaledAt: rfc3339(clock.now()) });
    return { action: replicas > current ? 'scale_up' : 'scale_down', fault: 'none' };
  }

  #say(said: Said): void {
    this.#conditions = [...saying(this.#conditions, said, rfc3339(this.#context.clock.now()))];
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const about = referenceTo(horizontalpodautoscalersV2, this.#hpa);
    this.#context.events.event(about, type, reason, message);
  }

  /** Undefined: nothing but its conditions. Throws what is said of it, too. */
  async #writeStatus(
    counts: Omit<Parameters<typeof statusWith>[1], 'conditions'> | undefined,
  ): Promise<void> {
    const before = this.#hpa.status;
    const status =
      counts === undefined
        ? { ...before, desiredReplicas: before?.desiredReplicas ?? 0, conditions: this.#conditions }
        : statusWith(before, { ...counts, conditions: this.#conditions });
    if (sameStatus(status, before)) return;
    try {
      const next = { ...this.#hpa, status };
      await this.#context.write.update(horizontalpodautoscalersV2, next, { subresource: 'status' });
    } catch (error) {
      this.#event('Warning', 'FailedUpdateStatus', textOf(error));
      throw error;
    }
  }
}

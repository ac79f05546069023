// What each metric of an autoscaler asks for, and what is said when it can't be told: upstream's words. Pure.
import type {
  HorizontalPodAutoscaler,
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
  MetricValueStatus,
} from '../../api/generated/types/autoscaling-v2.ts';
import { formatQuantity } from '../../apimachinery/quantity.ts';
import {
  type Answer,
  type Asked,
  milli,
  type PodMetrics,
  perPodReplicas,
  plainReplicas,
  resourceReplicas,
  type Tolerances,
  totalReplicas,
  type Workload,
} from './replica-calculator.ts';
import { goSelectorText } from './selector-text.ts';

/** What was measured for a metric: of pods, of an object, or a sum of values. Or why not. */
export type Measured = Answer<PodMetrics | number>;

export interface Target {
  readonly namespace: string;
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly workload: Workload;
  readonly tolerances: Tolerances;
}

export interface Failure {
  /** Of the event and the condition. */
  readonly reason: string;
  readonly message: string;
  /** As the whole is told. */
  readonly text: string;
  readonly isOfSpec?: true;
}

export type Proposal =
  | { readonly replicas: number; readonly name: string; readonly status: MetricStatus }
  | Failure;

export const isFailure = (proposal: Proposal): proposal is Failure => 'reason' in proposal;

const quantity = (thousandths: number): string =>
  formatQuantity({ nano: BigInt(thousandths) * 1_000_000n, format: 'DecimalSI' });

/** `describe` makes the whole text of what the event says. */
const failed = (reason: string, message: string, describe: (message: string) => string): Failure => ({
  reason,
  message,
  text: describe(message),
});

function ofResource(
  name: string,
  container: string,
  goal: MetricTarget,
  measured: Measured,
  target: Target,
): Answer<{ readonly asked: Asked; readonly current: MetricValueStatus }> {
  const { workload, specReplicas: current, tolerances } = target;
  const isRaw = goal.averageValue !== undefined;
  if (!isRaw && goal.averageUtilization === undefined)
    return 'invalid resource metric source: neither an average utilization target nor an average value (usage) target was set';
  const wrong = (text: string): string => `failed to get ${name} ${isRaw ? 'usage' : 'utilization'}: ${text}`;
  if (typeof measured === 'string') return wrong(`unable to get metrics for resource ${name}: ${measured}`);
  const question = { workload, metrics: measured as PodMetrics, current, tolerances };
  if (isRaw) {
    const asked = plainReplicas(question, { resource: name, target: milli(goal.averageValue) });
    if (typeof asked === 'string') return wrong(asked);
    return { asked, current: { averageValue: quantity(asked.usage) } };
  }
  const aim = { resource: name, container, target: goal.averageUtilization ?? 0 };
  const asked = resourceReplicas(question, aim);
  if (typeof asked === 'string') return wrong(asked);
  const { usage, utilization } = asked;
  return { asked, current: { averageUtilization: utilization, averageValue: quantity(usage) } };
}

/** As its events and its name in others call it. */
const resourceName = (name: string, goal: MetricTarget, what: string): string =>
  goal.averageValue === undefined
    ? `${name} ${what} utilization (percentage of request)`
    : `${name} resource`;

function resourceProposal(
  { name, target: goal }: NonNullable<MetricSpec['resource']>,
  measured: Measured,
  target: Target,
): Proposal {
  const found = ofResource(name, '', goal, measured, target);
  if (typeof found === 'string')
    return failed(
      'FailedGetResourceMetric',
      found,
      (text) => `failed to get ${name} resource metric value: ${text}`,
    );
  return {
    replicas: found.asked.replicas,
    name: resourceName(name, goal, 'resource'),
    status: { type: 'Resource', resource: { name, current: found.current } },
  };
}

function containerProposal(
  { name, container, target: goal }: NonNullable<MetricSpec['containerResource']>,
  measured: Measured,
  target: Target,
): Proposal {
  const found = ofResource(name, container, goal, measured, target);
  if (typeof found === 'string')
    return failed(
      'FailedGetContainerResourceMetric',
      found,
      (text) => `failed to get ${container} container metric value: ${text}`,
    );
  return {
    replicas: found.asked.replicas,
    name: resourceName(name, goal, 'container resource'),
    status: { type: 'ContainerResource', containerResource: { name, container, current: found.current } },
  };
}

const identified = ({ name, selector }: MetricIdentifier): MetricIdentifier => ({
  name,
  ...(selector === undefined ? {} : { selector }),
});

function podsProposal(
  { metric, target: goal }: NonNullable<MetricSpec['pods']>,
  measured: Measured,
  { workload, specReplicas, tolerances }: Target,
): Proposal {
  const asked =
    typeof measured === 'string'
      ? `unable to get metric ${metric.name}: ${measured}`
      : plainReplicas(
          { workload, metrics: measured as PodMetrics, current: specReplicas, tolerances },
          { resource: '', target: milli(goal.averageValue) },
        );
  if (typeof asked === 'string')
    return failed('FailedGetPodsMetric', asked, (text) => `failed to get pods metric value: ${text}`);
  return {
    replicas: asked.replicas,
    name: `pods metric ${metric.name}`,
    status: {
      type: 'Pods',
      pods: { metric: identified(metric), current: { averageValue: quantity(asked.usage) } },
    },
  };
}

const outside = ({ name, selector }: MetricIdentifier): string =>
  `external metric ${name}(${goSelectorText(selector)})`;

function objectProposal(
  { describedObject, metric, target: goal }: NonNullable<MetricSpec['object']>,
  measured: Measured,
  target: Target,
): Proposal {
  const { workload, specReplicas: current, statusReplicas, tolerances, namespace } = target;
  const reason = 'FailedGetObjectMetric';
  const describe = (text: string): string => `failed to get object metric value: ${text}`;
  // The words stand in upstream's order.
  const unknown = `unable to get metric ${metric.name}: ${describedObject.kind} on ${namespace} ${describedObject.name}/${String(measured)}`;
  if (goal.type === 'Value' && goal.value !== undefined) {
    const asked =
      typeof measured === 'string'
        ? unknown
        : totalReplicas({ workload, current, tolerances }, measured as number, milli(goal.value));
    if (typeof asked === 'string') return failed(reason, asked, describe);
    return {
      replicas: asked.replicas,
      name: `${describedObject.kind} metric ${metric.name}`,
      status: {
        type: 'Object',
        object: { describedObject, metric: identified(metric), current: { value: quantity(asked.usage) } },
      },
    };
  }
  if (goal.type === 'AverageValue' && goal.averageValue !== undefined) {
    if (typeof measured === 'string')
      return failed(reason, unknown, (text) =>
        describe(`failed to get ${metric.name} object metric: ${text}`),
      );
    const asked = perPodReplicas(statusReplicas, tolerances, measured as number, milli(goal.averageValue));
    return {
      replicas: asked.replicas,
      name: outside(metric),
      status: {
        type: 'Object',
        object: {
          // Upstream leaves it empty, and its type has no way to leave it out.
          describedObject: { kind: '', name: '' },
          metric: identified(metric),
          current: { averageValue: quantity(asked.usage) },
        },
      },
    };
  }
  return failed(
    reason,
    'invalid object metric source: neither a value target nor an average value target was set',
    describe,
  );
}

function externalProposal(
  { metric, target: goal }: NonNullable<MetricSpec['external']>,
  measured: Measured,
  target: Target,
): Proposal {
  const { workload, specReplicas: current, statusReplicas, tolerances, namespace } = target;
  const { name } = metric;
  const reason = 'FailedGetExternalMetric';
  const describe = (text: string): string => `failed to get ${name} external metric value: ${text}`;
  const unknown = `unable to get external metric ${namespace}/${name}/${goSelectorText(metric.selector)}: ${String(measured)}`;
  const proposal = ({ replicas }: Asked, value: MetricValueStatus): Proposal => ({
    replicas,
    name: outside(metric),
    status: { type: 'External', external: { metric: identified(metric), current: value } },
  });
  if (goal.averageValue !== undefined) {
    if (typeof measured === 'string')
      return failed(reason, unknown, (text) => describe(`failed to get ${name} external metric: ${text}`));
    const asked = perPodReplicas(statusReplicas, tolerances, measured as number, milli(goal.averageValue));
    return proposal(asked, { averageValue: quantity(asked.usage) });
  }
  if (goal.value !== undefined) {
    const asked =
      typeof measured === 'string'
        ? unknown
        : totalReplicas({ workload, current, tolerances }, measured as number, milli(goal.value));
    if (typeof asked === 'string')
      return failed(reason, asked, (text) => describe(`failed to get external metric ${name}: ${text}`));
    return proposal(asked, { value: quantity(asked.usage) });
  }
  return failed(
    reason,
    'invalid external metric source: neither a value target nor an average value target was set',
    describe,
  );
}

export function proposalOf(spec: MetricSpec, measured: Measured, target: Target): Proposal {
  const { resource, containerResource, pods, object, external } = spec;
  if (spec.type === 'Resource' && resource) return resourceProposal(resource, measured, target);
  if (spec.type === 'ContainerResource' && containerResource)
    return containerProposal(containerResource, measured, target);
  if (spec.type === 'Pods' && pods) return podsProposal(pods, measured, target);
  if (spec.type === 'Object' && object) return objectProposal(object, measured, target);
  if (spec.type === 'External' && external) return externalProposal(external, measured, target);
  const message = `unknown metric source type ${JSON.stringify(spec.type)}`;
  return { reason: 'InvalidMetricSourceType', message, text: message, isOfSpec: true };
}

/** The highest of all, unless too much is unknown. */
export interface Computed {
  /** Undefined: nothing may be done. */
  readonly wanted: { readonly replicas: number; readonly name: string } | undefined;
  readonly statuses: readonly MetricStatus[];
  /** Each is told by an event. */
  readonly failures: readonly Failure[];
  /** What is wrong with the whole; set too where something is done all the same. */
  readonly error: string | undefined;
}

/** As upstream, where something is unknown nothing is taken away. */
export function computedFrom(proposals: readonly Proposal[], specReplicas: number): Computed {
  const failures = proposals.filter(isFailure);
  const found = proposals.filter((one): one is Exclude<Proposal, Failure> => !isFailure(one));
  const [first] = failures;
  const error =
    first &&
    `invalid metrics (${failures.length} invalid out of ${proposals.length}), first error is: ${first.text}`;
  const highest = found.reduce<(typeof found)[number] | undefined>(
    (best, one) => (best === undefined || best.replicas === 0 || one.replicas > best.replicas ? one : best),
    undefined,
  );
  const isHeld =
    failures.length >= proposals.length || (failures.length > 0 && (highest?.replicas ?? 0) < specReplicas);
  return {
    wanted: isHeld ? undefined : { replicas: highest?.replicas ?? 0, name: highest?.name ?? '' },
    statuses: proposals.map((one) => (isFailure(one) ? { type: '' } : one.status)),
    failures,
    error,
  };
}

/** Of an autoscaler: what its behavior says, or everybody's. */
export function tolerancesOf({ spec }: HorizontalPodAutoscaler, usual: number): Tolerances {
  const of = (tolerance: unknown): number => (tolerance === undefined ? usual : milli(tolerance) / 1000);
  return { up: of(spec.behavior?.scaleUp?.tolerance), down: of(spec.behavior?.scaleDown?.tolerance) };
}

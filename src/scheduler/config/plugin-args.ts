// What plugins can be told in a KubeSchedulerConfiguration: fields, defaults, and what is refused in upstream's words.
import type { NodeAffinity, TopologySpreadConstraint } from '../../api/generated/types/core-v1.ts';
import type { ConfigShape } from '../../apimachinery/config-shape.ts';
import {
  duplicate,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  required,
} from '../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../apimachinery/labels.ts';

export interface ResourceWeight {
  readonly name: string;
  readonly weight: number;
}
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}
export interface ScoringStrategy {
  readonly type: string;
  readonly resources: readonly ResourceWeight[];
  readonly requestedToCapacityRatio?: { readonly shape?: readonly ShapePoint[] } | undefined;
}

export interface PluginArgs {
  readonly NodeResourcesFit: {
    readonly ignoredResources: readonly string[];
    readonly ignoredResourceGroups: readonly string[];
    readonly scoringStrategy: ScoringStrategy;
  };
  readonly NodeResourcesBalancedAllocation: { readonly resources: readonly ResourceWeight[] };
  readonly InterPodAffinity: {
    readonly hardPodAffinityWeight: number;
    readonly ignorePreferredTermsOfExistingPods: boolean;
  };
  readonly NodeAffinity: { readonly addedAffinity?: NodeAffinity | undefined };
  readonly PodTopologySpread: {
    readonly defaultConstraints: readonly TopologySpreadConstraint[];
    readonly defaultingType: string;
  };
  readonly VolumeBinding: { readonly bindTimeoutSeconds: number };
  readonly DefaultPreemption: {
    readonly minCandidateNodesPercentage: number;
    readonly minCandidateNodesAbsolute: number;
  };
  readonly DynamicResources: object;
}

type Fields = Readonly<Record<string, unknown>>;
type Faults = readonly FieldError[];

interface ArgsKind<T> {
  readonly shape: { readonly [field: string]: ConfigShape };
  /** With what is not said filled in. */
  make(read: Fields): T;
  faults(made: T, at: string): Faults;
}

const cpuAndMemory: readonly ResourceWeight[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];
const resources: ConfigShape = [{ name: 'string', weight: 'number' }];

/** A weight that is 0 was not said. */
function resourcesIn(said: unknown): readonly ResourceWeight[] {
  const list = (said ?? []) as readonly { readonly name?: string; readonly weight?: number }[];
  return list.length === 0
    ? cpuAndMemory
    : list.map(({ name = '', weight }) => ({
        name,
        weight: weight === undefined || weight === 0 ? 1 : weight,
      }));
}

const labelNameFaults = (at: string, name: string): Faults =>
  qualifiedNameErrors(name).map((text) => invalid(at, name, text));

const inRange = (at: string, value: number, [least, most]: readonly [number, number]): Faults =>
  value < least || value > most ? [invalid(at, value, `not in valid range [${least}, ${most}]`)] : [];

function shapeFaults(shape: readonly ShapePoint[] = [], at: string): Faults {
  if (shape.length === 0) return [required(at, 'at least one point must be specified')];
  const unsorted = shape.findIndex((point, i) => i > 0 && shape[i - 1]!.utilization >= point.utilization);
  return [
    ...(unsorted === -1
      ? []
      : [
          invalid(
            `${at}[${unsorted}].utilization`,
            shape[unsorted]!.utilization,
            'values must be sorted in increasing order',
          ),
        ]),
    ...shape.flatMap(({ score, utilization }, i) => [
      ...inRange(`${at}[${i}].utilization`, utilization, [0, 100]),
      ...inRange(`${at}[${i}].score`, score, [0, 10]),
    ]),
  ];
}

const strategies = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio'] as const;

function strategyFaults(
  { requestedToCapacityRatio: ratio, resources, type }: ScoringStrategy,
  at: string,
): Faults {
  const faults: FieldError[] = [];
  if (!strategies.some((known) => known === type)) faults.push(notSupported(`${at}.type`, type, strategies));
  for (const [i, { name, weight }] of resources.entries())
    if (weight <= 0 || weight > 100)
      faults.push(
        invalid(
          `${at}.resources[${i}].weight`,
          weight,
          `resource weight of ${name} not in valid range (0, 100]`,
        ),
      );
  const field = `${at}.requestedToCapacityRatio`;
  if (type !== 'RequestedToCapacityRatio') {
    if (ratio !== undefined)
      faults.push(forbidden(field, 'must be nil when type is not RequestedToCapacityRatio'));
  } else if (ratio === undefined)
    faults.push(required(field, 'must be specified when type is RequestedToCapacityRatio'));
  else faults.push(...shapeFaults(ratio.shape, `${field}.shape`));
  return faults;
}

const actions = ['DoNotSchedule', 'ScheduleAnyway'] as const;

function constraintFaults(list: readonly TopologySpreadConstraint[], at: string): Faults {
  return list.flatMap((constraint, i) => {
    const { labelSelector, maxSkew = 0, topologyKey = '', whenUnsatisfiable = '' } = constraint;
    const one = `${at}[${i}]`;
    const isSaid = list
      .slice(0, i)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    return [
      ...(maxSkew > 0 ? [] : [invalid(`${one}.maxSkew`, maxSkew, 'not in valid range (0, inf)')]),
      ...(topologyKey === ''
        ? [required(`${one}.topologyKey`, 'can not be empty')]
        : labelNameFaults(`${one}.topologyKey`, topologyKey)),
      ...(whenUnsatisfiable === '' ? [required(`${one}.whenUnsatisfiable`, 'can not be empty')] : []),
      ...(whenUnsatisfiable === '' || actions.some((known) => known === whenUnsatisfiable)
        ? []
        : [notSupported(`${one}.whenUnsatisfiable`, whenUnsatisfiable, actions)]),
      ...(labelSelector === undefined
        ? []
        : [
            forbidden(
              `${one}.labelSelector`,
              'constraint must not define a selector, as they deduced for each pod',
            ),
          ]),
      ...(isSaid ? [duplicate(one, `{${topologyKey}, ${whenUnsatisfiable}}`)] : []),
    ];
  });
}

const number = (said: unknown, usual: number): number => (typeof said === 'number' ? said : usual);
const texts = (said: unknown): readonly string[] => (said ?? []) as readonly string[];

const nodeResourcesFit: ArgsKind<PluginArgs['NodeResourcesFit']> = {
  shape: {
    ignoredResources: ['string'],
    ignoredResourceGroups: ['string'],
    scoringStrategy: {
      type: 'string',
      resources,
      requestedToCapacityRatio: { shape: [{ utilization: 'number', score: 'number' }] },
    },
  },
  make({ ignoredResourceGroups, ignoredResources, scoringStrategy }) {
    const said = (scoringStrategy ?? { type: 'LeastAllocated' }) as Partial<ScoringStrategy>;
    const shape = said.requestedToCapacityRatio?.shape?.map(({ score = 0, utilization = 0 }) => ({
      score,
      utilization,
    }));
    return {
      ignoredResources: texts(ignoredResources),
      ignoredResourceGroups: texts(ignoredResourceGroups),
      scoringStrategy: {
        type: said.type ?? '',
        resources: resourcesIn(said.resources),
        requestedToCapacityRatio: said.requestedToCapacityRatio && { ...(shape ? { shape } : {}) },
      },
    };
  },
  faults: ({ ignoredResourceGroups, ignoredResources, scoringStrategy }, at) => [
    ...ignoredResources.flatMap((name, i) => labelNameFaults(`${at}.ignoredResources[${i}]`, name)),
    ...ignoredResourceGroups.flatMap((group, i) => [
      ...(group.includes('/')
        ? [invalid(`${at}.ignoredResourceGroups[${i}]`, group, "resource group name can't contain '/'")]
        : []),
      ...labelNameFaults(`${at}.ignoredResourceGroups[${i}]`, group),
    ]),
    ...strategyFaults(scoringStrategy, `${at}.scoringStrategy`),
  ],
};

const balancedAllocation: ArgsKind<PluginArgs['NodeResourcesBalancedAllocation']> = {
  shape: { resources },
  make: (read) => ({ resources: resourcesIn(read['resources']) }),
  faults: ({ resources: list }, at) =>
    list.flatMap(({ name, weight }, i) => [
      ...(list.findIndex((other) => other.name === name) < i
        ? [duplicate(`${at}.resources[${i}].name`, name)]
        : []),
      ...(weight === 1 ? [] : [invalid(`${at}.resources[${i}].weight`, weight, 'must be 1')]),
    ]),
};

const topologySpread: ArgsKind<PluginArgs['PodTopologySpread']> = {
  shape: { defaultConstraints: ['object'], defaultingType: 'string' },
  make: ({ defaultConstraints, defaultingType }) => ({
    defaultConstraints: (defaultConstraints ?? []) as readonly TopologySpreadConstraint[],
    defaultingType: typeof defaultingType === 'string' && defaultingType !== '' ? defaultingType : 'System',
  }),
  faults({ defaultConstraints, defaultingType: type }, at) {
    const field = `${at}.defaultingType`;
    const faults = constraintFaults(defaultConstraints, `${at}.defaultConstraints`);
    if (type !== 'System' && type !== 'List')
      return [notSupported(field, type, ['System', 'List']), ...faults];
    return type === 'System' && defaultConstraints.length > 0
      ? [invalid(field, type, 'when .defaultConstraints are not empty'), ...faults]
      : faults;
  },
};

const preemption: ArgsKind<PluginArgs['DefaultPreemption']> = {
  shape: { minCandidateNodesPercentage: 'number', minCandidateNodesAbsolute: 'number' },
  make: (read) => ({
    minCandidateNodesPercentage: number(read['minCandidateNodesPercentage'], 10),
    minCandidateNodesAbsolute: number(read['minCandidateNodesAbsolute'], 100),
  }),
  faults({ minCandidateNodesAbsolute: absolute, minCandidateNodesPercentage: percentage }, at) {
    const [percentageAt, absoluteAt] = [
      `${at}.minCandidateNodesPercentage`,
      `${at}.minCandidateNodesAbsolute`,
    ];
    return [
      ...inRange(percentageAt, percentage, [0, 100]),
      ...(absolute < 0 ? [invalid(absoluteAt, absolute, 'not in valid range [0, inf)')] : []),
      ...(percentage === 0 && absolute === 0
        ? [
            invalid(percentageAt, 0, 'cannot be zero at the same time as minCandidateNodesAbsolute'),
            invalid(absoluteAt, 0, 'cannot be zero at the same time as minCandidateNodesPercentage'),
          ]
        : []),
    ];
  },
};

export const pluginArgsKinds: { readonly [P in keyof PluginArgs]: ArgsKind<PluginArgs[P]> } = {
  NodeResourcesFit: nodeResourcesFit,
  NodeResourcesBalancedAllocation: balancedAllocation,
  InterPodAffinity: {
    shape: { hardPodAffinityWeight: 'number', ignorePreferredTermsOfExistingPods: 'boolean' },
    make: (read) => ({
      hardPodAffinityWeight: number(read['hardPodAffinityWeight'], 1),
      ignorePreferredTermsOfExistingPods: read['ignorePreferredTermsOfExistingPods'] === true,
    }),
    faults: ({ hardPodAffinityWeight }, at) =>
      inRange(`${at}.hardPodAffinityWeight`, hardPodAffinityWeight, [0, 100]),
  },
  NodeAffinity: {
    shape: { addedAffinity: 'object' },
    make: (read) => ({ addedAffinity: (read['addedAffinity'] ?? undefined) as NodeAffinity | undefined }),
    faults: () => [],
  },
  PodTopologySpread: topologySpread,
  VolumeBinding: {
    shape: { bindTimeoutSeconds: 'number', shape: ['object'] },
    make: (read) => ({ bindTimeoutSeconds: number(read['bindTimeoutSeconds'], 600), ...read }),
    faults: (made, at) => [
      ...(made.bindTimeoutSeconds < 0
        ? [
            invalid(
              `${at}.bindTimeoutSeconds`,
              made.bindTimeoutSeconds,
              'invalid BindTimeoutSeconds, should not be a negative value',
            ),
          ]
        : []),
      ...('shape' in made
        ? [
            invalid(
              `${at}.shape`,
              made.shape,
              'unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring',
            ),
          ]
        : []),
    ],
  },
  DefaultPreemption: preemption,
  DynamicResources: {
    shape: { filterTimeout: 'string', bindingTimeout: 'string' },
    make: () => ({}),
    faults: () => [],
  },
};

export const usualArgs = (): PluginArgs => ({
  NodeResourcesFit: pluginArgsKinds.NodeResourcesFit.make({}),
  NodeResourcesBalancedAllocation: pluginArgsKinds.NodeResourcesBalancedAllocation.make({}),
  InterPodAffinity: pluginArgsKinds.InterPodAffinity.make({}),
  NodeAffinity: {},
  PodTopologySpread: pluginArgsKinds.PodTopologySpread.make({}),
  VolumeBinding: pluginArgsKinds.VolumeBinding.make({}),
  DefaultPreemption: pluginArgsKinds.DefaultPreemption.make({}),
  DynamicResources: {},
});

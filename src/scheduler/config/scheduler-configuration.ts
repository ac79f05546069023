// kubescheduler.config.k8s.io/v1 KubeSchedulerConfiguration: profiles, their plugins and what those are told, extenders, back-off.
import { type ConfigShape, unknownFieldsOf } from '../../apimachinery/config-shape.ts';
import {
  duplicate,
  type FieldError,
  fieldErrorText,
  invalid,
  required,
} from '../../apimachinery/field-error.ts';
import { isObject } from '../../apimachinery/json-access.ts';
import { qualifiedNameErrors } from '../../apimachinery/labels.ts';
import { readGoDuration } from '../../base/go-duration.ts';
import { type PluginArgs, pluginArgsKinds, usualArgs } from './plugin-args.ts';

export interface NamedPlugin {
  readonly name: string;
  readonly weight?: number | undefined;
}
export interface PluginSet {
  readonly enabled: readonly NamedPlugin[];
  readonly disabled: readonly NamedPlugin[];
}

export const extensionPoints = [
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
] as const;
export type PointName = (typeof extensionPoints)[number];

export interface ProfileConfiguration {
  readonly schedulerName: string;
  readonly percentageOfNodesToScore?: number | undefined;
  readonly plugins: Readonly<Partial<Record<PointName | 'multiPoint', PluginSet>>>;
  readonly args: PluginArgs;
}

export interface ExtenderConfiguration {
  readonly urlPrefix: string;
  readonly filterVerb: string;
  readonly preemptVerb: string;
  readonly prioritizeVerb: string;
  readonly bindVerb: string;
  readonly weight: number;
  readonly enableHTTPS: boolean;
  readonly tlsConfig?: Readonly<Record<string, unknown>> | undefined;
  readonly httpTimeoutMs: number;
  readonly nodeCacheCapable: boolean;
  readonly managedResources: readonly { readonly name: string; readonly ignoredByScheduler: boolean }[];
  readonly ignorable: boolean;
}

export interface SchedulerConfiguration {
  readonly profiles: readonly ProfileConfiguration[];
  /** 0: by how many nodes there are. */
  readonly percentageOfNodesToScore: number;
  readonly podInitialBackoffSeconds: number;
  readonly podMaxBackoffSeconds: number;
  readonly extenders: readonly ExtenderConfiguration[];
}

const defaultName = 'default-scheduler';

export const usualConfiguration = (): SchedulerConfiguration => ({
  profiles: [{ schedulerName: defaultName, plugins: {}, args: usualArgs() }],
  percentageOfNodesToScore: 0,
  podInitialBackoffSeconds: 1,
  podMaxBackoffSeconds: 10,
  extenders: [],
});

const apiVersion = 'kubescheduler.config.k8s.io/v1';
const kind = 'KubeSchedulerConfiguration';

const pluginSet: ConfigShape = {
  enabled: [{ name: 'string', weight: 'number' }],
  disabled: [{ name: 'string', weight: 'number' }],
};
const shape: ConfigShape = {
  apiVersion: 'string',
  kind: 'string',
  parallelism: 'number',
  leaderElection: 'object',
  clientConnection: 'object',
  healthzBindAddress: 'string',
  metricsBindAddress: 'string',
  enableProfiling: 'boolean',
  enableContentionProfiling: 'boolean',
  percentageOfNodesToScore: 'number',
  podInitialBackoffSeconds: 'number',
  podMaxBackoffSeconds: 'number',
  delayCacheUntilActive: 'boolean',
  profiles: [
    {
      schedulerName: 'string',
      percentageOfNodesToScore: 'number',
      plugins: Object.fromEntries([...extensionPoints, 'multiPoint'].map((point) => [point, pluginSet])),
      pluginConfig: [{ name: 'string', args: 'object' }],
    },
  ],
  extenders: [
    {
      urlPrefix: 'string',
      filterVerb: 'string',
      preemptVerb: 'string',
      prioritizeVerb: 'string',
      weight: 'number',
      bindVerb: 'string',
      enableHTTPS: 'boolean',
      tlsConfig: 'object',
      httpTimeout: 'string',
      nodeCacheCapable: 'boolean',
      managedResources: [{ name: 'string', ignoredByScheduler: 'boolean' }],
      ignorable: 'boolean',
    },
  ],
};

type Fields = Readonly<Record<string, unknown>>;
const listIn = (fields: Fields, name: string): readonly Fields[] => (fields[name] ?? []) as readonly Fields[];

function strictly(value: unknown, wanted: ConfigShape): void {
  const unknown = unknownFieldsOf(value, wanted);
  if (unknown.length > 0)
    throw new Error(
      `strict decoding error: ${unknown.map((field) => `unknown field ${JSON.stringify(field)}`).join(', ')}`,
    );
}

/** A pluginConfig of a profile whose plugin has arguments; of others nothing is known. */
function argsOf(name: string, read: unknown): object | undefined {
  if (!Object.hasOwn(pluginArgsKinds, name)) return undefined;
  const known = pluginArgsKinds[name as keyof PluginArgs];
  const args = (read ?? {}) as Fields;
  const said = args['kind'];
  if (said !== undefined && said !== `${name}Args`)
    throw new Error(`args for plugin ${name} were not of type ${name}Args.${apiVersion}, got ${said}`);
  strictly(args, { apiVersion: 'string', kind: 'string', ...known.shape });
  return known.make(args);
}

const invalidPlugins = ['AzureDiskLimits', 'CinderLimits', 'EBSLimits', 'GCEPDLimits'];
const wasRemoved = (at: string, name: string): FieldError[] =>
  invalidPlugins.includes(name)
    ? [
        invalid(
          at,
          name,
          `was invalid in version ${JSON.stringify(apiVersion)} (KubeSchedulerConfiguration is version ${JSON.stringify(apiVersion)})`,
        ),
      ]
    : [];

const percentageFaults = (at: string, percentage: unknown): FieldError[] =>
  typeof percentage === 'number' && (percentage < 0 || percentage > 100)
    ? [invalid(at, percentage, 'not in valid range [0-100]')]
    : [];

function readSet(read: unknown): PluginSet {
  const fields = (read ?? {}) as Fields;
  const named = (list: string): NamedPlugin[] =>
    listIn(fields, list).map(({ name, weight }) => ({
      name: String(name ?? ''),
      ...(typeof weight === 'number' ? { weight } : {}),
    }));
  return { enabled: named('enabled'), disabled: named('disabled') };
}

interface ReadProfile {
  readonly profile: ProfileConfiguration;
  readonly faults: readonly FieldError[];
}

function readProfile(fields: Fields, at: string, isOnly: boolean): ReadProfile {
  const { percentageOfNodesToScore: percentage } = fields;
  const schedulerName = String(fields['schedulerName'] ?? (isOnly ? defaultName : ''));
  const faults: FieldError[] = [];
  if (schedulerName === '') faults.push(required(`${at}.schedulerName`));
  faults.push(...percentageFaults(`${at}.percentageOfNodesToScore`, percentage));
  const plugins: Partial<Record<PointName | 'multiPoint', PluginSet>> = {};
  for (const [point, set] of Object.entries((fields['plugins'] ?? {}) as Fields)) {
    const read = readSet(set);
    plugins[point as PointName] = read;
    if (point !== 'multiPoint')
      for (const [i, { name }] of read.enabled.entries())
        faults.push(...wasRemoved(`${at}.plugins.${point}.enabled[${i}]`, name));
  }
  const args: Record<string, object> = { ...usualArgs() };
  const seen = new Set<string>();
  for (const [i, one] of listIn(fields, 'pluginConfig').entries()) {
    const name = String(one['name'] ?? '');
    const field = `${at}.pluginConfig[${i}]`;
    if (seen.has(name)) faults.push(duplicate(field, name));
    seen.add(name);
    faults.push(...wasRemoved(field, name));
    const made = argsOf(name, one['args']);
    if (made === undefined) continue;
    args[name] = made;
    const known = pluginArgsKinds[name as keyof PluginArgs] as {
      faults(made: object, at: string): readonly FieldError[];
    };
    faults.push(...known.faults(made, `${field}.args`));
  }
  const profile: ProfileConfiguration = {
    schedulerName,
    plugins,
    args: args as unknown as PluginArgs,
    ...(typeof percentage === 'number' ? { percentageOfNodesToScore: percentage } : {}),
  };
  return { profile, faults };
}

function profilesFaults(profiles: readonly ReadProfile[]): FieldError[] {
  const queueSort = (at: number): PluginSet | undefined => profiles[at]?.profile.plugins.queueSort;
  const faults: FieldError[] = [];
  for (const [i, { faults: own, profile }] of profiles.entries()) {
    faults.push(...own);
    const before = profiles.findIndex((other) => other.profile.schedulerName === profile.schedulerName);
    if (before < i && profile.schedulerName !== '')
      faults.push(duplicate(`profiles[${i}].schedulerName`, `profiles[${before}].schedulerName`));
  }
  const length = queueSort(0)?.enabled.length ?? 0;
  if (length > 1)
    faults.push(
      invalid('profiles[0].plugins.queueSort.Enabled', length, 'only one queue sort plugin can be enabled'),
    );
  for (let i = 1; i < profiles.length; i++)
    if (JSON.stringify(queueSort(i)) !== JSON.stringify(queueSort(0)))
      faults.push(
        invalid(`profiles[${i}].plugins.queueSort`, queueSort(i), 'must be the same for all profiles'),
      );
  return faults;
}

const isExtended = (name: string): boolean =>
  name.includes('/') && !name.split('/')[0]!.endsWith('kubernetes.io') && !name.startsWith('requests.');

function readExtender(fields: Fields): ExtenderConfiguration {
  const text = (name: string): string => String(fields[name] ?? '');
  const timeout = fields['httpTimeout'] === undefined ? 0 : readGoDuration(text('httpTimeout'));
  if (typeof timeout === 'string') throw new Error(`failed decoding: extenders.httpTimeout: ${timeout}`);
  return {
    urlPrefix: text('urlPrefix'),
    filterVerb: text('filterVerb'),
    preemptVerb: text('preemptVerb'),
    prioritizeVerb: text('prioritizeVerb'),
    bindVerb: text('bindVerb'),
    weight: Number(fields['weight'] ?? 0),
    enableHTTPS: fields['enableHTTPS'] === true,
    tlsConfig: (fields['tlsConfig'] ?? undefined) as Fields | undefined,
    // Upstream's DefaultExtenderTimeout.
    httpTimeoutMs: timeout === 0 ? 5_000 : timeout,
    nodeCacheCapable: fields['nodeCacheCapable'] === true,
    managedResources: listIn(fields, 'managedResources').map(({ ignoredByScheduler, name }) => ({
      name: String(name ?? ''),
      ignoredByScheduler: ignoredByScheduler === true,
    })),
    ignorable: fields['ignorable'] === true,
  };
}

function extendersFaults(extenders: readonly ExtenderConfiguration[]): FieldError[] {
  const faults: FieldError[] = [];
  const seen = new Set<string>();
  for (const [i, { managedResources, prioritizeVerb, weight }] of extenders.entries()) {
    if (prioritizeVerb !== '' && weight <= 0)
      faults.push(invalid(`extenders[${i}].weight`, weight, 'must have a positive weight applied to it'));
    for (const [j, { name }] of managedResources.entries()) {
      const at = `extenders[${i}].managedResources[${j}].name`;
      const texts = qualifiedNameErrors(name);
      faults.push(...texts.map((text) => invalid(at, name, text)));
      if (texts.length === 0 && !isExtended(name))
        faults.push(invalid(at, name, 'is an invalid extended resource name'));
      if (seen.has(name)) faults.push(invalid(at, name, 'duplicate extender managed resource name'));
      seen.add(name);
    }
  }
  const binders = extenders.filter(({ bindVerb }) => bindVerb !== '').length;
  if (binders > 1)
    faults.push(
      invalid(
        'extenders',
        `found ${binders} extenders implementing bind`,
        'only one extender can implement bind',
      ),
    );
  return faults;
}

function backoffFaults({
  podInitialBackoffSeconds: first,
  podMaxBackoffSeconds: most,
}: SchedulerConfiguration): FieldError[] {
  return [
    ...(first <= 0 ? [invalid('podInitialBackoffSeconds', first, 'must be greater than 0')] : []),
    ...(most < first
      ? [invalid('podMaxBackoffSeconds', most, 'must be greater than or equal to PodInitialBackoffSeconds')]
      : []),
  ];
}

/** Throws what is wrong with it. */
export function readSchedulerConfiguration(config: unknown): SchedulerConfiguration {
  if (!isObject(config as never)) throw new Error("Object 'Kind' is missing in the configuration");
  const fields = config as Fields;
  if (fields['kind'] !== kind || fields['apiVersion'] !== apiVersion)
    throw new Error(
      `no kind ${JSON.stringify(fields['kind'] ?? '')} is registered for version ${JSON.stringify(fields['apiVersion'] ?? '')}`,
    );
  strictly(fields, shape);
  const said = listIn(fields, 'profiles');
  const profiles = (said.length === 0 ? [{}] : said).map((one, i, all) =>
    readProfile(one, `profiles[${i}]`, all.length === 1),
  );
  const number = (name: string, usual: number): number => Number(fields[name] ?? usual);
  const made: SchedulerConfiguration = {
    profiles: profiles.map(({ profile }) => profile),
    percentageOfNodesToScore: number('percentageOfNodesToScore', 0),
    podInitialBackoffSeconds: number('podInitialBackoffSeconds', 1),
    podMaxBackoffSeconds: number('podMaxBackoffSeconds', 10),
    extenders: listIn(fields, 'extenders').map(readExtender),
  };
  const parallelism = number('parallelism', 16);
  const faults = [
    ...(parallelism > 0
      ? []
      : [invalid('parallelism', parallelism, 'should be an integer value greater than zero')]),
    ...profilesFaults(profiles),
    ...percentageFaults('percentageOfNodesToScore', made.percentageOfNodesToScore),
    ...backoffFaults(made),
    ...extendersFaults(made.extenders),
  ].map(fieldErrorText);
  if (faults.length > 0) throw new Error(faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`);
  return made;
}

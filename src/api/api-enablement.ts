// Which of the built-in API is served: what is off by itself, and kube-apiserver's --feature-gates and --runtime-config, which turn it on.
import data from './schema/resources.json' with { type: 'json' };

interface Served {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

export interface ApiEnablement {
  serves(resource: Served): boolean;
  isEnabled(gate: FeatureGate): boolean;
  /** What was asked for and is without effect. */
  readonly warnings: readonly string[];
}

/** Upstream's gates that change something here. Others are refused: nobody is to believe that they do. */
export type FeatureGate = 'StorageVersionMigrator';

const gates: Readonly<Record<FeatureGate, { readonly stage: 'Alpha' | 'Beta'; readonly default: boolean }>> =
  { StorageVersionMigrator: { stage: 'Beta', default: false } };

/** Resources that are served only with their gate, and whose version is off by itself. */
const gated: readonly (Served & { readonly gate: FeatureGate })[] = [
  {
    group: 'storagemigration.k8s.io',
    version: 'v1beta1',
    resource: 'storageversionmigrations',
    gate: 'StorageVersionMigrator',
  },
];

/** Not kube-apiserver's, so that its stages say nothing of it; who brings another server for it may turn it off by its name. */
const isOwn = ({ group }: Served): boolean => group === 'metrics.k8s.io';

const gateOf = ({ group, version, resource }: Served): FeatureGate | undefined =>
  gated.find((one) => one.group === group && one.version === version && one.resource === resource)?.gate;

/** As a server without flags. */
export const servedByDefault = (resource: Served): boolean => gateOf(resource) === undefined;

const isGate = (name: string): name is FeatureGate => Object.hasOwn(gates, name);

/** Go's strconv.ParseBool. */
function readBool(text: string): boolean | undefined {
  if (['1', 't', 'T', 'true', 'TRUE', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(text)) return false;
  return undefined;
}
const notBool = (text: string): string =>
  `strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`;

/** `key=value,key=value`; of a key that comes twice the last. Without `=` the value is undefined. */
function pairs(texts: readonly string[]): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>();
  for (const part of texts.flatMap((text) => text.split(','))) {
    const text = part.trim();
    if (text === '') continue;
    const at = text.indexOf('=');
    if (at < 0) found.set(text, undefined);
    else found.set(text.slice(0, at).trim(), text.slice(at + 1).trim());
  }
  return found;
}

function readGates(texts: readonly string[]): ReadonlySet<FeatureGate> {
  const said = new Map<string, boolean>();
  for (const [name, value] of pairs(texts)) {
    if (value === undefined) throw new Error(`missing bool value for ${name}`);
    if (!isGate(name) && name !== 'AllAlpha' && name !== 'AllBeta')
      throw new Error(`unrecognized feature gate: ${name}`);
    const read = readBool(value);
    if (read === undefined) throw new Error(`invalid value of ${name}=${value}, err: ${notBool(value)}`);
    said.set(name, read);
  }
  const names = Object.keys(gates).filter(isGate);
  return new Set(
    names.filter((name) => said.get(name) ?? said.get(`All${gates[name].stage}`) ?? gates[name].default),
  );
}

const stages: Readonly<Record<string, RegExp>> = {
  'api/all': /^/,
  'api/ga': /^v\d+$/,
  'api/beta': /^v\d+beta\d+$/,
  'api/alpha': /^v\d+alpha\d+$/,
};

interface Wish {
  readonly key: string;
  readonly enabled: boolean;
  readonly matches: (resource: Served) => boolean;
}

function stageWish(key: string, value: string | undefined, stage: RegExp): Wish {
  if (value !== 'true' && value !== 'false') throw new Error(`invalid value ${key}=${value ?? ''}`);
  return { key, enabled: value === 'true', matches: (one) => !isOwn(one) && stage.test(one.version) };
}

function versionWish(key: string, value: string | undefined): Wish {
  const [group = '', version = '', resource, ...rest] = key.split('/');
  if (version === '' || rest.length > 0) throw new Error(`runtime-config invalid key ${key}`);
  // As upstream, the core group can be named by no key.
  const ofGroup = group === '' ? [] : data.filter((one) => one.group === group);
  if (ofGroup.length === 0) throw new Error(`unknown api groups ${group}/${version}`);
  if (!ofGroup.some((one) => one.version === version))
    throw new Error(`group version ${group}/${version} that has not been registered`);
  const enabled = value === undefined || value === '' ? true : readBool(value);
  if (enabled === undefined) throw new Error(`invalid value of ${key}: ${value}, err: ${notBool(value!)}`);
  if (resource !== undefined && resource.toLowerCase() !== resource)
    throw new Error(
      `invalid key ${key}: group/version/resource and resource is always lowercase plural, not ${JSON.stringify(resource)}`,
    );
  return {
    key,
    enabled,
    matches: (one) =>
      one.group === group && one.version === version && (resource === undefined || one.resource === resource),
  };
}

/** By how much they say: stages, then versions, then resources; what comes later is stronger. */
function readWishes(texts: readonly string[]): readonly Wish[] {
  const found = pairs(texts);
  if (found.size === 1 && found.get('api/all') === 'false')
    throw new Error('invalid runtime-config with only api/all=false');
  const weight = (key: string): number =>
    !Object.hasOwn(stages, key) ? 10 + key.split('/').length : Object.keys(stages).indexOf(key);
  return [...found]
    .sort(([a], [b]) => weight(a) - weight(b))
    .map(([key, value]) => {
      const stage = Object.hasOwn(stages, key) ? stages[key] : undefined;
      return stage === undefined ? versionWish(key, value) : stageWish(key, value, stage);
    });
}

/** Throws in upstream's words for what upstream refuses, and for what can't be turned off here. */
export function readApiEnablement(
  featureGates: readonly string[],
  runtimeConfig: readonly string[],
): ApiEnablement {
  const enabled = readGates(featureGates);
  const wishes = readWishes(runtimeConfig);
  const isWished = (resource: Served): boolean =>
    wishes.findLast((wish) => wish.matches(resource))?.enabled ?? servedByDefault(resource);
  const off = data.find((one) => servedByDefault(one) && !isOwn(one) && !isWished(one));
  if (off !== undefined)
    throw new Error(
      `--runtime-config: ${off.group}${off.group === '' ? '' : '/'}${off.version} can't be turned off: the server's own parts need what is on by itself`,
    );
  return {
    serves: (resource) => {
      const gate = gateOf(resource);
      if (gate === undefined) return !isOwn(resource) || isWished(resource);
      return enabled.has(gate) && isWished(resource);
    },
    isEnabled: (gate) => enabled.has(gate),
    warnings: gated
      .filter((one) => isWished(one) && !enabled.has(one.gate))
      .map(({ gate }) => `${gate} storage is disabled because the ${gate} feature gate is disabled`),
  };
}

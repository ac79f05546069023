// Which plugins of a profile work at which extension point, in which order and with which weight, as its configuration says.
import type {
  NamedPlugin,
  PluginSet,
  PointName,
  ProfileConfiguration,
} from './config/scheduler-configuration.ts';
import { extensionPoints } from './config/scheduler-configuration.ts';
import type { Plugin, WeightedPlugin } from './framework/plugin.ts';

/** What a plugin implements of each point. */
const members: Readonly<Record<PointName, keyof Plugin>> = {
  preEnqueue: 'preEnqueue',
  queueSort: 'less',
  preFilter: 'preFilter',
  filter: 'filter',
  postFilter: 'postFilter',
  preScore: 'preScore',
  score: 'score',
  reserve: 'reserve',
  permit: 'permit',
  preBind: 'preBind',
  bind: 'bind',
  postBind: 'postBind',
};

/** Of Go's interfaces, in errors. */
const typeOf = (point: PointName): string => `${point[0]!.toUpperCase()}${point.slice(1)}Plugin`;

export type PluginsByPoint = Readonly<Record<PointName, readonly WeightedPlugin[]>>;

const nothing: PluginSet = { enabled: [], disabled: [] };
const names = (list: readonly NamedPlugin[]): ReadonlySet<string> => new Set(list.map(({ name }) => name));

/** The default list as a profile changes it: what it names anew takes its place, the rest comes after. */
function merged(usual: readonly NamedPlugin[], { disabled, enabled }: PluginSet): NamedPlugin[] {
  const off = names(disabled);
  const kept = off.has('*') ? [] : usual.filter(({ name }) => !off.has(name));
  const changed = new Map(enabled.map((one) => [one.name, one]));
  const replaced = names(kept.filter(({ name }) => changed.has(name)));
  return [
    ...kept.map((one) => changed.get(one.name) ?? one),
    ...enabled.filter(({ name }) => !replaced.has(name)),
  ];
}

/** Upstream's expandMultiPointPlugins for one point. */
function atPoint(
  point: PointName,
  set: PluginSet,
  multiPoint: readonly NamedPlugin[],
  known: ReadonlyMap<string, Plugin>,
): NamedPlugin[] {
  const explicit = names(set.enabled);
  const off = names(set.disabled);
  for (const { name } of set.enabled) {
    const plugin = known.get(name);
    if (!plugin) throw new Error(`${typeOf(point)} ${JSON.stringify(name)} does not exist`);
    if (plugin[members[point]] === undefined)
      throw new Error(`plugin ${JSON.stringify(name)} does not extend ${typeOf(point)} plugin`);
  }
  if (explicit.size !== set.enabled.length)
    throw new Error(
      `plugin ${JSON.stringify(twice(set.enabled))} already registered as ${JSON.stringify(typeOf(point))}`,
    );
  if (off.has('*')) return [...set.enabled];
  const [overridden, others]: [Set<string>, NamedPlugin[]] = [new Set(), []];
  for (const one of multiPoint) {
    const plugin = known.get(one.name);
    if (!plugin) throw new Error(`${typeOf(point)} ${JSON.stringify(one.name)} does not exist`);
    if (plugin[members[point]] === undefined || off.has(one.name)) continue;
    if (explicit.has(one.name)) overridden.add(one.name);
    else others.push(one);
  }
  if (names(others).size !== others.length)
    throw new Error(
      `plugin ${JSON.stringify(twice(others))} already registered as ${JSON.stringify(typeOf(point))}`,
    );
  return [
    ...set.enabled.filter(({ name }) => overridden.has(name)),
    ...others,
    ...set.enabled.filter(({ name }) => !overridden.has(name)),
  ];
}

const twice = (list: readonly NamedPlugin[]): string =>
  list.find(({ name }, i) => list.findIndex((other) => other.name === name) < i)?.name ?? '';

/** Throws for plugins that are not there, or that can't do what they are to do. */
export function pluginsByPoint(
  { plugins, schedulerName }: Pick<ProfileConfiguration, 'plugins' | 'schedulerName'>,
  usual: readonly WeightedPlugin[],
): PluginsByPoint {
  const known = new Map(usual.map(({ plugin }) => [plugin.name, plugin]));
  const multiPoint = merged(
    usual.map(({ plugin, weight }) => ({ name: plugin.name, weight })),
    plugins.multiPoint ?? nothing,
  );
  const weights = new Map(multiPoint.map(({ name, weight }) => [name, weight]));
  const at = (point: PointName): WeightedPlugin[] =>
    atPoint(point, plugins[point] ?? nothing, multiPoint, known).map(({ name, weight }) => ({
      plugin: known.get(name)!,
      // A weight that is 0 was not said.
      weight: weight || weights.get(name) || 1,
    }));
  const found = Object.fromEntries(
    extensionPoints.map((point) => [point, at(point)]),
  ) as unknown as PluginsByPoint;
  if (found.queueSort.length !== 1)
    throw new Error(
      `only one queue sort plugin required for profile with scheduler name ${JSON.stringify(schedulerName)}, but got ${found.queueSort.length}`,
    );
  if (found.bind.length === 0)
    throw new Error(
      `at least one bind plugin is needed for profile with scheduler name ${JSON.stringify(schedulerName)}`,
    );
  return found;
}

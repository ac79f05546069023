// `up --config`: a file in the place of flags, and with more to say about nodes. A flag that is given goes before it.
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { parseYaml } from '../base/yaml.ts';
import type { PlannedNode } from './cluster/cluster-plan.ts';
import { nextNodeName, parseNodeName } from './cluster/node-name.ts';

type Fields = Readonly<Record<string, unknown>>;

const apiVersion = 'cli.porthole.dev/v1';
const kind = 'Cluster';
/** What `nodes` says for each. */
const nodeSettings: readonly string[] = ['linux', 'windows', 'windowsBuild', 'windowsTaint'];
const nodeFields: readonly string[] = ['name', 'os', 'windowsBuild', 'windowsTaint'];

const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function valueFor(option: Option, value: unknown): unknown {
  if (typeof value === 'boolean' && !option.required) return value;
  if (!option.required && !option.optional) throw new InvalidArgumentError('true or false.');
  const items: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!items.every((item) => typeof item === 'string' || typeof item === 'number'))
    throw new InvalidArgumentError('a text or a number.');
  return items.reduce<unknown>((before, item) => option.parseArg?.(String(item), before) ?? item, undefined);
}

function plannedNode(item: unknown, before: readonly PlannedNode[], buildOption: Option): PlannedNode {
  const { name, os, windowsBuild, windowsTaint } = isMap(item) ? item : {};
  if (!isMap(item) || (os !== 'linux' && os !== 'windows'))
    throw new InvalidArgumentError('each has an os, linux or windows.');
  const unknown = Object.keys(item).find((field) => !nodeFields.includes(field));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `there is no ${JSON.stringify(unknown)} in a node; there are ${nodeFields.join(', ')}.`,
    );
  const named = name === undefined ? nextNodeName(os, before) : parseNodeName(String(name));
  if (before.some((one) => one.name === named)) throw new InvalidArgumentError(`two are called ${named}.`);
  if (os === 'linux') {
    if (windowsBuild === undefined && windowsTaint === undefined) return { name: named, os };
    throw new InvalidArgumentError(`${named} is no Windows node: it has no windowsBuild, no windowsTaint.`);
  }
  const build = valueFor(buildOption, windowsBuild ?? buildOption.defaultValue) as number;
  return { name: named, os, windowsBuild: build, ...(windowsTaint === true ? { windowsTaint } : {}) };
}

/** Names in an error whose setting it is. */
function within<T>(file: string, key: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw new Error(`${file}: ${key}: ${(error as Error).message}`);
  }
}

function readConfig(file: string): Fields {
  const config = within(file, 'YAML', () => parseYaml(readFileSync(file, 'utf8')));
  if (!isMap(config) || config['apiVersion'] !== apiVersion || config['kind'] !== kind)
    throw new Error(`${file} does not begin with apiVersion: ${apiVersion} and kind: ${kind}`);
  return config;
}

/** Sets what the file says and no flag does; returns the nodes, if it names them. Throws Error with the setting. */
export function applyConfig(command: Command, file: string): PlannedNode[] | undefined {
  const { apiVersion: _, kind: __, nodes, ...settings } = readConfig(file);
  const known = new Map(
    command.options
      .filter(({ long }) => long !== '--config')
      .map((option) => [option.attributeName(), option]),
  );
  for (const [key, value] of Object.entries(settings)) {
    const option = known.get(key);
    if (option === undefined)
      throw new Error(
        `${file}: there is no ${JSON.stringify(key)}; there are nodes, ${[...known.keys()].join(', ')}`,
      );
    if (command.getOptionValueSource(key) !== 'cli')
      command.setOptionValueWithSource(
        key,
        within(file, key, () => valueFor(option, value)),
        'config',
      );
  }
  if (nodes === undefined) return undefined;
  const other = nodeSettings.find((key) =>
    ['cli', 'config'].includes(command.getOptionValueSource(key) ?? ''),
  );
  if (other !== undefined) throw new Error(`${file}: nodes says which there are; ${other} says so, too`);
  return within(file, 'nodes', () => {
    if (!Array.isArray(nodes)) throw new InvalidArgumentError('a list.');
    const planned: PlannedNode[] = [];
    for (const item of nodes) planned.push(plannedNode(item, planned, known.get('windowsBuild')!));
    return planned;
  });
}

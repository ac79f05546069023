// `up --config`: a file in the place of flags, and with more to say about nodes. A flag that is given goes before it.
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { hasMoreYaml, parseYaml } from '../base/yaml.ts';
import type { PlannedNode } from './cluster/cluster-plan.ts';
import { nextNodeName, parseNodeName } from './cluster/node-name.ts';

type Fields = Readonly<Record<string, unknown>>;

const apiVersion = 'cli.porthole.dev/v1';
const kind = 'Cluster';
/** What `nodes` says for each. */
const nodeSettings: readonly string[] = ['linux', 'windows', 'windowsBuild', 'windowsTaint'];
/** Flags that may be given again: their values are a list here. */
const repeated: readonly string[] = ['registryMirror', 'extraConfig'];
const nodeFields: readonly string[] = ['name', 'os', 'windowsBuild', 'windowsTaint'];

/** For the help of `up`. */
export const configExample: string = `apiVersion: ${apiVersion}
kind: ${kind}
# The flags, each written as allowMachineAccess is; true for one without a value.
name: nightly
allowMachineAccess: true
# A list, for a flag that may be given again.
registryMirror: [docker.io=http://localhost:5001]
# Instead of ${nodeSettings.join(', ')}. Of each, only os has to be there.
nodes:
- os: linux
- {name: web, os: windows, windowsBuild: ltsc2019, windowsTaint: true}
`;

const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function valueFor(option: Option, value: unknown): unknown {
  // Without a value the flag means yes; there is no flag for no.
  if (value === false && option.optional) return undefined;
  if (typeof value === 'boolean' && !option.required) return value;
  if (!option.required && !option.optional) throw new InvalidArgumentError('true or false.');
  const items: readonly unknown[] =
    Array.isArray(value) && repeated.includes(option.attributeName()) ? value : [value];
  if (!items.every((item) => typeof item === 'string' || typeof item === 'number'))
    throw new InvalidArgumentError('a text or a number.');
  return items.reduce<unknown>(
    (before, item) => (option.parseArg ? option.parseArg(String(item), before) : String(item)),
    undefined,
  );
}

const mostShown = 60;

/** As it may be written in the file. */
function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > mostShown ? `${text.slice(0, mostShown)}…` : text;
}

/** Names in an error what it is about. */
function within<T>(where: string, body: () => T): T {
  try {
    return body();
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}`);
  }
}

const settingOf = (option: Option, key: string, value: unknown): unknown =>
  within(`${key}: ${shown(value)}`, () => {
    try {
      return valueFor(option, value);
    } catch (error) {
      // What the flag alone means, without a value.
      if (option.optional) throw new Error(`${(error as Error).message.replace(/\.$/, '')}, or true.`);
      throw error;
    }
  });

function osOf({ os }: Fields): PlannedNode['os'] {
  if (os === 'linux' || os === 'windows') return os;
  throw new InvalidArgumentError(
    os === undefined ? 'there is no os, which is linux or windows.' : `os: ${shown(os)}: linux or windows.`,
  );
}

function nameOf({ name }: Fields, os: PlannedNode['os'], before: readonly PlannedNode[]): string {
  if (name === undefined) return nextNodeName(os, before);
  if (typeof name !== 'string' && typeof name !== 'number')
    throw new InvalidArgumentError(`name: ${shown(name)}: a text.`);
  const parsed = parseNodeName(String(name));
  if (before.some((one) => one.name === parsed)) throw new InvalidArgumentError(`two are called ${parsed}.`);
  return parsed;
}

function plannedNode(item: unknown, before: readonly PlannedNode[], buildOption: Option): PlannedNode {
  if (!isMap(item)) throw new InvalidArgumentError(`${shown(item)}: fields ${nodeFields.join(', ')}.`);
  const unknown = Object.keys(item).find((field) => !nodeFields.includes(field));
  if (unknown !== undefined)
    throw new InvalidArgumentError(
      `there is no ${JSON.stringify(unknown)} in a node; there are ${nodeFields.join(', ')}.`,
    );
  const os = osOf(item);
  const name = nameOf(item, os, before);
  const { windowsBuild, windowsTaint } = item;
  if (os === 'linux') {
    if (windowsBuild === undefined && windowsTaint === undefined) return { name, os };
    throw new InvalidArgumentError(`${name} is no Windows node: it has no windowsBuild, no windowsTaint.`);
  }
  if (windowsTaint !== undefined && typeof windowsTaint !== 'boolean')
    throw new InvalidArgumentError(`windowsTaint: ${shown(windowsTaint)}: true or false.`);
  const build = settingOf(buildOption, 'windowsBuild', windowsBuild ?? buildOption.defaultValue) as number;
  return { name, os, windowsBuild: build, ...(windowsTaint === true ? { windowsTaint } : {}) };
}

function plannedNodes(nodes: unknown, buildOption: Option): PlannedNode[] {
  if (!Array.isArray(nodes)) throw new InvalidArgumentError(`nodes: ${shown(nodes)}: a list.`);
  const planned: PlannedNode[] = [];
  for (const [index, item] of (nodes as readonly unknown[]).entries()) {
    const name = isMap(item) && typeof item['name'] === 'string' ? ` (${item['name']})` : '';
    planned.push(within(`nodes[${index}]${name}`, () => plannedNode(item, planned, buildOption)));
  }
  return planned;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new Error(`${file}: ${(error as Error).message}`);
    throw new Error(`--config ${file}: there is no such file`);
  }
}

function readConfig(file: string): Fields {
  const text = textOf(file);
  const config = within(`${file}: YAML`, () => parseYaml(text));
  if (!isMap(config) || config['apiVersion'] !== apiVersion || config['kind'] !== kind)
    throw new Error(`${file} does not begin with apiVersion: ${apiVersion} and kind: ${kind}`);
  if (hasMoreYaml(text))
    throw new Error(`${file} holds more than one document (after ---): a file is one cluster`);
  return config;
}

/** The first setting that says which nodes there are to be; undefined: they are those of a cluster without any word. */
export const askedNodes = (command: Command): string | undefined =>
  nodeSettings.find((key) => ['cli', 'config'].includes(command.getOptionValueSource(key) ?? ''));

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
        within(file, () => settingOf(option, key, value)),
        'config',
      );
  }
  if (nodes === undefined) return undefined;
  const other = askedNodes(command);
  if (other !== undefined) throw new Error(`${file}: nodes says which there are; ${other} says so, too`);
  return within(file, () => plannedNodes(nodes, known.get('windowsBuild')!));
}

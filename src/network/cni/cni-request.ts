// Reads what a container runtime asks of a CNI plugin, and refuses what the specification does not allow.
import { CniError } from './cni-error.ts';

export const supportedVersions = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'] as const;
export type CniVersion = (typeof supportedVersions)[number];

const cniCommands = ['ADD', 'DEL', 'CHECK', 'VERSION', 'GC', 'STATUS'] as const;
export type CniCommand = (typeof cniCommands)[number];

export interface PortMapping {
  readonly hostPort: number;
  readonly containerPort: number;
  readonly protocol: 'tcp' | 'udp' | 'sctp';
  readonly hostIP?: string;
}

export interface ValidAttachment {
  readonly containerID: string;
  readonly ifname: string;
}

export interface CniRequest {
  readonly command: CniCommand;
  readonly version: CniVersion;
  readonly network: string;
  /** `porthole`, or `loopback` for the runtime's second network. */
  readonly plugin: string;
  readonly containerID: string;
  readonly ifname: string;
  readonly netns: string;
  readonly portMappings: readonly PortMapping[];
  readonly validAttachments: readonly ValidAttachment[];
}

export const containerIDPattern: RegExp = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/;
const networkPattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/;
const netnsPattern = /^\/[A-Za-z0-9_./-]{1,254}$/;

const needed: Readonly<Record<CniCommand, readonly string[]>> = {
  ADD: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME'],
  CHECK: ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME'],
  DEL: ['CNI_CONTAINERID', 'CNI_IFNAME'],
  VERSION: [],
  GC: [],
  STATUS: [],
};

type Fields = ReadonlyMap<string, unknown>;
const fieldsOf = (value: unknown): Fields =>
  new Map(typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : []);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** `NAME=value` entries, each ended by NUL, an empty one, then stdin. */
export function splitQuestion(question: Buffer): { env: ReadonlyMap<string, string>; stdin: Buffer } {
  const env = new Map<string, string>();
  let start = 0;
  for (;;) {
    const end = question.indexOf(0, start);
    if (end < 0) throw new CniError('decodingFailure', 'the environment is not ended');
    if (end === start) return { env, stdin: question.subarray(end + 1) };
    const entry = question.toString('utf8', start, end);
    const equals = entry.indexOf('=');
    if (equals > 0) env.set(entry.slice(0, equals), entry.slice(equals + 1));
    start = end + 1;
  }
}

function readConfiguration(stdin: Buffer): Fields {
  let parsed: unknown;
  try {
    parsed = JSON.parse(stdin.toString('utf8'));
  } catch (cause) {
    throw new CniError('decodingFailure', `error unmarshall stdin: ${(cause as Error).message}`, '', {
      cause,
    });
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new CniError(
      'decodingFailure',
      'error unmarshall stdin: the network configuration is not an object',
    );
  return fieldsOf(parsed);
}

function readVersion(configuration: Fields): CniVersion {
  const text = textOf(configuration.get('cniVersion')) || '0.1.0';
  const version = supportedVersions.find((known) => known === text);
  if (version !== undefined) return version;
  const list = supportedVersions.map((known) => JSON.stringify(known)).join(' ');
  throw new CniError(
    'incompatibleVersion',
    'incompatible CNI versions',
    `config is ${JSON.stringify(text)}, plugin supports [${list}]`,
  );
}

function checkInterfaceName(name: string): void {
  const problem =
    name === ''
      ? 'interface name is empty'
      : name.length > 15
        ? 'interface name is too long'
        : name === '.' || name === '..'
          ? 'interface name is . or ..'
          : /[/:\s]/.test(name)
            ? 'interface name contains / or : or whitespace characters'
            : /^[A-Za-z0-9_.-]+$/.test(name) && !name.startsWith('-')
              ? undefined
              : 'interface name contains invalid characters';
  if (problem !== undefined) throw new CniError('invalidEnvironment', problem);
}

function checkEnvironment(command: CniCommand, env: ReadonlyMap<string, string>): void {
  const missing = needed[command].filter((name) => (env.get(name) ?? '') === '');
  if (missing.length > 0)
    throw new CniError('invalidEnvironment', `required env variables [${missing.join(',')}] missing`);
  if (!needed[command].includes('CNI_CONTAINERID')) return;
  if (!containerIDPattern.test(env.get('CNI_CONTAINERID') ?? ''))
    throw new CniError('invalidEnvironment', 'invalid characters in containerID', env.get('CNI_CONTAINERID'));
  checkInterfaceName(env.get('CNI_IFNAME') ?? '');
  const netns = env.get('CNI_NETNS') ?? '';
  if (netns !== '' && (!netnsPattern.test(netns) || netns.split('/').includes('..')))
    throw new CniError('invalidEnvironment', 'CNI_NETNS is not a path of a network namespace', netns);
}

/** containerd writes `HostPort` where the convention has `hostPort`; readers in Go take either. */
const inAnyCase = (fields: Fields): Fields =>
  new Map([...fields].map(([name, value]) => [name.toLowerCase(), value]));

function readPortMappings(configuration: Fields): readonly PortMapping[] {
  return listOf(fieldsOf(configuration.get('runtimeConfig')).get('portMappings')).flatMap((item) => {
    const fields = inAnyCase(fieldsOf(item));
    const hostPort = Number(fields.get('hostport') ?? 0);
    const containerPort = Number(fields.get('containerport') ?? 0);
    const protocol = (textOf(fields.get('protocol')) || 'tcp').toLowerCase();
    const hostIP = textOf(fields.get('hostip'));
    if (hostPort === 0) return []; // as the portmap plugin: nothing to map
    const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 65536;
    if (!isPort(hostPort) || !isPort(containerPort))
      throw new CniError('invalidNetworkConfig', `Invalid host or container port number: ${hostPort}`);
    if (protocol !== 'tcp' && protocol !== 'udp' && protocol !== 'sctp')
      throw new CniError('invalidNetworkConfig', `unknown protocol ${JSON.stringify(protocol)}`);
    return [{ hostPort, containerPort, protocol, ...(hostIP === '' ? {} : { hostIP }) }];
  });
}

function readValidAttachments(configuration: Fields): readonly ValidAttachment[] {
  return listOf(configuration.get('cni.dev/valid-attachments')).map((item) => {
    const fields = fieldsOf(item);
    return { containerID: textOf(fields.get('containerID')), ifname: textOf(fields.get('ifname')) };
  });
}

/** Throws CniError. */
export function parseCniRequest(env: ReadonlyMap<string, string>, stdin: Buffer): CniRequest {
  const command = cniCommands.find((known) => known === env.get('CNI_COMMAND'));
  if (command === undefined)
    throw new CniError('invalidEnvironment', `unknown CNI_COMMAND: ${env.get('CNI_COMMAND') ?? ''}`);
  checkEnvironment(command, env);
  const configuration = readConfiguration(stdin);
  const version = command === 'VERSION' ? '1.1.0' : readVersion(configuration);
  const network = textOf(configuration.get('name'));
  if (command !== 'VERSION') {
    if (network === '') throw new CniError('invalidNetworkConfig', 'missing network name:');
    if (!networkPattern.test(network))
      throw new CniError('invalidNetworkConfig', 'invalid characters found in network name', network);
  }
  if (command === 'GC' && !Array.isArray(configuration.get('cni.dev/valid-attachments')))
    throw new CniError('invalidNetworkConfig', 'cni.dev/valid-attachments is missing');
  return {
    command,
    version,
    network,
    plugin: textOf(configuration.get('type')),
    containerID: env.get('CNI_CONTAINERID') ?? '',
    ifname: env.get('CNI_IFNAME') ?? '',
    netns: env.get('CNI_NETNS') ?? '',
    portMappings: readPortMappings(configuration),
    validAttachments: readValidAttachments(configuration),
  };
}

// Whether server and agents take the flags of --extra-config: asked before anything is made, and answered in their own words.
import { resolve } from 'node:path';
import { Command, type Option } from 'commander';
import type { AskedFlag, ExtraFlag } from './cluster/extra-config.ts';
import { argumentsOf, isOfAgent, ownFlag } from './cluster/extra-config.ts';
import { withKubeProxy } from './kube-proxy-options.ts';
import { withKubelet } from './kubelet-options.ts';
import { gathered } from './list-option.ts';
import {
  isOfControllerManager,
  isOfScheduler,
  type ServerFlags,
  withServerOptions,
} from './server-options.ts';
import { namedFilesForm, relocated } from './serving-options.ts';
import { tryServer } from './try-server.ts';

type Component = ExtraFlag['component'];

/** What `up` says to its server and agents itself, and by which of its flags people say it. */
const ofUp: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...[
        'data-dir',
        'dns-port',
        'cluster-dns',
        'cluster-domain',
        'pod-routes',
        'fabric',
        'load-balancer-cidr',
        'disable',
      ],
      ...['approve-kubelet-serving', 'keep-credentials', 'advertise-address', 'cluster-cidr', 'cluster-name'],
      ...['secure-port', 'service-cluster-ip-range', 'leader-elect'],
    ].map((flag) => [flag, 'porthole up decides it itself']),
  ),
  'bind-address': 'give porthole up --bind-address',
  'quota-backend-bytes': 'give porthole up --quota-backend-bytes',
  'node-monitor-grace-period': 'give porthole up --node-monitor-grace-period',
  'eviction-hard': 'give porthole up --eviction-hard',
};

/** The flags of kubelet and kube-proxy are apart, those of the server's sections are not. */
const commandOf = (component: Component): Command => {
  if (component === 'kubelet') return withKubelet(new Command('agent'));
  return component === 'kube-proxy'
    ? withKubeProxy(new Command('agent'))
    : withServerOptions(new Command('server'));
};

const parserOf = (component: Component): Command =>
  commandOf(component)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
    .action(() => {});

/** What has to be there for the others to be looked at. */
const neededOf = (component: Component): string[] => (isOfAgent(component) ? [] : ['--data-dir', '/']);

const mostShown = 600;

/** An error that repeats a value may be as long as that. */
function named(asked: AskedFlag, error: unknown): Error {
  const message = (error as Error).message.replace(/^error: /, '');
  const shown = message.length > mostShown ? `${message.slice(0, mostShown)}…` : message;
  return new Error(`--extra-config ${asked.component}.${asked.flag}: ${shown}`, {
    cause: (error as Error).cause,
  });
}

const componentOf = (option: Option): Component => {
  if (isOfScheduler(option)) return 'scheduler';
  return isOfControllerManager(option) ? 'controller-manager' : 'apiserver';
};

/** - is standard output, for those that write. */
const isPath = (option: Option, value: string): boolean =>
  option.flags.endsWith(' <file>') && value !== '' && value !== '-';

/** Only what is a list may not have commas in its names. */
const located = (option: Option, value: string, cwd: string): string =>
  option.flags.endsWith(namedFilesForm)
    ? relocated(value, (file) => resolve(cwd, file))
    : (option.parseArg === gathered ? value.split(',') : [value])
        .map((one) => (isPath(option, one) ? resolve(cwd, one) : one))
        .join(',');

function resolvedFlag(asked: AskedFlag, cwd: string): AskedFlag {
  const { component, value } = asked;
  const flag = ownFlag(asked);
  const why = Object.hasOwn(ofUp, flag) ? ofUp[flag] : undefined;
  if (why !== undefined) throw new Error(why);
  const command = parserOf(component);
  const option = command.options.find(({ long }) => long === `--${flag}`);
  const of = option && (isOfAgent(component) ? component : componentOf(option));
  if (of !== undefined && of !== component) throw new Error(`it is a flag of ${of}`);
  // One that is not there is told with those that are spelt like it.
  if (option === undefined || value !== undefined)
    command.parse([...neededOf(component), `--${flag}=${value ?? ''}`], { from: 'user' });
  return option === undefined || value === undefined
    ? asked
    : { ...asked, value: located(option, value, cwd) };
}

/** Names of files are made whole: server and agent run elsewhere. Throws Error for what is no flag, or no value of it. */
export const resolvedExtraConfig = (asked: readonly AskedFlag[], cwd: string): AskedFlag[] =>
  asked.map((one) => {
    try {
      return resolvedFlag(one, cwd);
    } catch (error) {
      throw named(one, error);
    }
  });

/** Throws what the server would say of them all, and of what they name. `gateway`: where nodes are to reach it, if that is known. */
export async function checkExtraConfig(
  flags: readonly ExtraFlag[],
  gateway: () => Promise<string | undefined>,
): Promise<void> {
  const args = argumentsOf(flags, 'server');
  if (args.length === 0) return;
  const parsed = parserOf('apiserver').parse([...neededOf('apiserver'), ...args], { from: 'user' });
  const advertised = await gateway();
  try {
    await tryServer(parsed.opts<ServerFlags>(), advertised);
  } catch (error) {
    const message = (error as Error).message;
    throw new Error(
      `the server does not start with ${args.map((one) => one.slice(0, one.indexOf('='))).join(', ')} (--extra-config): ${message}`,
      { cause: error },
    );
  }
}

// porthole up: a whole cluster on this machine.
import { resolve } from 'node:path';
import { Command, InvalidArgumentError, Option } from 'commander';
import { planNodes } from '../cluster/cluster-plan.ts';
import { type AskedFlag, addExtraFlag } from '../cluster/extra-config.ts';
import { type Mirrors, parseMirror } from '../cluster/registries/mirrors.ts';
import { up } from '../cluster/up.ts';
import { applyConfig, askedNodes, configExample } from '../config-file.ts';
import { duration } from '../duration-option.ts';
import { evictionHardOption } from '../eviction-hard-option.ts';
import { keepCompiled } from '../keep-compiled.ts';
import { type MergeFlags, mergeFileOf, sayContext, withMergeOptions } from '../kubeconfig-options.ts';
import { fixedPort } from '../port-option.ts';
import { progressOnStderr } from '../progress.ts';
import { portholeCache, portholeHome } from '../setup/locations.ts';
import { windowsBuildOption } from '../windows-options.ts';

function count(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 0 || number > 50)
    throw new InvalidArgumentError('a whole number from 0 to 50.');
  return number;
}

function bytes(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('not a number above 0.');
  return number;
}

/** What the other throws is wrong with what was given. */
const given =
  <T>(parse: (text: string, before: T | undefined) => T) =>
  (text: string, before: T | undefined): T => {
    try {
      return parse(text, before);
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message);
    }
  };

interface Flags extends MergeFlags {
  config?: string;
  registry?: number | true;
  registryMirror?: Mirrors;
  quotaBackendBytes?: number;
  evictionHard?: string;
  extraConfig?: readonly AskedFlag[];
  nodeMonitorGracePeriod?: number;
  registryConfig?: string;
  bindAddress?: string;
  allowMachineAccess?: boolean;
  loadBalancer?: boolean;
  name: string;
  linux: number;
  windows: number;
  windowsBuild: number;
  windowsTaint?: boolean;
  topology: string;
  runtime: 'auto' | 'containerd' | 'simulated';
}

async function run({ config }: Flags, command: Command): Promise<void> {
  const named = config === undefined ? undefined : applyConfig(command, config);
  const flags = command.opts<Flags>();
  const progress = progressOnStderr();
  const started = performance.now();
  const mergeInto = mergeFileOf(flags);
  const cluster = await up(
    {
      ...flags,
      nodes: named ?? planNodes(flags),
      anyNodes: named === undefined && askedNodes(command) === undefined,
      nodeMonitorGracePeriodMs: flags.nodeMonitorGracePeriod,
      mergeInto,
      home: portholeHome(),
      cache: portholeCache(),
    },
    progress,
  );
  progress.say(
    `cluster ${flags.name} is up after ${((performance.now() - started) / 1000).toFixed(1)} s: ${cluster.server}`,
  );
  sayContext(progress, cluster.context, mergeInto);
  console.log(`export KUBECONFIG=${cluster.kubeconfig}`);
  keepCompiled();
}

export function upCommand(): Command {
  return withMergeOptions(new Command('up'))
    .description('bring a cluster up on this machine; returns when all nodes are Ready')
    .option('--name <name>', 'name of the cluster', 'default')
    .option(
      '--config <file>',
      'a file with these flags, and with nodes that differ; below is one. A flag that is given goes before it',
    )
    .option('--linux <n>', 'number of Linux nodes', count, 1)
    .option('--windows <n>', 'number of emulated Windows nodes', count, 1)
    .addOption(windowsBuildOption('--windows-build', 'build that the Windows nodes report and programs see'))
    .option('--windows-taint', 'taint the Windows nodes with os=windows:NoSchedule')
    .addOption(
      new Option('--topology <name>', 'how pod networks reach each other')
        .choices(['host-gateway'])
        .default('host-gateway'),
    )
    .addOption(
      new Option('--runtime <name>', 'containerd runs containers; simulated pods only pretend')
        .choices(['auto', 'containerd', 'simulated'])
        .default('auto'),
    )
    .option(
      '--bind-address <address>',
      "one more address for the API server to listen on, besides loopback and the nodes' network; 0.0.0.0: all",
    )
    .option(
      '--allow-machine-access',
      'let pods and nodes reach what listens on this machine and what it forwards to',
    )
    .option(
      '--load-balancer',
      'give Services of type LoadBalancer addresses that this machine reaches (default)',
    )
    .option('--no-load-balancer', 'leave Services of type LoadBalancer to what you install: MetalLB, for one')
    .option(
      '--quota-backend-bytes <n>',
      "what all objects of the API together may take (default: the server's, 1 GiB)",
      bytes,
    )
    .option(
      '--registry-config <dir>',
      'how to ask private registries: <dir>/<host:port>/hosts.toml or ca.crt, as for containerd; read with each pull (default: certs.d of the home)',
      (dir) => resolve(dir),
    )
    .option(
      '--registry [port]',
      'a registry beside the cluster: push to localhost:<port> (5000 if it is free), and all nodes pull it by that name',
      fixedPort,
    )
    .option(
      '--registry-mirror <registry=url,…>',
      'ask these before the registry itself, as docker.io=http://localhost:5001; again for another registry; localhost is this machine; registry= forgets it',
      given<Mirrors>(parseMirror),
    )
    .addOption(evictionHardOption("amounts for a machine that is not the cluster's alone"))
    .option(
      '--node-monitor-grace-period <duration>',
      "how long a node may be silent before it is marked unhealthy (default: the server's, 50s)",
      duration,
    )
    .option(
      '--extra-config <component.flag=value>',
      "a flag of apiserver, controller-manager, scheduler ('porthole server --help' shows them), kubelet or kube-proxy, as apiserver.audit-policy-file=audit.yaml; again for another; apiserver.<flag>- forgets it",
      given<readonly AskedFlag[]>(addExtraFlag),
    )
    .addHelpText('after', `\nA file for --config:\n${configExample.replaceAll(/^/gm, '  ').trimEnd()}`)
    .action(run);
}
